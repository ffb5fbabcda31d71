"""Expressions in CEL over one object or value: checked when written, bounded when they run.

An expression cannot loop, so the most that it can cost is known beforehand, by what is written
and by the object: how deep its macros (``all``, ``exists`` …) are nested, how long the object's
longest list is, how much there is to copy (each access copies what it gives), and how much larger
than the object a value can grow. Whoever writes an expression cannot hold up anybody else with it.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from volary.model import work_limits

if TYPE_CHECKING:
    import cel

#: The object has both of Kubernetes' names: that of admission policies, that of definitions.
VARIABLES = frozenset({"object", "self"})
LONGEST = 2000
_DEEPEST = 2
#: Steps that it takes to take over a value of the object, and values copied in one step.
_TAKEN_OVER, _COPIES = 3, 8
#: Characters of a text that take as long as one value.
_TEXT = 64

_TYPES = frozenset(
    {
        *("bool", "bytes", "double", "duration", "dyn", "int", "list", "map"),
        *("null_type", "string", "timestamp", "type", "uint"),
    }
)
_FUNCTIONS = frozenset(
    {
        *("bytes", "contains", "double", "duration", "dyn", "endsWith", "has", "int", "matches"),
        *("size", "startsWith", "string", "timestamp", "type", "uint"),
        *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear"),
        *("getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds"),
    }
)
#: Texts: in three quotes, raw, ordinary.
_TEXTS = re.compile(
    r"""\b[rR]?'{3}[\s\S]*?'{3}|\b[rR]?"{3}[\s\S]*?"{3}|[rR]'[^']*'|[rR]"[^"]*"|"""
    r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
)
_MACRO = re.compile(r"\.\s*(?:all|exists|exists_one|filter|map)\s*\(")
#: Macros that make a list; the others make true or false.
_MAP = re.compile(r"\.\s*map\s*\(")
_FILTER = re.compile(r"\.\s*filter\s*\(")
#: A list or an object that is written out, not an index: nothing that has items is before it.
_LITERAL = re.compile(r"(?:^|[^\w\s)\]'])\s*[\[{]")
_BOUND = re.compile(_MACRO.pattern + r"\s*([A-Za-z_]\w*)\s*,")
_FAULT = re.compile(r"ERROR: <input>:\d+:(\d+): (?:Syntax error: )?(.*)")
#: The parser lists everything it would have taken.
_EXPECTING = re.compile(r",? expecting .*")


class EvaluationError(Exception):
    """The expression has no value for this object; says why in half a sentence."""


