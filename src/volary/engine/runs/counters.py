"""Counts of a group's tasks and the index of a run's clusters, kept from state to state.

A stage of a large fleet has thousands of tasks, and each event changes one of them. What the
rules ask about all of them (is any running, which have failed, when is the next limit) is
counted once per tuple of tasks and carried over when one task is replaced. So an event costs
about the same however many clusters there are. It is only a cache of what was counted: a
tuple that is not known is counted anew, and the answers are the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from operator import is_not
from typing import Any, Generic, Protocol, TypeVar

from volary.model import statuses as words


class _Task(Protocol):
    """What is counted of a `state.TaskState`."""

    @property
    def target(self) -> str: ...
    @property
    def status(self) -> words.TaskStatus: ...
    @property
    def deadline(self) -> datetime | None: ...
    @property
    def rolling_back(self) -> str: ...


class _Cluster(Protocol):
    """What is counted of a `state.ClusterState`."""

    @property
    def name(self) -> str: ...
    @property
    def left_out(self) -> str: ...


C = TypeVar("C", bound=_Cluster)
T = TypeVar("T", bound=_Task)
V = TypeVar("V")

#: Tasks, or clusters, in what is remembered at most, of all runs: enough for a thousand runs at
#: once over a hundred clusters. What was dropped is counted anew.
_MOST = 500_000
#: What remembering a tuple takes beside its tasks, as so many of those.
_OVERHEAD = 16
_TIMED = frozenset({words.TaskStatus.RUNNING, words.TaskStatus.WAITING})
_FAILING = frozenset({words.TaskStatus.FAILED, words.TaskStatus.UNREACHABLE})


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """What is known about all tasks of one group."""

    #: Position of each cluster's task.
    positions: Mapping[str, int]
    pending: int
    running: int
    #: Of the running ones: those that take their cluster back.
    rolling_back: int
    #: Of clusters that are tried again later.
    waiting: int
    #: Positions of those that failed or could not reach their cluster, in order.
    failing: tuple[int, ...]
    #: How many running or waiting tasks have which limit.
    deadlines: Mapping[datetime, int]
    #: No task before this position is pending.
    first_pending: int

    @property
    def open(self) -> int:
        """How many have not ended."""
        return self.pending + self.running + self.waiting

    @property
    def next_deadline(self) -> datetime | None:
        """The earliest limit; None when there is none."""
        return min(self.deadlines, default=None)


@dataclass(frozen=True, slots=True)
class ClusterIndex:
    """What is known about all clusters of a run."""

    positions: Mapping[str, int]
    #: Why, for those that are left out.
    left_out: Mapping[str, str]


class _Cache(Generic[V]):
    """What was counted of tuples, by their identity: they are held so that it stays their own."""

    def __init__(self, count: Callable[[tuple[Any, ...]], V]) -> None:
        self._count = count
        self._known: dict[int, tuple[tuple[Any, ...], V]] = {}
        self._size = 0

    def of(self, counted: tuple[Any, ...]) -> V:
        known = self._known.get(id(counted))
        if known is not None and known[0] is counted:
            return known[1]
        value = self._count(counted)
        self.remember(counted, value)
        return value

    def remember(self, counted: tuple[Any, ...], value: V) -> None:
        while self._known and self._size + len(counted) + _OVERHEAD > _MOST:
            self._forget(next(iter(self._known)))
        self._forget(id(counted))
        self._known[id(counted)] = (counted, value)
        self._size += len(counted) + _OVERHEAD

    def _forget(self, key: int) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._size -= len(known[0]) + _OVERHEAD


def of(tasks: tuple[T, ...]) -> TaskCounts:
    """Return the counts of `tasks`."""
    return _COUNTS.of(tasks)


def position(tasks: tuple[T, ...], target: str) -> int | None:
    """Return where the task of a cluster stands; None when it has none."""
    return of(tasks).positions.get(target)


def replaced(tasks: tuple[T, ...], place: int, task: T) -> tuple[T, ...]:
    """Return `tasks` with another task at `place`, its counts carried over."""
    if tasks[place] is task:
        return tasks
    before, old = of(tasks), tasks[place]
    after = (*tasks[:place], task, *tasks[place + 1 :])
    _COUNTS.remember(after, _updated(before, place, old, task))
    return after


def next_pending(tasks: tuple[T, ...]) -> int | None:
    """Return the position of the first pending task; None when none is."""
    counts = of(tasks)
    if not counts.pending:
        return None
    places = range(counts.first_pending, len(tasks))
    return next(place for place in places if tasks[place].status is words.TaskStatus.PENDING)


def changes(before: Sequence[V], after: Sequence[V]) -> Iterator[int]:
    """Yield the positions at which two sequences of equal length hold different objects."""
    return compress(range(len(after)), map(is_not, before, after))


def clusters(members: tuple[C, ...]) -> ClusterIndex:
    """Return the index of the clusters of a run."""
    return _INDEXES.of(members)


def replaced_cluster(members: tuple[C, ...], changed: C) -> tuple[C, ...]:
    """Return the clusters with the one of the same name replaced, their index carried over."""
    before = clusters(members)
    place = before.positions[changed.name]
    after = (*members[:place], changed, *members[place + 1 :])
    left_out = before.left_out
    if left_out.get(changed.name, "") != changed.left_out:
        others = {name: why for name, why in left_out.items() if name != changed.name}
        left_out = {**others, changed.name: changed.left_out} if changed.left_out else others
    _INDEXES.remember(after, ClusterIndex(before.positions, left_out))
    return after


def _index(members: tuple[_Cluster, ...]) -> ClusterIndex:
    return ClusterIndex(
        {cluster.name: place for place, cluster in enumerate(members)},
        {cluster.name: cluster.left_out for cluster in members if cluster.left_out},
    )


def _count(tasks: tuple[T, ...]) -> TaskCounts:
    deadlines: dict[datetime, int] = {}
    for task in tasks:
        if task.status in _TIMED and task.deadline is not None:
            deadlines[task.deadline] = deadlines.get(task.deadline, 0) + 1
    statuses = [task.status for task in tasks]
    pending = words.TaskStatus.PENDING
    return TaskCounts(
        positions={task.target: place for place, task in enumerate(tasks)},
        pending=statuses.count(pending),
        running=statuses.count(words.TaskStatus.RUNNING),
        rolling_back=sum(bool(task.rolling_back) for task in tasks),
        waiting=statuses.count(words.TaskStatus.WAITING),
        failing=tuple(place for place, status in enumerate(statuses) if status in _FAILING),
        deadlines=deadlines,
        first_pending=statuses.index(pending) if pending in statuses else len(tasks),
    )


def _updated(before: TaskCounts, place: int, old: _Task, new: _Task) -> TaskCounts:
    """Return `before` with one task replaced by another."""
    pending, running = words.TaskStatus.PENDING, words.TaskStatus.RUNNING
    waiting = words.TaskStatus.WAITING
    first = before.first_pending
    if new.status is pending:
        first = min(first, place)
    elif first == place:
        first = place + 1
    return TaskCounts(
        positions=before.positions,
        pending=before.pending + (new.status is pending) - (old.status is pending),
        running=before.running + (new.status is running) - (old.status is running),
        rolling_back=before.rolling_back + bool(new.rolling_back) - bool(old.rolling_back),
        waiting=before.waiting + (new.status is waiting) - (old.status is waiting),
        failing=_failing(before.failing, place, old, new),
        deadlines=_deadlines(before.deadlines, old, new),
        first_pending=first,
    )


def _failing(before: tuple[int, ...], place: int, old: _Task, new: _Task) -> tuple[int, ...]:
    was, fails = old.status in _FAILING, new.status in _FAILING
    if was == fails:
        return before
    if fails:
        return tuple(sorted((*before, place)))
    return tuple(position for position in before if position != place)


def _deadlines(before: Mapping[datetime, int], old: _Task, new: _Task) -> Mapping[datetime, int]:
    gone, come = _limit(old), _limit(new)
    if gone == come:
        return before
    after = dict(before)
    if gone is not None:
        after[gone] -= 1
        if not after[gone]:
            del after[gone]
    if come is not None:
        after[come] = after.get(come, 0) + 1
    return after


def _limit(task: _Task) -> datetime | None:
    return task.deadline if task.status in _TIMED else None


_COUNTS = _Cache(_count)
_INDEXES = _Cache(_index)
