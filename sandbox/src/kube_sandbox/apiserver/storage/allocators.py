"""What a cluster hands out to Services: cluster IPs and node ports."""

import random
from collections.abc import Sequence


class ExhaustedError(Exception):
    """Nothing is left to hand out."""


class Addresses:
    """The addresses and ports in use; each is taken until it is given back."""

    def __init__(self, network: str, ports: Sequence[int], chance: random.Random) -> None:
        self._network = network
        self._ports = ports
        self._random = chance
        self._taken: set[str] = set()
        self._taken_ports: set[int] = set()

    def take(self, wanted: str = "") -> str | None:
        """Take `wanted`, or any free address; None when it is taken.

        Raises:
            ExhaustedError: All are taken.
        """
        if wanted:
            return self._add(wanted)
        for _ in range(256):
            found = (
                f"{self._network}.{self._random.randrange(256)}.{self._random.randrange(1, 255)}"
            )
            if self._add(found):
                return found
        raise ExhaustedError("failed to allocate a serviceIP: range is full")

    def _add(self, address: str) -> str | None:
        if address in self._taken:
            return None
        self._taken.add(address)
        return address

    def take_port(self, wanted: int = 0) -> int | None:
        """Take `wanted`, or any free node port; None when it is taken or out of range.

        Raises:
            ExhaustedError: All are taken.
        """
        if wanted:
            free = wanted in self._ports and wanted not in self._taken_ports
            if free:
                self._taken_ports.add(wanted)
            return wanted if free else None
        if len(self._taken_ports) >= len(self._ports):
            raise ExhaustedError("failed to allocate a nodePort: range is full")
        while (found := self._random.choice(self._ports)) in self._taken_ports:
            pass
        self._taken_ports.add(found)
        return found

    def release(self, address: str) -> None:
        """Give an address back."""
        self._taken.discard(address)

    def release_port(self, port: int) -> None:
        """Give a node port back."""
        self._taken_ports.discard(port)
