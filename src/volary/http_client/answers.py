"""Reading what an HTTP server answered: never more than was agreed to."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email import utils as email_dates

import aiohttp

_CHUNK = 64 * 1024


class TooLargeError(ValueError):
    """An answer is larger than may be read."""


async def read_whole(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the whole body.

    Raises:
        TooLargeError: It has more than `limit` bytes; not more than that was read.
    """
    announced = answer.content_length or 0
    if announced > limit:
        raise TooLargeError
    if announced and "Content-Encoding" not in answer.headers:
        return await answer.read()
    body = await _read_up_to(answer, limit + 1)
    if len(body) > limit:
        raise TooLargeError
    return body


async def read_beginning(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the body, cut after `limit` bytes."""
    return (await _read_up_to(answer, limit))[:limit]


async def _read_up_to(answer: aiohttp.ClientResponse, enough: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in answer.content.iter_chunked(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size >= enough:
            break
    return b"".join(chunks)


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Return what `Retry-After` asks for, in seconds or as a date; None: nothing to be read."""
    header = headers.get("Retry-After", "")
    if header.isascii() and header.isdigit():
        return timedelta(seconds=int(header[:7]))  # months, and no overflow
    try:
        when = email_dates.parsedate_to_datetime(header)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(when - now, timedelta(0))
    except (ValueError, TypeError, IndexError, OverflowError):
        # Also a year or a zone that no date has.
        return None
