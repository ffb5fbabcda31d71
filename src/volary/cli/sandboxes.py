"""``volary sandbox``: emulated clusters in the foreground, and their faults."""

import json as text
from dataclasses import dataclass
from pathlib import Path

from volary.cli import console, exits
from volary.model import errors, json
from volary.sandbox import crds, faults_client, fleet, proxies
from volary.sandbox import up as foreground

_NAMES = ("us", "eu", "asia")


@dataclass(frozen=True, slots=True)
class Wish:
    """What ``volary sandbox up`` was asked for."""

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


async def up(wish: Wish) -> int:
    """Run clusters until Ctrl-C or SIGTERM."""
    names = _names(wish)

    proxy = proxies.Kind(wish.proxy)

    def ready(running: foreground.Running) -> None:
        talk = console.talk()
        for name, cluster in running.fleet.clusters.items():
            talk.print(f"{name:8} {cluster.url}  kubectl --kubeconfig {cluster.kubeconfig_path}")
        for name, url in running.gateways.items():
            talk.print(f"{name:8} {url}  requests to Services: curl -H 'Host: NAME' {url}")
        if running.fleet.numbers:
            talk.print(f"numbers  {running.fleet.numbers}/counters")
        if running.prometheus:
            talk.print(f"metrics  {running.prometheus}")
        path = running.fleet.path
        talk.print(f"ready: volary run PATH --fleet {path}   (Ctrl-C ends the clusters)")

    await foreground.run(
        names,
        Path(wish.directory),
        ready=ready,
        ports=_ports(wish.ports, len(names)),
        settings=_settings(wish, proxy),
        beside=foreground.Beside(proxy, wish.prometheus),
    )
    return exits.Exit.DONE


def _settings(wish: Wish, proxy: proxies.Kind) -> fleet.Settings:
    """Each option brings what it needs: a proxy its definitions, Prometheus something to scrape."""
    istio = wish.istio or proxy is proxies.Kind.ENVOY
    gateway_api = wish.gateway_api or proxy is proxies.Kind.TRAEFIK
    return fleet.Settings(
        speed=wish.speed,
        crds=(*(crds.istio() if istio else ()), *(crds.gateway_api() if gateway_api else ())),
        traffic=wish.traffic or wish.prometheus or proxy is not proxies.Kind.BUILT_IN,
    )


def _names(wish: Wish) -> list[str]:
    if wish.names:
        return [name.strip() for name in wish.names.split(",")]
    return [*_NAMES, *(f"c{number}" for number in range(4, wish.clusters + 1))][: wish.clusters]


def _ports(ports: str, count: int) -> list[int] | None:
    if not ports:
        return None
    try:
        read = [int(port) for port in ports.split(",")]
    except ValueError:
        raise errors.user_error(
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
    console.write(text.dumps(now, indent=2))
    return exits.Exit.DONE


def _changes(settings: list[str]) -> json.JsonObject:
    changes: json.JsonObject = {}
    images: dict[str, str | None] = {}
    for each in settings:
        name, equals, value = each.partition("=")
        if not equals:
            raise errors.user_error(
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
