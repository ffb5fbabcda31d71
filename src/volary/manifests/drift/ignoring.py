"""Leaving out what users do not want compared: pure.

JSON pointers are taken out of both sides before they are compared, as Argo CD does; fields of
managers are left out afterwards. An annotation of PipeCD's leaves out a whole object.
"""

from collections.abc import Iterable
from typing import Any

from volary.manifests import objects
from volary.manifests.drift import differences
from volary.model import drift_rules, json
from volary.model.objects import manifest

#: ``true`` in Git or on the live object leaves it out (PipeCD: 6.3).
IGNORE = "pipecd.dev/ignore-drift-detection"


def is_ignored(wanted: json.JsonObject | None, live: json.JsonObject | None) -> bool:
    """Say whether a whole object is left out."""
    return any(
        objects.text(body, "metadata", "annotations", IGNORE) == "true" for body in (wanted, live)
    )


def for_object(
    rules: Iterable[drift_rules.IgnoredDifference], key: manifest.ResourceKey
) -> tuple[drift_rules.IgnoredDifference, ...]:
    """Return the rules that are for an object."""
    return tuple(
        rule for rule in rules if rule.is_for(key.group, key.kind, key.namespace, key.name)
    )


def compare(
    wanted: json.JsonObject, live: json.JsonObject, rules: Iterable[drift_rules.IgnoredDifference]
) -> tuple[differences.Difference, ...]:
    """Return where a live object is not as Git says, without what the object's rules leave out."""
    managers: set[str] = set()
    for rule in rules:
        managers.update(rule.managed_fields_managers)
        for pointer in rule.json_pointers:
            wanted, live = without(wanted, pointer), without(live, pointer)
    return tuple(
        one
        for one in differences.compare(wanted, live)
        if not any(owner.manager in managers for owner in one.owners)
    )


def without(body: json.JsonObject, pointer: str) -> json.JsonObject:
    """Return an object without what is at a JSON pointer; where nothing is, as it is."""
    tokens = [
        token.replace("~1", "/").replace("~0", "~")
        for token in pointer.removeprefix("/").split("/")
    ]
    cut: json.JsonObject = _without(body, tokens)
    return cut


def _without(value: Any, tokens: list[str]) -> Any:
    token, *rest = tokens
    if isinstance(value, dict) and token in value:
        kept = {key: inner for key, inner in value.items() if key != token}
        return {**value, token: _without(value[token], rest)} if rest else kept
    if (
        isinstance(value, list)
        and token.isdecimal()
        and len(token) < 10
        and int(token) < len(value)
    ):
        place = int(token)
        middle = [_without(value[place], rest)] if rest else []
        return [*value[:place], *middle, *value[place + 1 :]]
    return value
