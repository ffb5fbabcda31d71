"""Trying metrics out without a release: what would have been measured and judged at some time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.analysis import fleet
from volary.engine import executor, state
from volary.model import analysis, json, stage
from volary.model import application as applications
from volary.model import clock as clocks
from volary.stages import assembly as assemblies
from volary.stages import circumstances, findings, judging, meters, naming

_CANARY = stage.Stage(stage.StageName.CANARY_ROLLOUT, stage.VariantRolloutOptions())


@dataclass(frozen=True, slots=True)
class Found:
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
class _Report:
    """Keeps findings instead of telling anybody."""

    stage: str
    target: str
    found_out: list[Found]

    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None:
        """Nobody is told."""

    def progress(self, progress: state.Progress) -> None:
        """Nobody is told."""

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None:
        """Keep a finding."""
        self.found_out.append(Found(self.stage, self.target, kind, metric, document))


@dataclass(frozen=True, slots=True)
class _Around:
    """See `judging.Around`."""

    application: applications.Application
    target: str
    report: executor.Reporter
    meter: meters.Meter
    clock: clocks.Clock
    begun: tuple[stage.Stage, ...] = (_CANARY,)
    not_updated: tuple[str, ...] = ()
    assembly: assemblies.Assembly = field(default_factory=assemblies.Assembly)
    permissions: circumstances.Permissions = field(default_factory=circumstances.Permissions)

    def warn(self, line: str) -> None:
        """Nobody is told."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Tries the metrics of an application."""

    application: applications.Application
    #: Names of what belongs to it, by cluster.
    names: Mapping[str, naming.Names]
    meter: meters.Meter
    clock: clocks.Clock

    async def run(self, moment: Moment) -> tuple[list[Found], list[analysis.Verdict]]:
        """Measure and judge every metric of every stage on every cluster.

        Returns:
            What was found, and for each metric and cluster the verdict it would go by.
        """
        found: list[Found] = []
        verdicts: list[analysis.Verdict] = []
        for name, options in _judging(self.application):
            for rule in judging.all_rules(options):
                if _is_request(rule, options) and not moment.is_now:
                    continue
                verdicts += await self._try(name, options, rule, moment, found)
        return found, verdicts

    async def _try(
        self,
        name: str,
        options: stage.AnalysisOptions,
        written: analysis.Rule,
        moment: Moment,
        found: list[Found],
    ) -> list[analysis.Verdict]:
        rule = replace(written, warm_up=timedelta(0))
        looks = 1 if _is_request(rule, options) else moment.looks
        started = moment.at - looks * rule.interval
        frame = judging.Frame(started, moment.at, moment.at)
        judges = {
            target: judging.Judge(
                context=_Around(
                    self.application,
                    target,
                    _Report(name, target, found),
                    self.meter,
                    self.clock,
                    not_updated=tuple(each for each in self.names if each != target)[:1],
                ),
                frame=frame,
                rules=(rule,),
                names=names,
                http={each.rule.name: each for each in options.http},
                previous=moment.previous,
                is_past=not moment.is_now,
            )
            for target, names in self.names.items()
        }
        for number in range(1, looks + 1):
            for judge in judges.values():
                await judge.look(rule, started + number * rule.interval)
        if rule.strategy is analysis.Strategy.PREVIOUS and moment.previous is None:
            return [_first(name, target, rule, moment, found) for target in judges]
        series = {target: judge.series(rule) for target, judge in judges.items()}
        judged = fleet.judge(rule, series, moment.at)
        for target, decided in judged.decided.items():
            document = findings.of_verdict(decided, judged.own[target], judged.pooled, moment.at)
            found.append(Found(name, target, findings.VERDICT, rule.name, document))
        return list(judged.decided.values())


def _first(
    name: str, target: str, rule: analysis.Rule, moment: Moment, found: list[Found]
) -> analysis.Verdict:
    """Return the verdict of a release that has no analysis before it, as a first one has none."""
    verdict = analysis.Verdict(
        analysis.Result.PASS,
        f"{rule.name} on {target}: nothing to compare with; --previous TIME says when the"
        " analysis before it began",
        rule.name,
        target=target,
        is_final=True,
        dry_run=rule.dry_run,
    )
    document = findings.of_verdict(verdict, verdict, verdict, moment.at)
    found.append(Found(name, target, findings.VERDICT, rule.name, document))
    return verdict


def _judging(
    application: applications.Application,
) -> Iterator[tuple[str, stage.AnalysisOptions]]:
    """Yield what is measured in each stage, with a name of the stage."""
    for each in application.pipeline:
        name = f"{each.index + 1}-{each.name.value}"
        for options in (each.options, each.beside):
            yield from ((name, one) for one in _options(options))

    for wave in application.waves.waves:
        if wave.gate.analysis is not None:
            yield f"{wave.name}/{stage.StageName.ANALYSIS.value}", wave.gate.analysis


def _options(options: stage.StageOptions | None) -> Iterator[stage.AnalysisOptions]:
    match options:
        case stage.AnalysisOptions():
            yield options
        case stage.ProgressiveTrafficOptions() if options.metrics:
            yield stage.AnalysisOptions(timedelta(0), options.metrics)
        case stage.BlueGreenOptions():
            for checks in (options.pre_promotion, options.post_promotion):
                if checks is not None and checks.metrics:
                    yield stage.AnalysisOptions(timedelta(0), checks.metrics)


def _is_request(rule: analysis.Rule, options: stage.AnalysisOptions) -> bool:
    return any(each.rule.name == rule.name for each in options.http)
