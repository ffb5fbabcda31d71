"""Label and field selectors, as the API writes them in a query."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds

Predicate = Callable[[json.JsonObject], bool]

_LABEL_TOKEN = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+)")
_WORDS = frozenset(("in", "notin"))
_SIGNS = frozenset(("==", "!=", "=", "!", ",", "(", ")", "<", ">"))

#: Fields that may be selected by, besides name and namespace, with their value when empty.
_FIELDS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("", "Pod"): {
        "spec.nodeName": "",
        "spec.restartPolicy": "",
        "spec.schedulerName": "",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "false",
        "status.phase": "",
        "status.podIP": "",
        "status.nominatedNodeName": "",
    },
    ("", "Event"): {
        "involvedObject.kind": "",
        "involvedObject.namespace": "",
        "involvedObject.name": "",
        "involvedObject.uid": "",
        "involvedObject.apiVersion": "",
        "involvedObject.resourceVersion": "",
        "involvedObject.fieldPath": "",
        "reason": "",
        "reportingComponent": "",
        "source": "",
        "type": "",
    },
    ("events.k8s.io", "Event"): {
        "reason": "",
        "regarding.kind": "",
        "regarding.namespace": "",
        "regarding.name": "",
        "regarding.uid": "",
        "reportingController": "",
        "type": "",
    },
    ("", "Namespace"): {"status.phase": ""},
    ("", "Secret"): {"type": ""},
    ("", "Service"): {"spec.clusterIP": "", "spec.type": ""},
    ("", "Node"): {"spec.unschedulable": "false"},
    ("apps", "ReplicaSet"): {"status.replicas": "0"},
    ("batch", "Job"): {"status.successful": "0"},
}


@functools.lru_cache(maxsize=512)
def labels(selector: str) -> Predicate | None:
    """Return a predicate over objects; None when everything matches.

    Raises:
        api_errors.StatusError: 400, in the words of kube-apiserver.
    """
    if not selector.strip():
        return None
    tests = tuple(_LabelParser(selector).parse())

    def matches(body: json.JsonObject) -> bool:
        found = body["metadata"].get("labels") or {}
        return all(test(found) for test in tests)

    return matches


_LabelTest = Callable[[Mapping[str, str]], bool]


class _LabelParser:
    """A recursive descent over the tokens, which ends at the first thing out of place."""

    def __init__(self, text: str) -> None:
        self._tokens = _LABEL_TOKEN.findall(text)
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def parse(self) -> list[_LabelTest]:
        tests = [self._requirement()]
        while self._peek():
            token = self._next()
            if token != ",":
                raise _unparsable(token, "',' or 'end of string'")
            tests.append(self._requirement())
        return tests

    def _requirement(self) -> _LabelTest:
        if self._peek() == "!":
            self._next()
            key = self._identifier()
            return lambda found: key not in found
        key = self._identifier()
        operator = self._peek()
        if operator in ("", ","):
            return lambda found: key in found
        self._next()
        return self._comparison(key, operator)

    def _comparison(self, key: str, operator: str) -> _LabelTest:
        if operator in ("=", "=="):
            wanted = self._value()
            return lambda found: found.get(key) == wanted
        if operator == "!=":
            wanted = self._value()
            return lambda found: found.get(key) != wanted
        if operator == "in":
            values = self._values()
            return lambda found: found.get(key) in values
        if operator == "notin":
            values = self._values()
            return lambda found: found.get(key) not in values
        if operator in (">", "<"):
            return _ordered(key, operator, self._value())
        raise _unparsable(operator, "in, notin, =, ==, !=, gt, lt")

    def _identifier(self) -> str:
        token = self._next()
        if token in _SIGNS or not token or token in _WORDS:
            raise _unparsable(token, "!, identifier, or 'end of string'")
        return token

    def _value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        token = self._next()
        if token in _SIGNS:
            raise _unparsable(token, "identifier")
        return token

    def _values(self) -> frozenset[str]:
        if (token := self._next()) != "(":
            raise _unparsable(token, "'('")
        values = {""} if self._peek() in (",", ")") else {self._value()}
        while (token := self._next()) == ",":
            values.add("" if self._peek() == ")" else self._value())
        if token != ")":
            raise _unparsable(token, "',' or ')'")
        return frozenset(values)


def _ordered(key: str, operator: str, text: str) -> _LabelTest:
    try:
        limit = int(text)
    except ValueError:
        message = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise api_errors.bad_request(
            f"unable to parse requirement: values[0][{key}]: {message}"
        ) from None
    sign = 1 if operator == ">" else -1

    def matches(found: Mapping[str, str]) -> bool:
        try:
            return (int(found[key]) - limit) * sign > 0
        except (KeyError, ValueError):
            return False

    return matches


def _unparsable(found: str, expected: str) -> api_errors.StatusError:
    return api_errors.bad_request(
        f"unable to parse requirement: found '{found}', expected: {expected}"
    )


def fields(selector: str, kind: kinds.Kind) -> Predicate | None:
    """Return a predicate over objects of a kind; None when everything matches.

    Raises:
        api_errors.StatusError: 400, for what is no selector or a field that cannot be selected by.
    """
    tests = tuple(_field_test(each, selector, kind) for each in selector.split(",") if each.strip())
    if not tests:
        return None
    return lambda body: all(test(body) for test in tests)


def _field_test(term: str, selector: str, kind: kinds.Kind) -> Predicate:
    for operator in ("!=", "==", "="):
        field, found, value = term.partition(operator)
        if found:
            break
    else:
        raise api_errors.bad_request(f"invalid selector: '{selector}'; can't understand '{term}'")
    known = _FIELDS.get((kind.group, kind.name), {})
    allowed = field in ("metadata.name", "metadata.namespace") or field in known
    if not allowed and field not in kind.selectable:
        if known or kind.custom:
            raise api_errors.bad_request(f"field label not supported: {field}")
        raise api_errors.bad_request(
            f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        )
    path, empty, wanted = field.split("."), known.get(field, ""), operator != "!="
    return lambda body: (_read(body, path, empty) == value) is wanted


def _read(body: json.JsonObject, path: list[str], empty: str) -> str:
    found: Any = body
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    if isinstance(found, dict):
        found = found.get("component")  # an event's source
    if found is None or found == "":
        return empty
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found)
