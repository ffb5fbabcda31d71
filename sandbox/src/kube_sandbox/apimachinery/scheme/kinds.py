"""The kinds a cluster serves: names, scope, verbs and subresources, as discovery tells them.

The built-in ones stand in a table below (facts of Kubernetes 1.36); they are
shared by all clusters of the process. `served_kinds.Served` adds a cluster's custom
resources. What real clusters do and the sandbox does not (a webhook that is
stored but never called) is said in the kind's `note`, which goes out as a
Warning with every write.
"""

import functools
from dataclasses import dataclass
from enum import StrEnum

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import schema as scheme_schema

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_WRITE = ("get", "patch", "update")


class Convert(StrEnum):
    """How an object of another version than the stored one is told."""

    NONE = "none"
    EVENT = "event"
    AUTOSCALER = "autoscaler"


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object with an endpoint of its own."""

    name: str
    #: (group, version, kind) of what it answers.
    response: tuple[str, str, str]
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a custom resource keeps what its Scale shows; ``.spec.replicas``."""

    spec: str
    status: str
    selector: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind at one version, as served."""

    group: str
    version: str
    name: str
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    #: What the sandbox leaves out, for a Warning; empty when nothing is.
    note: str = ""
    #: ``metadata.generation`` counts changes of the spec.
    counted: bool = False
    #: How bodies of this version are made from stored ones.
    convert: Convert = Convert.NONE
    #: For custom resources; built-in kinds find theirs by name.
    custom_schema: scheme_schema.Schema | None = None
    #: Custom resources: name of the definition.
    definition: str = ""
    list_name: str = ""
    #: Custom resources: the version their objects are stored in.
    stored_version: str = ""
    #: What every answer warns of because the version is deprecated; empty: it is not.
    deprecation: str = ""
    #: Custom resources: fields that field selectors may name.
    selectable: tuple[str, ...] = ()
    #: Custom resources: paths of the scale subresource.
    scale_paths: ScalePaths | None = None
    #: Custom resources: ``additionalPrinterColumns``; None for built-in kinds.
    printer_columns: tuple[json.JsonObject, ...] | None = None

    @property
    def api_version(self) -> str:
        """``apps/v1``; ``v1`` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def bucket(self) -> str:
        """Where `storage.Storage` keeps it: ``deployments.apps``; all versions share one."""
        if self.convert is Convert.EVENT:
            return "events"
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def custom(self) -> bool:
        """It comes from a CustomResourceDefinition."""
        return self.custom_schema is not None

    @property
    def has_status(self) -> bool:
        """There is a status endpoint; the main one leaves the status alone."""
        return self.subresource("status") is not None

    @property
    def list_kind(self) -> str:
        """``DeploymentList``."""
        return self.list_name or f"{self.name}List"

    @property
    def schema(self) -> scheme_schema.Schema:
        """What the schema package needs to know."""
        if self.custom_schema is not None:
            return self.custom_schema
        return _builtin_schema(self.group, self.version, self.name)

    def subresource(self, name: str) -> Subresource | None:
        """Return a subresource by name, or None."""
        return next((each for each in self.subresources if each.name == name), None)


@functools.cache
def _builtin_schema(group: str, version: str, name: str) -> scheme_schema.Schema:
    found = scheme_schema.builtin(group, version, name)
    if found is None:
        raise LookupError(f"no schema of {group}/{version} {name}")
    return found


_STATUS = ("status",)
_SCALE_RESPONSE = ("autoscaling", "v1", "Scale")

#: Responses and verbs of subresources that are not the kind itself with get, patch, update.
_SPECIAL: dict[str, tuple[tuple[str, str, str] | None, tuple[str, ...]]] = {
    "scale": (_SCALE_RESPONSE, READ_WRITE),
    "log": (None, ("get",)),
    "eviction": (("policy", "v1", "Eviction"), ("create",)),
    "binding": (("", "", "Binding"), ("create",)),
    "finalize": (None, ("update",)),
    "token": (("authentication.k8s.io", "v1", "TokenRequest"), ("create",)),
}

