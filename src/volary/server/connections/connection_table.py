"""Which connection is taken, and which one ends for it or because it takes too long.

Where a limit is reached, a connection that waits for its other side is ended for the new one: of
the same holder when that one has too many, otherwise of the holder with most that wait; and of
those the one that waits longest. So half-sent requests, however many, keep nobody out. When all
others are being answered, the new one gets one of a few in reserve, on which only questions about
health are answered.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from volary.model import addresses
from volary.server.connections import bounds

K = TypeVar("K")


class Phase(StrEnum):
    """What a connection waits for."""

    #: To agree on TLS.
    HANDSHAKE = "handshake"
    #: For the head of a request, the whole of it.
    HEAD = "head"
    #: For the rest of a body.
    BODY = "body"
    #: For us: a request is carried out.
    ANSWER = "answer"
    #: For the other side to take what was written.
    STALLED = "stalled"
    #: For a further request.
    IDLE = "idle"
    #: For the other side to take the rest; then it ends.
    CLOSING = "closing"


#: Which are ended first, those of the same number by how long they have been so.
_RANKS = {
    Phase.HANDSHAKE: 0,
    Phase.HEAD: 0,
    Phase.IDLE: 0,
    Phase.STALLED: 1,
    Phase.CLOSING: 1,
    Phase.BODY: 2,
}


@dataclass(frozen=True, slots=True)
class Ended(Generic[K]):
    """A connection that has to be ended, and what it was doing."""

    connection: K
    phase: Phase


class Service(StrEnum):
    """What a connection is good for."""

    ALL = "all"
    #: It is one of the reserve.
    HEALTH = "health"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Admission(Generic[K]):
    """What becomes of a new connection."""

    service: Service
    #: Ended for it.
    evicted: Ended[K] | None = None
    #: Why it does not get everything; empty: it does.
    reason: str = ""


@dataclass(slots=True)
class _Entry:
    holder: str
    phase: Phase
    since: float
    is_reserve: bool

    @property
    def order(self) -> tuple[int, float]:
        return _RANKS[self.phase], self.since


@dataclass(slots=True)
class _Holder(Generic[K]):
    """The connections of one holder."""

    entries: dict[K, _Entry] = field(default_factory=dict)
    #: How many of them are not in reserve and wait.
    waiting: int = 0
    reserve: int = 0

    @property
    def served(self) -> int:
        return len(self.entries) - self.reserve


class ConnectionTable(Generic[K]):
    """The connections there are; times are seconds of a clock that nobody sets."""

    def __init__(self, limits: bounds.Bounds) -> None:
        self._bounds = limits
        self._holders: dict[str, _Holder[K]] = {}
        self._entries: dict[K, _Entry] = {}
        self._reserve = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(tuple(self._entries))

    def admit(self, connection: K, address: str, phase: Phase, now: float) -> Admission[K]:
        """Decide about a new connection, and remember it unless it gets nothing.

        The one that is evicted is forgotten.
        """
        name = addresses.holder_of(address)
        mine = self._holders.setdefault(name, _Holder())
        reason, candidates = self._limit(mine, address)
        admission = self._decide(mine, reason, candidates)
        if admission.evicted is not None:
            self.remove(admission.evicted.connection)
        if admission.service is not Service.NONE:
            is_reserve = admission.service is Service.HEALTH
            self._add(connection, _Entry(name, phase, now, is_reserve))
        elif not mine.entries:
            self._holders.pop(name, None)
        return admission

    def _limit(self, mine: _Holder[K], address: str) -> tuple[str, _Holder[K] | None]:
        """Return which limit is reached, and of whom a connection may be ended for that."""
        is_limited = not self._bounds.is_proxy(address)
        if is_limited and mine.served >= self._bounds.of(address):
            return "address", mine
        if len(self._entries) - self._reserve >= self._bounds.connections:
            return "total", max(self._holders.values(), key=lambda each: each.waiting)
        return "", None

    def _decide(self, mine: _Holder[K], reason: str, candidates: _Holder[K] | None) -> Admission[K]:
        if candidates is None:
            return Admission(Service.ALL)
        if evicted := _first(candidates, in_reserve=False):
            return Admission(Service.ALL, evicted, reason)
        if mine.reserve >= bounds.RESERVE_EACH:
            evicted = _first(mine, in_reserve=True)
        elif self._reserve >= bounds.RESERVE:
            most = max(self._holders.values(), key=lambda each: each.reserve)
            evicted = _first(most, in_reserve=True)
        else:
            return Admission(Service.HEALTH, None, reason)
        service = Service.HEALTH if evicted else Service.NONE
        return Admission(service, evicted, reason)

    def move(self, connection: K, phase: Phase, now: float) -> None:
        """Remember what a connection waits for from now on; nothing changes if it did already."""
        entry = self._entries.get(connection)
        if entry is None or entry.phase is phase:
            return
        self._count(entry, -1)
        entry.phase, entry.since = phase, now
        self._count(entry, 1)

    def remove(self, connection: K) -> None:
        """Forget a connection; one that is not known is none."""
        entry = self._entries.pop(connection, None)
        if entry is None:
            return
        self._count(entry, -1)
        holder = self._holders[entry.holder]
        del holder.entries[connection]
        holder.reserve -= entry.is_reserve
        self._reserve -= entry.is_reserve
        if not holder.entries:
            del self._holders[entry.holder]

    def overdue(self, now: float) -> list[Ended[K]]:
        """Return the connections that took too long, and forget them."""
        ended = [
            Ended(connection, entry.phase)
            for connection, entry in self._entries.items()
            if entry.phase is not Phase.ANSWER
            and now - entry.since >= self._most_seconds(entry.phase)
        ]
        for each in ended:
            self.remove(each.connection)
        return ended

    def weakest(self) -> Ended[K] | None:
        """Return the connection that is ended first, and forget it; None: none waits."""
        heaviest = max(self._holders.values(), key=lambda each: each.waiting, default=None)
        ended = _first(heaviest, in_reserve=False) if heaviest is not None else None
        if ended is not None:
            self.remove(ended.connection)
        return ended

    def _most_seconds(self, phase: Phase) -> float:
        seconds: float = getattr(self._bounds.seconds, phase.value)
        return seconds

    def _add(self, connection: K, entry: _Entry) -> None:
        holder = self._holders.setdefault(entry.holder, _Holder())
        holder.entries[connection] = self._entries[connection] = entry
        holder.reserve += entry.is_reserve
        self._reserve += entry.is_reserve
        self._count(entry, 1)

    def _count(self, entry: _Entry, change: int) -> None:
        if not entry.is_reserve and entry.phase is not Phase.ANSWER:
            self._holders[entry.holder].waiting += change


def _first(holder: _Holder[K], *, in_reserve: bool) -> Ended[K] | None:
    """Return which one of a holder's connections is ended first; None: none waits."""
    waiting = (
        (entry.order, connection)
        for connection, entry in holder.entries.items()
        if entry.is_reserve is in_reserve and entry.phase is not Phase.ANSWER
    )
    first = min(waiting, key=lambda each: each[0], default=None)
    return Ended(first[1], holder.entries[first[1]].phase) if first else None
