"""One served kind: its identity, its type, and what each of its endpoints leaves alone."""

import functools
from dataclasses import dataclass, field

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import catalog, structural_schemas, types

#: Fields a write through an endpoint cannot change, so a manager never owns them.
_STATUS_RESETS = ("spec",)
_MORE_STATUS_RESETS = {
    ("apps", "Deployment"): (("spec",), ("metadata", "labels")),
    ("", "Pod"): (
        ("spec",),
        ("metadata", "deletionTimestamp"),
        ("metadata", "ownerReferences"),
    ),
}

#: Built-in kinds with a status endpoint of their own.
_WITH_STATUS = frozenset(
    (
        ("", "Namespace"),
        ("", "Node"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("", "ReplicationController"),
        ("", "ResourceQuota"),
        ("", "Service"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("autoscaling", "HorizontalPodAutoscaler"),
        ("batch", "CronJob"),
        ("batch", "Job"),
        ("networking.k8s.io", "Ingress"),
        ("policy", "PodDisruptionBudget"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
    )
)

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """Everything the functions of this package need to know about a kind."""

    group: str
    version: str
    kind: str
    type: types.Type
    #: None: a built-in kind.
    declared: structural_schemas.Structural | None = None
    #: There is a status endpoint; the main one does not write ``status``.
    has_status: bool = False
    #: An object of this kind nobody has written to, as the server creates it.
    zero: json.JsonObject = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        """``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self) -> bool:
        """It comes from a CustomResourceDefinition."""
        return self.declared is not None

    def resets(self, subresource: str) -> tuple[Path, ...]:
        """Return the paths a write to `subresource` (empty: the object itself) leaves alone."""
        if subresource == "":
            return (("status",),) if self.has_status else ()
        if subresource != "status":
            return ()
        if self.custom:
            return (("spec",), ("metadata",))
        return _MORE_STATUS_RESETS.get((self.group, self.kind), (_STATUS_RESETS,))


@functools.cache
def builtin(group: str, version: str, kind: str) -> Schema | None:
    """Return the schema of a built-in kind; None when there is no such kind."""
    found = catalog.find(group, version, kind)
    if found is None:
        return None
    return Schema(
        group=group,
        version=version,
        kind=kind,
        type=found,
        has_status=(group, kind) in _WITH_STATUS,
        zero=dict(found.always),
    )


def custom(
    group: str,
    version: str,
    kind: str,
    open_api_schema: json.JsonObject | None,
    *,
    preserve_unknown_fields: bool = False,
    has_status: bool = False,
) -> Schema:
    """Return the schema of a custom resource at one version.

    Args:
        group: The definition's group.
        version: One of its versions.
        kind: Its kind.
        open_api_schema: ``schema.openAPIV3Schema`` of that version; None: anything goes.
        preserve_unknown_fields: ``spec.preserveUnknownFields`` (nothing is pruned).
        has_status: The version has the status subresource.
    """
    built = structural_schemas.build(open_api_schema or {}, preserve=preserve_unknown_fields)
    return Schema(
        group=group,
        version=version,
        kind=kind,
        type=built.type,
        declared=built,
        has_status=has_status,
    )
