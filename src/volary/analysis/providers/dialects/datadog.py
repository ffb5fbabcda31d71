"""Datadog: timeseries queries of its API, version 1."""

from collections.abc import Sequence
from datetime import datetime

from volary.analysis.providers.dialects import dialect
from volary.model import metric_providers


class Datadog(dialect.Dialect[metric_providers.DatadogOptions]):
    """Asks `/api/v1/query`."""

    error_paths = (("errors", 0), ("error",), ("message",))

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent."""
        begin = dialect.lookback(self.settings, self.asked)
        parameters = (
            ("from", str(int(begin.timestamp()))),
            ("to", str(int(self.asked.end.timestamp()))),
            ("query", self.asked.text),
        )
        headers = {
            "DD-API-KEY": reveal(self.options.api_key),
            "DD-APPLICATION-KEY": reveal(self.options.application_key),
        }
        return dialect.Request("/api/v1/query", parameters, headers=headers)

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; empty points are passed over."""
        answer = dialect.mapping(dialect.decode(body))
        if answer.get("status") == "error" or "series" not in answer:
            words = self.explain(body) or "something that is not Datadog's"
            raise dialect.AnswerError(f"answered with {words}")
        all_points = []
        for series in dialect.items(answer["series"]):
            points = dialect.items(dialect.mapping(series).get("pointlist"))
            values = [dialect.items(point)[1:2] for point in points]
            all_points.append(dialect.points(value for pair in values for value in pair))
        return all_points
