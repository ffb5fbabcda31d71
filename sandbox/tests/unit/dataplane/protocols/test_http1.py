"""HTTP/1.1 messages as bytes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.dataplane.protocols import http1

CHUNKED = b"POST /a?b HTTP/1.1\r\nHost: shop\r\nTransfer-Encoding: chunked\r\n\r\n"


def fed(data: bytes) -> http1.Reader:
    reader = http1.Reader()
    reader.feed(data)
    return reader


def test_requests_come_one_after_the_other() -> None:
    reader = fed(
        b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"
    )

    first, second = reader.request(), reader.request()

    assert first is not None
    assert (first.method, first.path, first.header("host"), first.body) == ("GET", "/a", "x", b"")
    assert second is not None
    assert (second.method, second.body) == ("POST", b"hi")
    assert reader.request() is None
    assert reader.is_empty


@given(st.lists(st.integers(0, 80), max_size=12))
def test_a_request_is_the_same_in_whatever_pieces_it_comes(cuts: list[int]) -> None:
    whole = CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: 1\r\n\r\n"
    reader = http1.Reader()
    places = sorted({0, len(whole), *(min(each, len(whole)) for each in cuts)})
    found = None
    for start, end in itertools.pairwise(places):
        assert found is None
        reader.feed(whole[start:end])
        found = reader.request()

    assert found is not None
    assert (found.target, found.path, found.body) == ("/a?b", "/a", b"abcde")
    assert reader.is_empty


def test_an_answer_may_end_with_its_connection() -> None:
    reader = fed(b"HTTP/1.1 200 OK\r\n\r\nall of it")
    assert reader.response() is None
    reader.end()

    found = reader.response()

    assert found is not None
    assert (found.status, found.body, found.keep_alive) == (200, b"all of it", False)


def test_interim_answers_and_answers_without_body_are_known() -> None:
    reader = fed(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
    )

    first, head = reader.response(), reader.response(bodiless=True)

    assert first is not None
    assert first.status == 204
    assert head is not None
    assert (head.status, head.body) == (200, b"")


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True),
    ],
)
def test_who_keeps_a_connection(text: bytes, keeps: bool) -> None:
    found = fed(text).request()

    assert found is not None
    assert found.keep_alive is keeps


@pytest.mark.parametrize(
    "text",
    [
        b"nonsense\r\n\r\n",
        b"GET / SPDY/3\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: yes\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 1\r\n\r\nab",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"fffffff\r\n",
        b"x" * 100_000,
    ],
)
def test_what_is_malformed_or_too_large_is_refused(text: bytes) -> None:
    with pytest.raises(http1.MalformedError):
        fed(text).request()


def test_what_is_written_is_read_back() -> None:
    request = http1.Request("POST", "/x?y=z", (("host", "shop"), ("x-a", "b")), b"body")
    answer = http1.Response(503, (("x-version", "v1"),), b"no")

    read = fed(http1.write_request(request)).request()
    got = fed(http1.write_response(answer, close=True)).response()

    assert read is not None
    assert (read.method, read.target, read.header("x-a"), read.body) == (
        *("POST", "/x?y=z", "b", b"body"),
    )
    assert got is not None
    assert (got.status, got.header("x-version"), got.body, got.keep_alive) == (
        *(503, "v1", b"no", False),
    )
