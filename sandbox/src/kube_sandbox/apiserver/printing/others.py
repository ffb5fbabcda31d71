"""The columns of the remaining kinds: configuration, cluster, storage, access, policy."""

from datetime import datetime

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects
from kube_sandbox.apiserver.printing import cells, durations

_DATA_TEXT = (
    "Data contains the configuration data. Each key must consist of alphanumeric characters, "
    "'-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The "
    "keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced "
    "during validation process."
)
_ROLE_PREFIX = "node-role.kubernetes.io/"


def _entries(obj: json.JsonObject, *fields: str) -> int:
    return sum(len(obj.get(field) or {}) for field in fields)


def _node_status(node: json.JsonObject) -> str:
    listed = objects.status(node).get("conditions") or ()
    found = conditions.find(listed, "Ready")
    word = "Unknown" if found is None else "Ready" if found["status"] == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if objects.spec(node).get("unschedulable") else word


def _roles(node: json.JsonObject) -> str:
    found = sorted(
        key.removeprefix(_ROLE_PREFIX)
        for key in objects.labels(node)
        if key.startswith(_ROLE_PREFIX)
    )
    return cells.joined(found)


def _address(kind: str) -> cells.Column:
    def read(node: json.JsonObject) -> str:
        for each in objects.status(node).get("addresses") or ():
            if each.get("type") == kind:
                return str(each.get("address"))
        return cells.NONE

    return cells.column(
        {"InternalIP": "Internal-IP", "ExternalIP": "External-IP"}[kind], read, wide=True
    )


def _info(heading: str, field: str, *, wide: bool = True) -> cells.Column:
    return cells.column(
        heading,
        lambda node: (objects.status(node).get("nodeInfo") or {}).get(field) or "<unknown>",
        wide=wide,
    )


def _last_seen(event: json.JsonObject, now: datetime) -> str:
    series = event.get("series") or {}
    when = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return durations.age(when, now)


def _first_seen(event: json.JsonObject, now: datetime) -> str:
    return durations.age(event.get("firstTimestamp") or event.get("eventTime"), now)


def _involved(event: json.JsonObject) -> str:
    regarding = event.get("involvedObject") or {}
    return f"{str(regarding.get('kind', '')).lower()}/{regarding.get('name', '')}"


def _source(event: json.JsonObject) -> str:
    source = event.get("source") or {}
    told = [source.get("component") or event.get("reportingComponent"), source.get("host")]
    return ", ".join(str(each) for each in told if each)


def _count(event: json.JsonObject) -> int:
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)


def _subjects(heading: str, kind: str) -> cells.Column:
    def read(binding: json.JsonObject) -> str:
        found = [each for each in binding.get("subjects") or () if each.get("kind") == kind]
        names = [
            f"{each['namespace']}/{each['name']}" if each.get("namespace") else str(each["name"])
            for each in found
        ]
        return ", ".join(names)

    return cells.column(heading, read, wide=True)


def _role(binding: json.JsonObject) -> str:
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind')}/{reference.get('name')}"


def _modes(obj: json.JsonObject) -> str:
    short = {
        "ReadWriteOnce": "RWO",
        "ReadOnlyMany": "ROX",
        "ReadWriteMany": "RWX",
        "ReadWriteOncePod": "RWOP",
    }
    modes = objects.spec(obj).get("accessModes") or ()
    return ",".join(short.get(each, each) for each in modes)


def _spec(heading: str, field: str, *, empty: str = "", wide: bool = False) -> cells.Column:
    def read(obj: json.JsonObject) -> cells.Cell:
        value = objects.spec(obj).get(field)
        return empty if value is None or value == "" else str(value)

    return cells.column(heading, read, wide=wide)


def _top(heading: str, field: str, *, empty: str = "", wide: bool = False) -> cells.Column:
    def read(obj: json.JsonObject) -> cells.Cell:
        value = obj.get(field)
        return empty if value is None or value == "" else str(value)

    return cells.column(heading, read, wide=wide)


