"""Secrets never leave: the one place where their values are taken out of text.

A `Masker` learns the values from Secrets, and from then on cleans whatever is to be
shown: diffs, logs, events, errors. It masks by value, so it does not matter how the
value got into the text. As everything passes here, characters that steer terminals end here
too.

What is masked: strings of four characters and more, numbers of four digits and more, also those
inside of lists and objects, as they are, line by line, and as they look in base64 (also in the
middle of something longer), in addresses, in JSON, in hexadecimal and in Go's notation of
numbers. What is shorter, and words like ``true``, would blot out half of every text: they are
left out of diffs by their place in a Secret, and are no secrets elsewhere.
"""

import base64
import binascii
import json as json_text
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from urllib import parse

from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.manifests.workloads import config_references
from volary.model import errors, json, safe_text
from volary.model.objects import manifest

MASK = "*****"
#: Shorter values are words like "on" and "1" that would blot out half of every text.
SHORTEST = 4
#: Lines of a longer text, such as a private key, are masked singly from this length on.
_SHORTEST_LINE = 12
#: From this length on a value is looked for inside of something longer in base64.
_SHORTEST_INSIDE = 8
#: Characters of a line in which base64 is often cut.
_BASE64_LINES = (64, 76)
#: Words that stand in every text; nobody can keep them secret.
_WORDS = frozenset(
    {"true", "false", "null", "none", "enabled", "disabled", "default", "opaque", "localhost"}
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


class Masker:
    """Collects secret values and takes them out of texts.

    Args:
        values: What is known from the beginning.
        beside: Others whose values are masked as well, also those that they learn later.
    """

    def __init__(self, values: Iterable[str] = (), beside: Sequence["Masker"] = ()) -> None:
        #: Forms by their first characters, longest first: one may be the beginning of another.
        self._forms: dict[str, list[str]] = {}
        #: In the order in which they were learnt.
        self._known: dict[str, None] = {}
        self._beside = tuple(beside)
        self.add(*values)

    def add(self, *values: str) -> None:
        """Learn values as they are; each is masked in its plain and its encoded forms."""
        for value in values:
            if value in self._known:
                continue
            self._known[value] = None
            for form in set(_forms(value)):
                found = self._forms.setdefault(form[:SHORTEST], [])
                if form not in found:
                    found.append(form)
                    found.sort(key=lambda known: (-len(known), known))

    def learn(self, manifests: Iterable[manifest.Manifest]) -> None:
        """Learn the values of every Secret among the manifests or live objects."""
        for item in manifests:
            if config_references.is_secret(item):
                self.add(*secret_values(item))

    def learn_values(self, values: Iterable[object]) -> None:
        """Learn strings and numbers, also those inside of lists and objects."""
        for value in values:
            self.add(*_texts(value))

    def keep_newest(self, count: int) -> None:
        """Forget all but the values that were learnt last."""
        if len(self._known) > count:
            newest = tuple(self._known)[-count:]
            self._known, self._forms = {}, {}
            self.add(*newest)

    def clean(self, text: str) -> str:
        """Return the text with every known value replaced by ``*****``, safe to show."""
        return safe_text.printable(self._masked(text))

    def occurs_in(self, text: str) -> bool:
        """Say whether a known value is in the text."""
        return next(self._occurrences(text), None) is not None or any(
            other.occurs_in(text) for other in self._beside
        )

    def clean_error(self, error: errors.UserError) -> errors.UserError:
        """Return the error with clean problems; raise it without its cause, which is not clean."""
        return errors.UserError(
            *(
                replace(
                    problem,
                    message=self.clean(problem.message),
                    hint=self.clean(problem.hint),
                    where=replace(problem.where, path=self.clean(problem.where.path)),
                )
                for problem in error.problems
            )
        )

    def _masked(self, text: str) -> str:
        for other in self._beside:
            text = other._masked(text)
        parts, end = [], 0
        for start, after in self._occurrences(text):
            parts += [text[end:start], MASK]
            end = after
        return "".join((*parts, text[end:])) if parts else text

    def _occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where known values begin and end, from left to right.

        One look at each character, however many values are known.
        """
        if not self._forms:
            return
        place, last = 0, len(text) - SHORTEST
        while place <= last:
            found = self._forms.get(text[place : place + SHORTEST], ())
            end = next((end for form in found if (end := _end(text, place, form))), 0)
            if end:
                yield place, end
            place = end or place + 1


def _end(text: str, place: int, form: str) -> int:
    """Return where a form ends that begins at a place; 0 where it does not."""
    end = place + len(form)
    if not text.startswith(form, place):
        return 0
    if form.isdigit():
        # A number inside of a longer one is another number.
        before = place > 0 and text[place - 1].isdigit()
        if before or text[end : end + 1].isdigit():
            return 0
    return end


def secret_values(item: manifest.Manifest) -> list[str]:
    """Return the values of a Secret, decoded where they are text, and what is inside of them.

    Values that are no strings are refused by every cluster, which repeats them as it does so.
    """
    values = list(objects.mapping(item.body, "stringData").values())
    encoded = objects.mapping(item.body, "data").values()
    values += [_decoded(value) for value in encoded]
    values += [value for value in encoded if not isinstance(value, str)]
    return [text for value in values for text in (*_texts(value), *_inside(value)) if text]


def is_redacted(body: json.JsonObject, path: tuple[str | int, ...]) -> bool:
    """Say whether what is at `path` of an object must not be shown.

    PipeCD forgets ``stringData``, and what kubectl keeps of it in an annotation.
    """
    if not path or body.get("kind") != config_references.SECRET:
        return False
    return path[0] in ("data", "stringData") or tracking.LAST_APPLIED in path


def _texts(value: object) -> Iterator[str]:
    """Yield the strings and numbers of a value, as they are written."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
        if not any(isinstance(inner, Mapping | list) for inner in value):
            # As Go, JSON and Python print it: a list of digits is a secret as well.
            yield from (between.join(map(str, value)) for between in (" ", ",", ", "))
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield repr(value)


def _inside(value: object) -> Iterator[str]:
    """Yield what a text holds that is JSON itself, such as passwords of image registries."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return
    try:
        yield from _texts(json_text.loads(value))
    except (ValueError, RecursionError):
        return


def _forms(value: str) -> Iterator[str]:
    pieces = [value, value.strip()]
    pieces += [line for line in map(str.strip, value.splitlines()) if len(line) >= _SHORTEST_LINE]
    for piece in pieces:
        if is_masked(piece):
            yield from (form for form in _encoded(piece) if len(form) >= SHORTEST)


def is_masked(text: str) -> bool:
    """Say whether a value can be told from ordinary words, so that it is masked everywhere."""
    digits = text.removeprefix("-").replace(".", "", 1)
    if digits.isdigit() and len(digits) < SHORTEST:
        return False
    return len(text) >= SHORTEST and text.casefold() not in _WORDS


def _encoded(piece: str) -> Iterator[str]:
    data = piece.encode("utf-8", "replace")
    yield piece
    yield from _in_base64(data)
    for quoted in (
        parse.quote(piece, safe=""),
        parse.quote(piece),
        parse.quote_plus(piece),
        parse.quote(piece, safe="-_.!~*'();/?:@&=+$,#"),
    ):
        yield quoted
        yield re.sub("%..", lambda found: found[0].lower(), quoted)
    for written in (json_text.dumps(piece)[1:-1], json_text.dumps(piece, ensure_ascii=False)[1:-1]):
        yield written
        yield _as_go_writes(written)
    yield repr(piece)[1:-1]
    if len(data) >= _SHORTEST_INSIDE:
        yield data.hex()
        yield data.hex().upper()
    if _NUMBER.fullmatch(piece):
        yield from _numbers(piece)


def _as_go_writes(written: str) -> str:
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return written


def _in_base64(data: bytes) -> Iterator[str]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        yield whole
        yield whole.rstrip("=")
        for width in _BASE64_LINES:
            if len(whole) > width:
                lines = (whole[at : at + width] for at in range(0, len(whole), width))
                yield from (line for line in lines if len(line) >= _SHORTEST_LINE)
        if len(data) < _SHORTEST_INSIDE:
            continue
        for before in range(3):
            # Of what stands before and after, the characters at the edges depend.
            text = encode(bytes(before) + data).decode().rstrip("=")
            uncertain = (before + len(data)) % 3 != 0
            yield text[(0, 2, 3)[before] : len(text) - uncertain]


def _numbers(text: str) -> Iterator[str]:
    """Yield how programs write a number that they took for one."""
    if len(text) > 40:
        return
    number = float(text)
    if number.is_integer() and abs(number) < 2**63:
        yield str(int(number))
    yield repr(number)
    mantissa, _, exponent = f"{number:e}".partition("e")
    shortest = next(
        (made for digits in range(17) if float(made := f"{number:.{digits}e}") == number),
        f"{mantissa}e{exponent}",
    )
    yield shortest
    yield f"{number:g}"
    yield f"{number:f}".rstrip("0").rstrip(".")
    yield f"{number:f}"


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        # Binary, or not base64 at all: then the text itself is what may appear.
        return value
