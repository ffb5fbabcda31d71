"""The log of a server: where every message goes, and how many of a kind are written."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from volary.cli import log_repeats

#: Seconds between two looks for what was not written.
_INTERVAL = 5.0
#: A trace stands for so many messages.
_TRACE = 5


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes records, in whatever form its formatter gives them, and counts what comes too often.

    It stands at the root, so it holds for libraries as well.
    """

    def __init__(
        self,
        stream: TextIO,
        repeats: log_repeats.Repeats | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(stream)
        self._repeats = repeats or log_repeats.Repeats()
        self._seconds = clock

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it."""
        now = self._seconds()
        self._tell(self._repeats.due(now))
        weight = _TRACE if record.exc_info else 1
        if self._repeats.is_written(_kind_of(record), _message(record), now, weight=weight):
            super().emit(record)

    def tell_due(self) -> None:
        """Write how many were counted in intervals that are over."""
        with self._locked():
            self._tell(self._repeats.due(self._seconds()))

    def tell_rest(self) -> None:
        """Write how many were counted and not told yet."""
        with self._locked():
            self._tell(self._repeats.rest(self._seconds()))

    @contextlib.contextmanager
    def keep_telling(self) -> Iterator[None]:
        """Tell what is due on time during the block, by the running loop, and the rest after it."""
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def tell() -> None:
            nonlocal timer
            self.tell_due()
            timer = loop.call_later(_INTERVAL, tell)

        tell()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            self.tell_rest()

    def _tell(self, summaries: list[log_repeats.Summary]) -> None:
        for summary in summaries:
            logger, level, *_ = summary.kind
            super().emit(logging.LogRecord(logger, level, "", 0, "%s", (summary,), None))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        # What it is made of does not fit together; whoever writes it says so.
        return str(record.msg)


def _kind_of(record: logging.LogRecord) -> log_repeats.Kind:
    raised = record.exc_info[0] if record.exc_info else None
    name = raised.__name__ if raised else ""
    return log_repeats.kind_of(record.name, record.levelno, str(record.msg), name)
