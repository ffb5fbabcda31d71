"""One round of metric checks inside a stage that decides by them, again and again.

A round is one look at every metric. Looks are judged singly, those of a comparison together
with as many before as it takes; a sequential rule is judged by all of them, and once it
condemns the release there is nothing to wait for. Nothing to judge by is no pass: it holds the
stage up, unless the rule says otherwise.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import IntEnum

from volary.analysis.verdicts import checks, fleet_verdicts, histories, samples
from volary.model import analysis, clocks
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import cluster_judges
from volary.stages.runtime import execution

#: Looks that each have a verdict made; then, while all is well, those at which it is told.
_EVERY_LOOK = 3


class Result(IntEnum):
    """How a round of checks went; the worst of several is the greatest."""

    PASSED = 0
    #: There was not enough to say either.
    UNKNOWN = 1
    FAILED = 2
    #: So bad that no further round is needed.
    CONDEMNED = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a round, with the reason when it did not pass."""

    result: Result
    reason: str = ""


PASSED = Finding(Result.PASSED)


@dataclass(slots=True)
class UnknownLimit:
    """How long nothing to judge by is borne."""

    limit: timedelta
    _since: float | None = None

    def with_(self, finding: Finding) -> Finding:
        """Return the finding; not being able to judge for too long condemns."""
        if finding.result is not Result.UNKNOWN:
            self._since = None
            return finding
        now = asyncio.get_running_loop().time()
        if self._since is None:
            self._since = now
        seconds = self.limit.total_seconds()
        if now - self._since < seconds:
            return finding
        reason = f"{finding.reason}; nothing could be judged for {seconds:g} seconds"
        return Finding(Result.CONDEMNED, reason)


#: Measures the metrics of a stage once, and says how it went.
Checker = Callable[[], Awaitable[Finding]]


async def _no_checks() -> Finding:
    return PASSED


@dataclass(slots=True)
class _MetricChecks:
    """The checks of a stage with metrics."""

    judge: cluster_judges.Judge
    round: int = 0
    #: How the newest look of each metric went.
    _last: dict[str, Result] = field(default_factory=dict)

    async def check(self) -> Finding:
        """Measure every metric once."""
        at = self.judge.context.clock.now()
        self.round += 1
        looks = await self.judge.round(at)
        findings = [await self._judge(rule, at, looks[rule.name]) for rule in self.judge.rules]
        return max(findings, key=lambda finding: finding.result, default=PASSED)

    async def _judge(self, rule: analysis.Rule, at: datetime, look: analysis.Check) -> Finding:
        if rule.judgement is analysis.Judgement.SEQUENTIAL:
            finding = await self._by_all_looks(rule, at)
        else:
            finding = await self._by_the_newest(rule, at, look)
        return PASSED if rule.dry_run else finding

    async def _by_all_looks(self, rule: analysis.Rule, at: datetime) -> Finding:
        verdict = await self.judge.verdict(rule, at, self.round)
        if verdict.result is analysis.Result.FAIL:
            return Finding(Result.CONDEMNED, verdict.sentence)
        last = await self._newest(rule)
        if last.is_empty:
            return of_look(rule, last)
        missing = verdict.result is analysis.Result.INCONCLUSIVE
        return Finding(Result.UNKNOWN, verdict.sentence) if missing else PASSED

    async def _by_the_newest(
        self, rule: analysis.Rule, at: datetime, look: analysis.Check
    ) -> Finding:
        # A value in a range is judged by itself; all else looks back.
        is_alone = not (rule.can_be_sequential or rule.unjudged or rule.history)
        own = of_look(rule, look if is_alone else await self._newest(self.judge.own_rule(rule)))
        if self._is_only_shown(rule, own):
            return own
        # Told to whoever looks at the analysis, also when it decides nothing.
        await self.judge.verdict(rule, at, self.round)
        if rule.decider is analysis.Decider.PER_CLUSTER:
            return own
        known = self.judge.known_series(rule)
        clusters = max(self.judge.context.clusters, len(known))
        whole, every = fleet_verdicts.pooled_rule(rule, len(known), clusters), list(known.values())
        newest = cluster_judges.newest(known, at)
        look = await self.judge.together(
            rule, known, newest, "newest look", lambda: of_series(whole, every)
        )
        pooled = of_look(rule, look)
        both = rule.decider is analysis.Decider.BOTH
        return own if both and own.result > pooled.result else pooled

    async def _newest(self, rule: analysis.Rule) -> analysis.Check:
        """Return the newest look of a rule at this cluster, judged."""
        series = [self.judge.series(rule)]
        return await cluster_judges.work_out(rule, series, lambda: of_series(rule, series))

    def _is_only_shown(self, rule: analysis.Rule, own: Finding) -> bool:
        """Say whether a verdict would decide nothing and can hardly be news.

        It is computed from all looks so far, so one at each of them would make a long stage
        dearer and dearer. After the first looks it is made now and then, when a look goes
        otherwise than the one before it, and at each that does not pass.
        """
        before, self._last[rule.name] = self._last.get(rule.name), own.result
        return (
            rule.decider is analysis.Decider.PER_CLUSTER
            and rule.strategy is not analysis.Strategy.PREVIOUS
            and self.round > _EVERY_LOOK
            and self.round % cluster_judges.looks_untold(self.round) > 0
            and before == own.result
            and (own.result is Result.PASSED or rule.dry_run)
        )


