"""In which order objects are applied and deleted.

The annotation ``pipecd.dev/order`` decides first (PipeCD: sort), then the kind:
what others need comes before those that need it. Both sorts are stable, so
manifests of one rank stay as written.
"""

import itertools
from collections.abc import Sequence

from volary.manifests import objects
from volary.manifests.loading import namespace_scopes
from volary.model.objects import manifest

#: Ascending whole number, negative ones allowed; missing or anything else counts as 0.
ORDER = "pipecd.dev/order"

#: Kinds that are applied in turn; kinds of one line at the same time. Kinds that are not
#: listed stand with the workloads: a custom resource may need all that comes before.
_KIND_RANKS: tuple[tuple[str, ...], ...] = (
    ("Namespace",),
    ("CustomResourceDefinition",),
    ("PriorityClass", "RuntimeClass", "StorageClass", "IngressClass", "GatewayClass"),
    ("ResourceQuota", "LimitRange", "NetworkPolicy", "PodSecurityPolicy"),
    ("ServiceAccount",),
    ("ClusterRole", "Role"),
    ("ClusterRoleBinding", "RoleBinding"),
    ("ConfigMap", "Secret"),
    ("PersistentVolume",),
    ("PersistentVolumeClaim",),
    ("Service", "Endpoints", "EndpointSlice"),
    (),  # workloads and everything unknown
    ("HorizontalPodAutoscaler", "VerticalPodAutoscaler", "ScaledObject", "PodDisruptionBudget"),
    # Routes after the workloads they lead to; webhooks and API services after what serves them.
    (
        "DestinationRule",
        "Gateway",
    ),
    (
        "Ingress",
        "VirtualService",
        "HTTPRoute",
        "GRPCRoute",
        "TCPRoute",
        "TLSRoute",
    ),
    (
        "APIService",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ),
)
_RANK_OF_KIND = {kind: rank for rank, kinds in enumerate(_KIND_RANKS) for kind in kinds}
_WORKLOAD_RANK = _KIND_RANKS.index(())
#: Groups whose kinds are meant above. A Knative Service is a workload.
_KNOWN_GROUPS = ("", "apps", "batch", "policy", "autoscaling")
_KNOWN_GROUP_ENDS = (".k8s.io", ".istio.io", "keda.sh")

#: Places in the order of deleting.
ROUTE, SERVICE, WORKLOAD, _REST, _OF_CLUSTER, _DEFINITION, _NAMESPACE = range(7)
#: What proxies are told by, and what leads to Services by their names.
_ROUTES = frozenset(
    {
        ("networking.istio.io", "VirtualService"),
        ("gateway.networking.k8s.io", "HTTPRoute"),
        ("gateway.networking.k8s.io", "GRPCRoute"),
        ("gateway.networking.k8s.io", "TCPRoute"),
        ("gateway.networking.k8s.io", "TLSRoute"),
        ("policy.linkerd.io", "HTTPRoute"),
        ("split.smi-spec.io", "TrafficSplit"),
        ("traefik.io", "IngressRoute"),
        ("traefik.io", "TraefikService"),
        ("networking.k8s.io", "Ingress"),
    }
)

_WORKLOAD_GROUPS = ("apps", "batch")
_WORKLOAD_CORE_KINDS = ("Pod", "ReplicationController")


def sort(manifests: Sequence[manifest.Manifest]) -> list[manifest.Manifest]:
    """Return the manifests in the order of applying."""
    return sorted(manifests, key=rank)


def ranks(manifests: Sequence[manifest.Manifest]) -> list[list[manifest.Manifest]]:
    """Return groups in the order of applying; within a group all may be applied at once."""
    groups: dict[tuple[int, int], list[manifest.Manifest]] = {}
    for item in manifests:
        groups.setdefault(rank(item), []).append(item)
    return [groups[place] for place in sorted(groups)]


def rank(item: manifest.Manifest) -> tuple[int, int]:
    """Return the value to sort by: order annotation, then kind."""
    return annotated(item), kind_rank(item.group, item.kind)


def annotated(item: manifest.Manifest) -> int:
    """Return the value of the order annotation, 0 without one."""
    text = objects.text(item.metadata, "annotations", ORDER)
    if not text:
        return 0
    try:
        return int(text) if text.isascii() and "_" not in text and text.strip() == text else 0
    except ValueError:
        return 0


def kind_rank(group: str, kind: str) -> int:
    """Return the place of a kind among the kinds, counted from 0."""
    if group in _KNOWN_GROUPS or group.endswith(_KNOWN_GROUP_ENDS):
        return _RANK_OF_KIND.get(kind, _WORKLOAD_RANK)
    return _WORKLOAD_RANK


def for_deletion(manifests: Sequence[manifest.Manifest]) -> list[manifest.Manifest]:
    """Return the manifests in the order of deleting."""
    return sorted(manifests, key=lambda item: deletion_rank(item.key))


def deletion_ranks(manifests: Sequence[manifest.Manifest]) -> list[list[manifest.Manifest]]:
    """Return groups in the order of deleting; within a group all may be deleted at once."""
    ordered = for_deletion(manifests)
    return [
        list(group) for _, group in itertools.groupby(ordered, lambda item: deletion_rank(item.key))
    ]


def deletion_rank(key: manifest.ResourceKey) -> int:
    """Return the place in the order of deleting, counted from 0.

    Routes before the Services they lead to, and Services before pods, so that nobody is sent
    to what has gone; then workloads, then the rest (PipeCD: delete a variant). Definitions
    and namespaces come last, because they take everything inside with them, whatever order
    was meant for it.
    """
    if (key.group, key.kind) in _ROUTES:
        return ROUTE
    if key.kind == "Service" and not key.group:
        return SERVICE
    if key.group in _WORKLOAD_GROUPS or (not key.group and key.kind in _WORKLOAD_CORE_KINDS):
        return WORKLOAD
    if key.kind == "CustomResourceDefinition":
        return _DEFINITION
    if key.kind == "Namespace" and not key.group:
        return _NAMESPACE
    is_cluster_scoped = key.kind in namespace_scopes.CLUSTER_SCOPED.get(key.group, frozenset())
    return _OF_CLUSTER if not key.namespace and is_cluster_scoped else _REST
