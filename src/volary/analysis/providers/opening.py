"""The providers of the settings, open to be asked."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from volary.analysis.providers import query
from volary.model import analysis, provider

#: Is told every secret that is read, so that it can be masked wherever it turns up.
Learn = Callable[[str], None]


class Providers:
    """All providers of one process; identical questions at one time are asked once."""

    def __init__(self, settings: Sequence[provider.Provider]) -> None:
        self._settings = {each.name: each for each in settings}

    def find(self, name: str) -> provider.Provider | None:
        """Return a provider's settings; an empty name is the only one's."""
        if name or len(self._settings) != 1:
            return self._settings.get(name)
        return next(iter(self._settings.values()))

    async def measure(self, asked: query.Query) -> query.Answer:
        """Ask, and return what was measured or why nothing was; raises nothing of its own."""
        return query.Answer(analysis.Reading.ERROR, message="no provider is open")


@asynccontextmanager
async def open_providers(
    settings: Sequence[provider.Provider], *, learn: Learn = lambda _: None
) -> AsyncIterator[Providers]:
    """Open providers, and close their connections after the body.

    Secrets and certificates are read when a provider is asked, so new ones count at once; one
    that cannot be read is the answer to that question.
    """
    yield Providers(settings)
