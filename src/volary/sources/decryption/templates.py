"""The templates of PipeCD's decryption targets: Go's text/template, as far as values need it. Pure.

Values are fetched (``.encryptedSecrets.x``, ``index .encryptedSecrets "x"``) and sent through
functions of sprig. Everything else in braces is an error, as a value that does not exist is: what
is not carried out must not be deployed as text. Errors never repeat a value.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib import parse

Values = Mapping[str, Mapping[str, str]]

_QUOTE_OR_END = re.compile(r"[\"`]|\}\}")
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`")
_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<raw>`[^`]*`)|(?P<number>-?\d+)"""
    r"""|(?P<field>\$?(?:\.[A-Za-z_]\w*)+)|(?P<word>[A-Za-z_]\w*)|(?P<sign>[|()]))"""
)
_MOST_ACTIONS = 10_000
_DEEPEST = 20
#: Characters that a file may become, and each value on the way.
_MOST_CHARACTERS = 16 * 1024 * 1024


class TemplateError(ValueError):
    """A template cannot be carried out.

    Args:
        message: What is wrong, a clause.
        line: Counted from 1.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class _MissingKeyError(TemplateError):
    """`index` found nothing under a key, which may be a secret value itself."""

    def __init__(self, key: str, known: str) -> None:
        super().__init__(f"index has a key that does not exist{known}")
        self.key = key
        self.known = known


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def render(text: str, values: Values) -> str:
    """Return the text with its actions carried out.

    Raises:
        TemplateError: The first that cannot be.
    """
    parts: list[str] = []
    end, trims, line, length = 0, False, 1, 0
    for count, action in enumerate(_actions(text)):
        before = text[end : action.start]
        line += before.count("\n")
        if count == _MOST_ACTIONS:
            raise TemplateError(f"has more than {_MOST_ACTIONS} actions", line)
        before = before.lstrip() if trims else before
        parts.append(before.rstrip() if action.trims_before else before)
        try:
            if action.problem:
                raise TemplateError(action.problem)
            if not action.is_comment:
                parts.append(_text(_Pipeline(action.source, values).value()))
                length += len(parts[-1])
                _check_length(length)
        except TemplateError as error:
            raise TemplateError(str(error), line) from None
        line += text.count("\n", action.start, action.end)
        trims, end = action.trims_after, action.end
    rest = text[end:]
    return "".join((*parts, rest.lstrip() if trims else rest))


@dataclass(frozen=True, slots=True)
class _Action:
    """What stands between two pairs of braces."""

    start: int
    end: int
    source: str = ""
    is_comment: bool = False
    trims_before: bool = False
    trims_after: bool = False
    problem: str = ""


def _actions(text: str) -> Iterator[_Action]:
    """Yield the actions; one that is broken is the last."""
    place = text.find("{{")
    while place >= 0:
        action = _action(text, place)
        yield action
        place = text.find("{{", action.end)


def _action(text: str, start: int) -> _Action:
    inside = start + 2
    trims_before = text.startswith("-", inside) and text[inside + 1 : inside + 2].isspace()
    inside += 2 if trims_before else 0
    is_comment = text.startswith("/*", inside)
    close = text.find("*/", inside + 2) if is_comment else inside
    place = close + 2 if is_comment else inside
    while close >= 0 and (found := _QUOTE_OR_END.search(text, place)) is not None:
        if found[0] == "}}":
            source = text[inside : found.start()]
            trims_after = source.endswith("-") and source[-2:-1].isspace()
            source = source[:-1] if trims_after else source
            if is_comment and source[source.index("*/") + 2 :].strip():
                return _Action(start, len(text), problem="has more than a comment")
            return _Action(start, found.end(), source, is_comment, trims_before, trims_after)
        string = _STRING.match(text, found.start())
        if string is None:
            return _Action(start, len(text), problem="has a string that is not closed")
        place = string.end()
    return _Action(start, len(text), problem="is not closed")


class _Pipeline:
    """One action: commands joined by ``|``, each given the result of the one before it."""

    def __init__(self, source: str, values: Values) -> None:
        self._source = source
        self._tokens = list(_tokens(source))
        self._values = values
        self._place = 0

    def value(self) -> object:
        """Return its value.

        Raises:
            TemplateError: It has none.
        """
        try:
            made = self._pipeline(0)
        except _MissingKeyError as error:
            if error.key and error.key in self._source:
                raise TemplateError(f"index {error.key} does not exist{error.known}") from None
            raise
        if self._place < len(self._tokens):
            raise TemplateError("has a parenthesis that nothing opens")
        return made

    def _pipeline(self, depth: int) -> object:
        if depth > _DEEPEST:
            raise TemplateError("is nested too deep")
        made = self._command(depth, ())
        while self._next("|"):
            made = self._command(depth, (made,))
        return made

    def _command(self, depth: int, last: tuple[object, ...]) -> object:
        token = self._peek()
        if token is not None and token.kind == "word" and token.text not in ("true", "false"):
            self._place += 1
            arguments = [*self._operands(depth), *last]
            return _call(token.text, arguments)
        operands = self._operands(depth)
        if len(operands) != 1 or last:
            raise TemplateError("is not a value, nor a function with its arguments")
        return operands[0]

    def _operands(self, depth: int) -> list[object]:
        made: list[object] = []
        while (token := self._peek()) is not None and token.text not in ("|", ")"):
            self._place += 1
            if token.text == "(" and token.kind == "sign":
                made.append(self._pipeline(depth + 1))
                if not self._next(")"):
                    raise TemplateError("has a parenthesis that is not closed")
            else:
                made.append(self._operand(token))
        return made

    def _operand(self, token: _Token) -> object:
        match token.kind:
            case "string":
                try:
                    return json.loads(token.text, strict=False)
                except ValueError:
                    raise TemplateError("has a string that cannot be read") from None
            case "raw":
                return token.text[1:-1]
            case "number":
                return int(token.text[:18])
            case "field":
                return _field(token.text.removeprefix("$").strip(".").split("."), self._values)
        if token.text in ("true", "false"):
            return token.text == "true"
        return _call(token.text, [])

    def _peek(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _next(self, sign: str) -> bool:
        token = self._peek()
        if token != _Token("sign", sign):
            return False
        self._place += 1
        return True


def _tokens(source: str) -> Iterator[_Token]:
    place, rest = 0, source.rstrip()
    if not rest.strip():
        raise TemplateError("is empty")
    while place < len(rest):
        found = _TOKEN.match(rest, place)
        if found is None or found.lastgroup is None:
            raise TemplateError(f"cannot be read at {rest[place : place + 20].strip()!r}")
        yield _Token(found.lastgroup, found[found.lastgroup])
        place = found.end()


def _field(path: Sequence[str], values: Values) -> object:
    made: object = values
    for depth, name in enumerate(path):
        if not isinstance(made, Mapping) or name not in made:
            known = ", ".join(made) if isinstance(made, Mapping) else ""
            written = "." + ".".join(path[: depth + 1])
            raise TemplateError(f"{written} does not exist{f'; there are: {known}' * bool(known)}")
        made = made[name]
    return made


def _call(name: str, arguments: list[object]) -> object:
    function = _FUNCTIONS.get(name)
    if function is None:
        raise TemplateError(f"{name} is not carried out; there are: {', '.join(_FUNCTIONS)}")
    try:
        made = function(*arguments)
        _check_length(len(made) if isinstance(made, str) else 0)
        return made
    except TemplateError:
        raise
    except (TypeError, ValueError, binascii.Error, OverflowError):
        # What it was given may be secret: nothing of that is told.
        raise TemplateError(f"{name} cannot be applied to what it is given") from None


def _check_length(length: int) -> None:
    """Refuse what grows: a few functions in a row multiply what they are given."""
    if length > _MOST_CHARACTERS:
        raise TemplateError(f"becomes longer than {_MOST_CHARACTERS >> 20} Mi characters")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        raise TemplateError("is a table of values and not one of them")
    return str(value)


def _index(table: object, *keys: object) -> object:
    made = table
    for key in keys:
        if not isinstance(made, Mapping) or str(key) not in made:
            known = ", ".join(made) if isinstance(made, Mapping) else ""
            raise _MissingKeyError(str(key), f"; there are: {known}" * bool(known))
        made = made[str(key)]
    return made


_MOST_SPACES = 1000


def _indent(spaces: object, value: object) -> str:
    if not isinstance(spaces, int) or not 0 <= spaces <= _MOST_SPACES:
        raise ValueError
    lines = _text(value).split("\n")
    _check_length(spaces * len(lines))
    return "\n".join(" " * spaces + line for line in lines)


def _replaced(old: object, new: object, value: object) -> str:
    text, before, after = _text(value), _text(old), _text(new)
    _check_length(len(text) + text.count(before) * (len(after) - len(before)))
    return text.replace(before, after)


def _joined(texts: Iterable[str], between: str = "") -> str:
    parts, length = list[str](), 0
    for text in texts:
        length += len(text)
        _check_length(length)
        parts.append(text)
    return between.join(parts)


def _hashed(value: object) -> str:
    return hashlib.sha256(_text(value).encode()).hexdigest()


def _quoted(*values: object) -> str:
    return _joined((json.dumps(_text(value), ensure_ascii=False) for value in values), " ")


_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "b64dec": lambda value: base64.b64decode(_text(value), validate=True).decode(),
    "b64enc": lambda value: base64.b64encode(_text(value).encode()).decode(),
    "default": lambda other, value: value or other,
    "indent": _indent,
    "index": _index,
    "lower": lambda value: _text(value).lower(),
    "nindent": lambda spaces, value: "\n" + _indent(spaces, value),
    "print": lambda *values: _joined(map(_text, values)),
    "quote": _quoted,
    "replace": _replaced,
    "sha256sum": _hashed,
    "squote": lambda *values: _joined((f"'{_text(value)}'" for value in values), " "),
    "toJson": lambda value: json.dumps(value, ensure_ascii=False),
    "toString": _text,
    "trim": lambda value: _text(value).strip(),
    "trimAll": lambda characters, value: _text(value).strip(_text(characters)),
    "trimPrefix": lambda prefix, value: _text(value).removeprefix(_text(prefix)),
    "trimSuffix": lambda suffix, value: _text(value).removesuffix(_text(suffix)),
    "upper": lambda value: _text(value).upper(),
    "urlquery": lambda value: parse.quote_plus(_text(value)),
}
