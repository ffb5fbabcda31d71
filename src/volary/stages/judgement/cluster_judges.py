"""Measures metrics on one cluster and has them judged, alone and together with the others.

The statistics are in `volary.analysis`; here is what they need from the world: both sides of
each look are asked at the same moment, every answer is reported, and the clusters of a stage
tell each other what they saw. Whatever goes wrong with a question is an answer too, so nothing
here fails for it.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar, cast

from volary.analysis.metering import bucket_queries, meters, query_names, query_templates
from volary.analysis.verdicts import (
    checks,
    clauses,
    fleet_verdicts,
    histories,
    rule_verdicts,
    scores,
)
from volary.concurrency import work_threads
from volary.engine import executor
from volary.model import analysis, errors, json, work_limits
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import (
    findings,
    http_checks,
    job_metrics,
    owned_pods,
    pod_metrics,
)
from volary.stages.runtime import contexts, execution

#: A query that can be asked about any stretch of time.
_ANY_INTERVAL = re.compile(r"\{\{\s*interval\s*\}\}")
#: Looks at which the bounds of a bucket are asked for; until then there may have been no traffic.
_BUCKET_LOOKS = 5
#: What the last successful analysis is remembered as.
LAST_ANALYSIS = "analysis"

Judged = TypeVar("Judged")


@dataclass(frozen=True, slots=True)
class AnalysisPeriod:
    """When an analysis takes place."""

    started: datetime
    #: From here on a verdict may be a final pass.
    ends: datetime
    #: How long data are waited for.
    deadline: datetime

    def ends_of(self, rule: analysis.Rule) -> datetime:
        """Return from when on a verdict of this rule may be a final pass."""
        return self.ends if rule.length is None else min(self.ends, self.started + rule.length)


@dataclass(frozen=True, slots=True)
class Side:
    """Whose numbers are asked for."""

    variant: variant.Variant
    role: analysis.Role
    #: The cluster; empty: there is none to be asked.
    target: str


def _answered(measured: Sequence[analysis.Measurement]) -> list[analysis.Measurement]:
    """Leave out others that were silent at a look at which some were not."""
    heard = {
        measurement.time
        for measurement in measured
        if measurement.role is analysis.Role.REFERENCE
        and measurement.reading is analysis.Reading.VALUES
    }
    return [
        measurement
        for measurement in measured
        if measurement.role is not analysis.Role.REFERENCE
        or measurement.reading is analysis.Reading.VALUES
        or measurement.time not in heard
    ]


def _before(history: analysis.History, number: int) -> str:
    """Return what a time before is called, as variants are: `7 days before`."""
    return f"{clauses.span(number * history.offset)} before"


#: What a judgement over clusters depends on, of each: its name, how much was measured since when,
#: and whether the end or the deadline is over.
_Basis = frozenset[tuple[str, int, datetime, bool, bool]]


def _basis(known: Mapping[str, analysis.Series], at: datetime) -> _Basis:
    return frozenset(
        (
            target,
            sum(measurement.time <= at for measurement in series.measurements),
            series.started,
            at >= series.ends,
            at >= series.deadline,
        )
        for target, series in known.items()
    )


def newest(known: Mapping[str, analysis.Series], at: datetime) -> datetime:
    """Return when the newest look was, if that is after `at`.

    Clusters begin a few milliseconds apart, so the same look has several times.
    """
    times = [one.measurements[-1].time for one in known.values() if one.measurements]
    return max([at, *times])


def _topic(what: str, rule: analysis.Rule) -> str:
    """Return what clusters say something about: of two rules it is never the same."""
    return f"{what} of {rule.name}"


def looks_untold(number: int) -> int:
    """Return after how many looks a verdict is told again that stays the same.

    Its numbers are others by then. It is worked out from all looks, so of many looks seldom: what
    a look costs does not grow with their number.
    """
    return 10 << max(0, (number // 40).bit_length() - 1)


async def work_out(
    rule: analysis.Rule, series: Iterable[analysis.Series], judge: Callable[[], Judged]
) -> Judged:
    """Return what the series of a rule come to: where they are long, or many, from a thread.

    Each measurement takes a tenth of a millisecond, so a hundred clusters would hold the loop for
    half a second.

    Raises:
        work_limits.TookTooLongError: It took more processor time than anything may.
    """
    measurements = range(sum(len(one.measurements) for one in series))
    return await work_threads.run_many(measurements, f"judging {rule.name}", judge)


@dataclass(frozen=True, slots=True)
class _Told:
    """The verdict on a rule that was reported last, and after how many looks."""

    result: analysis.Result
    is_final: bool
    number: int


@dataclass(slots=True)
class Judge:
    """Measures the rules of one stage on one cluster."""

    context: contexts.MeasuringContext
    period: AnalysisPeriod
    rules: tuple[analysis.Rule, ...]
    names: query_names.Names = field(default_factory=query_names.Names)
    http: Mapping[str, analysis.HttpCheck] = field(default_factory=dict)
    #: Asks the cluster about pods; None: there is none to be asked.
    pods: pod_metrics.PodMetrics | None = None
    #: Runs Jobs in the cluster; None: there is no release to run them for.
    jobs: job_metrics.JobMetrics | None = None
    #: When the last successful analysis began; None: there was none.
    previous: datetime | None = None
    #: How the verdicts become one; None: each of them decides.
    scoring: analysis.Scoring | None = None
    #: Looks are in the past: nothing can be asked about now.
    is_past: bool = False
    #: Of the release; empty: there is none.
    run: str = ""
    commit: str = ""
    #: What is to be said once of what is not judged.
    remarks: tuple[str, ...] = ()
    _kept: dict[str, list[analysis.Measurement]] = field(default_factory=dict)
    _told: dict[str, _Told] = field(default_factory=dict)
    #: The newest verdicts that were no news, by rule: what they came from, and when.
    _unsaid: dict[str, tuple[analysis.Rule, Mapping[str, analysis.Series], datetime]] = field(
        default_factory=dict
    )
    _told_score: str = ""
    #: By which this cluster is judged, by the name of the rule of the stage.
    _own_rules: dict[str, analysis.Rule] = field(default_factory=dict)
    #: What was measured, by moment and side: clocks go back, and processes end.
    _counted: set[tuple[object, ...]] = field(default_factory=set)

    def restore(self, documents: Iterable[json.JsonObject]) -> None:
        """Take up what was measured before a restart; what was measured twice counts once."""
        for document in documents:
            self._count(findings.to_measurement(document))

    def _count(self, measurement: analysis.Measurement) -> bool:
        """Count a measurement, unless its moment was counted; say whether it was not."""
        key = (
            measurement.metric,
            measurement.time,
            measurement.role,
            measurement.variant,
            measurement.target,
        )
        if key in self._counted:
            return False
        self._counted.add(key)
        self._kept.setdefault(measurement.metric, []).append(measurement)
        return True

    def own_rule(self, rule: analysis.Rule) -> analysis.Rule:
        """Return the rule by which this cluster is judged by itself."""
        known = self._own_rules.get(rule.name)
        if known is None:
            known = fleet_verdicts.own_rule(rule, self.context.clusters)
            self._own_rules[rule.name] = known
        return known

    def series(self, rule: analysis.Rule) -> analysis.Series:
        """Return everything measured for a rule."""
        return analysis.Series(
            started=self.period.started,
            ends=self.period.ends_of(rule),
            deadline=self.period.deadline,
            target=self.context.target,
            measurements=tuple(_answered(self._kept.get(rule.name, ()))),
        )

    def readings(self, name: str) -> set[analysis.Reading]:
        """Return how the questions about the new version were answered for a rule."""
        return {
            measurement.reading
            for measurement in self._kept.get(name, ())
            if measurement.role is analysis.Role.JUDGED
        }

    def known_series(self, rule: analysis.Rule) -> dict[str, analysis.Series]:
        """Return what this cluster measured for a rule, and what others have said, by cluster."""
        said = self.context.rendezvous.said(_topic("series", rule))
        others = cast("Mapping[str, analysis.Series]", said)
        return {**others, self.context.target: self.series(rule)}

    async def look(self, rule: analysis.Rule, at: datetime) -> analysis.Check:
        """Measure a rule once, all of its sides at the same time, and judge that look."""
        asked = [self._measure(rule, side, at) for side in self._sides(rule)]
        if rule.slo is not None and self._lacks_budget(rule):
            # What is left of the budget; the same query, over the window that it is for.
            primary = Side(variant.Variant.PRIMARY, analysis.Role.BUDGET, self.context.target)
            whole = replace(rule, interval=rule.slo.window)
            asked.append(self._measure(whole, primary, at, until=self.period.started))
        if (bucket := self._unknown_bucket(rule)) is not None:
            asked.append(self._measure(rule, bucket, at))
        if rule.history is not None:
            asked += [
                self._asked_before(rule, rule.history, at, number)
                for number in self._unknown(rule, rule.history)
            ]
        # Nearly always there is one.
        measured = [await asked[0]] if len(asked) == 1 else list(await asyncio.gather(*asked))
        new = [measurement for measurement in measured if self._count(measurement)]
        alone = self.own_rule(rule)
        if alone.strategy.compares or alone.history is not None:  # by what was seen before
            alone = histories.resolved(alone, [self.series(rule)])
        check = checks.check(alone, _answered(measured), target=self.context.target)
        for measurement in new:
            judged = check if measurement.role is analysis.Role.JUDGED else None
            document = findings.of_measurement(measurement, judged)
            self.context.report.found(findings.MEASUREMENT, rule.name, document)
        return check

    async def round(self, at: datetime) -> Mapping[str, analysis.Check]:
        """Measure every rule once, at the same time; the looks by the name of the rule."""
        looks = await asyncio.gather(*(self.look(rule, at) for rule in self.rules))
        return {rule.name: look for rule, look in zip(self.rules, looks, strict=True)}

    async def verdict(self, rule: analysis.Rule, at: datetime, number: int) -> analysis.Verdict:
        """Return what this cluster has to go by, after the look of that number.

        Where the clusters decide together, those that are measured at the same time are waited
        for, as long as a query may take.
        """
        if rule.strategy is analysis.Strategy.PREVIOUS and self.previous is None:
            return self.first(rule, at, "nothing to compare with, no analysis succeeded before")
        known, target = await self._known(rule, number), self.context.target
        pooled: analysis.Verdict | None = None
        if rule.decider is analysis.Decider.PER_CLUSTER:
            single, series = self.own_rule(rule), known[target]
            own = await work_out(rule, [series], lambda: rule_verdicts.judge(single, series, at))
            decided = own
        else:
            at = newest(known, at)
            judged = await self._judged_together(rule, known, at)
            decided, own, pooled = judged.decided[target], judged.own[target], judged.pooled
        if not self._is_news(rule, decided, number):
            self._unsaid[rule.name] = (rule, known, at)
            return decided
        self._told[rule.name] = _Told(decided.result, decided.is_final, number)
        self._unsaid.pop(rule.name, None)
        if pooled is None:  # only for show: worked out when there is something to show
            pooled = await self._pooled(rule, known, at, decided)
        self.publish(decided, own, pooled, at)
        return decided

    async def _pooled(
        self,
        rule: analysis.Rule,
        known: Mapping[str, analysis.Series],
        at: datetime,
        decided: analysis.Verdict,
    ) -> analysis.Verdict:
        """Return what the clusters say together where each decides by itself.

        Those that look in the same interval are told the same, but for what is final: then all
        counts that is known.
        """
        if len(known) == 1:
            return replace(decided, target="")
        topic, rendezvous = _topic("pool", rule), self.context.rendezvous
        for said in rendezvous.said(topic).values():
            of, told_at, pooled = cast("tuple[set[str], datetime, analysis.Verdict]", said)
            is_of_now = abs(at - told_at) < rule.interval
            if of == known.keys() and is_of_now and not decided.is_final:
                return pooled
        clusters = self.context.clusters
        pooled = await work_out(
            rule, known.values(), lambda: fleet_verdicts.pool(rule, known, at, clusters=clusters)
        )
        rendezvous.post(self.context.target, topic, (set(known), at, pooled))
        return pooled

    async def publish_unsaid(self) -> None:
        """Report the verdicts at which it stayed, once there is no further look.

        What was told last may be of many looks before.
        """
        target = self.context.target
        for rule, known, at in self._unsaid.values():
            try:
                judged = await self._judged_together(rule, known, at)
            except work_limits.TookTooLongError as error:  # it decides nothing any more
                self.context.report.log(str(error), level=executor.LogLevel.WARNING)
                continue
            self.publish(judged.decided[target], judged.own[target], judged.pooled, at)
        self._unsaid.clear()

    async def _judged_together(
        self, rule: analysis.Rule, known: Mapping[str, analysis.Series], at: datetime
    ) -> analysis.FleetVerdict:
        clusters = self.context.clusters
        return await self.together(
            rule,
            known,
            at,
            "judged",
            lambda: fleet_verdicts.judge(rule, known, at, clusters=clusters),
        )

    async def together(
        self,
        rule: analysis.Rule,
        known: Mapping[str, analysis.Series],
        at: datetime,
        what: str,
        judge: Callable[[], Judged],
    ) -> Judged:
        """Return what the clusters' series come to, once for all clusters that know the same.

        Args:
            rule: That of the stage.
            known: What was measured for it, by cluster.
            at: What was measured later does not count.
            what: Tells apart what is asked of the same series: it names the type of the answer.
            judge: Works it out.

        Raises:
            work_limits.TookTooLongError: It took more processor time than anything may.
        """
        rendezvous, target = self.context.rendezvous, self.context.target
        topic, basis = _topic(what, rule), _basis(known, at)
        for said in rendezvous.said(topic).values():
            other, judged = cast("tuple[_Basis, Judged]", said)
            if other == basis:
                return judged

        async def judge_and_say() -> Judged:
            judged = await work_out(rule, known.values(), judge)
            rendezvous.post(target, topic, (basis, judged))
            return judged

        key = (rendezvous.id, topic, basis)
        shared = await self.context.once.do(key, target, judge_and_say)
        assert shared is not None  # it waits for the result
        return shared.value

    def publish(
        self,
        decided: analysis.Verdict,
        own: analysis.Verdict,
        pooled: analysis.Verdict,
        at: datetime,
    ) -> None:
        """Report the verdict that decides, with those on this cluster alone and on all."""
        document = findings.of_verdict(decided, own, pooled, at)
        if self.scoring is not None and decided.metric != analysis.SCORE:
            document["isScored"] = True
        self.context.report.found(findings.VERDICT, decided.metric, document)

    def first(self, rule: analysis.Rule, at: datetime, why: str) -> analysis.Verdict:
        """Pass a rule for good that compares with an earlier analysis where there was none."""
        passed = analysis.Verdict(
            analysis.Result.PASS,
            f"{rule.name} on {self.context.target}: {why}",
            rule.name,
            target=self.context.target,
            is_final=True,
            dry_run=rule.dry_run,
        )
        self.publish(passed, passed, passed, at)
        return passed

    def score(
        self, verdicts: Mapping[str, analysis.Verdict], at: datetime
    ) -> analysis.Verdict | None:
        """Return what the newest verdicts come to, and report it; None: there is no score."""
        if self.scoring is None:
            return None
        target = self.context.target
        scored = scores.judge(self.scoring, self.rules, verdicts, target=target)
        if self._told_score != scored.sentence:
            self._told_score = scored.sentence
            self.publish(scored, replace(scored, target=target), scored, at)
        return scored

    def _is_news(self, rule: analysis.Rule, decided: analysis.Verdict, number: int) -> bool:
        told = self._told.get(rule.name)
        return (
            told is None
            or decided.is_final
            or (told.result, told.is_final) != (decided.result, decided.is_final)
            or number - told.number >= looks_untold(number)
        )

    async def _known(self, rule: analysis.Rule, number: int) -> dict[str, analysis.Series]:
        """Return the series of every cluster that has spoken, this one's too."""
        rendezvous, target = self.context.rendezvous, self.context.target
        rendezvous.post(target, _topic("series", rule), self.series(rule))
        if rule.decider is not analysis.Decider.PER_CLUSTER:
            looked = _topic(f"look {number}", rule)
            rendezvous.post(target, looked, True)
            patience = min(rule.timeout, rule.interval) + timedelta(seconds=1)
            try:
                async with asyncio.timeout(patience.total_seconds()):
                    await rendezvous.gather(target, looked)
            except TimeoutError:
                line = f"{rule.name}: not every cluster was measured in time"
                self.context.report.log(line, level=executor.LogLevel.WARNING)
        return self.known_series(rule)

    def _unknown(self, rule: analysis.Rule, history: analysis.History) -> list[int]:
        """Return which times before, counted from the last one, are still to be asked about.

        Each once, and again only where there was no answer.
        """
        answered = {
            measurement.variant
            for measurement in self._kept.get(rule.name, ())
            if measurement.role is analysis.Role.HISTORY
            and measurement.reading is not analysis.Reading.ERROR
        }
        times = range(1, history.count + 1)
        return [number for number in times if _before(history, number) not in answered]

    async def _asked_before(
        self, rule: analysis.Rule, history: analysis.History, at: datetime, number: int
    ) -> analysis.Measurement:
        """Ask what primary's numbers were at the same hour, so many times the offset before."""
        side = Side(variant.Variant.PRIMARY, analysis.Role.HISTORY, self.context.target)
        until = min(self.period.ends, self.period.started + history.window)
        measured = await self._measure(
            # Events are counted over all of it.
            rule if rule.kind is analysis.Kind.VALUE else replace(rule, interval=history.window),
            side,
            at,
            until=until - number * history.offset,
            window=history.window,
        )
        return replace(measured, variant=_before(history, number))

    def _lacks_budget(self, rule: analysis.Rule) -> bool:
        """Whether the budget of an SLO is still to be asked for, and its queries can say it."""
        return is_of_any_interval(rule) and not any(
            measurement.role is analysis.Role.BUDGET
            for measurement in self._kept.get(rule.name, ())
        )

    def _unknown_bucket(self, rule: analysis.Rule) -> Side | None:
        """Return whose quantile's bucket is still to be asked for; None: nobody's."""
        other = compared_quantile(rule)
        if other is None:
            return None
        asked = [
            measurement.reading
            for measurement in self._kept.get(rule.name, ())
            if measurement.role is analysis.Role.BUCKET
        ]
        if analysis.Reading.VALUES in asked or len(asked) >= _BUCKET_LOOKS:
            return None
        return Side(other, analysis.Role.BUCKET, self.context.target)

    def _sides(self, rule: analysis.Rule) -> list[Side]:
        judged, reference = analysis.Role.JUDGED, analysis.Role.REFERENCE
        here, primary = self.context.target, variant.Variant.PRIMARY
        canary = Side(variant.Variant.CANARY, judged, here)
        match rule.strategy:
            case analysis.Strategy.CANARY_BASELINE:
                return [canary, Side(variant.Variant.BASELINE, reference, here)]
            case analysis.Strategy.CANARY_PRIMARY:
                return [canary, Side(primary, reference, here)]
            case analysis.Strategy.CANARY_BASELINE_PRIMARY:
                return [
                    canary,
                    Side(variant.Variant.BASELINE, reference, here),
                    Side(primary, analysis.Role.CONTROL, here),
                ]
            case analysis.Strategy.PREVIOUS:
                # Primary on both sides, as PipeCD renders it.
                sides = [Side(primary, judged, here)]
                return [*sides, Side(primary, reference, here)] if self.previous else sides
            case analysis.Strategy.NOT_UPDATED:
                others = self.context.not_updated or ("",)
                return [
                    Side(primary, judged, here),
                    *(Side(primary, reference, other) for other in others),
                ]
            case analysis.Strategy.THRESHOLD:
                return [Side(new_version(self.context.begun), judged, here)]

    async def _measure(
        self,
        rule: analysis.Rule,
        side: Side,
        at: datetime,
        *,
        until: datetime | None = None,
        window: timedelta | None = None,
    ) -> analysis.Measurement:
        until = (until or at) - rule.delay
        is_earlier = rule.strategy is analysis.Strategy.PREVIOUS
        if is_earlier and side.role is analysis.Role.REFERENCE and self.previous is not None:
            until = self.previous + (until - self.period.started)
        question = meters.Question(
            rule=rule,
            application=self.context.application,
            target=side.target,
            names=self.names,
            side=side.variant,
            role=side.role,
            run=self.run,
            commit=self.commit,
            time=at,
            until=until,
            is_past=self.is_past,
            window=window,
        )
        if not side.target:
            return question.nothing(rule.query, "every cluster of the run has this release")
        limit = rule.timeout if rule.job is None else rule.timeout + job_metrics.GRACE
        try:
            async with asyncio.timeout(limit.total_seconds()):
                return await self._ask(question)
        except TimeoutError:
            return question.failure(f"no answer within {limit.total_seconds():g} s")
        except owned_pods.ReplacedError as error:
            # Whatever is measured from here on, for every rule, is not about this release.
            raise execution.StageFailedError(str(error)) from error
        except errors.VolaryError as error:
            return question.failure(str(error))

    async def _ask(self, question: meters.Question) -> analysis.Measurement:
        name = question.rule.name
        if name in self.http:
            reach = self.context.options.permissions.reach
            return await http_checks.measure(self.http[name], question, reach)
        if question.rule.job is not None:
            if self.jobs is None:
                return question.failure("a Job is run for a release only")
            return await self.jobs.measure(question)
        if not question.rule.is_of_pods:
            return await self.context.meter.measure(question)
        if self.pods is None:
            return question.failure("there is no cluster to be asked", name)
        return await self.pods.measure(question)


