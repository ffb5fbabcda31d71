"""The loop of one application: it does what is next until nothing is left, whatever goes wrong.

An error about one application harms no other, and it does not leave this one behind either: what
is to be done is looked at anew, and done after a while.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from volary.controller.leadership import context
from volary.telemetry import log_fields

_LOG = logging.getLogger(__name__)

#: Seconds that an attempt is waited for.
_ATTEMPT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Steps:
    """What a loop does."""

    #: Whether there is anything to be done.
    is_work_left: Callable[[], bool]
    #: Does what is next; returns what keeps it from being done, None: nothing.
    go_on: Callable[[], Awaitable[Exception | None]]
    #: Takes down that an error broke off what was under way.
    note_interruption: Callable[[Exception], None]
    #: Writes down why nothing goes on: what keeps it, and when it is tried again, a clause.
    note_delay: Callable[[Exception, str], Awaitable[None]]


class ReconcileLoop:
    """Runs while there is work, and is started again when there is some.

    Args:
        leader: What is shared while this process is the leader.
        name: Of the application.
        steps: What it does.
    """

    def __init__(self, leader: context.LeaderContext, name: str, steps: Steps) -> None:
        self._leader = leader
        self._name = name
        self._steps = steps
        #: What kept the last attempt from going on; None: nothing, or there was none yet.
        self.trouble: Exception | None = None
        self._is_running = False
        self._changed = asyncio.Event()
        #: Set, and made anew, after each attempt to go on.
        self._attempted = asyncio.Event()

    def start(self) -> None:
        """Have what is next done now, unless that is under way."""
        self._changed.set()
        if not self._is_running and self._steps.is_work_left():
            self._is_running = True
            self._leader.group.create_task(self._run(), name=f"application {self._name}")

    async def wait_for_change(self, *, within: float | None = None) -> None:
        """Wait until it is started again, or some seconds long; only what it does waits so."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._changed.wait()
        self._changed.clear()

    async def attempt(self) -> None:
        """Have what is next tried now; returns once it was, or nobody knows for a while."""
        attempted = self._attempted
        self.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ATTEMPT_SECONDS):
                await attempted.wait()

    def note_attempt(self, trouble: Exception | None) -> None:
        """Say how an attempt went to those who wait for it."""
        self.trouble = trouble
        self._attempted.set()
        self._attempted = asyncio.Event()

    async def _run(self) -> None:
        with log_fields.bound(application=self._name):
            await self._work()

    async def _work(self) -> None:
        failures = 0
        try:
            while self._steps.is_work_left():
                self._changed.clear()
                trouble = await self._go_on()
                self.note_attempt(trouble)
                if trouble is None:
                    failures = 0
                elif not await self._has_changed(trouble, failures + 1):
                    failures += 1
        finally:
            self._is_running = False

    async def _go_on(self) -> Exception | None:
        try:
            return await self._steps.go_on()
        # Whatever it is: what is kept is looked at anew.
        except Exception as error:
            if context.is_overtaken(error):
                raise
            _LOG.exception("application %s was interrupted by an error", self._name)
            self._steps.note_interruption(error)
            return error

    async def _has_changed(self, trouble: Exception, failures: int) -> bool:
        """Wait until it is time to try again; say whether something has changed before that."""
        delay = self._leader.rules.backoff.after(failures).total_seconds()
        try:
            await self._steps.note_delay(trouble, f"tried again within {delay:g} s")
        except Exception as error:
            if context.is_overtaken(error):
                raise
            _LOG.exception("application %s: that it waits cannot be written down", self._name)
        try:
            async with asyncio.timeout(delay):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True
