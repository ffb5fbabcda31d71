"""The objects of a workspace, as they are on each of its clusters.

The same workspace always comes to the same objects, so nothing is written where nothing changed.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from volary.manifests.ownership import tracking
from volary.model import json, workspaces
from volary.model.objects import manifest
from volary.tenancy import workspace_rules

#: Label with the name of the workspace.
LABEL = "volary.dev/workspace"
#: Annotation of a namespace that was there before: it is never deleted.
ADOPTED = "volary.dev/adopted"
#: Kinds that a workspace consists of, besides its namespaces.
KINDS = (
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("", "ServiceAccount"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)
QUOTA, LIMITS, ISOLATION = "volary-quota", "volary-limits", "volary-isolation"
DEPLOYER = "volary-deployer"

_RBAC = "rbac.authorization.k8s.io"
#: Every namespace has it, and nobody can change it.
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_POD_SECURITY = "pod-security.kubernetes.io"
_MODES = ("enforce", "audit", "warn")
_DNS_PORT = 53


@dataclass(frozen=True, slots=True)
class NamespaceManifests:
    """A namespace of a workspace, and what is in it."""

    namespace: workspaces.WorkspaceNamespace
    #: The namespace first.
    items: tuple[manifest.Manifest, ...]


def render(workspace: workspaces.Workspace) -> tuple[NamespaceManifests, ...]:
    """Return the objects of a workspace by namespace, in the order of the namespaces."""
    return tuple(_render(workspace, namespace) for namespace in workspace.namespaces)


def marked_as_adopted(item: manifest.Manifest) -> manifest.Manifest:
    """Return a namespace that says that it was there before."""
    return item.with_metadata(
        {"annotations": {**item.annotations, ADOPTED: "true"}, "labels": item.labels}
    )


def digest(workspace: workspaces.Workspace) -> str:
    """Return what tells a workspace from one that comes to other objects."""
    bodies = [item.body for part in render(workspace) for item in part.items]
    return hashlib.sha256(msgspec.json.encode(bodies, order="sorted")).hexdigest()[:16]


def _render(
    workspace: workspaces.Workspace, namespace: workspaces.WorkspaceNamespace
) -> NamespaceManifests:
    bodies = [
        _namespace(workspace, namespace),
        *_deployer(workspace, namespace.name),
        *_members(workspace.members),
        *_bounds(workspace),
    ]
    items = (
        _mark(body, workspace.name, "" if body["kind"] == "Namespace" else namespace.name)
        for body in bodies
    )
    return NamespaceManifests(namespace, tuple(items))


def _mark(body: json.JsonObject, workspace: str, namespace: str) -> manifest.Manifest:
    """Return an object in its place, with the marks by which it is known to be ours."""
    owner = workspaces.owner_of(workspace)
    place = {"namespace": namespace} if namespace else {}
    item = manifest.Manifest({**body, "metadata": {**body["metadata"], **place}})
    return item.with_metadata(
        {
            "labels": {**item.labels, **tracking.owner_labels(owner), LABEL: workspace},
            "annotations": {
                **item.annotations,
                tracking.MANAGED_BY: tracking.VOLARY,
                tracking.APPLICATION: owner.name,
                tracking.APPLICATION_ID: owner.id,
                tracking.RESOURCE_KEY: str(item.key),
            },
        }
    )


def _object(api_version: str, kind: str, name: str, **fields: object) -> json.JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def _namespace(
    workspace: workspaces.Workspace, namespace: workspaces.WorkspaceNamespace
) -> json.JsonObject:
    level = workspace.pod_security.value
    body = _object("v1", "Namespace", namespace.name)
    body["metadata"] |= {
        "labels": {**namespace.labels, **{f"{_POD_SECURITY}/{mode}": level for mode in _MODES}},
        "annotations": dict(namespace.annotations),
    }
    return body


def _deployer(workspace: workspaces.Workspace, namespace: str) -> list[json.JsonObject]:
    deployer, home = workspace.deployer, workspace.namespaces[0].name
    account: list[json.JsonObject] = []
    if deployer.user:
        subject = {"apiGroup": _RBAC, "kind": "User", "name": deployer.user}
    else:
        name = deployer.service_account
        subject = {"kind": "ServiceAccount", "name": name, "namespace": home}
        if namespace == home:
            account = [_object("v1", "ServiceAccount", name, automountServiceAccountToken=False)]
    rules = deployer.rules or workspace_rules.DEPLOYER
    return [*account, *_granted(DEPLOYER, rules, [subject])]


def _members(members: Sequence[workspaces.Member]) -> list[json.JsonObject]:
    granted: list[json.JsonObject] = []
    for role, rules in workspace_rules.MEMBERS.items():
        subjects = [_subject(member) for member in members if member.role is role]
        if subjects:
            granted += _granted(f"volary-{role.value}", rules, subjects)
    for member in members:
        if member.role is None:
            subject = _subject(member)
            named = hashlib.sha256(f"{subject['kind']}/{subject['name']}".encode()).hexdigest()
            granted += _granted(f"volary-member-{named[:10]}", member.rules, [subject])
    return granted


def _subject(member: workspaces.Member) -> json.JsonObject:
    kind, name = ("Group", member.group) if member.group else ("User", member.user)
    return {"apiGroup": _RBAC, "kind": kind, "name": name}


def _granted(
    name: str, rules: Iterable[workspaces.PolicyRule], subjects: Sequence[json.JsonObject]
) -> list[json.JsonObject]:
    reference = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    ordered = sorted(subjects, key=lambda subject: (subject["kind"], subject["name"]))
    return [
        _object(f"{_RBAC}/v1", "Role", name, rules=[_rule(rule) for rule in rules]),
        _object(f"{_RBAC}/v1", "RoleBinding", name, roleRef=reference, subjects=ordered),
    ]


def _rule(rule: workspaces.PolicyRule) -> json.JsonObject:
    body: json.JsonObject = {
        "apiGroups": list(rule.api_groups),
        "resources": list(rule.resources),
        "verbs": list(rule.verbs),
    }
    if rule.resource_names:
        body["resourceNames"] = list(rule.resource_names)
    return body


def _bounds(workspace: workspaces.Workspace) -> list[json.JsonObject]:
    bodies: list[json.JsonObject] = []
    if workspace.quota is not None:
        hard = _quantities(workspace.quota.hard)
        bodies.append(_object("v1", "ResourceQuota", QUOTA, spec={"hard": hard}))
    if workspace.limits:
        limits = [_limit(item) for item in workspace.limits]
        bodies.append(_object("v1", "LimitRange", LIMITS, spec={"limits": limits}))
    if workspace.network.isolate:
        bodies.append(_isolation(workspace))
    return bodies


def _limit(item: workspaces.LimitRangeItem) -> json.JsonObject:
    given = {
        "max": item.max,
        "min": item.min,
        "default": item.default,
        "defaultRequest": item.default_request,
        "maxLimitRequestRatio": item.max_limit_request_ratio,
    }
    bounds = {name: _quantities(values) for name, values in given.items() if values}
    return {"type": item.type.value, **bounds}


def _quantities(given: workspaces.Quantities) -> dict[str, str]:
    return {name: str(value) for name, value in sorted(given.items())}


def _isolation(workspace: workspaces.Workspace) -> json.JsonObject:
    names = sorted(namespace.name for namespace in workspace.namespaces)
    own = {"namespaceSelector": _named(names)}
    dns = {
        "to": [{"namespaceSelector": _named(["kube-system"])}],
        "ports": [{"protocol": protocol, "port": _DNS_PORT} for protocol in ("UDP", "TCP")],
    }
    network = workspace.network
    spec = {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {"from": [own]},
            *(_exception(entry, "from", own) for entry in network.allow_from),
        ],
        "egress": [
            {"to": [own]},
            dns,
            *(_exception(entry, "to", own) for entry in network.allow_to),
        ],
    }
    return _object("networking.k8s.io/v1", "NetworkPolicy", ISOLATION, spec=spec)


def _named(names: Sequence[str]) -> json.JsonObject:
    requirement = {"key": _NAMESPACE_NAME, "operator": "In", "values": list(names)}
    return {"matchExpressions": [requirement]}


def _exception(
    entry: workspaces.NetworkException, direction: str, own: Mapping[str, object]
) -> json.JsonObject:
    rule: json.JsonObject = {}
    if entry.ip_block is not None:
        block = {"cidr": entry.ip_block.cidr}
        excluded = {"except": list(entry.ip_block.excluded)} if entry.ip_block.excluded else {}
        rule[direction] = [{"ipBlock": {**block, **excluded}}]
    elif entry.namespace_selector is not None or entry.pod_selector is not None:
        peer: json.JsonObject = dict(own)
        if entry.namespace_selector is not None:
            peer = {"namespaceSelector": _selector(entry.namespace_selector)}
        if entry.pod_selector is not None:
            peer["podSelector"] = _selector(entry.pod_selector)
        rule[direction] = [peer]
    if entry.ports:
        rule["ports"] = [_port(port) for port in entry.ports]
    return rule


def _selector(selector: workspaces.LabelSelector) -> json.JsonObject:
    body: json.JsonObject = {}
    if selector.match_labels:
        body["matchLabels"] = dict(sorted(selector.match_labels.items()))
    if selector.match_expressions:
        body["matchExpressions"] = [
            {"key": one.key, "operator": one.operator.value, **_values(one.values)}
            for one in selector.match_expressions
        ]
    return body


def _values(values: Sequence[str]) -> json.JsonObject:
    return {"values": list(values)} if values else {}


def _port(port: workspaces.NetworkPort) -> json.JsonObject:
    last = {"endPort": port.end_port} if port.end_port else {}
    return {"protocol": port.protocol, "port": port.port, **last}