def _capacity(obj: json.JsonObject) -> str:
    spec, status = objects.spec(obj), objects.status(obj)
    return str((status.get("capacity") or spec.get("capacity") or {}).get("storage", ""))


def _claim(volume: json.JsonObject) -> str:
    reference = objects.spec(volume).get("claimRef")
    return f"{reference['namespace']}/{reference['name']}" if reference else ""


def _scaled(scaler: json.JsonObject) -> str:
    target = objects.spec(scaler).get("scaleTargetRef") or {}
    return f"{target.get('kind')}/{target.get('name')}"


def _used(quota: json.JsonObject, *, limits: bool) -> str:
    """Show what is used of a quota: its limits, or everything else."""
    status = objects.status(quota)
    used, hard = status.get("used") or {}, status.get("hard") or {}
    return ", ".join(
        f"{name}: {used.get(name, '0')}/{hard[name]}"
        for name in sorted(hard)
        if name.startswith("limits.") is limits
    )


def _parameter_kind(policy: json.JsonObject) -> str:
    kind = objects.spec(policy).get("paramKind")
    return f"{kind['apiVersion']}/{kind['kind']}" if kind else cells.UNSET


def _parameter(binding: json.JsonObject) -> str:
    reference = objects.spec(binding).get("paramRef")
    if not reference:
        return cells.UNSET
    place = (reference.get("namespace", ""), reference.get("name", ""))
    return "/".join(part for part in place if part) or "*"


def _targets(scaler: json.JsonObject) -> str:
    told = []
    for each in objects.spec(scaler).get("metrics") or ():
        resource = each.get(str(each.get("type", "")).lower()) or each.get("resource") or {}
        wanted = (resource.get("target") or {}).get("averageUtilization")
        told.append(f"{resource.get('name', 'metric')}: <unknown>/{wanted}%")
    return ", ".join(told) or cells.NONE


_BINDING = (
    cells.NAME,
    cells.column("Role", _role),
    cells.AGE,
    _subjects("Users", "User"),
    _subjects("Groups", "Group"),
    _subjects("ServiceAccounts", "ServiceAccount"),
)

