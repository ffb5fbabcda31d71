"""Queries for any system that answers with JSON: a request written down as text. Pure.

The first line is the path with parameters, with `POST` before it where that is allowed; a line
that begins with `$` says where the numbers are in the answer; whatever else there is, is the
body. `${START}` and `${END}` stand for the time it is about.

Read here by who sends them and by who checks files before, so that both refuse the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib import parse

from volary.config.stages import query_placeholders
from volary.config.text import json_paths
from volary.model import analysis

GET, POST = "GET", "POST"
_Finding = query_placeholders.Finding
START, END = "${START}", "${END}"
_FIRST_LINE = re.compile(r"(?:(?P<method>[A-Z]+)\s+)?(?P<path>[/?]\S*)")
#: What no query of another system looks like.
_UNMISTAKABLE = re.compile(
    r"(?:(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT|TRACE)\s+)?[/?]\S*"
)


@dataclass(frozen=True, slots=True)
class HttpQuery:
    """A query taken apart; what is wrong with the parts is said by `faults`."""

    method: str
    #: With parameters; empty: the first line is no path.
    path: str
    body: str
    #: Where the numbers are, as written; empty: where the provider's settings say.
    numbers: tuple[str, ...]


def read(text: str) -> HttpQuery:
    """Take a query apart."""
    written = text.strip().splitlines()
    numbers = tuple(line.strip() for line in written if line.lstrip().startswith("$"))
    lines = [line for line in written if not line.lstrip().startswith("$")]
    first = _FIRST_LINE.fullmatch(lines[0].strip()) if lines else None
    if first is None or first["path"].startswith("//"):
        return HttpQuery(GET, "", "", numbers)
    body = "\n".join(lines[1:]).strip()
    return HttpQuery(first["method"] or GET, first["path"], body, numbers)


def is_one(text: str) -> bool:
    """Say whether a query can be for nobody else, whoever is asked."""
    lines = [line for line in text.strip().splitlines() if not line.lstrip().startswith("$")]
    return bool(lines) and _UNMISTAKABLE.fullmatch(lines[0].strip()) is not None


def faults(query: HttpQuery) -> Iterator[_Finding]:
    """Yield what is wrong with a query whatever the provider's settings say."""
    if not query.path:
        yield _Finding(
            "the first line of its query has to be a path, such as /api/errors?app=shop",
            "write the path, with POST before it when it is not a GET",
        )
    elif ".." in parse.unquote(parse.urlsplit(query.path).path).split("/"):
        yield _Finding("its path leads out of the provider's address", "write it without ..")
    if query.method not in (GET, POST):
        yield _Finding(f"{query.method} is neither {GET} nor {POST}", "a metric only asks")
    if len(query.numbers) > 1:
        yield _Finding(
            "its query says twice where the numbers are", "keep one line that begins with $"
        )
    for number in query.numbers[:1]:
        try:
            json_paths.parse(number)
        except ValueError as error:
            yield _Finding(f"the path {number}: {error}", "write $.data.value")


def without_time(text: str) -> Iterator[_Finding]:
    """Yield that a query cannot be asked about an earlier time."""
    if START not in text and END not in text:
        yield _Finding(
            f"cannot be asked about an earlier time: the query has neither {START} nor {END}",
            "write from=${START} and to=${END}, as the system expects them",
        )


def forbidden(query: HttpQuery) -> Iterator[_Finding]:
    """Yield what is wrong with a query where the provider's settings do not let it post."""
    if query.method == POST or query.body:
        yield _Finding(
            "only GET without a body is allowed",
            "allowPost: true in its settings lets queries post",
        )


def unsendable_fields(rule: analysis.Rule) -> Iterator[tuple[str, _Finding]]:
    """Yield requests of a metric that nobody would ever send, with the field of each.

    Which system is asked is not known here: only queries count that can be for no other.
    """
    for name, text in _texts(rule):
        if is_one(text):
            yield from ((name, fault) for fault in _wrong(rule, text))


def refused_by_provider(rule: analysis.Rule, *, may_post: bool) -> Iterator[tuple[str, _Finding]]:
    """Yield what else this provider would not be asked, beside what holds for all."""
    for name, text in _texts(rule):
        if not is_one(text):
            yield from ((name, fault) for fault in _wrong(rule, text))
        if not may_post:
            yield from ((name, fault) for fault in forbidden(read(text)))


def _texts(rule: analysis.Rule) -> Iterator[tuple[str, str]]:
    for name, text in (("query", rule.query), ("totalQuery", rule.total_query)):
        if text:
            yield name, query_placeholders.blanked(text)


def _wrong(rule: analysis.Rule, text: str) -> Iterator[_Finding]:
    yield from faults(read(text))
    if rule.strategy is analysis.Strategy.PREVIOUS:
        yield from without_time(text)
