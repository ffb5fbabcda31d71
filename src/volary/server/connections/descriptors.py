"""File descriptors of this process: how many there may be, and one that is always there."""

import contextlib
import os
import resource
from collections.abc import Iterator

#: More are not asked for: programs that are started have the same limit, and some close each one.
_MOST = 65_536


def raise_limit() -> None:
    """Let this process have as many as it may; where that is refused, the limit stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit() -> int:
    """Return how many this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else min(soft, _MOST)


class Spare:
    """A descriptor that is held so that there is one when all others are taken."""

    def __init__(self) -> None:
        self._held: int | None = None
        self._take()

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Leave the descriptor to the block."""
        self.close()
        try:
            yield
        finally:
            self._take()

    def close(self) -> None:
        """Hold none any more."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _take(self) -> None:
        # Somebody else may have been quicker: then it is tried again with the next one.
        with contextlib.suppress(OSError):
            self._held = os.open(os.devnull, os.O_RDONLY)
