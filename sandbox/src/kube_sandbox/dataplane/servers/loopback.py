"""Addresses on the loopback interface: each cluster has a block of its own in 127.0.0.0/8.

A real proxy reads a pod's address and port from an EndpointSlice and connects; so every pod
needs an address where its container's port is free. Several sandboxes may run on one
computer: a block is claimed by listening on its first address.
"""

import errno
import ipaddress
import random
import socket

from kube_sandbox import errors

_SIZE = 4096
#: 127.0.x.y is left to others, who write 127.0.0.1 and 127.0.1.1.
_FIRST = int(ipaddress.ip_address("127.1.0.0"))
_COUNT = (2**24 - 2**16) // _SIZE
_CLAIM_PORT = 10256
#: Offsets below this one are for the cluster itself.
_FIRST_POD = 16
_TRIES = 64


class Block:
    """The addresses of one cluster; made by `claim`."""

    def __init__(self, start: int, claimed: socket.socket) -> None:
        self._start = start
        self._claimed = claimed
        self._next = _FIRST_POD
        self._taken: set[str] = set()
        #: Where the cluster's proxies listen.
        self.gateway = str(ipaddress.ip_address(start + 1))

    def take(self) -> str:
        """Take an address for a pod; one given back comes again as late as possible.

        Raises:
            UserError: All are taken.
        """
        for _ in range(_SIZE - _FIRST_POD):
            found = str(ipaddress.ip_address(self._start + self._next))
            self._next = self._next + 1 if self._next < _SIZE - 1 else _FIRST_POD
            if found not in self._taken:
                self._taken.add(found)
                return found
        raise errors.UserError(f"more than {_SIZE - _FIRST_POD} pods in one sandbox cluster")

    def give_back(self, address: str) -> None:
        """Give a pod's address back."""
        self._taken.discard(address)

    def close(self) -> None:
        """Leave the block to others."""
        self._claimed.close()


def claim() -> Block:
    """Claim a block that no other sandbox on this computer uses.

    Raises:
        UserError: None is free, or the system has no loopback addresses beside 127.0.0.1.
    """
    first = random.SystemRandom().randrange(_COUNT)
    for number in range(_TRIES):
        start = _FIRST + (first + number * 61) % _COUNT * _SIZE
        claimed = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            claimed.bind((str(ipaddress.ip_address(start + 1)), _CLAIM_PORT))
            claimed.listen(1)
        except OSError as problem:
            claimed.close()
            if problem.errno == errno.EADDRNOTAVAIL:
                raise errors.UserError(
                    "this system answers on 127.0.0.1 only, not on all of 127.0.0.0/8",
                    hint="real traffic in a sandbox needs Linux; leave it out elsewhere",
                ) from problem
            continue
        return Block(start, claimed)
    raise errors.UserError("no block of loopback addresses is free for a sandbox cluster")
