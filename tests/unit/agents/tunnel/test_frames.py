"""Frames: what is sent is what is read, and everything else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.agents.tunnel import frames

KINDS = {
    frames.Kind.OPEN: b"",
    frames.Kind.DATA: b"GET /",
    frames.Kind.CREDIT: b"\0\0\1\0",
    frames.Kind.END: b"",
    frames.Kind.RESET: b"why",
    frames.Kind.PING: b"12345678",
    frames.Kind.PONG: b"12345678",
    frames.Kind.CLOSE: b"bye",
}
OF_TUNNEL = (frames.Kind.PING, frames.Kind.PONG, frames.Kind.CLOSE)


@pytest.mark.parametrize("kind", list(frames.Kind))
def test_what_is_sent_is_what_is_read(kind: frames.Kind) -> None:
    frame = frames.Frame(kind, 0 if kind in OF_TUNNEL else 7, KINDS[kind])

    assert frames.decode(frames.encode(frame)) == frame


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b"", "a frame of 0 bytes"),
        (b"\1\0\0\0", "a frame of 4 bytes"),
        (b"\0\0\0\0\1", "unknown kind 0"),
        (b"\x09\0\0\0\1", "unknown kind 9"),
        (b"\1\0\0\0\1x", "OPEN with a body of 1 bytes"),
        (b"\2\0\0\0\1", "DATA with a body of 0 bytes"),
        (b"\2\0\0\0\1" + b"x" * (frames.LARGEST_DATA + 1), "DATA with a body of 32769 bytes"),
        (b"\3\0\0\0\1\0\0\1", "CREDIT with a body of 3 bytes"),
        (b"\6\0\0\0\0\0", "PING with a body of 1 bytes"),
        (b"\2\0\0\0\0x", "DATA of stream 0"),
        (b"\6\0\0\0\1" + b"12345678", "PING of stream 1"),
    ],
)
def test_what_is_no_frame_is_refused(message: bytes, why: str) -> None:
    with pytest.raises(frames.MalformedError, match=why):
        frames.decode(message)


@given(st.binary(max_size=40))
def test_whatever_comes_is_a_frame_or_refused(message: bytes) -> None:
    try:
        frame = frames.decode(message)
    except frames.MalformedError:
        return

    assert frames.encode(frame) == message


def test_a_reason_is_one_line_that_can_be_shown() -> None:
    sent = frames.decode(frames.encode(frames.close("a\nb\x1b[2J" + "é" * 400)))

    assert sent.reason.startswith("a b [2J")
    assert sent.reason.isprintable()
    assert len(sent.body) <= 500


def test_credit_is_a_number() -> None:
    assert frames.decode(frames.encode(frames.credit(3, 65536))).credit == 65536
