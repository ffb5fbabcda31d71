"""The proxy that the environment names, as curl and kubectl understand it."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from volary.clusters import settings


def with_proxy(
    connection: settings.Connection, environment: Mapping[str, str]
) -> settings.Connection:
    """Return the connection through ``HTTPS_PROXY`` or ``HTTP_PROXY``, unless ``NO_PROXY`` says no.

    Loopback addresses are never sent to a proxy.
    """
    url = urlsplit(connection.server)
    found = _variable(environment, f"{url.scheme}_proxy")
    host = url.hostname or ""
    if not found or host in ("localhost", "::1") or host.startswith("127."):
        return connection
    if _is_excepted(host, _variable(environment, "no_proxy")):
        return connection
    return replace(connection, proxy_url=found if "://" in found else f"http://{found}")


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper(), "")


def _is_excepted(host: str, exceptions: str) -> bool:
    """Whether ``NO_PROXY`` names the host, a domain above it, or ``*``."""
    names = [name.strip().partition(":")[0].lstrip("*.") for name in exceptions.split(",")]
    return exceptions.strip() == "*" or any(
        host == name or host.endswith(f".{name}") for name in names if name
    )
