"""What the comparison of clusters asks of whoever watches the objects there (`livestate`)."""

from typing import Protocol

#: A cluster, and the id of the owner of what changed there.
Change = tuple[str, str]


class Listener(Protocol):
    """Hears which applications' objects changed."""

    async def changed(self) -> frozenset[Change]:
        """Wait until something has changed, and return all that did since the last call."""
        ...

    def close(self) -> None:
        """Hear nothing any more."""
        ...


class WatchedObjects(Protocol):
    """The objects of all applications in all clusters."""

    def listen(self) -> Listener:
        """Return a new listener; it hears of what changes from now on."""
        ...

    def is_current(self, cluster: str) -> bool:
        """Say whether every change in a cluster is heard of now."""
        ...
