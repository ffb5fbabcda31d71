"""Whether a write may be sent, asked right before it is: of what, where, and what for.

Whoever opens a client says by which rule it writes. The rule is asked each time anew, so that it
speaks of what is permitted at that moment. Dry runs are asked for as well: what they would show is
not for everybody, and their answer is that of the write they stand for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from volary.clusters.api import discovery


class Purpose(StrEnum):
    """What a write is for: said by who writes it, never by what is written."""

    #: Something of the application: its manifests, copies of them, routes, what it prunes.
    CONTENT = "content"
    #: Volary's own records of the application: its inventory, adopted objects as they were.
    BOOKKEEPING = "bookkeeping"


@dataclass(frozen=True, slots=True)
class Write:
    """One object that is to be created, changed or deleted."""

    resource: discovery.Resource
    #: Empty: it belongs to the whole cluster, or has none.
    namespace: str
    #: Empty: the API server makes one.
    name: str
    purpose: Purpose = Purpose.CONTENT


#: Returns why a write may not be sent, a sentence; empty: it may.
WriteRule = Callable[[Write], str]


def permit_all(_: Write) -> str:
    """Return nothing: everything may be written, as far as the cluster lets it."""
    return ""
