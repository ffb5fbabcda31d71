"""What the roles of a workspace permit within its namespaces.

Rules of our own, and not the cluster's `view`, `edit` and `admin`: those are put together from
whatever is installed, and `edit` may act as every ServiceAccount of the namespace, get tokens for
it, and change network policies.

Whoever may start pods in a namespace, or write Secrets there, can act as any ServiceAccount that is
in it. That cannot be taken away from `edit`, so the deployer may do no more than `edit` does.
"""

from collections.abc import Mapping

from volary.model import workspaces

_READ = ("get", "list", "watch")
_CHANGE = ("create", "delete", "deletecollection", "patch", "update")
_RBAC = "rbac.authorization.k8s.io"

#: What people and deployments work with, by API group.
_WORKED_WITH: Mapping[str, tuple[str, ...]] = {
    "": ("configmaps", "persistentvolumeclaims", "pods", "serviceaccounts", "services"),
    "apps": (
        "daemonsets",
        "deployments",
        "deployments/scale",
        "replicasets",
        "replicasets/scale",
        "statefulsets",
        "statefulsets/scale",
    ),
    "autoscaling": ("horizontalpodautoscalers",),
    "batch": ("cronjobs", "jobs"),
    "networking.k8s.io": ("ingresses",),
    "policy": ("poddisruptionbudgets",),
}
#: What follows from it, and what bounds it.
_LOOKED_AT: Mapping[str, tuple[str, ...]] = {
    "": (
        "endpoints",
        "events",
        "limitranges",
        "pods/log",
        "pods/status",
        "resourcequotas",
        "resourcequotas/status",
    ),
    "apps": ("controllerrevisions", "daemonsets/status", "deployments/status"),
    "discovery.k8s.io": ("endpointslices",),
    "events.k8s.io": ("events",),
    "metrics.k8s.io": ("pods",),
    "networking.k8s.io": ("networkpolicies",),
}


def _rules(
    table: Mapping[str, tuple[str, ...]], verbs: tuple[str, ...]
) -> tuple[workspaces.PolicyRule, ...]:
    return tuple(_rule(group, resources, verbs) for group, resources in table.items())


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> workspaces.PolicyRule:
    return workspaces.PolicyRule(verbs=verbs, api_groups=(group,), resources=resources)


_VIEW = (
    *_rules(_WORKED_WITH, _READ),
    *_rules(_LOOKED_AT, _READ),
    _rule("", ("namespaces",), ("get",)),
)
_WRITE = (
    *_rules(_WORKED_WITH, _CHANGE),
    _rule("", ("secrets",), (*_READ, *_CHANGE)),
    _rule("", ("pods/eviction",), ("create",)),
)
_BY_HAND = (
    _rule("", ("pods/attach", "pods/exec", "pods/portforward"), ("create", "get")),
    _rule("coordination.k8s.io", ("leases",), (*_READ, *_CHANGE)),
)
_ADMINISTER = (
    _rule("networking.k8s.io", ("networkpolicies",), _CHANGE),
    _rule(_RBAC, ("rolebindings", "roles"), (*_READ, *_CHANGE)),
)

#: What each role permits in each namespace.
MEMBERS: Mapping[workspaces.MemberRole, tuple[workspaces.PolicyRule, ...]] = {
    workspaces.MemberRole.VIEW: _VIEW,
    workspaces.MemberRole.EDIT: (*_VIEW, *_WRITE, *_BY_HAND),
    workspaces.MemberRole.ADMIN: (*_VIEW, *_WRITE, *_BY_HAND, *_ADMINISTER),
}
#: What deployments need: all that `edit` may but for what only people do.
DEPLOYER = (*_VIEW, *_WRITE)
