"""The providers of the settings, open to be asked."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from volary.analysis.providers import dialect, exchange, query, secrets, sharing
from volary.model import analysis, provider
from volary.model import clock as clocks

#: Is told every secret that is read, so that it can be masked wherever it turns up.
Learn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Providers:
    """All providers of one process; identical questions at about one time are asked once."""

    exchanges: dict[str, exchange.Exchange]
    shared: sharing.Sharing

    def find(self, name: str) -> provider.Provider | None:
        """Return a provider's settings; an empty name is the only one's."""
        found = self._exchange(name)
        return found.settings if found else None

    def _exchange(self, name: str) -> exchange.Exchange | None:
        if name or len(self.exchanges) != 1:
            return self.exchanges.get(name)
        return next(iter(self.exchanges.values()))

    async def measure(self, asked: query.Query) -> query.Answer:
        """Ask, and return what was measured or why nothing was.

        Whatever the other side does is an answer; nothing is raised for it.
        """
        found = self._exchange(asked.provider)
        if found is None:
            return _error(_nobody(asked.provider, tuple(self.exchanges)))
        settings = found.settings
        evened = replace(
            asked, provider="", end=sharing.even(asked.end, asked.window, settings.share)
        )
        # Clusters share an answer where one address knows about all of them.
        address = settings.access.address_of(asked.target)
        key = (settings.name, address, replace(evened, target=""))
        return await self.shared.get(key, lambda: _ask(found, evened), settings.share)


@asynccontextmanager
async def open_providers(
    settings: Sequence[provider.Provider],
    *,
    clock: clocks.Clock,
    learn: Learn = lambda _: None,
) -> AsyncIterator[Providers]:
    """Open providers, and close their connections after the body.

    Secrets and certificates are read when a provider is asked, so new ones count at once; one
    that cannot be read is the answer to that question.

    Args:
        settings: Of each; names are unique.
        clock: For signatures and pauses.
        learn: Is told every secret that is read.
    """
    async with AsyncExitStack() as stack:
        secret = secrets.Secrets(learn)
        exchanges = {
            each.name: await stack.enter_async_context(exchange.open_exchange(each, secret, clock))
            for each in settings
        }
        yield Providers(exchanges, sharing.Sharing())


async def _ask(found: exchange.Exchange, asked: query.Query) -> query.Answer:
    name = found.settings.name
    try:
        series = await found.ask(asked)
    except exchange.NoAnswerError as error:
        return _error(f"{name} {error}")
    values = shaped(series, asked.shape, found.settings.points)
    if len(values) > dialect.MOST_POINTS:
        return _error(f"{name} answered with {len(values)} points: aggregate them in the query")
    if not values:
        message = f"{name} has no data for the query"
        return query.Answer(analysis.Reading.NO_DATA, message=message)
    return query.Answer(analysis.Reading.VALUES, values)


def shaped(
    series: Iterable[dialect.Points], shape: query.Shape, points: provider.Points
) -> tuple[float, ...]:
    """Return the values of an answer: all points, the newest of each series, or their sum."""
    filled = [each.values for each in series if each.values]
    if shape is query.Shape.TOTAL:
        return (float(sum(each[-1] for each in filled)),) if filled else ()
    if points is provider.Points.LAST:
        return tuple(each[-1] for each in filled)
    return tuple(value for each in filled for value in each)


def _nobody(name: str, known: tuple[str, ...]) -> str:
    if not known:
        return "no analysisProviders are in the settings: there is nobody to ask"
    names = ", ".join(known)
    if name:
        return f"no provider {name} is in the settings (there: {names})"
    return f"the metric has to name its provider: there are several ({names})"


def _error(message: str) -> query.Answer:
    return query.Answer(analysis.Reading.ERROR, message=message)
