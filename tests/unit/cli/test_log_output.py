"""What stands in a server's log when the same happens again and again."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest

from volary.cli import log_output, log_repeats


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps({"level": record.levelname, "said": record.getMessage()})


class Log:
    """A log of its own with a clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.handler = log_output.LimitedHandler(
            self.stream, log_repeats.Repeats(burst=5, interval=60), clock=lambda: self.now
        )
        self.handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        self.logger = logging.Logger("volary.test")
        self.logger.addHandler(self.handler)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


@pytest.fixture
def log() -> Iterator[Log]:
    made = Log()
    yield made
    made.handler.close()


def test_repeats_are_told_with_the_next_message_of_any_kind(log: Log) -> None:
    for number in range(1000):
        log.logger.warning("too many connections: %s", f"203.0.113.{number % 200}")
    log.logger.error("the disk is full")
    log.now = 60
    log.logger.info("it goes on")

    assert log.lines[:5] == [f"WARNING too many connections: 203.0.113.{n}" for n in range(5)]
    assert log.lines[5:] == [
        "ERROR the disk is full",
        "WARNING … 995 more like it in 60 s: too many connections: 203.0.113.0",
        "INFO it goes on",
    ]


def test_the_form_is_the_formatters(log: Log) -> None:
    log.handler.setFormatter(_Json())
    for _ in range(7):
        log.logger.warning("again")
    log.handler.tell_rest()

    said = [json.loads(line) for line in log.lines]
    assert said[-1] == {"level": "WARNING", "said": "… 2 more like it in 0 s: again"}


def test_traces_are_long_and_those_of_another_exception_are_another_kind(log: Log) -> None:
    for raised in [ValueError("a")] * 100 + [KeyError("b")]:
        try:
            raise raised
        except (ValueError, KeyError):
            log.logger.exception("it failed")

    assert log.lines.count("Traceback (most recent call last):") == 2
    assert log.lines[-1] == "KeyError: 'b'"


def test_a_message_that_does_not_fit_is_told_by_the_handler_and_as_seldom(
    log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(20):
        log.logger.warning("%d connections", "many")

    assert capsys.readouterr().err.count("--- Logging error ---") == 5


@pytest.mark.looptime
async def test_what_was_counted_is_told_when_nothing_more_comes() -> None:
    log = Log()
    log.handler._seconds = asyncio.get_running_loop().time
    with log.handler.keep_telling():
        for _ in range(9):
            log.logger.warning("again")
        await asyncio.sleep(70)
        told = log.lines[-1]
        for _ in range(6):
            log.logger.warning("again")

    assert told.endswith("4 more like it in 60 s: again")
    assert log.lines[-1] == "WARNING … 1 more like it in 0 s: again"