COLUMNS: dict[tuple[str, str], tuple[cells.Column, ...]] = {
    ("", "ConfigMap"): (
        cells.NAME,
        cells.Column(
            "Data",
            lambda obj, _: _entries(obj, "data", "binaryData"),
            type="string",
            description=_DATA_TEXT,
        ),
        cells.AGE,
    ),
    ("", "Secret"): (
        cells.NAME,
        _top("Type", "type"),
        cells.number("Data", lambda obj: _entries(obj, "data")),
        cells.AGE,
    ),
    ("", "ServiceAccount"): (
        cells.NAME,
        cells.number("Secrets", lambda obj: len(obj.get("secrets") or ())),
        cells.AGE,
    ),
    ("", "Namespace"): (
        cells.NAME,
        cells.column("Status", lambda obj: str(objects.status(obj).get("phase", ""))),
        cells.AGE,
    ),
    ("", "Node"): (
        cells.NAME,
        cells.column("Status", _node_status),
        cells.column("Roles", _roles),
        cells.AGE,
        _info("Version", "kubeletVersion", wide=False),
        _address("InternalIP"),
        _address("ExternalIP"),
        _info("OS-Image", "osImage"),
        _info("Kernel-Version", "kernelVersion"),
        _info("Container-Runtime", "containerRuntimeVersion"),
    ),
    ("", "Event"): (
        cells.Column("Last Seen", _last_seen),
        _top("Type", "type"),
        _top("Reason", "reason"),
        cells.column("Object", _involved),
        cells.column(
            "Subobject",
            lambda obj: str((obj.get("involvedObject") or {}).get("fieldPath", "")),
            wide=True,
        ),
        cells.column("Source", _source, wide=True),
        cells.column("Message", lambda obj: str(obj.get("message", "")).strip()),
        cells.Column("First Seen", _first_seen, priority=1),
        cells.column("Count", _count, kind="integer", wide=True),
        cells.Column("Name", cells.NAME.read, format="name", priority=1),
    ),
    ("", "PersistentVolumeClaim"): (
        cells.NAME,
        cells.column("Status", lambda obj: str(objects.status(obj).get("phase", ""))),
        _spec("Volume", "volumeName"),
        cells.column("Capacity", _capacity),
        cells.column("Access Modes", _modes),
        _spec("StorageClass", "storageClassName"),
        _spec("VolumeAttributesClass", "volumeAttributesClassName", empty=cells.UNSET),
        cells.AGE,
        _spec("VolumeMode", "volumeMode", empty=cells.UNSET, wide=True),
    ),
    ("", "PersistentVolume"): (
        cells.NAME,
        cells.column("Capacity", _capacity),
        cells.column("Access Modes", _modes),
        _spec("Reclaim Policy", "persistentVolumeReclaimPolicy"),
        cells.column("Status", lambda obj: str(objects.status(obj).get("phase", ""))),
        cells.column("Claim", _claim),
        _spec("StorageClass", "storageClassName"),
        _spec("VolumeAttributesClass", "volumeAttributesClassName", empty=cells.UNSET),
        cells.column("Reason", lambda obj: str(objects.status(obj).get("reason", ""))),
        cells.AGE,
        _spec("VolumeMode", "volumeMode", empty=cells.UNSET, wide=True),
    ),
    ("", "LimitRange"): (cells.NAME, cells.CREATED_AT),
    ("", "ResourceQuota"): (
        cells.NAME,
        cells.column("Request", lambda obj: _used(obj, limits=False)),
        cells.column("Limit", lambda obj: _used(obj, limits=True)),
        cells.AGE,
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): (
        cells.NAME,
        cells.number("Validations", lambda obj: len(objects.spec(obj).get("validations") or ())),
        cells.column("ParamKind", _parameter_kind),
        cells.AGE,
    ),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): (
        cells.NAME,
        _spec("PolicyName", "policyName"),
        cells.column("ParamRef", _parameter),
        cells.AGE,
    ),
    ("storage.k8s.io", "StorageClass"): (
        cells.NAME,
        _top("Provisioner", "provisioner"),
        _top("ReclaimPolicy", "reclaimPolicy", empty="Delete"),
        _top("VolumeBindingMode", "volumeBindingMode", empty="Immediate"),
        cells.column(
            "AllowVolumeExpansion",
            lambda obj: "true" if obj.get("allowVolumeExpansion") else "false",
        ),
        cells.AGE,
    ),
    ("rbac.authorization.k8s.io", "Role"): (cells.NAME, cells.CREATED_AT),
    ("rbac.authorization.k8s.io", "ClusterRole"): (cells.NAME, cells.CREATED_AT),
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDING,
    ("policy", "PodDisruptionBudget"): (
        cells.NAME,
        _spec("Min Available", "minAvailable", empty="N/A"),
        _spec("Max Unavailable", "maxUnavailable", empty="N/A"),
        cells.number("Allowed Disruptions", lambda obj: objects.count(obj, "disruptionsAllowed")),
        cells.AGE,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        cells.NAME,
        cells.column("Reference", _scaled),
        cells.column("Targets", _targets),
        _spec("MinPods", "minReplicas", empty=cells.UNSET),
        cells.number("MaxPods", lambda obj: int(objects.spec(obj).get("maxReplicas") or 0)),
        cells.number("Replicas", lambda obj: objects.count(obj, "currentReplicas")),
        cells.AGE,
    ),
    ("coordination.k8s.io", "Lease"): (cells.NAME, _spec("Holder", "holderIdentity"), cells.AGE),
    ("scheduling.k8s.io", "PriorityClass"): (
        cells.NAME,
        cells.number("Value", lambda obj: int(obj.get("value") or 0)),
        cells.column("Global-Default", lambda obj: "true" if obj.get("globalDefault") else "false"),
        cells.AGE,
        _top("PreemptionPolicy", "preemptionPolicy", wide=True),
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (cells.NAME, cells.CREATED_AT),
}
