"""An analysis beside a stage: measured while the stage is carried out, on each cluster.

It can only condemn. A rule that fails stops the stage between two writes and fails it; what
could not be judged until the stage ended is said, and holds nothing up: whoever wants to wait
for a verdict writes ``ANALYSIS``. After a restart it begins again with the stage.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, timedelta

from volary.engine import executor
from volary.model import analysis, outcome, stage, status
from volary.stages import context as contexts
from volary.stages import following, judging

Run = Callable[[contexts.StageContext], Awaitable[outcome.Outcome]]

_YEAR = timedelta(days=365)


async def run(
    context: contexts.StageContext, options: stage.AnalysisOptions, inner: Run
) -> outcome.Outcome:
    """Carry out a stage with its analysis beside it, where there is a canary to measure."""
    if context.target in options.without_canary:
        return await inner(context)
    if context.clock is None:
        raise TypeError("an analysis needs a clock")
    started = context.clock.now().astimezone(UTC)
    # It has no end of its own, so no verdict is a final pass.
    frame = judging.Frame(started, started + _YEAR, started + _YEAR)
    judge = await judging.open_judge(context, frame, options)
    guarded = _Guarded(context, following.Follower(judge, context.clock))
    return await guarded.carry_out(inner)


@dataclass(slots=True)
class _Guarded:
    context: contexts.StageContext
    follower: following.Follower
    failed: analysis.Verdict | None = None

    async def carry_out(self, inner: Run) -> outcome.Outcome:
        stop = executor.StopFlag()
        async with asyncio.TaskGroup() as group:
            beside = (
                group.create_task(self._pass_on(stop)),
                group.create_task(self._watch(stop)),
            )
            try:
                ended = await inner(replace(self.context, stop=stop))
            finally:
                for task in beside:
                    task.cancel()
        return self._conclude(ended)

    async def _pass_on(self, stop: executor.StopFlag) -> None:
        await self.context.stop.wait()
        stop.raise_flag(self.context.stop.reason)

    async def _watch(self, stop: executor.StopFlag) -> None:
        self.failed = await self.follower.follow()
        if self.failed is not None:
            stop.raise_flag(f"the analysis beside it failed: {self.failed.sentence}")

    def _conclude(self, ended: outcome.Outcome) -> outcome.Outcome:
        found = self.follower.verdicts.values()
        lines = [f"{each.result.value}: {each.sentence}" for each in found]
        silent = {each.name for each in self.follower.judge.rules} - set(self.follower.verdicts)
        lines += [f"{name} was not measured before the stage ended" for name in sorted(silent)]
        details = (*ended.details, *lines)
        if self.failed is None:
            return replace(ended, details=details)
        reason = f"Analysis failed: {self.failed.sentence}"
        return outcome.Outcome(status.TaskStatus.FAILED, reason, details, ended.touched)
