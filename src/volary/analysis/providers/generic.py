"""Any system that answers with JSON over HTTP.

The query is a request: its first line is the path with parameters, with `POST` before it where
that is allowed; a line that begins with `$` says where the numbers are in the answer; whatever
else there is, is the body. `${START}` and `${END}` stand for the time it is about, in seconds
since 1970.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib import parse

from volary.analysis.providers import dialect, query
from volary.config import jsonpath
from volary.model import provider

_GET, _POST = "GET", "POST"
_FIRST_LINE = re.compile(r"(?:(?P<method>[A-Z]+)\s+)?(?P<path>[/?]\S*)")
_START, _END = "${START}", "${END}"
_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Generic:
    """Sends the request of the query, and follows a path into the answer."""

    settings: provider.Provider
    options: provider.HttpOptions
    asked: query.Query

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """See `dialect.Dialect.request`."""
        if self.asked.is_earlier and _START not in self.asked.text and _END not in self.asked.text:
            raise dialect.AnswerError(
                f"cannot be asked about an earlier time: the query has neither {_START} nor {_END}"
            )
        first, body = self._lines()
        method = first["method"] or _GET
        if method not in (_GET, _POST):
            raise dialect.AnswerError(f"is not asked: {method} is neither {_GET} nor {_POST}")
        if not self.options.may_post and (method != _GET or body):
            raise dialect.AnswerError(
                "is not asked: only GET without a body is allowed; allowPost: true in its settings"
                " lets queries post"
            )
        address = parse.urlsplit(first["path"])
        if ".." in parse.unquote(address.path).split("/"):
            raise dialect.AnswerError("is not asked: its path leads out of the provider's address")
        parameters = tuple(parse.parse_qsl(address.query, keep_blank_values=True))
        return dialect.Request(
            address.path, parameters, method, _JSON if body else {}, body.encode() or None
        )

    def _lines(self) -> tuple[re.Match[str], str]:
        filled = self.asked.text.replace(_START, str(int(self.asked.start.timestamp())))
        filled = filled.replace(_END, str(int(self.asked.end.timestamp())))
        lines = [each for each in filled.strip().splitlines() if not each.lstrip().startswith("$")]
        first = _FIRST_LINE.fullmatch(lines[0].strip()) if lines else None
        if first is None or first["path"].startswith("//"):
            raise dialect.AnswerError(
                "is not asked: the first line of its query has to be a path, such as"
                " /api/errors?app=shop"
            )
        return first, "\n".join(lines[1:]).strip()

    def _path(self) -> jsonpath.Path:
        lines = self.asked.text.splitlines()
        written = [each.strip() for each in lines if each.lstrip().startswith("$")]
        try:
            return jsonpath.parse(written[0] if written else self.options.path)
        except ValueError as error:
            raise dialect.AnswerError(f"is not asked: {error}") from None

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """See `dialect.Dialect.read`; every number found is a series of its own."""
        found = [each for each in self._path().find(dialect.decode(body)) if each is not None]
        values: list[float] = []
        for each in found:
            if isinstance(each, dict | list):
                kind = "a list: add [*]" if isinstance(each, list) else "an object: name a field"
                raise dialect.AnswerError(f"has, where the path leads, {kind}")
            values.append(dialect.number(each))
        return [dialect.Points((each,)) for each in values]

    def explain(self, body: bytes) -> str:
        """See `dialect.Dialect.explain`."""
        return dialect.words_at(body, ("error",), ("message",), ("error", "message"))
