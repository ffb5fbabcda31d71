"""Tempo: metrics of traces, by TraceQL.

The answer has series as in Prometheus, in the form of Tempo's own messages: what is zero is left
out there.
"""

from collections.abc import Sequence
from datetime import datetime

from volary.analysis.providers.dialects import dialect, prometheus
from volary.model import metric_providers

#: The state of an answer that lacks something, by name and by number.
_PARTIAL = ("PARTIAL", 1)


class Tempo(dialect.Dialect[metric_providers.TempoOptions]):
    """Asks for one value over the interval, or for a range of them."""

    error_paths = (("error",), ("message",))

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent."""
        asked = self.asked
        parameters = (
            ("q", asked.text.strip()),
            ("start", dialect.nanoseconds(asked.start)),
            ("end", dialect.nanoseconds(asked.end)),
        )
        if not prometheus.asks_range(self.settings, asked):
            return dialect.Request("/api/metrics/query", parameters)
        step = f"{prometheus.step_of(asked).total_seconds():g}s"
        return dialect.Request("/api/metrics/query_range", (*parameters, ("step", step)))

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; an answer that lacks something says nothing."""
        answer = dialect.mapping(dialect.decode(body))
        if not {"series", "metrics"} & answer.keys():
            raise dialect.AnswerError("answered with JSON that is not Tempo's metrics")
        if answer.get("status") in _PARTIAL:
            why = dialect.shorten(answer.get("message"))
            raise dialect.AnswerError("answered with a part only" + (f": {why}" if why else ""))
        return [_points(dialect.mapping(one)) for one in dialect.items(answer.get("series"))]

    def explain(self, body: bytes) -> str:
        """Return the words about an error, which are plain text or JSON."""
        return super().explain(body) or dialect.plain_words(body)


def _points(series: dict[str, object]) -> dialect.Points:
    if "samples" not in series:
        return (_value(series),)
    return tuple(_value(dialect.mapping(one)) for one in dialect.items(series["samples"]))


def _value(of: dict[str, object]) -> float:
    return dialect.number(of.get("value", 0.0))
