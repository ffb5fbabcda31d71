"""Addresses of machines, as people and requests name them."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Say whether a name or an address means this machine, and is reached from nowhere else.

    Of names only `localhost` does: any other can be pointed anywhere by whoever owns it, also one
    that begins like an address (`127.0.0.1.example.org`).
    """
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
