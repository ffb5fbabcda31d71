"""New Relic: NRQL by NerdGraph, or by the older Insights API (Flagger)."""

import json as json_text
import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from volary.analysis.providers.dialects import dialect
from volary.model import metric_providers

_TIME = re.compile(r"\b(SINCE|UNTIL)\b", re.IGNORECASE)
#: Fields of a row that are no measurement.
_ABOUT = frozenset({"beginTimeSeconds", "endTimeSeconds", "inspectedCount", "timestamp", "facet"})
_NERDGRAPH = (
    "query($account:Int!,$nrql:Nrql!){actor{account(id:$account){nrql(query:$nrql){results}}}}"
)


class NewRelic(dialect.Dialect[metric_providers.NewRelicOptions]):
    """Asks NRQL; the time it is about is added where the query says none."""

    error_paths = (("errors", 0, "message"), ("error",), ("message",))

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent."""
        key, text = reveal(self.options.api_key), self._text()
        if self.options.insights:
            path = f"/v1/accounts/{self.options.account}/query"
            return dialect.Request(path, (("nrql", text),), headers={"X-Query-Key": key})
        variables = {"account": int(self.options.account), "nrql": text}
        body = json_text.dumps({"query": _NERDGRAPH, "variables": variables}).encode()
        headers = {"API-Key": key, "Content-Type": "application/json"}
        return dialect.Request("/graphql", method="POST", headers=headers, body=body)

    def _text(self) -> str:
        text = self.asked.text.strip()
        without_words = re.sub(r"'[^']*'", "", text)
        if not _TIME.search(without_words):
            begin, end = map(dialect.milliseconds, (self.asked.start, self.asked.end))
            return f"{text} SINCE {begin} UNTIL {end}"
        if self.asked.is_earlier:
            raise dialect.AnswerError(
                "cannot be asked about an earlier time: remove SINCE and UNTIL from the query"
            )
        return text

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series."""
        answer = dialect.mapping(dialect.decode(body))
        if words := self.explain(body):
            raise dialect.AnswerError(f"answered: {words}")
        if self.options.insights:
            return _insights(answer)
        node: object = answer
        for step in ("data", "actor", "account", "nrql", "results"):
            node = dialect.mapping(node).get(step)
        if not isinstance(node, list):
            raise dialect.AnswerError("answered with something that is not New Relic's")
        return _rows(node)


def _insights(answer: dict[str, object]) -> list[dialect.Points]:
    for name in ("results", "timeSeries", "facets"):
        if name in answer:
            rows = dialect.items(answer[name])
            inner = [dialect.items(dialect.mapping(row).get("results")) for row in rows]
            if name == "results":
                return _rows(rows)
            lines = [tuple(_numbers(entry)) for entry in inner]
            if name == "facets":
                return [line for line in lines]
            return [tuple(value for line in lines for value in line)]
    raise dialect.AnswerError("answered with something that is not New Relic's")


def _rows(rows: Sequence[object]) -> list[dialect.Points]:
    """Rows with a time are points of their facet's series, others series of their own."""
    values_by_series: dict[str, list[float]] = {}
    for i, entry in enumerate(rows):
        row = dialect.mapping(entry)
        series = f"facet {row.get('facet')}" if "beginTimeSeconds" in row else f"row {i}"
        numbers = list(_numbers(row))
        if len(numbers) > 1:
            raise dialect.AnswerError("answered with several numbers in one row: SELECT one")
        values_by_series.setdefault(series, []).extend(numbers)
    return [tuple(values) for values in values_by_series.values()]


def _numbers(value: object) -> Iterator[float]:
    """Yield the numbers of a row, also of `{"percentile.duration": {"99": 0.2}}`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _ABOUT:
                yield from _numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
