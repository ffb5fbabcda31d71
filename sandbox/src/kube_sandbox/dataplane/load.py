"""Requests at a fixed rate, whatever becomes of them, and what became of them.

The rate is kept: a request is sent when it is due, not when the one before it was answered
(an open loop), so that slow answers do not hide themselves. Bounded: with too many under way,
a due request counts as not sent, and a load with any of those proves nothing.
"""

import asyncio
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kube_sandbox import errors
from kube_sandbox.dataplane.protocols import connections, http1
from kube_sandbox.dataplane.servers import counters

#: Requests that may be under way at once, when nobody says another number.
_MOST = 2000
#: Seconds after which a request has failed.
_TIMEOUT = 10.0
#: Failures that are kept in words.
_KEPT = 20


@dataclass(frozen=True, slots=True)
class Aim:
    """Where requests go."""

    #: Of a proxy: ``http://127.1.16.1:8080``.
    url: str
    #: Whom they ask for: a Service's name, or a route's host name.
    host: str
    path: str = "/"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kind:
    """Who answered, and how."""

    version: str
    variant: str
    #: 0 when no answer came.
    status: int


@dataclass(slots=True)
class Tally:
    """What became of the requests."""

    sent: int = 0
    #: Due but not sent, as too many were under way.
    skipped: int = 0
    answers: dict[Kind, counters.Histogram] = field(default_factory=dict)
    #: The first failures: seconds since the start, and what was said.
    failures: list[tuple[float, str]] = field(default_factory=list)

    @property
    def answered(self) -> int:
        """Requests with any outcome."""
        return sum(each.count for each in self.answers.values())

    @property
    def failed(self) -> int:
        """Requests without a good answer: none at all, or a status of 400 or above."""
        return sum(
            each.count
            for kind, each in self.answers.items()
            if not kind.status or kind.status >= 400
        )

    def by(self, key: Callable[[Kind], str]) -> dict[str, int]:
        """Count outcomes by something about them."""
        found: dict[str, int] = {}
        for kind, each in self.answers.items():
            found[key(kind)] = found.get(key(kind), 0) + each.count
        return found

    def by_variant(self) -> dict[str, int]:
        """Outcomes by the variant that answered; the empty text where none did."""
        return self.by(lambda kind: kind.variant)

    def by_version(self) -> dict[str, int]:
        """Outcomes by the version that answered."""
        return self.by(lambda kind: kind.version)

    def quantile(self, share: float) -> float | None:
        """Seconds within which that share of all answers came."""
        together = counters.Histogram()
        for each in self.answers.values():
            together.include(each)
        return together.quantile(share)

    def count(self, kind: Kind, seconds: float) -> None:
        """Count an outcome."""
        if kind not in self.answers:
            self.answers[kind] = counters.Histogram()
        self.answers[kind].add(seconds)


class Load:
    """Sends requests to one place until stopped."""

    def __init__(self, aim: Aim, *, rate: float, most: int = _MOST) -> None:
        """A load of `rate` requests a second, with `most` of them under way at once."""
        self._events = asyncio.get_running_loop()
        self._address = address(aim.url)
        fields = {"host": aim.host, "user-agent": "kube-sandbox-load", **aim.headers}
        self._request = http1.Request("GET", aim.path, tuple(fields.items()))
        if rate <= 0:
            raise errors.UserError(f"a rate of {rate:g} requests per second is none")
        self._period = 1 / rate
        self._most = most
        self._pool = connections.Pool(timeout=_TIMEOUT)
        self._under_way = 0
        self._idle = asyncio.Event()
        self._started = self._events.time()
        self.tally = Tally()

    async def run(self, *, count: int | None = None, seconds: float | None = None) -> Tally:
        """Send `count` requests, or for so many `seconds`, or until cancelled.

        When the sending ends, also by cancellation, what is under way is waited for.
        """
        self._started = self._events.time()
        due = self._started
        number = 0
        try:
            while count is None or number < count:
                if seconds is not None and due - self._started >= seconds:
                    break
                now = self._events.time()
                if due > now:
                    await asyncio.sleep(due - now)
                elif number % 50 == 0:
                    await asyncio.sleep(0)  # late: catch up, but let others work
                self._send()
                number += 1
                due = self._started + number * self._period
        finally:
            await self._settle()
        return self.tally

    def fresh(self) -> Tally:
        """Begin a new count and return the one before; what is under way counts as new."""
        before, self.tally = self.tally, Tally()
        return before

    async def _settle(self) -> None:
        try:
            while self._under_way:
                self._idle.clear()
                await self._idle.wait()
        finally:
            await self._pool.close()

    def _send(self) -> None:
        if self._under_way >= self._most:
            self.tally.skipped += 1
            return
        self.tally.sent += 1
        self._under_way += 1
        begun = self._events.time()
        self._pool.send(self._address, self._request, lambda result: self._end(result, begun))

    def _end(self, result: http1.Response | connections.Failure, begun: float) -> None:
        now = self._events.time()
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()
        if isinstance(result, connections.Failure):
            kind = Kind("", "", 0)
            self._fail(now, f"no answer: {result.reason}")
        else:
            kind = Kind(result.header("x-version"), result.header("x-variant"), result.status)
            if result.status >= 400:
                said = result.body[:200].decode(errors="replace").strip()
                self._fail(now, f"{result.status}: {said}")
        self.tally.count(kind, now - begun)

    def _fail(self, now: float, text: str) -> None:
        if len(self.tally.failures) < _KEPT:
            self.tally.failures.append((now - self._started, text))


def address(url: str) -> tuple[str, int]:
    """The host and port of a plain HTTP address.

    Raises:
        UserError: It is none.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise errors.UserError(f"{url!r} is not an http:// address")
    return parts.hostname, parts.port or 80
