"""How many requests without credentials each address may send: a bucket that fills up again."""

from collections import OrderedDict

#: Requests at once, and those that are added each second.
BURST, RATE = 200, 50.0
#: Addresses that are remembered; who sent nothing for longest is forgotten first.
_MOST = 10_000


class RequestRates:
    """What is left to each address."""

    def __init__(self, burst: int = BURST, rate: float = RATE) -> None:
        self._burst, self._rate = burst, rate
        #: What each had at a moment; those that asked last are last.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, holder: str, now: float) -> float:
        """Count a request at `now`, in seconds of a clock that nobody sets.

        Returns:
            0; or the seconds until there is room for it, and then it was not counted.
        """
        left, at = self._left.pop(holder, (float(self._burst), now))
        left = min(float(self._burst), left + (now - at) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[holder] = (left if wait else left - 1, now)
        while len(self._left) > _MOST:
            self._left.popitem(last=False)
        return wait

    def __len__(self) -> int:
        return len(self._left)
