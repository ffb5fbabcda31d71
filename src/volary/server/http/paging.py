"""Pages of lists that are at hand as a whole, and what every list is asked with."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import fastapi

from volary.model import errors
from volary.store import pagination, records

Item = TypeVar("Item")

#: Words that narrow a list; no control characters, which no name has.
Word = Annotated[str, fastapi.Query(max_length=253, pattern=r"^[^\x00-\x1f\x7f]*$")]
Cursor = Annotated[
    str,
    fastapi.Query(
        max_length=500,
        pattern=r"^[A-Za-z0-9_-]*$",
        description="Where the page begins, from the answer before; empty: the first.",
    ),
]
Limit = Annotated[
    int, fastapi.Query(ge=1, le=500, description="Items of a page; it may hold fewer.")
]
After = Annotated[
    int, fastapi.Query(ge=0, le=2**53, description="Only what comes after this number.")
]


def cut(
    items: Sequence[Item], key: Callable[[Item], str], cursor: str, limit: int
) -> records.Page[Item]:
    """Return the page of `items` after the one whose key is in the cursor.

    Raises:
        errors.UserError: The cursor is none, or what it names is not there any more.
    """
    start = 0
    if cursor:
        last = pagination.by_name(cursor)
        position = next((place for place, entry in enumerate(items) if key(entry) == last), None)
        if position is None:
            raise errors.user_error("the page's cursor is out of date", hint="begin again")
        start = position + 1
    return pagination.cut(items[start : start + limit + 1], limit, lambda entry: (key(entry),))


def after(cursor: str, number: int) -> int:
    """Return the number to go on after: that in the cursor, or `number`.

    Raises:
        errors.UserError: The cursor is none.
    """
    return (pagination.by_position(cursor) or 0) if cursor else number


def next_cursor(numbers: Sequence[int], limit: int) -> str:
    """Return the cursor after a page of numbered things; empty when there is no more now."""
    return pagination.write((numbers[-1],)) if len(numbers) >= limit else ""
