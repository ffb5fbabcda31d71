"""Any system that answers with JSON over HTTP; `config.stages.http_queries` says what a query is.

`${START}` and `${END}` stand for the time it is about, in seconds since 1970.
"""

from collections.abc import Sequence
from datetime import datetime
from urllib import parse

from volary.analysis.providers.dialects import dialect
from volary.config.stages import http_queries
from volary.config.text import json_paths
from volary.model import metric_providers

_JSON = {"Content-Type": "application/json"}


class Generic(dialect.Dialect[metric_providers.HttpOptions]):
    """Sends the request of the query, and follows a path into the answer."""

    error_paths = (("error",), ("message",), ("error", "message"))

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent."""
        text = self.asked.text
        if self.asked.is_earlier:
            for fault in http_queries.without_time(text):
                raise dialect.AnswerError(fault.message)
        http_query = http_queries.read(self._dated(text))
        for finding in http_queries.faults(http_query):
            raise dialect.AnswerError(f"is not asked: {finding.message}")
        if not self.options.allow_post:
            for fault in http_queries.forbidden(http_query):
                raise dialect.AnswerError(f"is not asked: {fault.message}; {fault.hint}")
        address = parse.urlsplit(http_query.path)
        parameters = tuple(parse.parse_qsl(address.query, keep_blank_values=True))
        headers = _JSON if http_query.body else {}
        return dialect.Request(
            address.path, parameters, http_query.method, headers, http_query.body.encode() or None
        )

    def _dated(self, text: str) -> str:
        filled = text.replace(http_queries.START, str(int(self.asked.start.timestamp())))
        return filled.replace(http_queries.END, str(int(self.asked.end.timestamp())))

    def _path(self) -> json_paths.Path:
        written = http_queries.read(self._dated(self.asked.text)).numbers
        try:
            return json_paths.parse(written[0] if written else self.options.json_path)
        except ValueError as error:
            raise dialect.AnswerError(f"is not asked: {error}") from None

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the series; every number found is a series of its own."""
        all_points = []
        for element in self._path().find(dialect.decode(body)):
            if isinstance(element, dict | list):
                kind = "a list: add [*]" if isinstance(element, list) else "an object: name a field"
                raise dialect.AnswerError(f"has, where the path leads, {kind}")
            # Who judges by himself answers yes or no.
            value = int(element) if isinstance(element, bool) else element
            all_points.append(dialect.points([value]))
        return all_points
