"""The roles and bindings every cluster has, those of users and those of discovery.

``admin``, ``edit`` and ``view`` are put together from all ClusterRoles with their labels, so
that definitions of custom resources can add to them.
"""

from collections.abc import Iterator, Sequence

from kube_sandbox import json

_RBAC = "rbac.authorization.k8s.io"
_MARK = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_UPDATE = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_READ = ("get", "list", "watch")
_CHANGE = ("create", "delete", "deletecollection", "patch", "update")

#: What people work with, by group; reading it is harmless.
_WORKLOADS = {
    "": (
        "configmaps endpoints persistentvolumeclaims pods replicationcontrollers "
        "replicationcontrollers/scale serviceaccounts services"
    ),
    "apps": (
        "daemonsets deployments deployments/scale replicasets replicasets/scale "
        "statefulsets statefulsets/scale"
    ),
    "autoscaling": "horizontalpodautoscalers",
    "batch": "cronjobs jobs",
    "networking.k8s.io": "ingresses networkpolicies",
    "policy": "poddisruptionbudgets",
}
_ONLY_READ = {
    "": "events limitranges namespaces namespaces/status pods/log pods/status resourcequotas "
    "resourcequotas/status replicationcontrollers/status services/status",
    "apps": "controllerrevisions daemonsets/status deployments/status replicasets/status "
    "statefulsets/status",
    "discovery.k8s.io": "endpointslices",
}


def _rules(table: dict[str, str], verbs: Sequence[str]) -> list[json.JsonObject]:
    return [
        {"verbs": list(verbs), "apiGroups": [group], "resources": resources.split()}
        for group, resources in table.items()
    ]


def _rule(group: str, resources: str, verbs: Sequence[str]) -> json.JsonObject:
    return _rules({group: resources}, verbs)[0]


def _paths(*urls: str) -> json.JsonObject:
    return {"verbs": ["get"], "nonResourceURLs": list(urls)}


_VIEW = [*_rules(_WORKLOADS, _READ), *_rules(_ONLY_READ, _READ)]
_EDIT = [
    *_rules(_WORKLOADS, _CHANGE),
    _rule("", "secrets", (*_READ, *_CHANGE)),
    _rule("", "pods/eviction serviceaccounts/token", ("create",)),
    _rule("", "serviceaccounts", ("impersonate",)),
    _rule("coordination.k8s.io", "leases", (*_READ, *_CHANGE)),
]
_ADMIN = [
    _rule(_RBAC, "rolebindings roles", (*_READ, *_CHANGE)),
    _rule("authorization.k8s.io", "localsubjectaccessreviews", ("create",)),
]
_AGGREGATED = {"view": _VIEW, "edit": [*_EDIT, *_VIEW], "admin": [*_EDIT, *_VIEW, *_ADMIN]}
_PARTS = {"view": (_VIEW, "edit"), "edit": (_EDIT, "admin"), "admin": (_ADMIN, "")}

_EVERYTHING: list[json.JsonObject] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_DISCOVERY = _paths(
    *("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez"),
    *("/openapi", "/openapi/*", "/readyz", "/version", "/version/"),
)
_BASIC: list[json.JsonObject] = [
    _rule("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", ("create",)),
    _rule("authentication.k8s.io", "selfsubjectreviews", ("create",)),
]
_ISSUER: list[json.JsonObject] = [
    _paths(
        *("/.well-known/openid-configuration", "/.well-known/openid-configuration/"),
        *("/openid/v1/jwks", "/openid/v1/jwks/"),
    ),
    _paths("/.well-known", "/.well-known/*"),
]
_PUBLIC = _paths("/healthz", "/livez", "/readyz", "/version", "/version/")

#: Roles that are bound, and the groups they are bound to.
_BOUND: dict[str, tuple[list[json.JsonObject], tuple[str, ...]]] = {
    "cluster-admin": (_EVERYTHING, ("system:masters",)),
    "system:basic-user": (_BASIC, ("system:authenticated",)),
    "system:discovery": ([_DISCOVERY], ("system:authenticated",)),
    "system:public-info-viewer": (
        [_PUBLIC],
        ("system:authenticated", "system:unauthenticated"),
    ),
    "system:service-account-issuer-discovery": (_ISSUER, ("system:serviceaccounts",)),
}


def objects() -> Iterator[json.JsonObject]:
    """Yield the ClusterRoles and their bindings."""
    for name, (rules, groups) in _BOUND.items():
        yield _object("ClusterRole", name, rules=rules)
        yield _object(
            "ClusterRoleBinding",
            name,
            subjects=[{"kind": "Group", "apiGroup": _RBAC, "name": group} for group in groups],
            roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
        )
    for name, (rules, wider) in _PARTS.items():
        labels = {f"{_AGGREGATE}{name}": "true"}
        yield _object("ClusterRole", f"system:aggregate-to-{name}", labels=labels, rules=rules)
        selector = {"matchLabels": dict(labels)}
        yield _object(
            "ClusterRole",
            name,
            labels={f"{_AGGREGATE}{wider}": "true"} if wider else {},
            rules=_AGGREGATED[name],
            aggregationRule={"clusterRoleSelectors": [selector]},
        )


def _object(
    kind: str, name: str, *, labels: dict[str, str] | None = None, **content: object
) -> json.JsonObject:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": {**_MARK, **(labels or {})},
            "annotations": dict(_UPDATE),
        },
        **content,
    }
