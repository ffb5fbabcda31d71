"""Trying metrics out without a release: what would have been measured and judged at some time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from volary.analysis.metering import meters, query_names
from volary.analysis.verdicts import fleet_verdicts, scores
from volary.engine import executor
from volary.engine.runs import state
from volary.model import analysis, applications, clocks, json
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    rollout_stages,
    waiting_stages,
)
from volary.stages.judgement import cluster_judges, findings, measured_stages
from volary.stages.runtime import contexts

_CANARY = pipelines.Stage(
    rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions()
)


@dataclass(frozen=True, slots=True)
class TrialFinding:
    """A finding as a release would have reported it."""

    stage: str
    target: str
    kind: str
    metric: str
    document: json.JsonObject


@dataclass(frozen=True, slots=True)
class Moment:
    """When is looked, and how often before."""

    at: datetime
    looks: int = 1
    #: `at` is now, so that everything can be asked about it.
    is_now: bool = True
    #: When the analysis began that `PREVIOUS` compares with; None: there was none.
    previous: datetime | None = None


@dataclass(slots=True)
class _TrialReport:
    """Collects findings instead of reporting them."""

    stage: str
    target: str
    found_out: list[TrialFinding]

    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None:
        """Drop it: a trial reports findings only."""

    def progress(self, progress: state.Progress) -> None:
        """Drop it: a trial reports findings only."""

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None:
        """Keep a finding."""
        self.found_out.append(TrialFinding(self.stage, self.target, kind, metric, document))

    def took_over(self, title: str, claimant: str) -> None:
        """Drop it: a trial reports findings only."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Tries the metrics of an application."""

    application: applications.Application
    #: Names of what belongs to it, by cluster.
    names: Mapping[str, query_names.Names]
    meter: meters.Meter
    clock: clocks.Clock

    async def run(self, moment: Moment) -> tuple[list[TrialFinding], list[analysis.Verdict]]:
        """Measure and judge every metric of every stage on every cluster.

        Returns:
            What was found, and for each metric and cluster the verdict it would go by.
        """
        trial_findings: list[TrialFinding] = []
        verdicts: list[analysis.Verdict] = []
        for name, options in measured_stages.find(self.application):
            made: list[analysis.Verdict] = []
            measured: list[analysis.Rule] = []
            for rule in cluster_judges.all_rules(options):
                if _is_request(rule, options) and not moment.is_now:
                    continue
                measured.append(rule)
                made += await self._try(name, options, rule, moment, trial_findings)
            verdicts += self._scored(name, options.scoring, measured, made, moment, trial_findings)
        return trial_findings, verdicts

    def _scored(
        self,
        name: str,
        scoring: analysis.Scoring | None,
        rules: Sequence[analysis.Rule],
        made: Sequence[analysis.Verdict],
        moment: Moment,
        trial_findings: list[TrialFinding],
    ) -> Sequence[analysis.Verdict]:
        """Return what decides: the scores, where there are some, or each verdict."""
        if scoring is None:
            return made
        scored = []
        # Of each rule there is one for each cluster, in their order.
        for place, target in enumerate(self.names):
            own = {verdict.metric: verdict for verdict in made[place :: len(self.names)]}
            verdict = scores.judge(scoring, rules, own, target=target)
            document = findings.of_verdict(verdict, verdict, verdict, moment.at)
            finding = TrialFinding(name, target, findings.VERDICT, verdict.metric, document)
            trial_findings.append(finding)
            scored.append(verdict)
        return scored

    async def _try(
        self,
        name: str,
        options: waiting_stages.AnalysisOptions,
        written: analysis.Rule,
        moment: Moment,
        trial_findings: list[TrialFinding],
    ) -> list[analysis.Verdict]:
        # There is no beginning here before which nothing counts.
        rule = replace(written, warm_up=timedelta(0), delay=timedelta(0), count=None)
        looks = 1 if _is_request(rule, options) else moment.looks
        at = moment.at - written.delay
        started = at - looks * rule.interval
        period = cluster_judges.AnalysisPeriod(started, at, at)
        judges = {
            target: cluster_judges.Judge(
                context=contexts.MeasuringContext(
                    application=self.application,
                    target=target,
                    report=_TrialReport(name, target, trial_findings),
                    clock=self.clock,
                    meter=self.meter,
                    begun=(_CANARY,),
                    clusters=len(self.names),
                    not_updated=tuple(name for name in self.names if name != target)[:1],
                ),
                period=period,
                rules=(rule,),
                names=names,
                http={http_check.rule.name: http_check for http_check in options.http},
                previous=moment.previous,
                scoring=options.scoring,
                is_past=not moment.is_now or at != moment.at,
            )
            for target, names in self.names.items()
        }
        for number in range(1, looks + 1):
            for judge in judges.values():
                await judge.look(rule, started + number * rule.interval)
        if rule.strategy is analysis.Strategy.PREVIOUS and moment.previous is None:
            why = "nothing to compare with; --previous TIME says when the analysis before it began"
            return [judge.first(rule, at, why) for judge in judges.values()]
        series = {target: judge.series(rule) for target, judge in judges.items()}
        judged = fleet_verdicts.judge(rule, series, at)
        for target, decided in judged.decided.items():
            judges[target].publish(decided, judged.own[target], judged.pooled, at)
        return list(judged.decided.values())


def _is_request(rule: analysis.Rule, options: waiting_stages.AnalysisOptions) -> bool:
    return any(http_check.rule.name == rule.name for http_check in options.http)
