"""What a cluster's refusal means to the person who wrote the manifest: pure."""

import re
from collections.abc import Sequence

from volary.clusters.api import api_errors
from volary.manifests.ownership import claims
from volary.model import errors, phrases
from volary.model.objects import manifest

#: How API servers word it that a field cannot be changed on a live object.
_IMMUTABLE = re.compile(
    r"field is immutable|may not change once set|updates to statefulset spec for fields other"
    r"|is immutable after creation|may not be changed|cannot change roleRef",
    re.IGNORECASE,
)
_REPLACE = (
    "annotate it `pipecd.dev/force-sync-by-replace: enabled` to have it deleted and created anew"
)
#: Kinds that are as they were once they are applied anew. Not others: a hint never loses data.
_RECREATED_WITHOUT_LOSS = {
    ("", "ConfigMap"): "",
    ("", "Secret"): "",
    ("apps", "Deployment"): ", with no pods in between",
    ("apps", "DaemonSet"): ", with no pods in between",
    ("batch", "Job"): ", which runs it again; or give it another name",
    ("rbac.authorization.k8s.io", "RoleBinding"): "",
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): "",
}
_CLAIM = ("", "PersistentVolumeClaim")
_OTHERS = {
    _CLAIM: (
        "a claim can only grow, where its StorageClass says allowVolumeExpansion; for the rest,"
        " make a claim of another name and copy the data"
    ),
    ("apps", "StatefulSet"): (
        "`kubectl delete statefulset NAME --cascade=orphan` keeps its pods and volumes; the next"
        " run creates it anew around them"
    ),
}
_LIVE_SELECTOR = (
    "write the selector as it is on the cluster, where pods may have more labels than that; or give"
    " the workload another name; or "
)
_AS_IT_IS = "write it as it is on the cluster, or give the object another name"
#: RBAC says it so; quotas, limits, policies and webhooks refuse with 403 too.
_NOT_PERMITTED = re.compile(r"\bcannot \w+ ")
_OVER_QUOTA = re.compile(r"exceeded quota|failed quota")
#: Fields that are named of those that keep an object from being written.
_MOST_FIELDS = 8
TAKE_OVER = "volary.dev/force-conflicts"


class ClaimedError(errors.PermanentError):
    """Somebody else claims the object."""

    def __init__(self, claim: claims.Claim) -> None:
        super().__init__(f"it belongs to {claim.who}, and is not written")
        self.claim = claim


def problem_of(
    item: manifest.Manifest, error: errors.VolaryError, *, cluster: str
) -> errors.Problem:
    """Return what is wrong with `item`, in words for its author."""
    place = f"{item.key.title} on cluster {cluster}"
    message, hint = f"{place}: {error}", ""
    match error:
        case ClaimedError() if error.claim.name:
            hint = (
                f"leave it out of the manifests, or annotate it there"
                f" `{claims.TAKE_OVER}: {error.claim.name}` to take it over, and have the other let"
                " go of it"
            )
        case ClaimedError() if error.claim == claims.UNNAMED:
            hint = (
                "leave it out of the manifests, or give it another name; whoever runs the server"
                " can say whose it is"
            )
        case ClaimedError():
            hint = "leave it out of the manifests: its controller would undo every change"
        case api_errors.ApplyConflict():
            message = f"{place}: {_owners(error)}"
            hint = (
                f"leave the field out of the manifest, or annotate it `{TAKE_OVER}: enabled`"
                " to take it over"
            )
        case api_errors.Invalid() if fields := immutable_fields(error):
            shown = phrases.first_of(fields, _MOST_FIELDS)
            message = f"{place}: {shown} cannot be changed on a live object"
            hint = _way_out(item, fields)
        case api_errors.NotFound() if is_namespace_missing(error):
            message = f"namespace {item.namespace} does not exist on cluster {cluster}"
            hint = "create it, add it to the manifests, or set input.autoCreateNamespace"
        case api_errors.Refused():
            hint = "a project's `destinations` and `kinds` say what its applications may have"
        case api_errors.Forbidden():
            hint = _permission_hint(item, error)
    return errors.Problem(message, item.origin, hint=hint)


def _way_out(item: manifest.Manifest, fields: Sequence[str]) -> str:
    """Return how a field that cannot be changed gets its value, without losing data."""
    kind = (item.group, item.kind)
    if kind in _RECREATED_WITHOUT_LOSS:
        other = _LIVE_SELECTOR if fields == ["spec.selector"] else ""
        return f"{other}{_REPLACE}{_RECREATED_WITHOUT_LOSS[kind]}"
    return _OTHERS.get(kind, _AS_IT_IS).replace("NAME", item.name)


def _permission_hint(item: manifest.Manifest, error: api_errors.Forbidden) -> str:
    """Return what helps against a 403; empty where the message says all that is known."""
    message = str(error)
    if any(cause.reason == "NamespaceTerminating" for cause in error.causes):
        return (
            f"wait until namespace {item.namespace} is gone; its status says what it waits for"
            f" (`kubectl get namespace {item.namespace} -o yaml`)"
        )
    if _OVER_QUOTA.search(message):
        return "raise the ResourceQuota of the namespace, or request less (`kubectl get quota`)"
    if _NOT_PERMITTED.search(message):
        cluster_wide = "Cluster" if "at the cluster scope" in message else ""
        return (
            f"give the user this permission by a {cluster_wide}Role and a {cluster_wide}RoleBinding"
        )
    return _OTHERS[_CLAIM] if "can be resized" in message else ""


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
        f"{manager} owns {phrases.first_of(sorted(fields), _MOST_FIELDS)}"
        for manager, fields in sorted(by_manager.items())
    )
