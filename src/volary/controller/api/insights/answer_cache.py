"""Answers that many viewers ask for: each is made once, and kept while it holds."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar, cast

from volary.concurrency import single_flight

Answer = TypeVar("Answer")
#: Answers that are kept.
_MOST_KEPT = 32


def moment_of(now: datetime, lifetime: timedelta) -> int:
    """Return a number that is the same for as long as `lifetime`, then another one."""
    return int(now.timestamp() // lifetime.total_seconds())


@dataclass(slots=True)
class AnswerCache:
    """Answers as they were when something happened last; each is made once for all who ask."""

    _known: OrderedDict[Hashable, tuple[Hashable, object]] = field(default_factory=OrderedDict)
    _flight: single_flight.SingleFlight = field(default_factory=single_flight.SingleFlight)

    async def get(
        self, key: Hashable, moment: Hashable, make: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Return the answer of a key at a moment; the one before is forgotten."""
        known = self._known.get(key)
        if known is not None and known[0] == moment:
            self._known.move_to_end(key)
            return cast("Answer", known[1])
        # Nobody stops waiting, so there is a result.
        shared = await self._flight.do((key, moment), "", make)
        assert shared is not None
        self._known[key] = (moment, shared.value)
        self._known.move_to_end(key)
        while len(self._known) > _MOST_KEPT:
            self._known.popitem(last=False)
        return shared.value
