"""How many connections there may be, how long each may take, and what requests share."""

from dataclasses import dataclass

from volary.model import addresses, server_settings

#: Connections beyond the limits, that are answered about health and nothing else.
RESERVE = 32
#: Of one holder.
RESERVE_EACH = 4
#: Even a process with hardly any descriptors serves so many.
_FEWEST = 16
#: Event streams at once, and the bytes of bodies.
_STREAMS, _BODIES = 500, 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long a connection may be in a phase."""

    #: To agree on TLS.
    handshake: float = 10.0
    #: From its beginning, or from the first byte of a further request, to the end of the head.
    head: float = 10.0
    #: From the end of the head to the end of the body. The middleware answers earlier.
    body: float = 20.0
    #: Between two requests: longer than proxies keep theirs, so that none sends into a closed one.
    idle: float = 75.0
    #: Without taking what is written. Streams that are not read are told so earlier.
    stalled: float = 45.0
    #: From its end to the moment when everything was taken.
    closing: float = 5.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What connections and requests may take of this process."""

    #: Connections at once.
    connections: int
    #: Of one holder.
    each: int
    #: Of one address of this machine itself.
    each_here: int
    #: Networks that stand for many people, and have no limit of their own.
    proxies: tuple[str, ...] = ()
    #: Event streams of one person.
    streams_each: int = 50
    seconds: Seconds = Seconds()

    def of(self, address: str) -> int:
        """Return how many connections whoever holds an address may have."""
        if self.is_proxy(address):
            return self.connections
        return self.each_here if addresses.is_loopback(address) else self.each

    def is_proxy(self, address: str) -> bool:
        """Say whether an address stands for many people."""
        return bool(self.proxies) and addresses.is_within(address, self.proxies)

    @property
    def streams(self) -> int:
        """Event streams at once: half of the connections stay for everything else."""
        return min(_STREAMS, self.connections // 2)

    def streams_of(self, address: str) -> int:
        """Return how many event streams whoever holds an address may have."""
        return self.of(address) // 2

    @property
    def bodies(self) -> int:
        """Bytes of bodies that are in memory at once."""
        return _BODIES

    def bodies_of(self, address: str) -> int:
        """Return how many of those whoever holds an address may have."""
        return _BODIES if self.is_proxy(address) else _BODIES // 4


def derive(limits: server_settings.Limits, descriptors: int) -> Bounds:
    """Return the bounds of a process that may have so many file descriptors open.

    At most half of them go to connections: the database, Git and the clusters need theirs.
    """
    most = max(_FEWEST, min(limits.connections, descriptors // 2 - RESERVE))
    each = min(limits.connections_per_address, max(most // 2, 1))
    return Bounds(
        most,
        each=each,
        each_here=max(each, most * 3 // 4),
        proxies=limits.proxies,
        streams_each=limits.streams_per_person,
    )
