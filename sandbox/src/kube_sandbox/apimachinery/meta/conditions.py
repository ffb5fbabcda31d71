"""Conditions in a status: finding, setting, removing."""

from collections.abc import Sequence

from kube_sandbox import json


def find(conditions: Sequence[json.JsonObject], kind: str) -> json.JsonObject | None:
    """Return the condition of that type."""
    return next((each for each in conditions if each.get("type") == kind), None)


def is_true(conditions: Sequence[json.JsonObject], kind: str) -> bool:
    """Tell whether the condition of that type is there and ``True``."""
    found = find(conditions, kind)
    return found is not None and found.get("status") == "True"


def without(conditions: Sequence[json.JsonObject], kind: str) -> list[json.JsonObject]:
    """Return the conditions but those of that type."""
    return [each for each in conditions if each.get("type") != kind]


def put(conditions: Sequence[json.JsonObject], wanted: json.JsonObject) -> list[json.JsonObject]:
    """Replace the condition of that type, at the end of the list.

    Nothing changes when status and reason are as they were; the transition time
    stays when only the reason is new (Kubernetes: SetDeploymentCondition).
    """
    current = find(conditions, wanted["type"])
    if (
        current is not None
        and current.get("status") == wanted["status"]
        and current.get("reason") == wanted.get("reason")
    ):
        return list(conditions)
    if current is not None and current.get("status") == wanted["status"]:
        wanted = {**wanted, "lastTransitionTime": current.get("lastTransitionTime")}
    return [*without(conditions, wanted["type"]), wanted]
