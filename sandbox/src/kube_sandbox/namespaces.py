"""Whether a namespace takes new objects."""

from kube_sandbox import cluster, kinds, status


def require_open(home: cluster.Cluster, kind: kinds.Kind, namespace: str, name: str) -> None:
    """Refuse to create something in a namespace that is missing or on its way out.

    Raises:
        status.StatusError: 404 or 403.
    """
    found = home.find(kinds.NAMESPACE, "", namespace)
    if found is None:
        raise status.not_found("", "namespaces", namespace)
    if not found["metadata"].get("deletionTimestamp"):
        return
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    raise status.forbidden(
        kind.group,
        kind.plural,
        name,
        f"unable to create new content in namespace {namespace} because it is being terminated",
        causes=[cause],
    )