def is_of_any_interval(rule: analysis.Rule) -> bool:
    """Say whether what a rule counts can be asked of any stretch of time, not only of a look."""
    queries = (query for query in (rule.query, rule.total_query) if query)
    return bool(rule.built_in) or all(map(_ANY_INTERVAL.search, queries))


def compared_quantile(rule: analysis.Rule) -> variant.Variant | None:
    """Return whose quantile of a histogram canary's is compared with; None: nothing like that."""
    if rule.kind is not analysis.Kind.VALUE or not rule.strategy.compares:
        return None
    is_built_in = rule.built_in == query_templates.DURATION
    if not is_built_in and not bucket_queries.is_quantile(rule.query):
        return None
    match rule.strategy:
        case analysis.Strategy.CANARY_PRIMARY:
            return variant.Variant.PRIMARY
        case analysis.Strategy.CANARY_BASELINE | analysis.Strategy.CANARY_BASELINE_PRIMARY:
            return variant.Variant.BASELINE
        case _:
            return None


def new_version(begun: contexts.Stages) -> variant.Variant:
    """Return which variant the new version is on this cluster: canary while one runs."""
    runs = False
    for stage in begun:
        if stage.kind.applies is variant.Variant.CANARY:
            runs = True
        elif stage.kind.removes is variant.Variant.CANARY or stage.kind.proves_wave:
            runs = False
    return variant.Variant.CANARY if runs else variant.Variant.PRIMARY