_NO_WEBHOOKS = "the sandbox stores webhook configurations and does not call them"
_NO_AUTOSCALER = "the sandbox stores HorizontalPodAutoscalers and does not scale by them"
_NO_VOLUMES = "the sandbox stores volumes and claims and does not bind them"
_NO_CRON = "the sandbox stores CronJobs and does not start Jobs from them"


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the table; the singular is the kind in lower case."""

    name: str
    plural: str
    short: str = ""
    namespaced: bool = True
    all: bool = False
    extensions: bool = False
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    note: str = ""
    counted: bool = False
    convert: Convert = Convert.NONE


_CREATE = ("create",)

#: (group, version) in the order discovery lists them.
_TABLE: dict[tuple[str, str], tuple[_Row, ...]] = {
    ("", "v1"): (
        _Row("ConfigMap", "configmaps", "cm"),
        _Row("Endpoints", "endpoints", "ep"),
        _Row("Event", "events", "ev"),
        _Row("LimitRange", "limitranges", "limits"),
        _Row(
            "Namespace",
            "namespaces",
            "ns",
            namespaced=False,
            subresources=("finalize", "status"),
            verbs=tuple(each for each in ALL_VERBS if each != "deletecollection"),
        ),
        _Row("Node", "nodes", "no", namespaced=False, subresources=_STATUS),
        _Row(
            "PersistentVolumeClaim",
            "persistentvolumeclaims",
            "pvc",
            subresources=_STATUS,
            note=_NO_VOLUMES,
        ),
        _Row(
            "PersistentVolume",
            "persistentvolumes",
            "pv",
            namespaced=False,
            subresources=_STATUS,
            note=_NO_VOLUMES,
        ),
        _Row(
            "Pod",
            "pods",
            "po",
            all=True,
            subresources=("binding", "eviction", "log", "status"),
            counted=True,
        ),
        _Row("PodTemplate", "podtemplates", counted=True),
        _Row(
            "ReplicationController",
            "replicationcontrollers",
            "rc",
            all=True,
            subresources=("scale", "status"),
            counted=True,
        ),
        _Row("ResourceQuota", "resourcequotas", "quota", subresources=_STATUS),
        _Row("Secret", "secrets"),
        _Row("ServiceAccount", "serviceaccounts", "sa", subresources=("token",)),
        _Row("Service", "services", "svc", all=True, subresources=_STATUS),
    ),
    ("apps", "v1"): (
        _Row("ControllerRevision", "controllerrevisions"),
        _Row("DaemonSet", "daemonsets", "ds", all=True, subresources=_STATUS, counted=True),
        _Row(
            "Deployment",
            "deployments",
            "deploy",
            all=True,
            subresources=("scale", "status"),
            counted=True,
        ),
        _Row(
            "ReplicaSet",
            "replicasets",
            "rs",
            all=True,
            subresources=("scale", "status"),
            counted=True,
        ),
        _Row(
            "StatefulSet",
            "statefulsets",
            "sts",
            all=True,
            subresources=("scale", "status"),
            counted=True,
        ),
    ),
    ("events.k8s.io", "v1"): (_Row("Event", "events", "ev", convert=Convert.EVENT),),
    ("authentication.k8s.io", "v1"): (
        _Row("SelfSubjectReview", "selfsubjectreviews", namespaced=False, verbs=_CREATE),
        _Row("TokenReview", "tokenreviews", namespaced=False, verbs=_CREATE),
    ),
    ("authorization.k8s.io", "v1"): (
        _Row("LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATE),
        _Row(
            "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False, verbs=_CREATE
        ),
        _Row("SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False, verbs=_CREATE),
        _Row("SubjectAccessReview", "subjectaccessreviews", namespaced=False, verbs=_CREATE),
    ),
    ("autoscaling", "v2"): (
        _Row(
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            "hpa",
            all=True,
            subresources=_STATUS,
            note=_NO_AUTOSCALER,
        ),
    ),
    ("autoscaling", "v1"): (
        _Row(
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            "hpa",
            all=True,
            subresources=_STATUS,
            note=_NO_AUTOSCALER,
            convert=Convert.AUTOSCALER,
        ),
    ),
    ("batch", "v1"): (
        _Row(
            "CronJob",
            "cronjobs",
            "cj",
            all=True,
            subresources=_STATUS,
            counted=True,
            note=_NO_CRON,
        ),
        _Row("Job", "jobs", all=True, subresources=_STATUS, counted=True),
    ),
    ("networking.k8s.io", "v1"): (
        _Row("IngressClass", "ingressclasses", namespaced=False, counted=True),
        _Row("Ingress", "ingresses", "ing", subresources=_STATUS, counted=True),
        _Row("NetworkPolicy", "networkpolicies", "netpol", counted=True),
    ),
    ("policy", "v1"): (
        _Row(
            "PodDisruptionBudget",
            "poddisruptionbudgets",
            "pdb",
            subresources=_STATUS,
            counted=True,
        ),
    ),
    ("rbac.authorization.k8s.io", "v1"): (
        _Row("ClusterRoleBinding", "clusterrolebindings", namespaced=False),
        _Row("ClusterRole", "clusterroles", namespaced=False),
        _Row("RoleBinding", "rolebindings"),
        _Row("Role", "roles"),
    ),
    ("storage.k8s.io", "v1"): (_Row("StorageClass", "storageclasses", "sc", namespaced=False),),
    ("admissionregistration.k8s.io", "v1"): (
        _Row(
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
            namespaced=False,
            extensions=True,
            subresources=_STATUS,
            counted=True,
        ),
        _Row(
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
            namespaced=False,
            extensions=True,
            counted=True,
        ),
        _Row(
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
            namespaced=False,
            extensions=True,
            note=_NO_WEBHOOKS,
            counted=True,
        ),
        _Row(
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
            namespaced=False,
            extensions=True,
            note=_NO_WEBHOOKS,
            counted=True,
        ),
    ),
    ("apiextensions.k8s.io", "v1"): (
        _Row(
            "CustomResourceDefinition",
            "customresourcedefinitions",
            "crd crds",
            namespaced=False,
            extensions=True,
            subresources=_STATUS,
            counted=True,
        ),
    ),
    ("scheduling.k8s.io", "v1"): (
        _Row("PriorityClass", "priorityclasses", "pc", namespaced=False, counted=True),
    ),
    ("coordination.k8s.io", "v1"): (_Row("Lease", "leases"),),
    ("discovery.k8s.io", "v1"): (_Row("EndpointSlice", "endpointslices", counted=True),),
}


def _subresource(row: _Row, name: str) -> Subresource:
    response, verbs = _SPECIAL.get(name, (None, READ_WRITE))
    return Subresource(name, response or ("", "", row.name), verbs)


def _kind(group: str, version: str, row: _Row) -> Kind:
    categories = ("all",) if row.all else ("api-extensions",) if row.extensions else ()
    return Kind(
        group=group,
        version=version,
        name=row.name,
        plural=row.plural,
        singular=row.name.lower(),
        namespaced=row.namespaced,
        verbs=row.verbs,
        short_names=tuple(row.short.split()),
        categories=categories,
        subresources=tuple(_subresource(row, each) for each in row.subresources),
        note=row.note,
        counted=row.counted,
        convert=row.convert,
    )


BUILT_IN: tuple[Kind, ...] = tuple(
    _kind(group, version, row) for (group, version), rows in _TABLE.items() for row in rows
)
"""Every built-in kind, in the order of discovery."""


def built_in(group: str, version: str, name: str) -> Kind:
    """Return a built-in kind.

    Raises:
        KeyError: It is not served.
    """
    return _BUILT_IN[group, version, name]


_BUILT_IN = {(each.group, each.version, each.name): each for each in BUILT_IN}

ADMISSION_POLICY = built_in("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy")
ADMISSION_POLICY_BINDING = built_in(
    "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"
)
CLUSTER_ROLE = built_in("rbac.authorization.k8s.io", "v1", "ClusterRole")
CLUSTER_ROLE_BINDING = built_in("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding")
CUSTOM_RESOURCE_DEFINITION = built_in("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
EVENT = built_in("", "v1", "Event")
HORIZONTAL_POD_AUTOSCALER = built_in("autoscaling", "v2", "HorizontalPodAutoscaler")
LIMIT_RANGE = built_in("", "v1", "LimitRange")
NAMESPACE = built_in("", "v1", "Namespace")
PERSISTENT_VOLUME_CLAIM = built_in("", "v1", "PersistentVolumeClaim")
POD = built_in("", "v1", "Pod")
POD_DISRUPTION_BUDGET = built_in("policy", "v1", "PodDisruptionBudget")
PRIORITY_CLASS = built_in("scheduling.k8s.io", "v1", "PriorityClass")
RESOURCE_QUOTA = built_in("", "v1", "ResourceQuota")
ROLE = built_in("rbac.authorization.k8s.io", "v1", "Role")
ROLE_BINDING = built_in("rbac.authorization.k8s.io", "v1", "RoleBinding")
SERVICE = built_in("", "v1", "Service")
SERVICE_ACCOUNT = built_in("", "v1", "ServiceAccount")
