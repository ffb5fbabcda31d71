"""Label selectors, given as objects."""

from collections.abc import Mapping

from kube_sandbox import json


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
