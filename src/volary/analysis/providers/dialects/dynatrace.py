"""Dynatrace: its metrics API, version 2."""

from collections.abc import Sequence
from datetime import datetime

from volary.analysis.providers import query
from volary.analysis.providers.dialects import dialect
from volary.model import metric_providers


class Dynatrace(dialect.Dialect[metric_providers.DynatraceOptions]):
    """Asks `/api/v2/metrics/query`; the query is a metric selector."""

    error_paths = (("error", "message"), ("message",))

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return a request for one point over the window (Flagger), or for all of them."""
        is_one = self.settings.points is metric_providers.Points.LAST
        whole = is_one or self.asked.shape is query.Shape.TOTAL
        parameters = (
            ("metricSelector", self.asked.text.strip()),
            ("from", str(dialect.milliseconds(self.asked.start))),
            ("to", str(dialect.milliseconds(self.asked.end))),
            *((("resolution", "Inf"),) if whole else ()),
        )
        headers = {"Authorization": f"Api-Token {reveal(self.options.token)}"}
        return dialect.Request("/api/v2/metrics/query", parameters, headers=headers)

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; empty points are passed over."""
        answer = dialect.mapping(dialect.decode(body))
        if "result" not in answer:
            words = self.explain(body) or "something that is not Dynatrace's"
            raise dialect.AnswerError(f"answered with {words}")
        if answer.get("nextPageKey"):
            raise dialect.AnswerError("has more series than one answer holds: aggregate them")
        return [
            dialect.points(dialect.items(dialect.mapping(series).get("values")))
            for result in dialect.items(answer["result"])
            for series in dialect.items(dialect.mapping(result).get("data"))
        ]
