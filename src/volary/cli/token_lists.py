"""API tokens as the command line shows them, wherever they were read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from volary.cli import console
from volary.model import errors, json

_TITLES = ("ID", "NAME", "ROLE", "STATUS", "PROJECT", "LABELS", "CREATED", "EXPIRES", "LAST USED")


@dataclass(frozen=True, slots=True)
class WantedToken:
    """A token that is to be made."""

    name: str
    role: str
    labels: Mapping[str, str]
    #: Empty: for every project, and what is in none.
    project: str
    #: Until it expires; None: never.
    days: int | None


def lines(items: Sequence[json.JsonObject]) -> Iterator[str]:
    """Yield the lines of a table of tokens, as the API has them."""
    rows = [
        (
            item["id"],
            item["name"],
            item["role"],
            item["status"],
            item["project"] or "-",
            labels(item["matchLabels"]) or "-",
            moment(item["created"]),
            moment(item["expires"]) or "never",
            moment(item["lastUsed"]) or "not yet",
        )
        for item in items
    ]
    return console.aligned([_TITLES, *rows])


def labels(pairs: Mapping[str, str]) -> str:
    """Return labels as they are written."""
    return ",".join(f"{key}={value}" for key, value in pairs.items())


def read_labels(written: Sequence[str]) -> dict[str, str]:
    """Read labels.

    Raises:
        errors.UserError: One is none.
    """
    pairs = dict(label.partition("=")[::2] for label in written)
    if any(not key or not value for key, value in pairs.items()):
        raise errors.user_error("a label is not of the form key=value")
    return pairs


def moment(text: str | None) -> str:
    """Return a moment as lists show it, to the minute in UTC; empty for none."""
    return f"{text[:10]} {text[11:16]}" if text else ""


def created(name: str, role: str) -> str:
    """Return what is said beside a new token."""
    return f"token {name} ({role}); it is shown only now"
