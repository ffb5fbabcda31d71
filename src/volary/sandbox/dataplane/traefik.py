"""Real Traefik as the Gateway API controller of a sandbox cluster.

It reads GatewayClass, Gateway and HTTPRoutes, Services and EndpointSlices through the
cluster's own API server, and writes their status, as anywhere.
"""

import os
from pathlib import Path

from volary.model import json
from volary.sandbox.dataplane import programs

#: On the cluster's gateway address; a listener of a Gateway has to name it.
PORT = 8000
CLASS = "traefik"
CONTROLLER = "traefik.io/gateway-controller"
_NAME = "traefik"


def is_installed() -> bool:
    """Tell whether there is a Traefik."""
    return programs.find(_NAME) is not None


def objects() -> tuple[json.JsonObject, ...]:
    """The GatewayClass, and a Gateway ``web`` for routes of every namespace."""
    return (
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "GatewayClass",
            "metadata": {"name": CLASS},
            "spec": {"controllerName": CONTROLLER},
        },
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "gatewayClassName": CLASS,
                "listeners": [
                    {
                        "name": "web",
                        "port": PORT,
                        "protocol": "HTTP",
                        "allowedRoutes": {"namespaces": {"from": "All"}},
                    }
                ],
            },
        },
    )


async def start(
    *, address: str, url: str, token: str, authority: str, directory: Path
) -> programs.Program:
    """Run Traefik for a cluster; files and its log go to `directory`.

    `url`, `token` and `authority` lead to the cluster's API server.

    Raises:
        UserError: It is not installed or does not come up.
    """
    provider = "--providers.kubernetesgateway"
    secret = directory / "traefik.token"
    _write(secret, token)
    words = [
        "--global.checknewversion=false",
        "--global.sendanonymoususage=false",
        "--log.level=INFO",
        "--log.nocolor=true",
        f"--entrypoints.web.address={address}:{PORT}",
        # Followed at once: real clusters are content with the default of two seconds, but a
        # sandbox is as fast as its clock.
        "--providers.providersthrottleduration=20ms",
        f"{provider}=true",
        f"{provider}.endpoint={url}",
        f"{provider}.token={secret}",
        f"{provider}.statusaddress.ip={address}",
        "--metrics.prometheus=true",
        "--metrics.prometheus.addserviceslabels=true",
        "--metrics.prometheus.entrypoint=web",
    ]
    if authority:
        path = directory / "traefik-ca.crt"
        _write(path, authority)
        words.append(f"{provider}.certauthfilepath={path}")
    program = await programs.start(_NAME, words, log=directory / "traefik.log", directory=directory)
    await program.until(lambda: programs.listens(address, PORT))
    return program


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner can read: words of a command can be read by all."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
