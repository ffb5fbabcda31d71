"""Follows the rules of an analysis through time, each at its own interval, side by side."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from volary.model import analysis, clock
from volary.stages import judging

#: A clock that jumped is noticed within this time.
_LONGEST_SLEEP = timedelta(minutes=1)


@dataclass(slots=True)
class Follower:
    """Follows one analysis on one cluster."""

    judge: judging.Judge
    clock: clock.Clock
    #: Told of every verdict as it comes.
    told: Callable[[analysis.Verdict], None] = lambda _: None
    #: The newest verdict of each rule.
    verdicts: dict[str, analysis.Verdict] = field(default_factory=dict)

    async def follow(self) -> analysis.Verdict | None:
        """Follow until every verdict is final, or one fails the release: that is returned.

        The first look of a rule is one interval after the beginning (PipeCD). Looks that fell
        into a time when nothing was running are not made up for.
        """
        async with asyncio.TaskGroup() as group:
            pending = {group.create_task(self._follow(each)) for each in self.judge.rules}
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                failed = judging.condemned([each.result() for each in done])
                if failed:
                    for task in pending:
                        task.cancel()
                    return failed
        return None

    async def _follow(self, rule: analysis.Rule) -> analysis.Verdict:
        """Return the last verdict of a rule."""
        while True:
            number, at, is_look = self._next(rule)
            await self._sleep_until(at)
            if is_look:
                await self.judge.look(rule, at)
            found = await self.judge.verdict(rule, at, number)
            self.verdicts[rule.name] = found
            self.told(found)
            if found.is_final or at >= self.judge.frame.deadline:
                return found

    def _next(self, rule: analysis.Rule) -> tuple[int, datetime, bool]:
        """Return the next moment of a rule: a look, the end, or the deadline."""
        frame, now = self.judge.frame, self.clock.now()
        number = max(1, (now - frame.started) // rule.interval + 1)
        look = frame.started + number * rule.interval
        moments = [each for each in (look, frame.ends, frame.deadline) if each > now]
        at = min(moments, default=frame.deadline)
        return (number, at, True) if at == look else (number - 1, at, False)

    async def _sleep_until(self, at: datetime) -> None:
        while True:
            left = at - self.clock.now()
            if left <= timedelta(0):
                return
            await asyncio.sleep(min(left, _LONGEST_SLEEP).total_seconds())
