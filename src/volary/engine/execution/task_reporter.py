"""Passes on what a running task says: to the observers at once, to the run in time."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from volary.engine import executor
from volary.engine.execution import ticks
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.engine.state_machine import commands, events
from volary.model import clocks, json

LONGEST_LINE = 4000
_TICK = 0.2


@dataclass(slots=True)
class TaskReporter:
    """An `executor.Reporter` that falls silent once its task has ended.

    Progress for the run is coalesced: while one is waiting to be taken, newer ones
    take its place. So a chatty task cannot flood the run. How traffic is divided stays until it is
    divided otherwise, whatever else is said meanwhile. Observers are told everything at once.
    """

    run_id: str
    stage_name: str
    command: commands.StartTask
    clock: clocks.Clock
    #: Notifies the observers.
    tell: Callable[[feed.RunEvent], None]
    #: Puts an event into the run's inbox.
    post: Callable[[events.TaskProgressed], None]
    #: Seconds; at such ticks all tasks hand their progress to their runs.
    tick: float = _TICK
    _latest: state.Progress | None = None
    #: What said last how traffic is divided.
    _traffic: state.Progress | None = None
    _waiting: bool = False
    _timer: asyncio.TimerHandle | None = None
    _open: bool = True

    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None:
        """Tell the observers; several lines become several events, long ones are cut."""
        if not self._open:
            return
        for part in line.splitlines():
            cut = part if len(part) <= LONGEST_LINE else f"{part[:LONGEST_LINE]} …"
            self.tell(feed.TaskLogged(**self._said(), level=level, line=cut))

    def progress(self, progress: state.Progress) -> None:
        """Tell the observers, and have the run keep the latest; a repetition says nothing."""
        if not self._open or progress == self._latest:
            return
        self._latest = progress
        if progress.wanted_weights:
            self._traffic = progress
        self.tell(
            feed.TaskProgressed(
                **self._said(),
                sentence=progress.sentence,
                ready=progress.ready,
                total=progress.total,
                wanted_weights=progress.wanted_weights,
                observed_weights=progress.observed_weights,
            )
        )
        if not self._waiting:
            self._waiting = True
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(ticks.next_tick(loop.time(), self.tick), self._hand_over)

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None:
        """Tell the observers what was measured or concluded."""
        if not self._open:
            return
        self.tell(feed.TaskFinding(**self._said(), kind=kind, metric=metric, document=document))

    def took_over(self, title: str, claimant: str) -> None:
        """Tell the observers that an object was taken over from somebody."""
        if self._open:
            self.tell(feed.TaskTookOver(**self._said(), object=title, claimant=claimant))

    def newest(self, event: events.TaskProgressed) -> events.TaskProgressed:
        """Return the event with what was said since it was posted."""
        self._waiting = False
        return self._event(self._latest or event.progress)

    def close(self) -> None:
        """Take nothing more; what was said last goes to the run before the end does."""
        self._open = False
        if self._timer is not None:
            self._hand_over()

    def _said(self) -> dict[str, Any]:
        return {
            "at": self.clock.now(),
            "run": self.run_id,
            "stage": self.command.stage,
            "stage_name": self.stage_name,
            "target": self.command.target,
            "attempt": self.command.attempt,
        }

    def _hand_over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._latest is not None:
            self.post(self._event(self._latest))

    def _event(self, progress: state.Progress) -> events.TaskProgressed:
        command, traffic = self.command, self._traffic
        if traffic is not None and not progress.wanted_weights:
            progress = replace(
                progress,
                wanted_weights=traffic.wanted_weights,
                observed_weights=traffic.observed_weights,
            )
        return events.TaskProgressed(
            self.clock.now(), command.stage, command.target, command.attempt, progress
        )