def start_time(remembered: object, clock: clocks.Clock) -> datetime:
    """Return when a stage began: as it was remembered, else now."""
    if isinstance(remembered, str) and remembered:
        return datetime.fromisoformat(remembered)
    return clock.now()


def of_series(rule: analysis.Rule, series: Sequence[analysis.Series]) -> analysis.Check:
    """Return the newest look of a rule over one cluster or many, judged."""
    rule = histories.resolved(rule, series)
    looks = samples.gather(rule, [_recent(rule, cluster_series) for cluster_series in series])
    if not looks:
        times = [measurement.time for one in series for measurement in one.measurements]
        at = max(times, default=series[0].started)
        return analysis.Check(analysis.Result.INCONCLUSIVE, "still warming up", at)
    return checks.of_look(rule, looks[-1], looks[:-1])


def _recent(rule: analysis.Rule, series: analysis.Series) -> analysis.Series:
    """Return what the newest look may need: tests look back, a range of values does not."""
    if rule.can_be_sequential or not series.measurements:
        return series
    since = series.measurements[-1].time - 2 * rule.interval
    recent = itertools.takewhile(
        lambda measurement: measurement.time >= since, reversed(series.measurements)
    )
    kept = tuple(recent)[::-1]
    if rule.history is not None:
        # Asked once, at the first look.
        early = series.measurements[: len(series.measurements) - len(kept)]
        kept = (*(one for one in early if one.role is analysis.Role.HISTORY), *kept)
    return replace(series, measurements=kept)


def of_look(rule: analysis.Rule, check: analysis.Check) -> Finding:
    """Return what a look means for a stage, with the rule's word about missing data."""
    reason = f"{rule.name}: {check.sentence}"
    match check.result:
        case analysis.Result.PASS:
            return PASSED
        case analysis.Result.FAIL:
            return Finding(Result.FAILED, reason)
        case analysis.Result.INCONCLUSIVE:
            pass
    if check.is_empty and rule.no_data is analysis.NoData.PASS:
        return PASSED
    if check.is_empty and rule.no_data is analysis.NoData.FAIL:
        return Finding(Result.FAILED, reason)
    return Finding(Result.UNKNOWN, reason)


async def open_checker(
    work: execution.Work,
    namespace: str,
    rules: Sequence[analysis.Rule],
    *,
    threshold: int,
    started: datetime,
) -> Checker:
    """Return the checks of a stage on one cluster, with what was measured before a restart.

    Args:
        work: The stage.
        namespace: Where the application is.
        rules: What is measured.
        threshold: So many failed rounds are too many; up to then no metric alone decides.
        started: When the stage began.
    """
    context = work.context
    if not rules:
        return _no_checks
    ends = max(started, context.clock.now()) + work.remaining
    tolerant = tuple(
        replace(rule, failure_limit=max(rule.failure_limit, threshold - 1)) for rule in rules
    )
    judge = await cluster_judges.open_judge(
        context,
        cluster_judges.AnalysisPeriod(started, ends, ends),
        waiting_stages.AnalysisOptions(duration=work.remaining, metrics=tolerant),
        namespace=namespace,
    )
    judge.restore(await context.task_state.found())
    return _MetricChecks(judge).check
