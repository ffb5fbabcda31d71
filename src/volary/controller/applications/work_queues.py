"""What is to be done about each application: one thing at a time, and nobody waits for another.

Of what waits only the newest is done. What an error keeps from being done is tried again, later
each time, until there is something newer.
"""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from volary.controller.leadership import context
from volary.model import errors

_LOG = logging.getLogger(__name__)

#: How many begin before the loop gets round to anything else.
_AT_ONCE = 50

Work = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    do: Work
    #: How often it was tried.
    failures: int = 0


class WorkQueues:
    """One for each application; `leader` is what is shared while this process is the leader."""

    def __init__(self, leader: context.LeaderContext) -> None:
        self._leader = leader
        #: What is to be done next.
        self._next: dict[str, _Item] = {}
        #: What was handed over last, done or not.
        self._newest: dict[str, Work] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        #: Those that begin when the loop comes round again, and how many have begun meanwhile: of
        #: thousands that are handed over at once, not all take their first step in one go.
        self._starting: dict[str, None] = {}
        self._begun = 0

    def hand_over(self, name: str, work: Work) -> None:
        """Have something done about an application, after what is being done about it."""
        self._newest[name] = work
        self._enqueue(name, _Item(work))

    def forget(self, name: str) -> None:
        """Try nothing again about an application."""
        self._newest.pop(name, None)

    def is_busy(self, name: str) -> bool:
        """Whether something is being done about an application."""
        return name in self._tasks or name in self._starting

    async def wait(self, name: str) -> None:
        """Wait until all that was handed over about an application was tried."""
        while name in self._starting:  # noqa: ASYNC110 - it begins when the loop comes round
            await asyncio.sleep(0)
        if task := self._tasks.get(name):
            await asyncio.wait([task])

    def _enqueue(self, name: str, item: _Item) -> None:
        self._next[name] = item
        if self.is_busy(name):
            return
        if self._begun < _AT_ONCE:
            self._begin(name)
        else:
            self._starting[name] = None

    def _begin(self, name: str) -> None:
        if not self._begun:
            asyncio.get_running_loop().call_soon(self._begin_more)
        self._begun += 1
        task = self._leader.group.create_task(self._work_on(name), name=f"look at {name}")
        self._tasks[name] = task

    def _begin_more(self) -> None:
        """Begin some more of those that wait, and those that are left the next time."""
        self._begun = 0
        for name in tuple(itertools.islice(self._starting, _AT_ONCE)):
            del self._starting[name]
            self._begin(name)

    async def _work_on(self, name: str) -> None:
        try:
            while item := self._next.pop(name, None):
                await self._try(name, item)
        finally:
            del self._tasks[name]

    async def _try(self, name: str, item: _Item) -> None:
        try:
            await item.do()
            return
        except errors.VolaryError as error:
            if context.is_overtaken(error):
                raise
            _LOG.warning("application %s is tried again soon: %s", name, error)
        # Nothing that goes wrong about one application may harm the others.
        except Exception as error:
            if context.is_overtaken(error):
                raise
            _LOG.exception("application %s is tried again soon", name)
        again = self._try_again(name, _Item(item.do, item.failures + 1))
        self._leader.group.create_task(again, name=f"look at {name} again")

    async def _try_again(self, name: str, item: _Item) -> None:
        await asyncio.sleep(self._leader.rules.backoff.after(item.failures).total_seconds())
        if self._newest.get(name) is item.do and name not in self._next:
            self._enqueue(name, item)
