"""Leases in memory: they hold between the parts of one process."""

from dataclasses import replace
from datetime import timedelta

from volary.model import clocks
from volary.store import fencing, records
from volary.store.memory import shelves


class Leases:
    """See `protocol.Leases`."""

    def __init__(self, shelf: shelves.Shelves, clock: clocks.Clock) -> None:
        self._leases = shelf.leases
        self._clock = clock

    async def acquire(self, name: str, owner: str, ttl: timedelta) -> records.Lease | None:
        """Take a lease that is free, expired or already `owner`'s."""
        held = await self.current(name)
        if held is not None and held.owner != owner:
            return None
        before = self._leases.get(name)
        number = before.number + 1 if before else 1
        self._leases[name] = records.Lease(name, owner, number, self._clock.now() + ttl)
        return self._leases[name]

    async def renew(self, lease: records.Lease, ttl: timedelta) -> records.Lease:
        """Hold it for another `ttl` from now."""
        if not self._is_newest(lease):
            raise fencing.LeaseLost(f"another process took over the lease {lease.name}")
        self._leases[lease.name] = replace(lease, expires=self._clock.now() + ttl)
        return self._leases[lease.name]

    async def release(self, lease: records.Lease) -> None:
        """Give it back."""
        if self._is_newest(lease):
            self._leases[lease.name] = replace(lease, owner="", expires=self._clock.now())

    async def current(self, name: str) -> records.Lease | None:
        """Return who holds it now."""
        lease = self._leases.get(name)
        if lease is None or not lease.owner or lease.expires <= self._clock.now():
            return None
        return lease

    def _is_newest(self, lease: records.Lease) -> bool:
        newest = self._leases.get(lease.name)
        return newest is not None and (newest.owner, newest.number) == (lease.owner, lease.number)
