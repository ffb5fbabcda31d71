"""The secret values of the process itself, also those that are learnt late."""

from collections.abc import Iterable

from volary.manifests import redaction

#: Secret values of one application, those of earlier commits included.
_MOST_VALUES = 20_000


class SecretValues:
    """The secrets of the process itself, such as those of its metric systems, and those that
    came to light when applications were rendered.

    The latter are masked in what is said about their application, and in the log: what one
    repository calls secret does not take words out of what is said about another.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = dict.fromkeys(values)
        self._process = redaction.Masker(self._values)
        self._applications: dict[str, redaction.Masker] = {}

    @property
    def values(self) -> tuple[str, ...]:
        """All that are known of the process itself."""
        return tuple(self._values)

    def learn(self, value: str) -> None:
        """Learn one more; maskers that are in use know it from now on."""
        self._values[value] = None
        self._process.add(value)

    def learn_values(self, values: Iterable[object]) -> None:
        """Learn more of the process itself: strings and numbers, also inside of lists."""
        self._process.learn_values(values)

    def learn_of(self, application: str, values: Iterable[object]) -> None:
        """Learn what is secret in an application; its maskers know it from now on."""
        known = self._of(application)
        known.learn_values(values)
        known.keep_newest(_MOST_VALUES)

    def masker(self, application: str = "") -> redaction.Masker:
        """Return a new masker that knows all of them, also those that are learnt later.

        Args:
            application: Whose secrets it knows as well; empty: those of none.
        """
        beside = [self._process]
        if application:
            beside.append(self._of(application))
        return redaction.Masker(beside=beside)

    def clean(self, text: str) -> str:
        """Return a text of the log without any secret that is known."""
        return redaction.Masker(beside=(self._process, *self._applications.values())).clean(text)

    def _of(self, application: str) -> redaction.Masker:
        return self._applications.setdefault(application, redaction.Masker())
