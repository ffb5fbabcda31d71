"""Pods need the ServiceAccount they name.

The namespace's ``default`` is made by a controller a moment after the namespace itself; pods that
use it are let through in that moment, as their creators would try again anyway.
"""

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry.admission import request
from kube_sandbox.apiserver.storage import cluster_state

DEFAULT = "default"


def check(state: cluster_state.ClusterState, asked: request.Request, pod: json.JsonObject) -> None:
    """Refuse a new pod whose ServiceAccount is not there.

    Raises:
        api_errors.StatusError: 403.
    """
    name = pod["spec"].get("serviceAccountName") or DEFAULT
    if name == DEFAULT or state.find(kinds.SERVICE_ACCOUNT, asked.namespace, name) is not None:
        return
    account = f"{asked.namespace}/{name}"
    raise asked.refuse(
        f'error looking up service account {account}: serviceaccount "{name}" not found'
    )
