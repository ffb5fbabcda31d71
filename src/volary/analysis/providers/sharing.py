"""Those who ask the same at about the same time get the same answer, asked for once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from volary.analysis.providers import query
from volary.model import analysis

#: Answers that are kept at most; the oldest go first.
_MOST = 2_000
_FINEST = timedelta(seconds=1)
#: Clusters and applications look at about the same time, not at the very same.
_PART_OF_WINDOW = 20


@dataclass(slots=True)
class Sharing:
    """Shares answers: the first who asks a question carries it out, others wait for theirs."""

    #: None as a result: whoever asked broke off, and somebody else has to.
    _flights: dict[Hashable, asyncio.Future[query.Answer | None]] = field(default_factory=dict)
    #: In the loop's time, until when each counts; in the order they came.
    _kept: dict[Hashable, tuple[float, query.Answer]] = field(default_factory=dict)

    async def get(
        self, key: Hashable, ask: Callable[[], Awaitable[query.Answer]], share: timedelta
    ) -> query.Answer:
        """Return the answer to the question `key`, and ask only when nobody else has.

        Good answers are kept for `share`; of others only those who wait already have a part,
        so the next one asks again.
        """
        while True:
            kept = self._kept.get(key)
            if kept is not None and asyncio.get_running_loop().time() < kept[0]:
                return kept[1]
            flight = self._flights.get(key)
            if flight is None:
                return await self._fly(key, ask, share)
            answer = await asyncio.shield(flight)
            if answer is not None:
                return answer

    async def _fly(
        self, key: Hashable, ask: Callable[[], Awaitable[query.Answer]], share: timedelta
    ) -> query.Answer:
        flight: asyncio.Future[query.Answer | None] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        answer: query.Answer | None = None
        try:
            answer = await ask()
        finally:
            del self._flights[key]
            flight.set_result(answer)
        if answer.reading is not analysis.Reading.ERROR:
            self._keep(key, answer, share)
        return answer

    def _keep(self, key: Hashable, answer: query.Answer, share: timedelta) -> None:
        now = asyncio.get_running_loop().time()
        self._kept.pop(key, None)
        self._kept[key] = (now + share.total_seconds(), answer)
        while self._kept:
            oldest = next(iter(self._kept))
            if len(self._kept) <= _MOST and self._kept[oldest][0] > now:
                return
            del self._kept[oldest]


def even(end: datetime, window: timedelta, share: timedelta) -> datetime:
    """Return a moment a little before `end`, the same for all who ask at about that time.

    Never more before than a twentieth of the window, or one second, or `share`.
    """
    size = min(max(_FINEST, window / _PART_OF_WINDOW), max(_FINEST, share))
    seconds = size.total_seconds()
    return datetime.fromtimestamp(end.timestamp() // seconds * seconds, UTC)
