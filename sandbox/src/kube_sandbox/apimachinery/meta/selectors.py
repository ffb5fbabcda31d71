"""Label selectors: the text of a query, the object in a spec, and whether one matches."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kube_sandbox import json


class Operator(StrEnum):
    """How a requirement looks at a label."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER = "Gt"
    LESS = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether `labels` fulfil the condition; a missing label satisfies NotIn."""
        value = labels.get(self.key)
        if self.operator is Operator.IN:
            return value in self.values
        if self.operator is Operator.NOT_IN:
            return value not in self.values
        if self.operator is Operator.EXISTS:
            return value is not None
        if self.operator is Operator.DOES_NOT_EXIST:
            return value is None
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or not value.removeprefix("-").isdigit():
            return False
        limit = int(self.values[0])
        return int(value) > limit if self.operator is Operator.GREATER else int(value) < limit

    def __str__(self) -> str:
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator is Operator.IN and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        if self.operator is Operator.GREATER:
            return f"{self.key}>{self.values[0]}"
        if self.operator is Operator.LESS:
            return f"{self.key}<{self.values[0]}"
        word = "in" if self.operator is Operator.IN else "notin"
        return f"{self.key} {word} ({','.join(sorted(self.values))})"


@dataclass(frozen=True, slots=True)
class Selector:
    """Conditions that must all hold; none: everything matches."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Tell whether `labels` are selected."""
        given = labels or {}
        return all(each.matches(given) for each in self.requirements)

    def __str__(self) -> str:
        return ",".join(str(each) for each in sorted(self.requirements, key=lambda each: each.key))


class SelectorError(ValueError):
    """The text of a selector cannot be read."""


_SET = re.compile(r"\s*([^\s!=<>,()]+)\s+(in|notin)\s*\(([^()]*)\)\s*")
_COMPARE = re.compile(r"\s*([^\s!=<>,()]+)\s*(==|!=|=|>|<)\s*([^\s!=<>,()]*)\s*")
_EXISTS = re.compile(r"\s*(!?)\s*([^\s!=<>,()]+)\s*")
_COMPARISONS = {
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    ">": Operator.GREATER,
    "<": Operator.LESS,
}


@functools.lru_cache(maxsize=512)
def parse(text: str) -> Selector:
    """Return the selector a query means: ``app=x,tier!=y,env in (a,b),!old``.

    Raises:
        SelectorError: It is malformed.
    """
    found = []
    at = 0
    while at < len(text):
        requirement, at = _requirement(text, at)
        found.append(requirement)
        if at < len(text):
            if text[at] != "," or at + 1 == len(text):
                raise SelectorError(f"unable to parse requirement: found {text[at:]!r}")
            at += 1
    return Selector(tuple(found))


def _requirement(text: str, at: int) -> tuple[Requirement, int]:
    match = _SET.match(text, at)
    if match:
        operator = Operator.IN if match[2] == "in" else Operator.NOT_IN
        values = tuple(each.strip() for each in match[3].split(","))
        return Requirement(match[1], operator, values), match.end()
    match = _COMPARE.match(text, at)
    if match:
        operator = _COMPARISONS[match[2]]
        if operator in (Operator.GREATER, Operator.LESS) and not match[3].lstrip("-").isdigit():
            raise SelectorError("for 'Gt', 'Lt' operators, the value must be an integer")
        return Requirement(match[1], operator, (match[3],)), match.end()
    match = _EXISTS.match(text, at)
    if match:
        operator = Operator.DOES_NOT_EXIST if match[1] else Operator.EXISTS
        return Requirement(match[2], operator), match.end()
    raise SelectorError(f"unable to parse requirement: found {text[at:]!r}")


def from_labels(labels: Mapping[str, str] | None) -> Selector:
    """Return the selector of a plain map of labels, as Services have it."""
    pairs = sorted((labels or {}).items())
    return Selector(tuple(Requirement(key, Operator.IN, (value,)) for key, value in pairs))


def from_object(selector: Mapping[str, Any] | None) -> Selector:
    """Return the selector of a ``LabelSelector``; an empty one selects everything."""
    given = selector or {}
    found = list(from_labels(given.get("matchLabels")).requirements)
    for each in given.get("matchExpressions") or ():
        values = tuple(each.get("values") or ())
        found.append(Requirement(each["key"], Operator(each["operator"]), values))
    return Selector(tuple(found))


def matches(selector: json.JsonObject | None, labels: Mapping[str, str]) -> bool:
    """Tell whether a LabelSelector picks `labels`; an empty one picks all, a missing one none."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions") or ())


def is_empty(selector: json.JsonObject | None) -> bool:
    """Tell whether the selector would pick everything."""
    return not (selector and (selector.get("matchLabels") or selector.get("matchExpressions")))


def _holds(expression: json.JsonObject, labels: Mapping[str, str]) -> bool:
    key = expression.get("key", "")
    values = expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False
