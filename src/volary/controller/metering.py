"""The providers of the settings and of the fleet, open to be asked by stages."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from volary.analysis.providers import opening
from volary.model import clock as clocks
from volary.model import provider
from volary.stages import measuring, meters


@asynccontextmanager
async def open_meter(
    providers: Iterable[provider.Provider],
    *,
    clock: clocks.Clock,
    learn: Callable[[str], None],
) -> AsyncIterator[meters.Meter]:
    """Open the providers, and close their connections after the body.

    `learn` is told every secret that is read for them.
    """
    async with opening.open_providers(tuple(providers), clock=clock, learn=learn) as opened:
        yield measuring.ProviderMeter(opened)
