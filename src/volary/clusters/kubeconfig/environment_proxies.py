"""The proxy that the environment names, as curl and kubectl understand it: pure."""

import ipaddress
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from volary.clusters.kubeconfig import connections
from volary.model import addresses, errors


def with_proxy(
    connection: connections.Connection, environment: Mapping[str, str]
) -> connections.Connection:
    """Return the connection through ``HTTPS_PROXY`` or ``HTTP_PROXY``, unless ``NO_PROXY`` says no.

    A proxy of the kubeconfig stays. Loopback addresses are never sent to a proxy.

    Raises:
        errors.UserError: The proxy is of a kind that is not supported.
    """
    url = urlsplit(connection.server)
    name = f"{url.scheme}_proxy"
    proxy_address = _variable(environment, name)
    host = url.hostname or ""
    if connection.proxy_url or not proxy_address or addresses.is_loopback(host):
        return connection
    port = url.port or (443 if url.scheme == "https" else 80)
    if _is_excepted(host, port, _variable(environment, "no_proxy")):
        return connection
    proxy = proxy_address if "://" in proxy_address else f"http://{proxy_address}"
    if not is_supported(proxy):
        raise errors.user_error(
            f"cluster {connection.name}: {name.upper()} names a proxy of the form"
            f" {proxy.partition('://')[0]}://, which is not supported",
            hint="use an http or https proxy, or add the server to NO_PROXY",
        )
    return replace(connection, proxy_url=proxy)


def is_supported(url: str) -> bool:
    """Whether we can go through this proxy."""
    return url.startswith(("http://", "https://"))


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name, "")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_excepted(host: str, port: int, exceptions: str) -> bool:
    """Whether one of the names in ``NO_PROXY`` means the host."""
    names = [name.strip().lower() for name in exceptions.split(",")]
    return any(_matches(name, host.lower(), port) for name in names if name)


def _matches(name: str, host: str, port: int) -> bool:
    """Whether ``*``, an address, a network, or a domain with all below it means the host."""
    if name == "*":
        return True
    address = _address(host)
    if address is not None and "/" in name:
        try:
            return address in ipaddress.ip_network(name, strict=False)
        except ValueError:
            return False
    wanted, _, number = name.rpartition(":")
    if wanted and number.isdigit() and (_address(name) is None):
        if int(number) != port:
            return False
        name = wanted.strip("[]")
    domain = name.removeprefix("*").removeprefix(".")
    return host == domain or (address is None and host.endswith(f".{domain}"))
