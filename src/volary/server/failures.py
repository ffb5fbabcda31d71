"""Failed logins, counted by address: whoever guesses has to wait. Pure."""

from collections import OrderedDict
from datetime import datetime, timedelta

#: So many failures within the window; then every try is refused until one is old enough.
MOST, WINDOW = 10, timedelta(minutes=1)
#: Addresses that are remembered; the one seen longest ago is forgotten first.
_ADDRESSES = 10_000


class FailedLogins:
    """Remembers failures of the last minute."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, tuple[datetime, ...]] = OrderedDict()

    def wait(self, address: str, now: datetime) -> timedelta:
        """Return how long this address has to wait; zero when it may try."""
        recent = self._recent(address, now)
        return recent[0] + WINDOW - now if len(recent) >= MOST else timedelta(0)

    def count(self, address: str, now: datetime) -> None:
        """Remember a failure."""
        recent = self._recent(address, now)
        self._failures[address] = (*recent, now)[-MOST:]
        self._failures.move_to_end(address)
        while len(self._failures) > _ADDRESSES:
            self._failures.popitem(last=False)

    def _recent(self, address: str, now: datetime) -> tuple[datetime, ...]:
        return tuple(each for each in self._failures.get(address, ()) if now - WINDOW < each <= now)
