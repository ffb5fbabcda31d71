"""The providers of the settings, open to be asked; who asks the same at about the same time
shares the answer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from volary.analysis.providers import exchange, query, secrets
from volary.analysis.providers.dialects import dialect
from volary.concurrency import single_flight
from volary.model import analysis, clocks, metric_providers

#: Answers that are kept at most; the oldest go first.
_MOST = 2_000
_FINEST = timedelta(seconds=1)
#: Clusters and applications look at about the same time, not at the very same.
_PART_OF_WINDOW = 20


@dataclass(slots=True)
class AnswerCache:
    """Shares answers: the first who asks a question carries it out, others wait for theirs."""

    #: In the loop's time, until when each counts; in the order they came.
    _kept: dict[Hashable, tuple[float, query.Answer]] = field(default_factory=dict)
    _flights: single_flight.SingleFlight = field(default_factory=single_flight.SingleFlight)

    async def get(
        self, key: Hashable, ask: Callable[[], Awaitable[query.Answer]], share: timedelta
    ) -> query.Answer:
        """Return the answer to the question `key`, and ask only when nobody else has.

        Good answers are kept for `share`; of others only those who wait already have a part,
        so the next one asks again.
        """
        kept = self._kept.get(key)
        if kept is not None and asyncio.get_running_loop().time() < kept[0]:
            return kept[1]

        async def once() -> query.Answer:
            answer = await ask()
            if answer.reading is not analysis.Reading.ERROR:
                self._keep(key, answer, share)
            return answer

        result = await self._flights.do(key, "", once)
        assert result is not None
        return result.value

    def _keep(self, key: Hashable, answer: query.Answer, share: timedelta) -> None:
        now = asyncio.get_running_loop().time()
        self._kept.pop(key, None)
        self._kept[key] = (now + share.total_seconds(), answer)
        while self._kept:
            oldest = next(iter(self._kept))
            if len(self._kept) <= _MOST and self._kept[oldest][0] > now:
                return
            del self._kept[oldest]


def round_down(end: datetime, window: timedelta, share: timedelta) -> datetime:
    """Return a moment a little before `end`, the same for all who ask at about that time.

    Never more before than a twentieth of the window, or one second, or `share`.
    """
    size = min(max(_FINEST, window / _PART_OF_WINDOW), max(_FINEST, share))
    seconds = size.total_seconds()
    return datetime.fromtimestamp(end.timestamp() // seconds * seconds, UTC)


@dataclass(frozen=True, slots=True)
class Providers:
    """All providers of one process; identical questions at about one time are asked once."""

    exchanges: dict[str, exchange.Exchange]
    shared: AnswerCache

    def find(self, name: str) -> metric_providers.Provider | None:
        """Return a provider's settings; an empty name is the only one's."""
        provider_exchange = self._exchange(name)
        return provider_exchange.settings if provider_exchange else None

    def _exchange(self, name: str) -> exchange.Exchange | None:
        if name or len(self.exchanges) != 1:
            return self.exchanges.get(name)
        return next(iter(self.exchanges.values()))

    async def measure(self, asked: query.Query) -> query.Answer:
        """Ask, and return what was measured or why nothing was.

        Whatever the other side does is an answer; nothing is raised for it.
        """
        provider_exchange = self._exchange(asked.provider)
        if provider_exchange is None:
            return _error(_unknown_provider(asked.provider, tuple(self.exchanges)))
        settings = provider_exchange.settings
        evened = replace(
            asked, provider="", end=round_down(asked.end, asked.window, settings.share)
        )
        # Clusters share an answer where one address knows about all of them.
        address = settings.access.address_of(asked.target)
        key = (settings.name, address, replace(evened, target=""))
        return await self.shared.get(key, lambda: _ask(provider_exchange, evened), settings.share)


@asynccontextmanager
async def open_providers(
    settings: Sequence[metric_providers.Provider],
    *,
    clock: clocks.Clock,
    learn: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Providers]:
    """Open providers, and close their connections after the body.

    Secrets and certificates are read when a provider is asked, so new ones count at once; one
    that cannot be read is the answer to that question.
    `learn` receives every secret that is read, so that it can be redacted wherever it occurs.
    """
    async with AsyncExitStack() as stack:
        secret = secrets.Secrets(learn)
        exchanges = {}
        for setting in settings:
            session = await stack.enter_async_context(exchange.new_session(setting))
            exchanges[setting.name] = exchange.Exchange(setting, secret, session, clock)
        yield Providers(exchanges, AnswerCache())


async def _ask(provider_exchange: exchange.Exchange, asked: query.Query) -> query.Answer:
    name = provider_exchange.settings.name
    try:
        series = await provider_exchange.ask(asked)
    except dialect.AnswerError as error:
        return _error(f"{name} {error}")
    settings = query.points_of(provider_exchange.settings, asked)
    values = shaped(series, asked.shape, settings.points)
    if len(values) > dialect.MOST_POINTS:
        return _error(f"{name} answered with {len(values)} points: aggregate them in the query")
    if not values:
        message = f"{name} has no data for the query"
        return query.Answer(analysis.Reading.NO_DATA, message=message)
    return query.Answer(analysis.Reading.VALUES, values)


def shaped(
    series: Iterable[dialect.Points], shape: query.Shape, points: metric_providers.Points
) -> tuple[float, ...]:
    """Return the values of an answer: all points, the newest of each series, or their sum."""
    filled = [series_points for series_points in series if series_points]
    if shape is query.Shape.TOTAL:
        return (float(sum(values[-1] for values in filled)),) if filled else ()
    if points is metric_providers.Points.LAST:
        return tuple(values[-1] for values in filled)
    return tuple(value for values in filled for value in values)


def _unknown_provider(name: str, known: tuple[str, ...]) -> str:
    names = ", ".join(known)
    if name:
        return f"no provider {name} is in the settings (there: {names})"
    return f"the metric has to name its provider: there are several ({names})"


def _error(message: str) -> query.Answer:
    return query.Answer(analysis.Reading.ERROR, message=message)
