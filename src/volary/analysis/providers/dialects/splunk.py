"""Splunk Observability Cloud: SignalFlow programs, answered with a stream of events.

The program runs over a time that is past, so the stream ends by itself, and says so.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from volary.analysis.providers.dialects import dialect
from volary.model import metric_providers

_LINES = re.compile("\r\n|\n|\r")
_END = "END_OF_CHANNEL"
_ABORT = "CHANNEL_ABORT"
_WORDS = (
    ("message",),
    ("errors", 0, "message"),
    ("errors", 0, "context", "message"),
    ("errors", 0, "code"),
    ("abortInfo", "sf_job_abortReason"),
    ("error",),
)


class Splunk(dialect.Dialect[metric_providers.SplunkOptions]):
    """Asks `/v2/signalflow/execute`; each published time series is one."""

    error_paths = _WORDS

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent; nothing is waited for that has not come yet (Flagger)."""
        begin = dialect.lookback(self.settings, self.asked)
        parameters = (
            ("start", str(dialect.milliseconds(begin))),
            ("stop", str(dialect.milliseconds(self.asked.end))),
            ("immediate", "true"),
        )
        headers = {
            "X-SF-TOKEN": reveal(self.options.token),
            "Content-Type": "text/plain",
            "Accept": "text/event-stream",
        }
        program = self.asked.text.encode()
        return dialect.Request("/v2/signalflow/execute", parameters, "POST", headers, program)

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series, if the stream came to its end; empty points are passed over."""
        values_by_series: dict[str, list[float]] = {}
        for name, message in _events(body):
            if name == "error" or message.get("event") == _ABORT:
                words = dialect.words_at(message, _WORDS) or "an error"
                raise dialect.AnswerError(f"answered: {words}")
            if message.get("event") == _END:
                return [tuple(values) for values in values_by_series.values()]
            if name == "data":
                _take(message, values_by_series)
        raise dialect.AnswerError("answered with a stream of SignalFlow that has no end")


def _take(message: dict[str, object], values_by_series: dict[str, list[float]]) -> None:
    for entry in map(dialect.mapping, dialect.items(message.get("data"))):
        series, value = entry.get("tsId"), entry.get("value")
        if isinstance(series, str) and value is not None:
            values_by_series.setdefault(series, []).append(dialect.number(value))


def _events(body: bytes) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the events of a stream with their names: lines up to an empty one make up each.

    Raises:
        dialect.AnswerError: It is no such stream, or what an event holds is no JSON.
    """
    name, data = "", list[str]()
    for line in [*_LINES.split(body.decode("utf-8", "replace")), ""]:
        field, _, value = line.partition(":")
        if not line:
            if data:
                yield name, dialect.mapping(dialect.decode("\n".join(data).encode()))
            name, data = "", []
        elif field == "event":
            name = value.strip()
        elif field == "data":
            data.append(value)
        elif field not in ("", "id", "retry"):
            raise dialect.AnswerError(
                "answered with something that is no stream of SignalFlow: is the address right?"
            )
