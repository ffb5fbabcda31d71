"""Finding values in JSON by a path: a part of JSONPath (RFC 9535). Pure.

There are names (`$.data.rate`, `$['error rate']`), places (`[0]`, `[-1]`), and all values of an
object or list (`.*`, `[*]`); no filters, slices or descents. That is what finds a number in an
answer, and a path that needs more is refused rather than read in part.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

_STEP = re.compile(
    r"""\.(?P<name>[^\W\d][\w-]*)"""
    r"""|\[(?P<place>-?(?:0|[1-9][0-9]{0,8}))\]"""
    r"""|\[(?:'(?P<single>[^'\\]*)'|"(?P<double>[^"\\]*)")\]"""
    r"""|(?P<all>\.\*|\[\*\])"""
)


class Every(Enum):
    """Stands for all values of an object or list."""

    EVERY = "*"


Step = str | int | Every


@dataclass(frozen=True, slots=True)
class Path:
    """A path that was read."""

    steps: Sequence[Step]

    def find(self, document: object) -> Iterator[object]:
        """Yield what is there, in the document's order; nothing where the path leads nowhere."""
        values = [document]
        for step in self.steps:
            values = [inner for value in values for inner in _follow(value, step)]
        yield from values


def parse(text: str) -> Path:
    """Read a path.

    Raises:
        ValueError: It cannot be followed; the text says where.
    """
    if not text.startswith("$"):
        raise ValueError("a path begins with $")
    steps: list[Step] = []
    position = 1
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(
                f"{text[position : position + 20]!r} is not understood: there are .name, ['name'],"
                " [0] and [*]"
            )
        steps.append(_step(match))
        position = match.end()
    return Path(tuple(steps))


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return Every.EVERY
    if match["place"] is not None:
        return int(match["place"])
    return next(key for key in (match["name"], match["single"], match["double"]) if key is not None)


def _follow(value: object, step: Step) -> Iterator[object]:
    if isinstance(step, Every):
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield value[step]
    elif isinstance(value, dict) and step in value:
        yield value[step]
