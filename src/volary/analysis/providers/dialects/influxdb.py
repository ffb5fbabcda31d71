"""InfluxDB: Flux queries of its API, version 2, answered with annotated CSV."""

import csv
import io
from collections.abc import Sequence
from datetime import datetime

from volary.analysis.providers.dialects import dialect
from volary.model import metric_providers

_START, _STOP = "v.timeRangeStart", "v.timeRangeStop"


class InfluxDb(dialect.Dialect[metric_providers.InfluxDbOptions]):
    """Asks `/api/v2/query`.

    `v.timeRangeStart` and `v.timeRangeStop` stand for the time the query is about, as in
    dashboards.
    """

    error_paths = (("message",), ("error",))

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent."""
        text = self.asked.text
        if self.asked.is_earlier and not (_START in text and _STOP in text):
            raise dialect.AnswerError(
                f"cannot be asked about an earlier time: write range(start: {_START},"
                f" stop: {_STOP})"
            )
        filled = text.replace(_START, dialect.timestamp(self.asked.start))
        filled = filled.replace(_STOP, dialect.timestamp(self.asked.end))
        headers = {
            "Authorization": f"Token {reveal(self.options.token)}",
            "Content-Type": "application/vnd.flux",
            "Accept": "application/csv",
        }
        organization = (("org", self.options.organization),)
        return dialect.Request(
            "/api/v2/query", organization, method="POST", headers=headers, body=filled.encode()
        )

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; rows without a value are passed over."""
        text = body.decode("utf-8", "replace")
        if text.lstrip()[:1] in ("<", "{"):
            raise dialect.AnswerError("answered with something that is not CSV of InfluxDB")
        header: list[str] = []
        values_by_series: dict[tuple[str, ...], list[float]] = {}
        try:
            for row in csv.reader(io.StringIO(text)):
                if not row or row[0].startswith("#"):
                    header = []
                elif not header:
                    header = row
                else:
                    _take(dict(zip(header, row, strict=False)), values_by_series)
        except csv.Error:
            raise dialect.AnswerError("answered with CSV that cannot be read") from None
        return [tuple(values) for values in values_by_series.values()]


def _take(row: dict[str, str], values_by_series: dict[tuple[str, ...], list[float]]) -> None:
    if "error" in row and "_value" not in row:
        raise dialect.AnswerError(f"answered: {dialect.shorten(row['error']) or 'an error'}")
    if "_value" not in row:
        raise dialect.AnswerError("answered with a table that has no column _value")
    values = values_by_series.setdefault((row.get("result", ""), row.get("table", "")), [])
    if row["_value"] != "":
        values.append(dialect.number(row["_value"]))
