"""How many watches this process has open: each is a connection and a file descriptor."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

#: More are not opened, whatever the process may have.
_MOST = 16_384


def most_watches() -> int:
    """Return how many watches a process may have: a quarter of its file descriptors.

    Half of them are for those who connect; requests, Git and the database need the rest.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else min(soft // 4, _MOST)


class NoWatchLeftError(Exception):
    """As many watches are open as there may be."""


class WatchBudget:
    """The watches that are open, of all clusters together."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most_watches() if most is None else most
        self.open = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a watch as open for the block.

        Raises:
            NoWatchLeftError: There are as many as there may be.
        """
        if self.open >= self.most:
            raise NoWatchLeftError
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
