"""How many requests without credentials each address may send: a bucket that fills up again.

Of several servers each gives an address its share: one of as many as there are.
"""

from collections import OrderedDict
from collections.abc import Callable

#: Requests at once, and those that are added each second.
BURST, RATE = 200, 50.0
#: Addresses that are remembered; who sent nothing for longest is forgotten first.
_MOST = 10_000


class RequestRates:
    """What is left to each address; `servers` says how many servers there are."""

    def __init__(
        self, burst: int = BURST, rate: float = RATE, servers: Callable[[], int] = lambda: 1
    ) -> None:
        self._burst, self._rate = burst, rate
        self._servers = servers
        #: What each had at a moment; those that asked last are last.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, holder: str, now: float) -> float:
        """Count a request at `now`, in seconds of a clock that nobody sets.

        Returns:
            0; or the seconds until there is room for it, and then it was not counted.
        """
        servers = self._servers()
        burst, rate = max(1.0, self._burst / servers), self._rate / servers
        left, at = self._left.pop(holder, (burst, now))
        left = min(burst, left + (now - at) * rate)
        wait = 0.0 if left >= 1 else (1 - left) / rate
        self._left[holder] = (left if wait else left - 1, now)
        while len(self._left) > _MOST:
            self._left.popitem(last=False)
        return wait

    def __len__(self) -> int:
        return len(self._left)
