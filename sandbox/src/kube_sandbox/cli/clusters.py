"""Emulated clusters in the foreground, and their faults."""

import asyncio
import contextlib
import json as text
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kube_sandbox import errors, fleet, json, prometheus, proxies
from kube_sandbox.cli import terminal
from kube_sandbox.crds import definitions
from kube_sandbox.dataplane import address_file
from kube_sandbox.faults import faults_client

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Extras:
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


async def serve(
    names: Sequence[str],
    directory: Path,
    *,
    ready: Callable[[Running], None],
    ports: Sequence[int] | None = None,
    settings: fleet.Settings | None = None,
    beside: Extras | None = None,
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
            ready(await _extras(running, beside or Extras(), stack))
            await stopped.wait()


async def _extras(
    running: fleet.Fleet, beside: Extras, stack: contextlib.AsyncExitStack
) -> Running:
    if not running.metrics_url:
        return Running(running)
    gateways = await stack.enter_async_context(proxies.before(running, beside.proxy))
    address_file.write(running.directory, address_file.Addresses(gateways, running.metrics_url))
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


_NAMES = ("us", "eu", "asia")


@dataclass(frozen=True, slots=True)
class Options:
    """What ``up`` was asked for."""

    directory: str
    clusters: int
    names: str = ""
    ports: str = ""
    istio: bool = False
    gateway_api: bool = False
    speed: float = 1.0
    traffic: bool = False
    proxy: str = "builtin"
    prometheus: bool = False
    metrics_server: bool = False


async def up(options: Options) -> int:
    """Run clusters until Ctrl-C or SIGTERM."""
    names = _names(options)

    proxy = proxies.Kind(options.proxy)

    def ready(running: Running) -> None:
        for name, cluster in running.fleet.clusters.items():
            _tell(f"{name:8} {cluster.url}  kubectl --kubeconfig {cluster.kubeconfig_path}")
        for name, url in running.gateways.items():
            _tell(f"{name:8} {url}  requests to Services: curl -H 'Host: NAME' {url}")
        if running.fleet.metrics_url:
            _tell(f"counters {running.fleet.metrics_url}/counters")
        if running.prometheus:
            _tell(f"metrics  {running.prometheus}")
        path = running.fleet.path
        _tell(f"ready: all clusters are in {path}   (Ctrl-C ends them)")

    await serve(
        names,
        Path(options.directory),
        ready=ready,
        ports=_ports(options.ports, len(names)),
        settings=_settings(options, proxy),
        beside=Extras(proxy, options.prometheus),
    )
    return terminal.DONE


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _settings(options: Options, proxy: proxies.Kind) -> fleet.Settings:
    """Each option brings what it needs: a proxy its definitions, Prometheus something to scrape."""
    istio = options.istio or proxy is proxies.Kind.ENVOY
    gateway_api = options.gateway_api or proxy is proxies.Kind.TRAEFIK
    return fleet.Settings(
        speed=options.speed,
        crds=(
            *(definitions.istio() if istio else ()),
            *(definitions.gateway_api() if gateway_api else ()),
        ),
        metrics_server=options.metrics_server,
        traffic=options.traffic or options.prometheus or proxy is not proxies.Kind.BUILT_IN,
    )


def _names(options: Options) -> list[str]:
    if options.names:
        return [name.strip() for name in options.names.split(",")]
    return [*_NAMES, *(f"c{number}" for number in range(4, options.clusters + 1))][
        : options.clusters
    ]


def _ports(ports: str, count: int) -> list[int] | None:
    if not ports:
        return None
    try:
        read = [int(port) for port in ports.split(",")]
    except ValueError:
        raise errors.UserError(
            f"--ports {ports!r} are not numbers", hint="write --ports 6443 or --ports 6443,6444"
        ) from None
    return list(range(read[0], read[0] + count)) if len(read) == 1 else read


async def fault(cluster: str, settings: list[str], *, directory: str, clear: bool) -> int:
    """Switch faults of a running cluster and print what is wrong with it now."""
    address = faults_client.locate(Path(directory), cluster)
    changes = _changes(settings)
    now = await faults_client.clear(address) if clear else await faults_client.read(address)
    if changes:
        now = await faults_client.change(address, changes)
    sys.stdout.write(text.dumps(now, indent=2) + "\n")
    return terminal.DONE


def _changes(settings: list[str]) -> json.JsonObject:
    changes: json.JsonObject = {}
    images: dict[str, str | None] = {}
    for each in settings:
        name, equals, value = each.partition("=")
        if not equals:
            raise errors.UserError(
                f"{each!r} is not NAME=VALUE", hint="such as latency=200ms or lost=refuse"
            )
        if name.startswith("images."):
            images[name.removeprefix("images.")] = value or None
        elif name == "denied" and value:
            changes[name] = [part.strip() for part in value.split(",")]
        else:
            changes[name] = value or None
    if images:
        changes["images"] = images
    return changes
