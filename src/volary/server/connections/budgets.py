"""An amount that all share, of which nobody gets more than a share."""

from collections import Counter


class Budget:
    """What is left of an amount, and who has how much of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        #: How much is taken.
        self.taken = 0

    def take(self, holder: str, amount: int, *, share: int) -> bool:
        """Take an amount for somebody who may have `share`; False: nothing was taken."""
        if self.taken + amount > self._most or self._held[holder] + amount > share:
            self._drop(holder)
            return False
        self._held[holder] += amount
        self.taken += amount
        return True

    def give_back(self, holder: str, amount: int) -> None:
        """Give back what was taken."""
        self._held[holder] -= amount
        self.taken -= amount
        self._drop(holder)

    @property
    def holders(self) -> int:
        """How many have something of it."""
        return len(self._held)

    def _drop(self, holder: str) -> None:
        """Forget who has nothing."""
        if not self._held[holder]:
            del self._held[holder]
