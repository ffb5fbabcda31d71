"""Whether a namespace takes new objects."""

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.storage import cluster_state


def require_open(
    state: cluster_state.ClusterState, kind: kinds.Kind, namespace: str, name: str
) -> None:
    """Refuse to create something in a namespace that is missing or on its way out.

    Raises:
        api_errors.StatusError: 404 or 403.
    """
    found = state.find(kinds.NAMESPACE, "", namespace)
    if found is None:
        raise api_errors.not_found("", "namespaces", namespace)
    if not found["metadata"].get("deletionTimestamp"):
        return
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    raise api_errors.forbidden(
        kind.group,
        kind.plural,
        name,
        f"unable to create new content in namespace {namespace} because it is being terminated",
        causes=[cause],
    )