class Subject:
    """An object or a value that expressions are asked about, taken over once for all of them."""

    def __init__(self, body: object) -> None:
        self._body = _visible(body)
        self._contexts: dict[frozenset[str], cel.Context] = {}

    @property
    def longest(self) -> int:
        """The length of its longest list or object."""
        return self._measured[0]

    @property
    def weight(self) -> int:
        """How many values it holds; a long text counts as several."""
        return self._measured[1]

    @functools.cached_property
    def _measured(self) -> tuple[int, int]:
        return _measured(self._body)

    def context(self, names: frozenset[str]) -> "cel.Context":
        """Return what an expression that asks by these names is evaluated in."""
        import cel  # see `_program`

        if names not in self._contexts:
            self._contexts[names] = cel.Context(variables=dict.fromkeys(names, self._body))
        return self._contexts[names]


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that can be evaluated."""

    text: str
    #: How many macros it has, and how deep they are nested.
    macros: int
    depth: int
    #: By which of the object's names it asks; each is a copy of the object.
    names: frozenset[str]
    #: How many of the macros make lists out of others, and out of parts of others.
    maps: int = 0
    filters: int = 0
    #: How many things it joins, or puts into lists and objects: only so values grow.
    joins: int = 0
    #: How often it asks for the object inside of one macro, and inside of two.
    asks: tuple[int, ...] = ()

    def evaluate(self, subject: Subject) -> object:
        """Return its value for an object; nothing is changed.

        Raises:
            EvaluationError: It has none, or would take too long to find.
        """
        if self.cost(subject) > work_limits.EXPRESSION_STEPS:
            raise EvaluationError("it would take too long: the object is too large for it")
        try:
            value: object = _program(self.text).execute(subject.context(self.names))
        except KeyError as error:
            raise EvaluationError(f"there is no {error.args[0]}") from error
        except (TypeError, ValueError, RuntimeError, LookupError, ArithmeticError) as error:
            raise EvaluationError(_sentence(error)) from error
        return value

    def cost(self, subject: Subject) -> int:
        """Return the most steps that it can take for an object, more than it usually does."""
        longest, weight = subject.longest, subject.weight + len(self.text) // _TEXT
        growth = (self.joins + 1) ** (self.depth + self.maps + 1)
        if any(self.asks):
            growth *= longest**self.maps
        asked = sum(times * longest**level for level, times in enumerate(self.asks, 1))
        walked = self.macros * longest**self.depth
        # A list that is made is copied whenever something is added.
        made = (self.maps + self.filters) * longest
        copied = weight * (asked + made) // _COPIES
        return int(growth * (walked + weight * (_TAKEN_OVER + self.macros) + copied))


@functools.lru_cache(maxsize=512)
def parse(text: str, known: frozenset[str] = VARIABLES) -> Expression:
    """Return an expression that can be evaluated.

    Args:
        text: As it is written.
        known: What it may call the object, or the value.

    Raises:
        ValueError: It cannot; says why for the person who wrote it.
    """
    if len(text) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters")
    try:
        program = _program(text)
    except ValueError as error:
        raise ValueError(f"is not valid CEL: {_fault(str(error))}") from error
    macros, depth, inside = _macros(text)
    if depth > _DEEPEST:
        raise ValueError(f"has macros nested {depth} deep, more than {_DEEPEST}")
    bound = frozenset(_BOUND.findall(_TEXTS.sub("''", text)))
    variables = frozenset(program.variables())
    if unknown := sorted(variables - known - _TYPES - bound):
        called = "the object is called object" if known == VARIABLES else f"only {min(known)} is"
        raise ValueError(f"{', '.join(unknown)} is not known; {called}")
    functions = (name for name in program.functions() if name.isidentifier())
    if unknown := sorted(set(functions) - _FUNCTIONS):
        raise ValueError(f"the function {', '.join(unknown)} does not exist")
    bare = _TEXTS.sub("''", text)
    return Expression(
        text,
        macros,
        depth,
        variables & known,
        maps=len(_MAP.findall(bare)),
        filters=len(_FILTER.findall(bare)),
        joins=bare.count("+") + len(_LITERAL.findall(bare)),
        asks=tuple(len(re.findall(rf"\b(?:{'|'.join(known)})\b", part)) for part in inside),
    )


@functools.lru_cache(maxsize=512)
def _program(text: str) -> "cel.Program":
    import cel  # brings a command line of its own along: a quarter of a second

    return cel.compile(text)


def _visible(body: object) -> object:
    """Return the object without bookkeeping, which is often the larger part of it."""
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(metadata, Mapping):
        return body
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**body, "metadata": kept}


def _measured(value: object) -> tuple[int, int]:
    """Return the length of the longest list or object, and how many values there are."""
    longest, weight, left = 1, 0, [value]
    while left:
        inner = left.pop()
        weight += 1
        if isinstance(inner, Mapping):
            longest = max(longest, len(inner))
            left.extend(inner.values())
        elif isinstance(inner, list):
            longest = max(longest, len(inner))
            left.extend(inner)
        elif isinstance(inner, str):
            weight += len(inner) // _TEXT
    return longest, weight


def _macros(text: str) -> tuple[int, int, tuple[str, ...]]:
    """Return how many macros there are, how deep they are nested, and what is inside of them.

    The first text is inside of one, the second of two, and so on.
    """
    bare = _TEXTS.sub("''", text)
    starts = {match.end() - 1 for match in _MACRO.finditer(bare)}
    deepest, open_ones = 0, list[bool]()
    inside: list[list[str]] = []
    for place, sign in enumerate(bare):
        if level := sum(open_ones):
            inside += [[] for _ in range(level - len(inside))]
            inside[level - 1].append(sign)
        if sign in "([{":
            open_ones.append(place in starts)
            deepest = max(deepest, sum(open_ones))
        elif sign in ")]}" and open_ones:
            open_ones.pop()
    return len(starts), deepest, tuple("".join(part) for part in inside)


def _fault(message: str) -> str:
    match = _FAULT.search(message)
    if match is None:
        return "it cannot be read"
    what = _EXPECTING.sub("", match[2]).strip().replace("'<EOF>'", "the end")
    return f"{what} at character {match[1]}"


def _sentence(error: Exception) -> str:
    return str(error).split(". ")[0].splitlines()[0].removesuffix(".")
