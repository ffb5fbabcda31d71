"""The admission plugins in their order: completing new objects, then refusing writes."""

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry.admission import (
    escalation,
    limit_ranges,
    namespaces,
    policies,
    priorities,
    quotas,
    request,
    service_accounts,
)
from kube_sandbox.apiserver.storage import cluster_state


def complete(state: cluster_state.ClusterState, asked: request.Request) -> json.JsonObject:
    """Return the object of a creation with what the cluster's settings add to it.

    Raises:
        api_errors.StatusError: 403 or 404, it may not be created at all.
    """
    body = asked.body or {}
    if asked.kind.namespaced:
        namespaces.require_open(state, asked.kind, asked.namespace, asked.name)
    escalation.check(state, asked)
    if asked.kind is not kinds.POD:
        return body
    service_accounts.check(state, asked, body)
    return priorities.complete(state, asked, limit_ranges.complete(state, asked, body))


def check(state: cluster_state.ClusterState, asked: request.Request) -> tuple[str, ...]:
    """Let a valid write pass or refuse it; return what its author shall be warned of.

    Raises:
        api_errors.StatusError: 403, or what a policy says.
    """
    if asked.operation is request.Operation.UPDATE:
        escalation.check(state, asked)
    limit_ranges.check(state, asked)
    warnings = policies.check(state, asked)
    quotas.charge(state, asked)
    return warnings
