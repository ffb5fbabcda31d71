"""Syntax of Kubernetes' CEL that the evaluator does not know, written in what it does know.

`rewritten` turns optional selection (``a.?b``, ``a[?k]``), the macros of later versions
(``cel.bind``, ``optMap``, comprehensions with two variables) and functions with a namespace
(``sets.contains``) into plain calls, whose functions are in `rule_functions`.
"""

import re
from collections.abc import Callable, Mapping

_TOKEN = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''"""
    r"""|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"))"""
    r"""|(?P<number>(?:0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)[uU]?)"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<space>\s+|//[^\n]*)"""
    r"""|(?P<sign>&&|\|\||==|!=|<=|>=|[^\s\w])"""
)
_OPENING = {"(": ")", "[": "]", "{": "}"}
#: Functions whose values `string` is asked for, which the evaluator knows as maps.
_MADE = frozenset(("cidr", "ip", "url"))
#: Words that stand where a value may begin and are none.
_OPERATORS = frozenset(("in",))
_NAMESPACES = {
    "sets": frozenset(("contains", "equivalent", "intersects")),
    "ip": frozenset(("isCanonical",)),
    "format": frozenset(
        (
            *("byte", "date", "datetime", "dns1035Label", "dns1035LabelPrefix", "dns1123Label"),
            *("dns1123LabelPrefix", "dns1123Subdomain", "dns1123SubdomainPrefix", "labelValue"),
            *("named", "qualifiedName", "uri", "uuid"),
        )
    ),
}


class _UnreadableError(Exception):
    """The text is no expression; the evaluator says why."""


def rewritten(text: str) -> str:
    """Return an expression in plain calls; the text itself when it needs no change."""
    tokens = [
        match[0]
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"  # between tokens one blank will do
    ]
    writer = _Writer(tokens)
    try:
        found = writer.sequence(0, len(tokens))
    except (_UnreadableError, IndexError):
        return text
    return found if writer.changed else text


