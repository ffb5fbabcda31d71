"""What kube-apiserver refuses about an object (422), for every served kind.

Start at `check`. Kinds with many rules have files of their own
(`workloadvalidation`, `servicevalidation`, `podvalidation`), custom resources are
in `structuralcheck`, their definitions in `definitions`.
"""

from collections.abc import Callable, Mapping

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.scheme import schema
from kube_sandbox.apimachinery.validation import (
    checks,
    configuration,
    custom_resources,
    definitions,
    names,
    pods,
    rules,
    services,
    workloads,
)

Causes = list[causes.Cause]
Object = json.JsonObject
Check = Callable[[Object, Object | None], Causes]
NameRule = Callable[[str], tuple[str, ...]]

_EXTENSIONS = "apiextensions.k8s.io"
_RBAC = "rbac.authorization.k8s.io"


def check(
    kind: schema.Schema, body: Object, old: Object | None = None, *, subresource: str = ""
) -> Causes:
    """Return every reason to refuse an object, in the server's order; empty: it is fine.

    Args:
        kind: The object's kind.
        body: The object, decoded and with defaults.
        old: What it replaces; None: it is created.
        subresource: ``status`` leaves the spec unchecked, as nobody can change it there.
    """
    found = _metadata(kind, body, old)
    if kind.declared is not None:
        found += custom_resources.check(kind.declared.schema, body, old)
        return found + rules.check(kind.declared, body, old, found)
    if subresource == "status":
        return found
    rule = _CHECKS.get((kind.group, kind.kind))
    return found + rule(body, old) if rule is not None else found


def _metadata(kind: schema.Schema, body: Object, old: Object | None) -> Causes:
    metadata = body.get("metadata") or {}
    name = metadata.get("name", "")
    found: Causes = []
    if not name:
        found.append(causes.required("metadata.name", "name or generateName is required"))
    elif old is None:
        rule = _NAMES.get((kind.group, kind.kind), names.subdomain)
        found += checks.named("metadata.name", name, rule)
    found += checks.labels("metadata.labels", metadata.get("labels"))
    found += pods.annotations("metadata.annotations", metadata.get("annotations"))
    found += _finalizers(kind, metadata.get("finalizers") or [])
    found += _owners(metadata.get("ownerReferences") or [])
    return found + _same_identity(metadata, (old or {}).get("metadata"))


_PLAIN_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def _finalizers(kind: schema.Schema, given: list[str]) -> Causes:
    found: Causes = []
    free = kind.custom or kind.group == _EXTENSIONS
    for each in given:
        path = "metadata.finalizers"
        found += checks.named(path, each, names.qualified)
        plain = "/" not in each and each not in _PLAIN_FINALIZERS
        if plain and not free and not names.qualified(each):
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(causes.invalid(path, each, detail))
    return found


def finalizer_warnings(body: Object, old: Object | None) -> tuple[str, ...]:
    """Return what the server says about new finalizers of a custom resource."""
    before = ((old or {}).get("metadata") or {}).get("finalizers") or ()
    return tuple(
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name to avoid '
        "accidental conflicts with other finalizer writers"
        for name in (body.get("metadata") or {}).get("finalizers") or ()
        if "/" not in name and name not in (*before, *_PLAIN_FINALIZERS)
    )


def _owners(owners: list[Object]) -> Causes:
    found: Causes = []
    for index, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{index}]"
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                value = owner.get(name, "")
                found.append(causes.invalid(f"{path}.{name}", value, "must not be empty"))
    controllers = [each for each in owners if each.get("controller")]
    if len(controllers) > 1:
        detail = "Only one reference can have Controller set to true"
        found.append(causes.invalid("metadata.ownerReferences", owners, detail))
    return found


def _same_identity(metadata: Object, old: Object | None) -> Causes:
    if old is None:
        return []
    found: Causes = []
    for name in ("name", "namespace", "uid", "creationTimestamp"):
        path = f"metadata.{name}"
        found += checks.unchanged(path, metadata.get(name), old.get(name))
    return found


def _pod(body: Object, old: Object | None) -> Causes:
    spec = body.get("spec") or {}
    name = str((body.get("metadata") or {}).get("name") or "")
    found = pods.spec("spec", spec, name=name)
    if old is not None:
        found += pods.update(spec, old.get("spec") or {})
    return found


def _cron_job_name(text: str) -> tuple[str, ...]:
    found = names.subdomain(text)
    return (*found, "must be no more than 52 characters") if len(text) > 52 else found


#: Kinds whose names follow another rule than that of RFC 1123 subdomains.
_NAMES: Mapping[tuple[str, str], NameRule] = {
    ("", "Namespace"): names.label,
    ("", "Service"): names.label_1035,
    ("batch", "CronJob"): _cron_job_name,
    (_RBAC, "ClusterRole"): names.path_segment,
    (_RBAC, "ClusterRoleBinding"): names.path_segment,
    (_RBAC, "Role"): names.path_segment,
    (_RBAC, "RoleBinding"): names.path_segment,
}

_CHECKS: Mapping[tuple[str, str], Check] = {
    ("", "ConfigMap"): configuration.config_map,
    ("", "Endpoints"): services.endpoints,
    ("", "PersistentVolume"): configuration.persistent_volume,
    ("", "PersistentVolumeClaim"): configuration.claim,
    ("", "Pod"): _pod,
    ("", "ReplicationController"): workloads.replication_controller,
    ("", "Secret"): configuration.secret,
    ("", "Service"): services.service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): definitions.check,
    ("apps", "ControllerRevision"): configuration.controller_revision,
    ("apps", "DaemonSet"): workloads.daemon_set,
    ("apps", "Deployment"): workloads.deployment,
    ("apps", "ReplicaSet"): workloads.replica_set,
    ("apps", "StatefulSet"): workloads.stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): configuration.autoscaler,
    ("batch", "CronJob"): workloads.cron_job,
    ("batch", "Job"): workloads.job,
    ("discovery.k8s.io", "EndpointSlice"): services.endpoint_slice,
    ("networking.k8s.io", "Ingress"): services.ingress,
    ("networking.k8s.io", "IngressClass"): configuration.ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): services.network_policy,
    ("policy", "PodDisruptionBudget"): configuration.disruption_budget,
    (_RBAC, "ClusterRole"): configuration.cluster_role,
    (_RBAC, "ClusterRoleBinding"): configuration.role_binding,
    (_RBAC, "Role"): configuration.role,
    (_RBAC, "RoleBinding"): configuration.role_binding,
    ("scheduling.k8s.io", "PriorityClass"): configuration.priority_class,
    ("storage.k8s.io", "StorageClass"): configuration.storage_class,
}
