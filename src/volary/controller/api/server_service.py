"""What people see of the servers of a database; read from the store, so that each can say it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from volary.controller.api import representations
from volary.controller.leadership import election
from volary.model import addresses
from volary.store import stores

#: After so much silence a server is not there any more.
SILENCE = timedelta(seconds=20)


class Server(representations.Representation, frozen=True):
    """A server that is there."""

    #: Of its machine.
    name: str
    #: Where other processes reach it.
    address: str
    version: str
    #: The newest revision of the database's schema that it knows.
    revision: str
    started: datetime
    last_seen: datetime
    #: Whether it carries out what is asked for; the others stand by.
    is_leader: bool


@dataclass(frozen=True, slots=True)
class ServerService:
    """See the module."""

    store: stores.Store
    #: Whether this server says where it is reached; agents are told nothing else.
    is_advertised: bool = False

    async def advertised(self) -> tuple[str, ...]:
        """Return where each server is reached; empty: it is not said, or only one is known to be.

        None to which a token would be sent without encryption.
        """
        if not self.is_advertised:
            return ()
        known = [each.address for each in await self.store.servers.live(silence=SILENCE)]
        return tuple(sorted(address for address in known if addresses.is_secure(address)))

    async def list(self) -> tuple[Server, ...]:
        """Return the servers that are there, by name."""
        lease = await self.store.leases.current(election.NAME)
        leader = lease.owner if lease is not None else ""
        return tuple(
            representations.build(
                Server, each, last_seen=each.seen, is_leader=bool(leader) and each.id == leader
            )
            for each in await self.store.servers.live(silence=SILENCE)
        )
