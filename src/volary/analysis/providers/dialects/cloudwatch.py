"""CloudWatch: `GetMetricData`, by AWS' query protocol (a form is sent, XML comes back).

The query is the JSON list of `MetricDataQueries`, as in Flagger.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib import parse
from xml.etree import ElementTree

from volary.analysis.providers.dialects import aws_signature, dialect
from volary.model import metric_providers

_SERVICE = "monitoring"
_VERSION = "2010-08-01"
_FORM = "application/x-www-form-urlencoded; charset=utf-8"
_COMPLETE = "Complete"


class CloudWatch(dialect.Dialect[metric_providers.CloudWatchOptions]):
    """Asks for the data of metrics, in one request."""

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent."""
        begin = dialect.lookback(self.settings, self.asked)
        form = [
            ("Action", "GetMetricData"),
            ("Version", _VERSION),
            ("StartTime", dialect.timestamp(begin)),
            ("EndTime", dialect.timestamp(self.asked.end)),
            ("ScanBy", "TimestampAscending"),
            *_flatten("MetricDataQueries", self._queries()),
        ]
        body = parse.urlencode(form).encode()
        address = parse.urlsplit(self.settings.access.address_of(self.asked.target))
        signed = aws_signature.Signed(
            method="POST",
            path=f"{parse.unquote(address.path).rstrip('/')}/",
            parameters=(),
            headers={"Host": address.netloc.rpartition("@")[2], "Content-Type": _FORM},
            body=body,
        )
        options = self.options
        keys = aws_signature.Keys(
            reveal(options.access_key),
            reveal(options.secret_key),
            reveal(options.session_token) if options.session_token else "",
        )
        headers = aws_signature.headers(
            signed, keys, region=options.region, service=_SERVICE, now=now
        )
        return dialect.Request("/", method="POST", headers=headers, body=body)

    def _queries(self) -> list[object]:
        try:
            queries = dialect.decode(self.asked.text.encode())
        except dialect.AnswerError:
            queries = None
        if not isinstance(queries, list) or not queries:
            raise dialect.AnswerError(
                "is not asked: its query is no JSON list of MetricDataQueries"
            )
        return queries

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series."""
        root = _parse(body)
        if root is None or _tag(root) != "GetMetricDataResponse":
            raise dialect.AnswerError("answered with something that is not CloudWatch's")
        if any(token.text for token in _all(root, "NextToken")):
            raise dialect.AnswerError("has more points than one answer holds")
        all_points = []
        for results in _all(root, "MetricDataResults"):
            for metric_result in results:
                status = "".join(one.text or "" for one in _all(metric_result, "StatusCode"))
                if status != _COMPLETE:
                    raise dialect.AnswerError(
                        f"answered with data that are not complete ({dialect.shorten(status)})"
                    )
                values = [one.text for list_of in _all(metric_result, "Values") for one in list_of]
                all_points.append(tuple(map(dialect.number, values)))
        return all_points

    def explain(self, body: bytes) -> str:
        """Return the words about an error."""
        root = _parse(body)
        words = [
            element.text or ""
            for name in ("Code", "Message")
            for element in (_all(root, name) if root is not None else ())
        ]
        return dialect.shorten(" ".join(words))


def _flatten(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Write a value as the query protocol does: `Name.member.1.Inner=…`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(f"{name}.{key}", inner)
    elif isinstance(value, list):
        for i, inner in enumerate(value, 1):
            yield from _flatten(f"{name}.member.{i}", inner)
    elif isinstance(value, bool):
        yield name, str(value).lower()
    elif value is not None:
        yield name, str(value)


def _parse(body: bytes) -> ElementTree.Element | None:
    """Return the answer's root; a document that declares entities is none of AWS'."""
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        return None
    try:
        return ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return None


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _all(element: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (descendant for descendant in element.iter() if _tag(descendant) == name)
