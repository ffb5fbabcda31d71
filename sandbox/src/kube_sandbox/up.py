"""A sandbox in the foreground: what ``kube-sandbox up`` does."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kube_sandbox import fleet, prometheus, proxies
from kube_sandbox.dataplane import places

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Beside:
    """Real programs that run beside the clusters; both need real traffic."""

    proxy: proxies.Kind = proxies.Kind.BUILT_IN
    prometheus: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """What runs, and where it is."""

    fleet: fleet.Fleet
    #: Of each cluster's proxy; empty without real traffic.
    gateways: Mapping[str, str] = field(default_factory=dict)
    #: Empty without one.
    prometheus: str = ""


async def run(
    names: Sequence[str],
    directory: Path,
    *,
    ready: Callable[[Running], None],
    ports: Sequence[int] | None = None,
    settings: fleet.Settings | None = None,
    beside: Beside | None = None,
) -> None:
    """Run a fleet until Ctrl-C or SIGTERM, then end it cleanly.

    `ready` is called once all clusters answer, and what runs beside them.

    Raises:
        UserError: See `fleet.start`, `proxies.before` and `prometheus.scraping`.
    """
    stopped = asyncio.Event()
    with _stopping(stopped):
        async with contextlib.AsyncExitStack() as stack:
            running = await stack.enter_async_context(
                fleet.start(names, ports=ports, directory=directory, settings=settings)
            )
            ready(await _beside(running, beside or Beside(), stack))
            await stopped.wait()


async def _beside(
    running: fleet.Fleet, beside: Beside, stack: contextlib.AsyncExitStack
) -> Running:
    if not running.numbers:
        return Running(running)
    gateways = await stack.enter_async_context(proxies.before(running, beside.proxy))
    places.write(running.directory, places.Places(gateways, running.numbers))
    url = ""
    if beside.prometheus:
        url = await stack.enter_async_context(prometheus.scraping(running))
    return Running(running, gateways, url)


@contextlib.contextmanager
def _stopping(stopped: asyncio.Event) -> Iterator[None]:
    """Set `stopped` on a signal, for the length of the block."""
    events = asyncio.get_running_loop()
    for each in _SIGNALS:
        events.add_signal_handler(each, stopped.set)
    try:
        yield
    finally:
        for each in _SIGNALS:
            events.remove_signal_handler(each)
