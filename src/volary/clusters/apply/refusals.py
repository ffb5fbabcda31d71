"""What a cluster's refusal means to the person who wrote the manifest: pure."""

import re

from volary.clusters.api import api_errors
from volary.model import errors
from volary.model.objects import manifest

#: How API servers word it that a field cannot be changed on a live object.
_IMMUTABLE = re.compile(
    r"field is immutable|may not change once set|updates to statefulset spec for fields other"
    r"|is immutable after creation|may not be changed",
    re.IGNORECASE,
)
_REPLACE = "pipecd.dev/force-sync-by-replace: enabled"
TAKE_OVER = "volary.dev/force-conflicts"


def problem_of(
    item: manifest.Manifest, error: errors.VolaryError, *, cluster: str
) -> errors.Problem:
    """Return what is wrong with `item`, in words for its author."""
    place = f"{item.key.title} on cluster {cluster}"
    message, hint = f"{place}: {error}", ""
    match error:
        case api_errors.ApplyConflict():
            message = f"{place}: {_owners(error)}"
            hint = (
                f"leave the field out of the manifest, or annotate it `{TAKE_OVER}: enabled`"
                " to take it over"
            )
        case api_errors.Invalid() if fields := immutable_fields(error):
            message = f"{place}: {', '.join(fields)} cannot be changed on a live object"
            hint = f"annotate it `{_REPLACE}` to have it deleted and created anew"
        case api_errors.NotFound() if is_namespace_missing(error):
            message = f"namespace {item.namespace} does not exist on cluster {cluster}"
            hint = "create it, add it to the manifests, or set input.autoCreateNamespace"
        case api_errors.Forbidden():
            hint = "give the user this permission by a Role and a RoleBinding"
    return errors.Problem(message, item.origin, hint=hint)


def immutable_fields(error: api_errors.Invalid) -> list[str]:
    """Return the fields that the cluster refused to change; empty when it is about others."""
    fields = [cause.field for cause in error.causes if _IMMUTABLE.search(cause.message)]
    if not fields and _IMMUTABLE.search(str(error)):
        fields = [cause.field for cause in error.causes] or ["a field"]
    return sorted(set(fields))


def is_namespace_missing(error: api_errors.NotFound) -> bool:
    """Whether it is the namespace, not the object, that was not found."""
    return "namespaces " in str(error)


def managers(error: api_errors.ApplyConflict) -> frozenset[str]:
    """Return the managers that own the fields in conflict."""
    return frozenset(cause.manager for cause in error.causes)


def _owners(error: api_errors.ApplyConflict) -> str:
    by_manager: dict[str, list[str]] = {}
    for cause in error.causes:
        by_manager.setdefault(cause.manager, []).append(cause.field)
    return "; ".join(
        f"{manager} owns {', '.join(sorted(fields))}"
        for manager, fields in sorted(by_manager.items())
    )
