"""Pages of lists: where the next one begins is written in an opaque cursor.

A cursor holds the sort key of the last item shown, so a list that grows at its beginning
neither repeats nor leaves out anything on later pages.
"""

import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Annotated, TypeVar

import msgspec

from volary.model import errors, json
from volary.store import records

Item = TypeVar("Item")
#: What databases take: a cursor is nobody's but whoever sends it.
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]
_Word = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*$")]
_Position = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


def bounded(limit: int, most: int) -> int:
    """Return how many items to read: between 1 and `most`."""
    return max(1, min(limit, most))


def cut(
    items: Sequence[Item], limit: int, key: Callable[[Item], tuple[object, ...]]
) -> records.Page[Item]:
    """Make a page of the first `limit` of `items`; one more item tells that there is another."""
    if len(items) <= limit:
        return records.Page(tuple(items))
    shown = tuple(items[:limit])
    return records.Page(shown, write(key(shown[-1])))


async def every(fetch: Callable[[str], Awaitable[records.Page[Item]]]) -> AsyncIterator[Item]:
    """Yield the items of all pages; `fetch` returns the page of a cursor."""
    cursor = ""
    while True:
        page = await fetch(cursor)
        for item in page.items:
            yield item
        cursor = page.cursor
        if not cursor:
            return


def write(key: tuple[object, ...]) -> str:
    """Return the cursor of a sort key made of text, numbers and times."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def by_time(cursor: str) -> tuple[datetime, str] | None:
    """Read a cursor of a time and a text; None: the first page."""
    return _read(cursor, tuple[_Moment, _Word]) if cursor else None


def by_name(cursor: str) -> str:
    """Read a cursor of a name; empty: the first page."""
    return _read(cursor, tuple[_Word])[0] if cursor else ""


def by_rank(cursor: str) -> tuple[int, str] | None:
    """Read a cursor of a rank and a name; None: the first page."""
    return _read(cursor, tuple[_Position, _Word]) if cursor else None


def by_pair(cursor: str) -> tuple[str, str] | None:
    """Read a cursor of two cursors; None: the first page."""
    return _read(cursor, tuple[_Word, _Word]) if cursor else None


def by_position(cursor: str) -> int | None:
    """Read a cursor of a position; None: the first page."""
    return _read(cursor, tuple[_Position])[0] if cursor else None


Key = TypeVar("Key")


def _read(cursor: str, kind: type[Key]) -> Key:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return json.decode(text, kind)
    except (binascii.Error, ValueError, *json.UNREADABLE) as error:
        raise errors.user_error(
            "the page's cursor is not one of this list",
            hint="take it from the answer before, or leave it out for the first page",
        ) from error
