"""How many runs of a project are under way at once; others wait, and who came first goes first.

A place in the queue is held for as long as somebody waits there, whatever is requested meanwhile.
Whoever leaves the queue holds up nobody: what counts is who waits now.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from volary.model import phrases


@dataclass(slots=True)
class _Queue:
    """Of one project."""

    under_way: int = 0
    #: In the order in which they came.
    waiting: list["Place"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Place:
    """Of an application that has a run to begin, or has one under way."""

    project: str
    #: Called when it may be its turn.
    changed: Callable[[], None]
    _queue: _Queue
    _goes: bool = False

    def go(self) -> None:
        """Count as under way, however many are."""
        if not self._goes:
            self._goes = True
            self._queue.waiting.remove(self)
            self._queue.under_way += 1

    def why_wait(self, most: int) -> str:
        """Return why it waits, one sentence; empty: it is under way from now on.

        `most` is how many may be at once; 0: any number.
        """
        if self._goes:
            return ""
        ahead = self._queue.waiting.index(self)
        if not most or self._queue.under_way + ahead < most:
            self.go()
            return ""
        runs = phrases.count(most, "run")
        before = f"; {phrases.count(ahead, 'application')} came before" if ahead else ""
        return f"project {self.project} may have {runs} under way at once{before}"


class ProjectRuns:
    """The queues of all projects; one for each leader."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    @contextlib.contextmanager
    def place(self, project: str, changed: Callable[[], None]) -> Iterator[Place]:
        """Have a place in the queue of a project for the length of the block."""
        queue = self._queues.setdefault(project, _Queue())
        place = Place(project, changed, queue)
        queue.waiting.append(place)
        try:
            yield place
        finally:
            if place in queue.waiting:
                queue.waiting.remove(place)
            else:
                queue.under_way -= 1
            for waiting in tuple(queue.waiting):
                waiting.changed()
            if not queue.under_way and not queue.waiting:
                del self._queues[project]
