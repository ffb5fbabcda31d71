"""Whether a user may do what a request asks for."""

from dataclasses import dataclass

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apiserver.access import rbac, request_info
from kube_sandbox.apiserver.storage import cluster_state, verbs


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer, and what it rests on."""

    allowed: bool
    reason: str = ""


def decide(
    state: cluster_state.ClusterState, user: verbs.User, request: request_info.RequestInfo
) -> Decision:
    """Decide by roles and bindings; administrators need none."""
    if user.administrator:
        return Decision(allowed=True)
    for grant in rbac.grants(state, user, request.namespace):
        if rbac.allows(grant.rule, request):
            return Decision(allowed=True, reason=f"RBAC: allowed by {grant.source}")
    return Decision(allowed=False)


def require(
    state: cluster_state.ClusterState, user: verbs.User, request: request_info.RequestInfo
) -> None:
    """Let a request pass or refuse it.

    Raises:
        api_errors.StatusError: 403.
    """
    if decide(state, user, request).allowed:
        return
    why = f'User "{user.name}" cannot {_action(request)}'
    plural = request.resource.partition("/")[0]
    raise api_errors.forbidden(request.group, plural, request.name, why)


def _action(request: request_info.RequestInfo) -> str:
    """Describe a request as refusals do: ``list resource "pods" in API group "" in …``."""
    if not request.resource:
        return f'{request.verb} path "{request.path}"'
    namespace = request.namespace
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    resource = f'resource "{request.resource}" in API group "{request.group}"'
    return f"{request.verb} {resource} {where}"
