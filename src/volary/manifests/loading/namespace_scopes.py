"""Which namespace an object goes to, and which kinds have none.

PipeCD writes `input.namespace` on everything, also on cluster-scoped kinds, and
so never matches them again. Here a namespace goes only where there is one.
"""

from collections.abc import Callable, Iterable, Sequence

from volary.manifests import objects
from volary.model.objects import manifest

#: Answers for a group and kind whether it lives in a namespace; None: not known there.
#: The clusters' discovery is the best source, where there is a cluster.
Scope = Callable[[str, str], bool | None]

#: Cluster-scoped kinds by group, as a Kubernetes 1.36 API server serves them.
CLUSTER_SCOPED: dict[str, frozenset[str]] = {
    "": frozenset({"Namespace", "Node", "PersistentVolume", "ComponentStatus"}),
    "admissionregistration.k8s.io": frozenset(
        {
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        }
    ),
    "apiextensions.k8s.io": frozenset({"CustomResourceDefinition"}),
    "apiregistration.k8s.io": frozenset({"APIService"}),
    "certificates.k8s.io": frozenset({"CertificateSigningRequest", "ClusterTrustBundle"}),
    "flowcontrol.apiserver.k8s.io": frozenset({"FlowSchema", "PriorityLevelConfiguration"}),
    "internal.apiserver.k8s.io": frozenset({"StorageVersion"}),
    "networking.k8s.io": frozenset({"IngressClass", "IPAddress", "ServiceCIDR"}),
    "node.k8s.io": frozenset({"RuntimeClass"}),
    "policy": frozenset({"PodSecurityPolicy"}),
    "rbac.authorization.k8s.io": frozenset({"ClusterRole", "ClusterRoleBinding"}),
    "resource.k8s.io": frozenset({"DeviceClass", "DeviceTaintRule", "ResourceSlice"}),
    "scheduling.k8s.io": frozenset({"PriorityClass"}),
    "storage.k8s.io": frozenset(
        {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"}
    ),
    "storagemigration.k8s.io": frozenset({"StorageVersionMigration"}),
    # Custom resources that application folders often bring along without their definitions.
    "cert-manager.io": frozenset({"ClusterIssuer"}),
    "external-secrets.io": frozenset({"ClusterExternalSecret", "ClusterSecretStore"}),
    "gateway.networking.k8s.io": frozenset({"GatewayClass"}),
    "snapshot.storage.k8s.io": frozenset({"VolumeSnapshotClass", "VolumeSnapshotContent"}),
    "kyverno.io": frozenset({"ClusterPolicy", "ClusterCleanupPolicy"}),
    "cilium.io": frozenset({"CiliumClusterwideNetworkPolicy"}),
}


def scope(manifests: Iterable[manifest.Manifest], known: Scope | None = None) -> Scope:
    """Return the answer to "is it namespaced" for a set of manifests.

    Asked in turn: `known` (a cluster's discovery), the custom resource definitions in
    the set, the table above. Custom kinds that none of them knows are None.
    """
    defined = {
        (
            objects.text(manifest.body, "spec", "group"),
            objects.text(manifest.body, "spec", "names", "kind"),
        ): (objects.text(manifest.body, "spec", "scope") != "Cluster")
        for manifest in manifests
        if manifest.kind == "CustomResourceDefinition"
    }

    def answer(group: str, kind: str) -> bool | None:
        is_namespaced = known(group, kind) if known else None
        if is_namespaced is None:
            is_namespaced = defined.get((group, kind))
        return is_namespaced if is_namespaced is not None else _built_in(group, kind)

    return answer


def is_cluster_scoped(item: manifest.Manifest, known: Scope | None = None) -> bool:
    """Say whether the kind has no namespace; unknown kinds count as namespaced."""
    return (known or _built_in)(item.group, item.kind) is False


def force(
    manifests: Sequence[manifest.Manifest], namespace: str, known: Scope | None = None
) -> list[manifest.Manifest]:
    """Return the manifests in `namespace`, whatever they said (PipeCD: ``input.namespace``).

    An empty namespace changes nothing but cluster-scoped kinds, which lose a namespace
    that cannot hold them.
    """
    return _place(manifests, known, lambda written: namespace or written)


def fill(
    manifests: Sequence[manifest.Manifest], namespace: str, known: Scope | None = None
) -> list[manifest.Manifest]:
    """Return the manifests with `namespace` where none is written.

    Called with the namespace of the cluster's context before keys are compared with
    those of live objects.
    """
    return _place(manifests, known, lambda written: written or namespace)


def _place(
    manifests: Sequence[manifest.Manifest], known: Scope | None, choose: Callable[[str], str]
) -> list[manifest.Manifest]:
    answer = scope(manifests, known)
    return [
        _with_namespace(item, "" if is_cluster_scoped(item, answer) else choose(item.namespace))
        for item in manifests
    ]


def _with_namespace(item: manifest.Manifest, namespace: str) -> manifest.Manifest:
    if item.namespace == namespace:
        return item
    metadata = {key: value for key, value in item.metadata.items() if key != "namespace"}
    if namespace:
        metadata["namespace"] = namespace
    return item.with_body({**item.body, "metadata": metadata})


def _built_in(group: str, kind: str) -> bool | None:
    if kind in CLUSTER_SCOPED.get(group, frozenset()):
        return False
    # Every other kind of the built-in groups is namespaced; of a custom group nobody knows.
    return True if "." not in group or group.endswith(".k8s.io") else None
