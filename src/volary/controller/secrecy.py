"""Values that must never be seen, and everybody who has to know them: also those learnt late."""

import weakref
from collections.abc import Iterable

from volary.manifests import masking


class Secrets:
    """The secrets of the process itself, such as those of its metric systems."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = set(values)
        self._maskers: weakref.WeakSet[masking.Masker] = weakref.WeakSet()

    @property
    def values(self) -> tuple[str, ...]:
        """All that are known."""
        return tuple(self._values)

    def learn(self, value: str) -> None:
        """Learn one more; maskers that are in use know it from now on."""
        if value in self._values:
            return
        self._values.add(value)
        for masker in self._maskers:
            masker.add(value)

    def masker(self) -> masking.Masker:
        """Return a new masker that knows all of them, also those that are learnt later."""
        made = masking.Masker(self._values)
        self._maskers.add(made)
        return made