def _other(begun: contexts.Stages) -> variant.Variant:
    """Return what canary is compared with on this cluster: baseline while one runs."""
    runs = False
    for stage in begun:
        if stage.kind.applies is variant.Variant.BASELINE:
            runs = True
        elif stage.kind.removes is variant.Variant.BASELINE:
            runs = False
    return variant.Variant.BASELINE if runs else variant.Variant.PRIMARY


async def _unasked(
    context: contexts.StageContext, rules: Sequence[analysis.Rule]
) -> tuple[tuple[analysis.Rule, ...], tuple[str, ...]]:
    """Return what is judged of pods unasked on this cluster, and what is to be said of the rest."""
    if not any(rule.is_of_usage for rule in rules):
        return tuple(rules), ()
    if not await pod_metrics.may_be_served(context.client):
        names = ", ".join(rule.name for rule in rules if rule.is_of_usage)
        remark = f"{names}: not measured, as {context.target} has no metrics-server"
        return tuple(rule for rule in rules if not rule.is_of_usage), (remark,)
    if _other(context.begun) is variant.Variant.PRIMARY:
        return tuple(rules), ()
    strategy = analysis.Strategy.CANARY_BASELINE
    return tuple(
        replace(rule, strategy=strategy) if rule.strategy.compares else rule for rule in rules
    ), ()


