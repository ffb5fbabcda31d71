"""Addresses of machines, as people and requests name them."""

import functools
import ipaddress
from urllib import parse

#: Whoever has one IPv6 address usually has all of its network.
_NETWORK_BITS = 64

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_loopback(host: str) -> bool:
    """Say whether a name or an address means this machine, and is reached from nowhere else.

    Of names only `localhost` does: any other can be pointed anywhere by whoever owns it, also one
    that begins like an address (`127.0.0.1.example.org`).
    """
    if host.lower() == "localhost":
        return True
    read = _read(host)
    return read is not None and read.is_loopback


def is_secure(url: str) -> bool:
    """Say whether what is sent to a URL is encrypted on its way, or stays in this machine."""
    try:
        address = parse.urlsplit(url)
        host = address.hostname or ""
    except ValueError:
        return False
    return address.scheme == "https" or (address.scheme == "http" and is_loopback(host))


def is_host_and_port(address: str) -> bool:
    """Say whether a text is ``HOST:PORT``."""
    host, colon, port = address.rpartition(":")
    is_number = port.isascii() and port.isdigit() and len(port) < 6
    return bool(host and colon) and is_number and 0 < int(port) < 65536


@functools.lru_cache(maxsize=4096)
def holder_of(address: str) -> str:
    """Return who a connection from an address belongs to.

    That is an IPv4 address, also one that is written as IPv6, or a network of 2^64 IPv6
    addresses; what is no IP address stands for itself.
    """
    read = _read(address)
    if isinstance(read, ipaddress.IPv6Address) and not read.is_loopback:
        return str(ipaddress.ip_network((int(read), _NETWORK_BITS), strict=False))
    return str(read) if read else address


@functools.lru_cache(maxsize=4096)
def is_within(address: str, networks: tuple[str, ...]) -> bool:
    """Say whether an address belongs to one of the networks."""
    read = _read(address)
    return read is not None and any(
        read in ipaddress.ip_network(network, strict=False) for network in networks
    )


def _read(address: str) -> Address | None:
    try:
        read = ipaddress.ip_address(address)
    except ValueError:
        return None
    mapped = getattr(read, "ipv4_mapped", None)
    return mapped or read
