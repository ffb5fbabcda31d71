"""Loki: metrics of logs, by LogQL; answered as by Prometheus, with times in nanoseconds."""

from collections.abc import Sequence
from datetime import datetime

from volary.analysis.providers.dialects import dialect, prometheus
from volary.model import metric_providers


class Loki(dialect.Dialect[metric_providers.LokiOptions]):
    """The HTTP API, version 1."""

    error_paths = (("error",), ("message",))

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return an instant query, or one over the interval."""
        asked = self.asked
        text = ("query", asked.text)
        if not prometheus.asks_range(self.settings, asked):
            moment = ("time", dialect.nanoseconds(asked.end))
            return prometheus.sendable("/loki/api/v1/query", (text, moment))
        begin, end = dialect.nanoseconds(asked.start), dialect.nanoseconds(asked.end)
        step = f"{prometheus.step_of(asked).total_seconds():g}"
        times = (("start", begin), ("end", end), ("step", step))
        return prometheus.sendable("/loki/api/v1/query_range", (text, *times))

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; lines of logs are refused."""
        is_range = prometheus.asks_range(self.settings, self.asked)
        return prometheus.read(body, is_range=is_range, owner="Loki's")

    def explain(self, body: bytes) -> str:
        """Return the words about an error, which are plain text or JSON."""
        return super().explain(body) or dialect.plain_words(body)
