"""Prometheus, and what speaks like it: Thanos, Mimir, VictoriaMetrics, Cortex."""

import functools
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib import parse

from volary.analysis.providers import query
from volary.analysis.providers.dialects import dialect
from volary.model import metric_providers

#: Longer queries are posted: not every proxy lets such an address pass.
_LONGEST_ADDRESS = 1500
_LONGEST_STEP = timedelta(minutes=1)
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_KINDS = frozenset({"vector", "matrix", "scalar", "string", "streams"})


class Prometheus(dialect.Dialect[metric_providers.PrometheusOptions]):
    """The HTTP API, version 1."""

    error_paths = (("error",),)

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return an instant query (Flagger), or one over the interval (PipeCD).

        The step is PipeCD's: one minute, or the interval when it is shorter.
        """
        asked = self.asked
        limit = ("timeout", f"{max(1, round(asked.timeout.total_seconds()))}s")
        text = ("query", asked.text)
        if asks_range(self.settings, asked):
            times = (("start", dialect.seconds(asked.start)), ("end", dialect.seconds(asked.end)))
            step = ("step", f"{step_of(asked).total_seconds():g}")
            return sendable("/api/v1/query_range", (text, *times, step, limit))
        return sendable("/api/v1/query", (text, ("time", dialect.seconds(asked.end)), limit))

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; a range that was not asked for is refused."""
        return read(body, is_range=asks_range(self.settings, self.asked), owner="Prometheus'")


def asks_range(settings: metric_providers.Provider, asked: query.Query) -> bool:
    """Say whether a range is asked for, and not what is at its end.

    Counted events are asked for at once: points that overlap are not to be added up.
    """
    is_total = asked.shape is query.Shape.TOTAL
    return settings.points is metric_providers.Points.ALL and not is_total


def step_of(asked: query.Query) -> timedelta:
    """Return the time between two points of a range: PipeCD's minute, or the interval."""
    return min(_LONGEST_STEP, asked.window)


def read(body: bytes, *, is_range: bool, owner: str) -> Sequence[dialect.Points]:
    """Return the series of an answer in Prometheus' form, from it or from what speaks like it.

    Raises:
        dialect.AnswerError: It is something else, or a range that was not asked for.
    """
    answer = dialect.mapping(dialect.decode(body))
    data = dialect.mapping(answer.get("data"))
    kind = data.get("resultType")
    is_known = isinstance(kind, str) and kind in _KINDS
    if answer.get("status") != "success" or not is_known:
        raise dialect.AnswerError(f"answered with JSON that is not {owner}: is the address right?")
    if kind == "scalar":
        return [(_sample(data.get("result")),)]
    if kind == "string":
        raise dialect.AnswerError("answered with a text: the query has to give numbers")
    if kind == "streams":
        raise dialect.AnswerError(
            "answered with lines of logs: put sum(count_over_time(…)) or another function around"
            " the query"
        )
    if kind == "matrix" and not is_range:
        raise dialect.AnswerError(
            "answered with a range of points for each series (a matrix): put rate(…) or"
            " another function around what ends with […]"
        )
    return [_series(dialect.mapping(series)) for series in dialect.items(data.get("result"))]


def sendable(path: str, parameters: tuple[tuple[str, str], ...]) -> dialect.Request:
    """Return a request with these parameters, in its address or in a form."""
    if sum(_length(name) + _length(value) + 2 for name, value in parameters) <= _LONGEST_ADDRESS:
        return dialect.Request(path, parameters)
    encoded = parse.urlencode(parameters)
    return dialect.Request(path, method="POST", headers=_FORM, body=encoded.encode())


@functools.lru_cache(maxsize=2048)
def _length(text: str) -> int:
    """Return how long a text is in an address: the same queries are asked again and again."""
    return len(parse.quote_plus(text))


def _series(series: dict[str, object]) -> dialect.Points:
    if "histogram" in series or "histograms" in series:
        raise dialect.AnswerError(
            "answered with a native histogram: put histogram_quantile(…) or the like around it"
        )
    samples = dialect.items(series["values"]) if "values" in series else [series.get("value")]
    return tuple(_sample(sample) for sample in samples)


def _sample(sample: object) -> float:
    pair = dialect.items(sample)
    if len(pair) != 2:
        raise dialect.AnswerError("answered with a sample that has no value")
    return dialect.number(pair[1])
