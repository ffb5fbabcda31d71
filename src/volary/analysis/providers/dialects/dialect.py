"""What each kind of system has to say for itself: requests out, points in; no input or output."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Generic, TypeVar

from volary.analysis.providers import query
from volary.model import json, metric_providers, safe_text

#: Reads a secret.
Reveal = Callable[[metric_providers.Secret], str]
#: More points than this are a mistake in the query (Prometheus has the same limit per series).
MOST_POINTS = 11_000
_SHOWN = 200
_SHORTEST_LOOKBACK = timedelta(minutes=3)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class AnswerError(Exception):
    """An answer that says nothing that could be judged; the text says why."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent for a query."""

    #: Appended to the provider's address.
    path: str
    parameters: Sequence[tuple[str, str]] = ()
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    #: None: no body.
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """How a token is asked for, where one is needed before anything can be."""

    #: The whole address.
    address: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was granted, and for how long."""

    value: str
    lifetime: timedelta


#: The points of one series, in the order of time.
Points = tuple[float, ...]
Options = TypeVar("Options", bound=metric_providers.Options)


@dataclass(frozen=True, slots=True)
class Dialect(ABC, Generic[Options]):
    """One kind of system, asked one query."""

    settings: metric_providers.Provider
    options: Options
    asked: query.Query

    #: Where JSON answers have the system's own words about an error, the best first.
    error_paths: ClassVar[tuple[tuple[str | int, ...], ...]] = ()

    @abstractmethod
    def request(self, reveal: Reveal, now: datetime) -> Request:
        """Return what is sent.

        Raises:
            AnswerError: The query cannot be asked like that.
            errors.UserError: A secret cannot be read.
        """

    def grant(self, reveal_document: Reveal, now: datetime) -> Grant | None:
        """Return how a token is asked for; None: no other is needed than the settings have.

        `reveal_document` reads a secret of several lines.

        Raises:
            AnswerError: The key in the settings is none.
            errors.UserError: A secret cannot be read.
        """
        return None

    def read_token(self, body: bytes) -> Token:
        """Return the token of a good answer to `grant`.

        Raises:
            AnswerError: There is none in it.
        """
        raise AnswerError("was granted a token that it did not ask for")

    @abstractmethod
    def read(self, body: bytes) -> Sequence[Points]:
        """Return the series of a good answer; those without points may be left out.

        Raises:
            AnswerError: There is something else in it.
        """

    def explain(self, body: bytes) -> str:
        """Return the system's own words about an error; nothing when there are none."""
        try:
            decoded = decode(body)
        except AnswerError:
            return ""
        return words_at(decoded, self.error_paths)


def words_at(decoded: object, paths: Iterable[tuple[str | int, ...]]) -> str:
    """Return the words at the first path that leads to some; nothing when none does."""
    for path in paths:
        node = decoded
        for step in path:
            if isinstance(step, int):
                inner = items(node)
                node = inner[step] if step < len(inner) else None
            else:
                node = mapping(node).get(step)
        if words := shorten(node):
            return words
    return ""


def plain_words(body: bytes) -> str:
    """Return the words about an error of a system that writes plain text; no web page's."""
    text = body[:1000].decode("utf-8", "replace").strip()
    return "" if text.startswith("<") else shorten(text)


def lookback(settings: metric_providers.Provider, asked: query.Query) -> datetime:
    """Return from when on points are asked for of systems that are slow to have the newest.

    A single newest point may be up to three windows old, or three minutes (Flagger: ten
    windows); older ones say nothing about now. Where all points count, they are the window's.
    """
    if settings.points is metric_providers.Points.ALL:
        return asked.start
    return asked.end - max(3 * asked.window, _SHORTEST_LOOKBACK)


def decode(body: bytes) -> object:
    """Return JSON.

    Raises:
        AnswerError: It is none.
    """
    try:
        return json.decode(body)
    except json.UNREADABLE:
        start = body[:100].lstrip().lower()
        if start.startswith((b"<!doctype", b"<html", b"<head")):
            raise AnswerError("answered with a web page: is the address right?") from None
        raise AnswerError("answered with something else than JSON: is the address right?") from None


def number(value: object) -> float:
    """Return a number as systems write it, also in words (``"NaN"``, ``"+Inf"``).

    Raises:
        AnswerError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise AnswerError("has something else than numbers in its answer")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise AnswerError(f"has {shorten(str(value))!r} in its answer where a number is") from None


def points(values: Iterable[object]) -> Points:
    """Return the numbers of a series; empty points are left out.

    Raises:
        AnswerError: One is no number.
    """
    return tuple(number(value) for value in values if value is not None)


def mapping(value: object) -> dict[str, object]:
    """Return an object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return a list; an empty one in place of anything else."""
    return value if isinstance(value, list) else []


def shorten(text: object) -> str:
    """Return somebody else's words on one line, fit to be shown; nothing when they are none."""
    if not isinstance(text, str):
        return ""
    line = safe_text.printable(" ".join(text[: 4 * _SHOWN].split()))
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} …"


def seconds(moment: datetime) -> str:
    """Return a moment as seconds since 1970, with fractions where there are some."""
    return f"{moment.timestamp():.3f}".rstrip("0").rstrip(".")


def timestamp(moment: datetime) -> str:
    """Return a moment as RFC 3339 has it, in UTC and whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def milliseconds(moment: datetime) -> int:
    """Return a moment as milliseconds since 1970."""
    return round(moment.timestamp() * 1000)


def nanoseconds(moment: datetime) -> str:
    """Return a moment as nanoseconds since 1970, exact to the microsecond."""
    return str((moment - _EPOCH) // timedelta(microseconds=1) * 1000)
