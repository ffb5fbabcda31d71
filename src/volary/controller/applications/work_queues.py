"""What is to be done about each application: one thing at a time, and nobody waits for another.

Of what waits only the newest is done. What an error keeps from being done is tried again, later
each time, until there is something newer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from volary.controller.leadership import context
from volary.model import errors

_LOG = logging.getLogger(__name__)

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

    def hand_over(self, name: str, work: Work) -> None:
        """Have something done about an application, after what is being done about it."""
        self._newest[name] = work
        self._enqueue(name, _Item(work))

    def forget(self, name: str) -> None:
        """Try nothing again about an application."""
        self._newest.pop(name, None)

    def is_busy(self, name: str) -> bool:
        """Whether something is being done about an application."""
        return name in self._tasks

    async def wait(self, name: str) -> None:
        """Wait until all that was handed over about an application was tried."""
        if task := self._tasks.get(name):
            await asyncio.wait([task])

    def _enqueue(self, name: str, item: _Item) -> None:
        self._next[name] = item
        if name not in self._tasks:
            task = self._leader.group.create_task(self._work_on(name), name=f"look at {name}")
            self._tasks[name] = task

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
