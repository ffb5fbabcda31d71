"""Real Traefik as the Gateway API controller of a sandbox cluster.

It reads GatewayClass, Gateway and HTTPRoutes, Services and EndpointSlices through the
cluster's own API server, and writes their status, as anywhere.
"""

import os
from datetime import datetime
from pathlib import Path

import yaml

from kube_sandbox import json
from kube_sandbox.apiserver.access import certificates
from kube_sandbox.dataplane import programs

#: On the cluster's gateway address; a listener of a Gateway has to name it.
PORT = 8000
CLASS = "traefik"
CONTROLLER = "traefik.io/gateway-controller"
#: Seconds. Real clusters are content with Traefik's default of two, but a sandbox is as fast as
#: its clock.
THROTTLE = 0.02
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
    *,
    address: str,
    url: str,
    token: str,
    authority: str,
    directory: Path,
    now: datetime,
    throttle: float = THROTTLE,
) -> programs.Program:
    """Run Traefik for a cluster; files and its log go to `directory`.

    `url`, `token` and `authority` lead to the cluster's API server; `now` is for certificates. It
    looks at what has changed every `throttle` seconds.

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
        f"--providers.providersthrottleduration={throttle:g}s",
        f"{provider}=true",
        f"{provider}.endpoint={url}",
        f"{provider}.token={secret}",
        f"{provider}.statusaddress.ip={address}",
        f"--providers.file.filename={_own_certificate(address, directory, now)}",
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


def _own_certificate(address: str, directory: Path, now: datetime) -> Path:
    """Give it a certificate, and return the file that says so.

    Without one it makes an RSA key whenever its configuration changes. That takes a second on a
    busy computer, during which it still sends requests to pods that are gone.
    """
    made = certificates.authority(certificates.today(now), (address,))
    pair = {"certFile": "traefik.crt", "keyFile": "traefik.key"}
    _write(directory / pair["certFile"], made.server_certificate)
    _write(directory / pair["keyFile"], made.server_key)
    named = {key: str(directory / name) for key, name in pair.items()}
    content = {"tls": {"stores": {"default": {"defaultCertificate": named}}}}
    path = directory / "tls.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner can read: words of a command can be read by all."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
