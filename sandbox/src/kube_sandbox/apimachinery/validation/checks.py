"""Small checks many kinds share; each returns causes."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes, quantities, selectors
from kube_sandbox.apimachinery.validation import names

Causes = list[causes.Cause]

IMMUTABLE = "field is immutable"
_PERCENT = re.compile(r"[0-9]+%\Z")
PERCENT_TEXT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)


def named(path: str, text: str, rule: Callable[[str], Iterable[str]]) -> Causes:
    """Refuse a name that breaks `rule`."""
    return [causes.invalid(path, text, each) for each in rule(text)]


def not_negative(path: str, value: Any) -> Causes:
    """Refuse a number below 0; a missing one is fine."""
    if value is not None and value < 0:
        return [causes.invalid(path, value, "must be greater than or equal to 0")]
    return []


def one_of(path: str, value: Any, allowed: tuple[str, ...]) -> Causes:
    """Refuse a value that is not in `allowed`; a missing one is fine."""
    if value is None or value in allowed:
        return []
    return [causes.unsupported(path, value, tuple(sorted(allowed)))]


def port_number(path: str, value: Any) -> Causes:
    """Refuse a port out of range."""
    if not 1 <= value <= 65535:
        return [causes.invalid(path, value, "must be between 1 and 65535, inclusive")]
    return []


def port_or_name(path: str, value: Any) -> Causes:
    """Refuse a target port that is neither a port number nor a port name."""
    if isinstance(value, str):
        return named(path, value, names.port_name)
    return port_number(path, value)


def number_or_percent(path: str, value: Any) -> Causes:
    """Refuse what is neither a count from 0 on nor a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.match(value) else [causes.invalid(path, value, PERCENT_TEXT)]
    return not_negative(path, value)


def at_most_all(path: str, value: Any) -> Causes:
    """Refuse more than 100 %."""
    if isinstance(value, str) and _PERCENT.match(value) and int(value[:-1]) > 100:
        return [causes.invalid(path, value, "must not be greater than 100%")]
    return []


def is_zero(value: Any) -> bool:
    """Tell whether a count or percentage is 0."""
    return value in (0, "0%")


def labels(path: str, given: json.JsonObject | None) -> Causes:
    """Refuse malformed label keys and values."""
    found: Causes = []
    for key, value in (given or {}).items():
        found += named(path, key, names.qualified)
        found += named(path, value, names.label_value)
    return found


def unchanged(path: str, new: Any, old: Any, detail: str = IMMUTABLE) -> Causes:
    """Refuse a change of a field that may not change."""
    return [] if new == old else [causes.invalid(path, new, detail)]


_SET_OPERATORS = ("In", "NotIn")
_BARE_OPERATORS = ("Exists", "DoesNotExist")


def label_selector(path: str, given: json.JsonObject | None) -> Causes:
    """Refuse a malformed ``LabelSelector``."""
    if given is None:
        return []
    found = labels(f"{path}.matchLabels", given.get("matchLabels"))
    for index, each in enumerate(given.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = each.get("operator", ""), each.get("values")
        if operator in _SET_OPERATORS and not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            found.append(causes.required(f"{where}.values", detail))
        elif operator in _BARE_OPERATORS and values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(causes.forbidden(f"{where}.values", detail))
        elif operator not in (*_SET_OPERATORS, *_BARE_OPERATORS):
            detail = "not a valid selector operator"
            found.append(causes.invalid(f"{where}.operator", operator, detail))
        found += named(f"{where}.key", each.get("key", ""), names.qualified)
    return found


def selects(selector: json.JsonObject, template_labels: json.JsonObject | None) -> bool:
    """Tell whether a well-formed selector matches the labels of a template."""
    return selectors.from_object(selector).matches(template_labels)


def is_empty(selector: json.JsonObject) -> bool:
    """Tell whether a selector has no condition."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def amount(path: str, value: Any) -> Causes:
    """Refuse a negative quantity."""
    if quantities.parse(str(value)) < 0:
        return [causes.invalid(path, value, "must be greater than or equal to 0")]
    return []


def positive_amount(path: str, value: Any) -> Causes:
    """Refuse a quantity that is not above 0."""
    if quantities.parse(str(value)) <= 0:
        return [causes.invalid(path, value, "must be greater than zero")]
    return []