class _Writer:
    """Writes an expression anew, from values with everything that follows them."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self.changed = False

    def sequence(self, start: int, end: int) -> str:
        """Return the tokens of a range: values, and the operators between them."""
        parts: list[str] = []
        place = start
        while place < end:
            token = self._tokens[place]
            if token in _OPERATORS or not (token in _OPENING or _is_value(token)):
                parts.append(token)
                place += 1
                continue
            value, place = self._value(place)
            parts.append(value)
        return " ".join(parts)

    def _close(self, place: int) -> int:
        """Return where the bracket at `place` is closed."""
        expected: list[str] = []
        for index in range(place, len(self._tokens)):
            token = self._tokens[index]
            if token in _OPENING:
                expected.append(_OPENING[token])
            elif expected and token == expected[-1]:
                expected.pop()
                if not expected:
                    return index
        raise _UnreadableError

    def _at(self, place: int) -> str:
        return self._tokens[place] if place < len(self._tokens) else ""

    def _value(self, place: int) -> tuple[str, int]:
        """Return a value with its selections, indexes and calls, and where it ends."""
        token = self._tokens[place]
        if token in _OPENING:
            end = self._close(place)
            value = f"{token}{self.sequence(place + 1, end)}{_OPENING[token]}"
            place = end + 1
        elif self._at(place + 1) == "(":
            end = self._close(place + 1)
            if token == "string" and _MADE & set(self._tokens[place + 2 : end]):
                token, self.changed = "text_of", True
            value = f"{token}({self.sequence(place + 2, end)})"
            place = end + 1
        else:
            value = token
            place += 1
        optional = False
        while self._at(place) in (".", "["):
            if self._at(place) == "[":
                value, place, optional = self._index(value, place, optional=optional)
            else:
                value, place, optional = self._select(value, place, optional=optional)
        return value, place

    def _index(self, value: str, place: int, *, optional: bool) -> tuple[str, int, bool]:
        end = self._close(place)
        asked = self._at(place + 1) == "?"
        key = self.sequence(place + (2 if asked else 1), end)
        if asked or optional:
            self.changed = True
            return f"optional_index({value}, {key})", end + 1, True
        return f"{value}[{key}]", end + 1, False

    def _select(self, value: str, place: int, *, optional: bool) -> tuple[str, int, bool]:
        asked = self._at(place + 1) == "?"
        place += 2 if asked else 1
        name = self._at(place)
        if not _is_name(name):
            raise _UnreadableError
        if self._at(place + 1) == "(" and not asked:
            end = self._close(place + 1)
            return self._call(value, name, self._arguments(place + 2, end)), end + 1, False
        if asked or optional:
            self.changed = True
            return f"optional_index({value}, '{name}')", place + 1, True
        return f"{value}.{name}", place + 1, False

    def _arguments(self, start: int, end: int) -> list[str]:
        arguments: list[str] = []
        place = first = start
        while place < end:
            if self._tokens[place] in _OPENING:
                place = self._close(place)
            elif self._tokens[place] == ",":
                arguments.append(self.sequence(first, place))
                first = place + 1
            place += 1
        return [*arguments, self.sequence(first, end)] if first < end else arguments

    def _call(self, value: str, name: str, arguments: list[str]) -> str:
        if name in _NAMESPACES.get(value, ()):
            self.changed = True
            return f"{value}_{name}({', '.join(arguments)})"
        macro = _MACROS.get((name, len(arguments)))
        plain = f"{value}.{name}({', '.join(arguments)})"
        if macro is None or (name == "bind" and value != "cel"):
            return plain
        if name not in ("bind", "optMap", "optFlatMap") and not _is_name(arguments[1]):
            return plain  # ``exists`` and ``map`` with one variable may have as many arguments
        self.changed = True
        return macro(value, arguments)


def _is_value(token: str) -> bool:
    return _is_name(token) or token[0].isdigit() or token[-1] in "'\""


def _is_name(token: str) -> bool:
    return token.isidentifier()


def _let(name: str, value: str, body: str) -> str:
    """Return `body` with a variable in it: a list of one is mapped."""
    return f"[{value}].map({name}, {body})[0]"


def _pair(arguments: list[str], body: str) -> str:
    key, value = arguments[:2]
    return _let(key, "pair__[0]", _let(value, "pair__[1]", body))


def _over_pairs(macro: str) -> Callable[[str, list[str]], str]:
    return lambda value, given: f"pairs({value}).{macro}(pair__, {_pair(given, given[2])})"


def _transformed(result: Callable[[str], str]) -> Callable[[str, list[str]], str]:
    def write(value: str, given: list[str]) -> str:
        pairs = f"pairs({value})"
        if len(given) == 4:
            pairs = f"{pairs}.filter(pair__, {_pair(given, given[2])})"
        return result(f"{pairs}.map(pair__, {_pair(given, given[-1])})")

    return write


def _transformed_map(value: str, given: list[str]) -> str:
    keyed = [*given[:-1], f"[{given[0]}, {given[-1]}]"]
    return _transformed(lambda pairs: f"map_of({pairs})")(value, keyed)


def _opt_map(value: str, given: list[str]) -> str:
    mapped = f"optional.of({_let(given[0], f'{value}.value()', given[1])})"
    return f"({value}.hasValue() ? {mapped} : optional.none())"


def _opt_flat_map(value: str, given: list[str]) -> str:
    # The evaluator's `map` unwraps what is optional and leaves out what is not there.
    mapped = f"optional_index([{value}.value()].map({given[0]}, {given[1]}), 0)"
    return f"({value}.hasValue() ? {mapped} : optional.none())"


#: Macros by name and number of arguments.
_MACROS: Mapping[tuple[str, int], Callable[[str, list[str]], str]] = {
    ("bind", 3): lambda _, given: _let(given[0], given[1], given[2]),
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_flat_map,
    ("all", 3): _over_pairs("all"),
    ("exists", 3): _over_pairs("exists"),
    ("existsOne", 3): _over_pairs("exists_one"),
    ("exists_one", 3): _over_pairs("exists_one"),
    ("transformList", 3): _transformed(lambda pairs: pairs),
    ("transformList", 4): _transformed(lambda pairs: pairs),
    ("transformMap", 3): _transformed_map,
    ("transformMap", 4): _transformed_map,
    ("transformMapEntry", 3): _transformed(lambda pairs: f"merged({pairs})"),
    ("transformMapEntry", 4): _transformed(lambda pairs: f"merged({pairs})"),
}
