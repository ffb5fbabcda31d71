"""Graphite: its render API."""

from collections.abc import Sequence
from datetime import datetime
from urllib import parse

from volary.analysis.providers.dialects import dialect
from volary.model import metric_providers

_TARGET = "target"


class Graphite(dialect.Dialect[metric_providers.GraphiteOptions]):
    """Asks `/render`; the query is a target, or parameters with `target=` (Flagger)."""

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent."""
        parameters = self._written()
        names = {name for name, _ in parameters}
        if self.asked.is_earlier and names & {"from", "until"}:
            raise dialect.AnswerError(
                "cannot be asked about an earlier time: remove from and until from the query"
            )
        if "from" not in names:
            parameters.append(("from", str(int(self.asked.start.timestamp()))))
        if "until" not in names:
            parameters.append(("until", str(int(self.asked.end.timestamp()))))
        return dialect.Request("/render", (*parameters, ("format", "json")))

    def _written(self) -> list[tuple[str, str]]:
        text = "".join(line.strip() for line in self.asked.text.splitlines())
        if not text.startswith(f"{_TARGET}="):
            return [(_TARGET, text)]
        # A plus stands for itself in targets, and is a space in addresses.
        parameters = parse.parse_qsl(text.replace("+", "%2B"))
        return [(name, value) for name, value in parameters if name != "format"]

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; empty points are passed over."""
        answer = dialect.decode(body)
        if not isinstance(answer, list):
            raise dialect.AnswerError("answered with something that is not Graphite's")
        all_points = []
        for series in answer:
            pairs = map(dialect.items, dialect.items(dialect.mapping(series).get("datapoints")))
            all_points.append(dialect.points(pair[0] for pair in pairs if pair))
        return all_points

    def explain(self, body: bytes) -> str:
        """Return the words about an error, which are plain text."""
        return dialect.plain_words(body)
