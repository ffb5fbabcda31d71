"""Queries for the bounds of the bucket that a quantile of a histogram falls into, in PromQL. Pure.

`histogram_quantile` draws a straight line from one bound of a bucket to the other. Buckets of which
only that one has grown give its bounds as their lowest and highest quantile, in the units that the
query makes of them.
"""

import re
from dataclasses import dataclass

_NAME = "histogram_quantile"
_BEGINS = re.compile(rf"\b{_NAME}\s*\(")
_NUMBER = re.compile(r"\s*(0?\.\d+|1|1\.0*)\s*")
#: What opens, and a string that may hold anything.
_TOKEN = re.compile(r"""[(){}\[\],]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`""")
#: Of zero it is the first bucket, whichever has grown.
_LOWEST = "1e-9"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The queries for both bounds of a bucket."""

    low: str
    high: str


def is_quantile(query: str) -> bool:
    """Say whether a query asks for a quantile of a histogram."""
    return bool(_BEGINS.search(query))


def bounds(query: str) -> Bounds | None:
    """Return the queries for the bounds; None: there is not one quantile of one histogram in it."""
    begun = _BEGINS.search(query)
    if begun is None or _BEGINS.search(query, begun.end()):
        return None
    parts = _arguments(query, begun.end())
    if parts is None:
        return None
    (quantile, buckets), end = parts
    if not _NUMBER.fullmatch(quantile):
        return None
    grown = f"({buckets})"
    share = f"{quantile.strip()} * max without (le) {grown}"
    reached = f"{grown} >= bool ignoring (le) group_left () ({share})"

    def asked(at: str) -> str:
        return f"{query[: begun.start()]}{_NAME}({at}, {reached}){query[end:]}"

    return Bounds(asked(_LOWEST), asked("1"))


def _arguments(query: str, start: int) -> tuple[tuple[str, str], int] | None:
    """Return the two arguments of the call that begins there, and where it ends."""
    depth, commas = 0, []
    for token in _TOKEN.finditer(query, start):
        match token[0]:
            case "(" | "{" | "[":
                depth += 1
            case "," if depth == 0:
                commas.append(token.start())
            case ")" if depth == 0:
                if len(commas) != 1:
                    return None
                middle = commas[0]
                return (query[start:middle], query[middle + 1 : token.start()].strip()), token.end()
            case ")" | "}" | "]":
                depth -= 1
    return None
