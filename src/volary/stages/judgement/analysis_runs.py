"""An analysis through time: each rule at its own interval, as a stage's work or in the background.

In the background, while a stage is carried out, it can only fail the stage: a rule that fails
stops it between two writes. What could not be judged until the stage ended is said, and holds
nothing up: to wait for a verdict, write ``ANALYSIS``. After a restart it begins
again with the stage.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from volary.engine import executor
from volary.model import analysis, clocks, statuses
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import cluster_judges
from volary.stages.runtime import contexts, execution

#: A clock that jumped is noticed within this time.
_LONGEST_SLEEP = timedelta(minutes=1)


@dataclass(slots=True)
class AnalysisRun:
    """Follows one analysis on one cluster."""

    judge: cluster_judges.Judge
    clock: clocks.Clock
    #: Called with every verdict as it comes.
    on_verdict: Callable[[analysis.Verdict], None] = lambda _: None
    #: The newest verdict of each rule.
    verdicts: dict[str, analysis.Verdict] = field(default_factory=dict)
    #: What they come to together; None: each of them decides.
    score: analysis.Verdict | None = None

    async def follow(self) -> analysis.Verdict | None:
        """Follow until every verdict is final, or one fails the release: that is returned.

        Where they are scored, it is the score that passes or fails.
        The first look of a rule is one interval after the beginning (PipeCD). Looks that fell
        into a time when nothing was running are not made up for.

        Raises:
            StageFailedError: What is measured is not what was released any more.
        """
        try:
            decided = await self._until_decided()
        except ExceptionGroup as failures:
            for failure in failures.exceptions:
                if isinstance(failure, execution.StageFailedError):
                    raise failure from None
            raise
        await self.judge.publish_unsaid()
        return decided

    async def _until_decided(self) -> analysis.Verdict | None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._follow(rule)) for rule in self.judge.rules]
            for last in asyncio.as_completed(tasks):
                verdict = self.decisive(await last)
                if verdict.result is analysis.Result.FAIL and not verdict.dry_run:
                    for task in tasks:
                        task.cancel()
                    return verdict
        return None

    def decisive(self, verdict: analysis.Verdict) -> analysis.Verdict:
        """Return what decides where a rule has this verdict."""
        return verdict if self.score is None else self.score

    async def _follow(self, rule: analysis.Rule) -> analysis.Verdict:
        """Return the last verdict of a rule."""
        while True:
            number, at, is_look = self._next(rule)
            await self._sleep_until(at)
            if is_look:
                await self.judge.look(rule, at)
            verdict = await self.judge.verdict(rule, at, number)
            self.verdicts[rule.name] = verdict
            self.score = self.judge.score(self.verdicts, at)
            self.on_verdict(verdict)
            if verdict.is_final or at >= self.judge.period.deadline:
                return verdict

    def _next(self, rule: analysis.Rule) -> tuple[int, datetime, bool]:
        """Return the next moment of a rule: a look, the end, or the deadline."""
        period, now = self.judge.period, self.clock.now()
        number = max(1, (now - period.started) // rule.interval + 1)
        look = period.started + number * rule.interval
        ends = (period.ends_of(rule), period.ends, period.deadline)
        at = min(moment for moment in (look, *ends) if moment > now)
        return (number, at, True) if at == look else (number - 1, at, False)

    async def _sleep_until(self, at: datetime) -> None:
        while True:
            left = at - self.clock.now()
            if left <= timedelta(0):
                return
            await asyncio.sleep(min(left, _LONGEST_SLEEP).total_seconds())


StageRun = Callable[[contexts.StageContext], Awaitable[statuses.Outcome]]

_YEAR = timedelta(days=365)


async def run_in_background(
    context: contexts.StageContext, options: waiting_stages.AnalysisOptions, inner: StageRun
) -> statuses.Outcome:
    """Carry out a stage with its analysis in the background, where there is a canary to measure."""
    if context.target in options.without_canary:
        return await inner(context)
    started = context.clock.now().astimezone(UTC)
    # It has no end of its own, so no verdict is a final pass.
    period = cluster_judges.AnalysisPeriod(started, started + _YEAR, started + _YEAR)
    judge = await cluster_judges.open_judge(context, period, options)
    guarded = _BackgroundAnalysis(context, AnalysisRun(judge, context.clock))
    return await guarded.carry_out(inner)


@dataclass(slots=True)
class _BackgroundAnalysis:
    context: contexts.StageContext
    analysis_run: AnalysisRun
    #: Why it failed; empty: it has not.
    failed: str = ""

    async def carry_out(self, inner: StageRun) -> statuses.Outcome:
        stop = executor.StopFlag()
        async with asyncio.TaskGroup() as group:
            background = (
                group.create_task(self._pass_on(stop)),
                group.create_task(self._watch(stop)),
            )
            try:
                guarded = replace(self.context.task, stop=stop)
                ended = await inner(replace(self.context, task=guarded))
            finally:
                for task in background:
                    task.cancel()
        await self.analysis_run.judge.publish_unsaid()
        return self._conclude(ended)

    async def _pass_on(self, stop: executor.StopFlag) -> None:
        await self.context.task.stop.wait()
        stop.raise_flag(self.context.task.stop.reason)

    async def _watch(self, stop: executor.StopFlag) -> None:
        try:
            verdict = await self.analysis_run.follow()
        except execution.StageFailedError as error:
            self.failed = str(error)
        else:
            self.failed = verdict.sentence if verdict is not None else ""
        if self.failed:
            stop.raise_flag(f"the analysis that runs with it failed: {self.failed}")

    def _conclude(self, ended: statuses.Outcome) -> statuses.Outcome:
        verdicts = self.analysis_run.verdicts.values()
        lines = [f"{verdict.result.value}: {verdict.sentence}" for verdict in verdicts]
        silent = {rule.name for rule in self.analysis_run.judge.rules} - set(
            self.analysis_run.verdicts
        )
        lines += [f"{name} was not measured before the stage ended" for name in sorted(silent)]
        details = (*ended.details, *lines)
        if not self.failed:
            return replace(ended, details=details)
        reason = f"Analysis failed: {self.failed}"
        return statuses.Outcome(statuses.TaskStatus.FAILED, reason, details, ended.touched)