def state_name(context: contexts.StageContext) -> str:
    """Return what a successful analysis is remembered as: that of a wave's end is another one."""
    is_gate = any(stage.kind.proves_wave for stage in context.begun)
    return f"{LAST_ANALYSIS} of the wave" if is_gate else LAST_ANALYSIS


def all_rules(options: waiting_stages.AnalysisOptions) -> tuple[analysis.Rule, ...]:
    """Return the rules of the metrics and of the requests."""
    return (*options.metrics, *(http_check.rule for http_check in options.http))


async def open_judge(
    context: contexts.StageContext,
    period: AnalysisPeriod,
    options: waiting_stages.AnalysisOptions,
    *,
    namespace: str = "",
) -> Judge:
    """Return a judge for the rules of a stage, which has measured nothing yet.

    Args:
        context: The stage on its cluster.
        period: When the analysis takes place.
        options: What is measured.
        namespace: Where the application is, when its manifests do not say.

    Raises:
        errors.VolaryError: The application cannot be rendered.
    """
    stage = f"{context.task.run_id}/{context.task.stage_id}/{context.target}"
    grace = context.options.image_grace
    jobs = job_metrics.JobMetrics(context.client, stage, context.report, grace)
    source = await context.target_source()
    home = namespace or context.client.namespace
    running: list[manifest.Manifest] = []
    if context.running_source and context.application.rolls_out_service:
        running = await context.running_source()
    pods = owned_pods.OwnedPods(
        context.client, context.application, source, running, home, context.task.commit
    )
    # Primary's pods may be old, and have restarted for reasons of their own.
    has_canary = new_version(context.begun) is variant.Variant.CANARY
    unasked, remarks = await _unasked(context, options.pods if has_canary else ())
    last = await context.task_state.recall(state_name(context))
    started = last.get("started")
    return Judge(
        context=context,
        period=period,
        rules=(*all_rules(options), *unasked),
        remarks=remarks,
        names=query_names.find(context.application, source, namespace=home, running=running),
        http={http_check.rule.name: http_check for http_check in options.http},
        pods=pod_metrics.PodMetrics(context.client, pods, _other(context.begun)),
        jobs=jobs,
        previous=datetime.fromisoformat(started) if isinstance(started, str) else None,
        scoring=options.scoring,
        run=context.task.run_id,
        commit=context.task.commit,
    )
