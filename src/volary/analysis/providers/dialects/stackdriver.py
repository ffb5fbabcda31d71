"""Google Cloud Monitoring: its query language MQL (Flagger), or PromQL as Prometheus has it."""

import json as json_text
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib import parse

from volary.analysis.providers.dialects import dialect, google_tokens, prometheus
from volary.model import metric_providers

_WITHIN = re.compile(r"\|\s*within\b")
_WORDS = re.compile(r"'[^']*'|\"[^\"]*\"")
#: Every number comes in a field by its type; 64-bit ones are texts.
_NUMBERS = ("doubleValue", "int64Value")


class Stackdriver(dialect.Dialect[metric_providers.StackdriverOptions]):
    """Asks the project's time series; the time it is about is added where the query has none."""

    error_paths = (
        ("error", "message"),
        (0, "error", "message"),
        ("error_description",),
        ("error",),
        ("message",),
    )

    def grant(self, reveal_document: dialect.Reveal, now: datetime) -> dialect.Grant | None:
        """Return how a token is asked for where the settings have none."""
        if self.settings.access.token:
            return None
        if not self.options.service_account_key:
            return google_tokens.for_machine(self.options.metadata_address)
        return google_tokens.for_key(reveal_document(self.options.service_account_key), now)

    def read_token(self, body: bytes) -> dialect.Token:
        """Return the token of Google's answer."""
        return google_tokens.read(body)

    @property
    def _is_promql(self) -> bool:
        return self.options.language is metric_providers.Language.PROMQL

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent."""
        project = parse.quote(self.options.project, safe=":")
        if self._is_promql:
            return self._promql(f"/v1/projects/{project}/location/global/prometheus/api/v1")
        body = json_text.dumps({"query": self._mql()}).encode()
        headers = {"Content-Type": "application/json"}
        path = f"/v3/projects/{project}/timeSeries:query"
        return dialect.Request(path, method="POST", headers=headers, body=body)

    def _mql(self) -> str:
        text = self.asked.text.strip()
        if not _WITHIN.search(_WORDS.sub("", text)):
            times = (dialect.lookback(self.settings, self.asked), self.asked.end)
            begin, end = (f"d'{_date(moment)}'" for moment in times)
            return f"{text} | within {begin}, {end}"
        if self.asked.is_earlier:
            raise dialect.AnswerError(
                "cannot be asked about an earlier time: remove within from the query"
            )
        return text

    def _promql(self, path: str) -> dialect.Request:
        asked = self.asked
        text = ("query", asked.text)
        if not prometheus.asks_range(self.settings, asked):
            return prometheus.sendable(
                f"{path}/query", (text, ("time", dialect.seconds(asked.end)))
            )
        step = ("step", f"{prometheus.step_of(asked).total_seconds():g}")
        times = (("start", dialect.seconds(asked.start)), ("end", dialect.seconds(asked.end)))
        return prometheus.sendable(f"{path}/query_range", (text, *times, step))

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; Google's come with the newest point first."""
        if self._is_promql:
            is_range = prometheus.asks_range(self.settings, self.asked)
            return prometheus.read(body, is_range=is_range, owner="Cloud Monitoring's")
        decoded = dialect.decode(body)
        answer = dialect.mapping(decoded)
        # Nothing at all is an empty object, so the form is told by what else could be there.
        if not isinstance(decoded, dict) or "error" in answer:
            words = self.explain(body) or "something that is not Cloud Monitoring's"
            raise dialect.AnswerError(f"answered with {words}")
        if answer.get("nextPageToken"):
            raise dialect.AnswerError("has more series than one answer holds: aggregate them")
        if faults := dialect.items(answer.get("partialErrors")):
            why = dialect.words_at(faults, ((0, "message"),))
            raise dialect.AnswerError("answered with a part only" + (f": {why}" if why else ""))
        return [
            tuple(map(_value, reversed(dialect.items(dialect.mapping(series).get("pointData")))))
            for series in dialect.items(answer.get("timeSeriesData"))
        ]


def _value(point: object) -> float:
    values = dialect.items(dialect.mapping(point).get("values"))
    if len(values) != 1:
        raise dialect.AnswerError("answered with several columns for each point: select one")
    value = dialect.mapping(values[0])
    for name in _NUMBERS:
        if name in value:
            return dialect.number(value[name])
    raise dialect.AnswerError(
        "answered with a distribution or text: put a reducer such as mean, or percentile(…), into"
        " the query"
    )


def _date(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y/%m/%d-%H:%M:%S")
