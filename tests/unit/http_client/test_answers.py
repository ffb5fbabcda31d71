"""Answers of HTTP servers: how much of them is read, and when to come back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from aiohttp import test_utils, web

from volary.http_client import answers

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HOWS = ("announced", "chunked", "compressed")


@asynccontextmanager
async def answered(body: bytes, how: str) -> AsyncIterator[aiohttp.ClientResponse]:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse() if how == "chunked" else web.Response(body=body)
        if how == "compressed":
            response.enable_compression(web.ContentCoding.gzip)
        await response.prepare(request)
        if how == "chunked":
            await response.write(body)
        return response

    app = web.Application()
    app.router.add_get("/", answer)
    async with (
        test_utils.TestServer(app) as server,
        aiohttp.ClientSession() as session,
        session.get(server.make_url("/")) as response,
    ):
        yield response


@pytest.mark.parametrize("how", HOWS)
async def test_a_body_up_to_the_limit_is_read_whole(how: str) -> None:
    async with answered(b"x" * 200_000, how) as answer:
        assert await answers.read_whole(answer, 200_000) == b"x" * 200_000


@pytest.mark.parametrize("how", HOWS)
async def test_one_byte_more_is_too_large(how: str) -> None:
    async with answered(b"x" * 200_001, how) as answer:
        with pytest.raises(answers.TooLargeError):
            await answers.read_whole(answer, 200_000)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("size", "read"), [(7, 7), (100_000, 100_000), (200_000, 100_000)])
async def test_a_beginning_is_cut_at_the_limit(how: str, size: int, read: int) -> None:
    async with answered(b"x" * size, how) as answer:
        assert await answers.read_beginning(answer, 100_000) == b"x" * read


@pytest.mark.parametrize(
    ("header", "delay"),
    [
        ("", None),
        ("soon", None),
        ("-1", None),
        ("7", timedelta(seconds=7)),
        ("Tue, 01 Jan 2030 12:00:30 GMT", timedelta(seconds=30)),
        ("Tue, 01 Jan 2030 11:00:00 GMT", timedelta(0)),
        ("9" * 5000, timedelta(seconds=9_999_999)),
        ("1234567", timedelta(seconds=1_234_567)),
        ("Tue, 01 Jan 2030 12:00:30 +0100", timedelta(0)),
        ("Tue, 01 Jan 2030 12:00:30", timedelta(seconds=30)),
        ("\u0667", None),
    ],
)
def test_a_delay_is_read(header: str, delay: timedelta | None) -> None:
    assert answers.retry_after({"Retry-After": header}, NOON) == delay
