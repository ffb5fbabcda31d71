"""IPv4 addresses inside of IPv6 addresses: where a packet to one may end up. Pure.

A gateway, a tunnel or the kernel itself takes such an address for the IPv4 address in it, so
whoever refuses the one has to refuse the other.
"""

import ipaddress
from collections.abc import Iterator

_MASK = 0xFFFFFFFF
#: The last 32 bits: mapped, translated (SIIT), well-known prefix of NAT64, compatible.
_LAST = tuple(
    ipaddress.IPv6Network(prefix)
    for prefix in ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "::/96")
)
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
#: Bits behind an address that was put at these lengths of a prefix, around the byte of zeros at
#: bits 64 to 71 (RFC 6052).
_PREFIX_LENGTHS = (48, 56, 64, 96)
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
_TEREDO = ipaddress.IPv6Network("2001::/32")
#: Bits 64 to 95 of an interface that stands for an IPv4 address (ISATAP), with the bit that says
#: whether it is unique and without.
_ISATAP = (0x00005EFE, 0x02005EFE)
#: Addresses of their own, though they begin as compatible ones do.
_OWN = (ipaddress.IPv6Address("::"), ipaddress.IPv6Address("::1"))


def inside(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """Yield every IPv4 address that an IPv6 address may stand for."""
    if address in _OWN:
        return
    number = int(address)
    last = number & _MASK
    if any(address in prefix for prefix in _LAST):
        yield ipaddress.IPv4Address(last)
    if address in _LOCAL_NAT64:
        for length in _PREFIX_LENGTHS:
            yield ipaddress.IPv4Address(_behind(number, length))
    if address in _SIX_TO_FOUR:
        yield ipaddress.IPv4Address(number >> 80 & _MASK)
    if address in _TEREDO:
        # The server that is asked for the way, and the client, written inverted.
        yield ipaddress.IPv4Address(number >> 64 & _MASK)
        yield ipaddress.IPv4Address(last ^ _MASK)
    if number >> 32 & _MASK in _ISATAP:
        yield ipaddress.IPv4Address(last)


def _behind(number: int, length: int) -> int:
    """Return the 32 bits that follow a prefix, without the byte at bits 64 to 71."""
    if length == 96:
        return number & _MASK
    before = number >> 64 & (1 << (64 - length)) - 1
    after = length - 32
    return before << after | number >> (56 - after) & (1 << after) - 1
