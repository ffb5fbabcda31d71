"""What kube-apiserver refuses about kinds with a few rules each."""

from fractions import Fraction

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes, quantities
from kube_sandbox.apimachinery.scheme import internal_structs
from kube_sandbox.apimachinery.validation import checks, names, volumes

Causes = list[causes.Cause]
Object = json.JsonObject

#: Data of a ConfigMap or Secret may not be larger, in bytes.
MAXIMUM_DATA = 1024 * 1024

_CORE = "io.k8s.api.core.v1"
_FROZEN = "field is immutable when `immutable` is set"


def _keys(field: str, data: Object) -> Causes:
    found: Causes = []
    for key in data:
        found += checks.named(f"{field}[{key}]", key, names.config_key)
    return found


def _size(*maps: Object) -> int:
    return sum(len(value.encode()) for each in maps for value in each.values())


def _frozen(body: Object, old: Object | None, fields: tuple[str, ...]) -> Causes:
    if not (old or {}).get("immutable") or old is None:
        return []
    found: Causes = []
    if not body.get("immutable"):
        found.append(causes.forbidden("immutable", _FROZEN))
    changed = [name for name in fields if (body.get(name) or {}) != (old.get(name) or {})]
    return found + [causes.forbidden(name, _FROZEN) for name in changed]


def config_map(body: Object, old: Object | None) -> Causes:
    """Check a ConfigMap."""
    data, binary = body.get("data") or {}, body.get("binaryData") or {}
    found = _keys("data", data)
    found += [
        causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        for key in data
        if key in binary
    ]
    found += _keys("binaryData", binary)
    if _size(data, binary) > MAXIMUM_DATA:
        found.append(causes.too_long("", MAXIMUM_DATA))
    return found + _frozen(body, old, ("data", "binaryData"))


#: Keys a Secret of a type must have.
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def secret(body: Object, old: Object | None) -> Causes:
    """Check a Secret."""
    data = body.get("data") or {}
    found = _keys("data", data)
    if _size(data) * 3 // 4 > MAXIMUM_DATA:
        found.append(causes.too_long("data", MAXIMUM_DATA))
    required = _SECRET_KEYS.get(body.get("type", ""), ())
    found += [causes.required(f"data[{key}]") for key in required if key not in data]
    if old is not None:
        found += checks.unchanged("type", body.get("type"), old.get("type"))
    return found + _frozen(body, old, ("data",))


def claim(body: Object, old: Object | None) -> Causes:
    """Check a PersistentVolumeClaim."""
    spec = body.get("spec") or {}
    found = volumes.claim_spec("spec", spec)
    return found if old is None else found + _claim_update(body, old)


_CLAIM_TEXT = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)


def _claim_update(body: Object, old: Object) -> Causes:
    spec, before = body.get("spec") or {}, old.get("spec") or {}
    settled = dict(spec)
    bound = (body.get("status") or {}).get("phase") == "Bound"
    if bound and "resources" in before:
        settled["resources"] = before["resources"]
    if bound and "volumeAttributesClassName" in spec:
        settled["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
    # The volume's name and class are filled in once, when the claim is bound.
    for name in ("volumeName", "storageClassName"):
        if not before.get(name):
            settled.pop(name, None)
    known = {key: value for key, value in before.items() if value or key != "volumeName"}
    found: Causes = []
    if {key: value for key, value in settled.items() if value is not None} != known:
        text = internal_structs.difference(f"{_CORE}.PersistentVolumeClaimSpec", before, settled)
        found.append(causes.forbidden("spec", f"{_CLAIM_TEXT}\n{text}"))
    if _requested(spec) < _requested(before) and _requested(spec) <= _capacity(old):
        detail = "field can not be less than status.capacity"
        found.append(causes.forbidden("spec.resources.requests.storage", detail))
    mode = spec.get("volumeMode")
    return found + checks.unchanged("volumeMode", mode, before.get("volumeMode"))


def _requested(spec: Object) -> Fraction:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return quantities.parse(str(requests.get("storage", "0")))


def _capacity(claim_object: Object) -> Fraction:
    capacity = (claim_object.get("status") or {}).get("capacity") or {}
    return quantities.parse(str(capacity.get("storage", "0")))


_RECLAIM_OF_VOLUMES = ("Delete", "Recycle", "Retain")


def persistent_volume(body: Object, old: Object | None) -> Causes:
    """Check a PersistentVolume."""
    spec = body.get("spec") or {}
    modes, capacity = spec.get("accessModes") or [], spec.get("capacity") or {}
    found: Causes = [] if modes else [causes.required("spec.accessModes")]
    found += volumes.access_modes("spec.accessModes", modes)
    if not capacity:
        found.append(causes.required("spec.capacity"))
    if set(capacity) != {"storage"}:
        found.append(causes.unsupported("spec.capacity", capacity, ("storage",)))
    for name, size in capacity.items():
        found += checks.positive_amount(f"spec.capacity[{name}]", size)
    policy = spec.get("persistentVolumeReclaimPolicy")
    found += checks.one_of("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM_OF_VOLUMES)
    found += volumes.persistent_source("spec", spec)
    if old is None:
        return found
    before = old.get("spec") or {}
    if volumes.persistent_sources(spec) != volumes.persistent_sources(before):
        text = internal_structs.difference(f"{_CORE}.PersistentVolumeSpec", before, spec)
        detail = f"spec.persistentvolumesource is immutable after creation\n{text}"
        found.append(causes.forbidden("spec.persistentvolumesource", detail))
    return found + checks.unchanged("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))


def autoscaler(body: Object, old: Object | None) -> Causes:
    """Check a HorizontalPodAutoscaler."""
    spec = body.get("spec") or {}
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    found: Causes = []
    target = spec.get("scaleTargetRef") or {}
    found += [
        causes.required(f"spec.scaleTargetRef.{name}")
        for name in ("kind", "name")
        if not target.get(name)
    ]
    if least < 1:
        found.append(
            causes.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
        )
    if most < 1:
        found.append(causes.invalid("spec.maxReplicas", most, "must be greater than 0"))
    if most < least:
        detail = "must be greater than or equal to `minReplicas`"
        found.append(causes.invalid("spec.maxReplicas", most, detail))
    return found


def disruption_budget(body: Object, old: Object | None) -> Causes:
    """Check a PodDisruptionBudget."""
    spec = body.get("spec") or {}
    found: Causes = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        detail = "minAvailable and maxUnavailable cannot be both set"
        shown = internal_structs.shown("io.k8s.api.policy.v1.PodDisruptionBudgetSpec", spec)
        found.append(causes.invalid("spec", shown, detail))
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            found += checks.number_or_percent(f"spec.{name}", spec[name])
            found += checks.at_most_all(f"spec.{name}", spec[name])
    return found + checks.label_selector("spec.selector", spec.get("selector"))


def role(body: Object, old: Object | None) -> Causes:
    """Check a Role."""
    return _rules(body, namespaced=True)


def cluster_role(body: Object, old: Object | None) -> Causes:
    """Check a ClusterRole."""
    return _rules(body, namespaced=False)


def _rules(body: Object, *, namespaced: bool) -> Causes:
    found: Causes = []
    for index, rule in enumerate(body.get("rules") or ()):
        found += _rule(f"rules[{index}]", rule, namespaced=namespaced)
    return found


def _rule(path: str, rule: Object, *, namespaced: bool) -> Causes:
    if not rule.get("verbs"):
        return [causes.required(f"{path}.verbs", "verbs must contain at least one value")]
    if rule.get("nonResourceURLs"):
        if namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            return [causes.invalid(f"{path}.nonResourceURLs", rule["nonResourceURLs"], detail)]
        return []
    found: Causes = []
    if not rule.get("apiGroups"):
        detail = "resource rules must supply at least one api group"
        found.append(causes.required(f"{path}.apiGroups", detail))
    if not rule.get("resources"):
        detail = "resource rules must supply at least one resource"
        found.append(causes.required(f"{path}.resources", detail))
    return found


_RBAC = "rbac.authorization.k8s.io"
_RBAC_PACKAGE = "rbac.v1"


def role_binding(body: Object, old: Object | None) -> Causes:
    """Check a RoleBinding or ClusterRoleBinding."""
    reference = body.get("roleRef") or {}
    kinds = (
        ("ClusterRole",) if body.get("kind") == "ClusterRoleBinding" else ("ClusterRole", "Role")
    )
    found: Causes = []
    group = reference.get("apiGroup", "")
    if group != _RBAC:
        found.append(causes.unsupported("roleRef.apiGroup", group, (_RBAC,)))
    if reference.get("kind", "") not in kinds:
        found.append(causes.unsupported("roleRef.kind", reference.get("kind", ""), kinds))
    if not reference.get("name"):
        found.append(causes.required("roleRef.name"))
    for index, subject in enumerate(body.get("subjects") or ()):
        found += _subject(f"subjects[{index}]", subject)
    if old is not None and reference != old.get("roleRef"):
        shown = internal_structs.shown(f"io.k8s.api.{_RBAC_PACKAGE}.RoleRef", reference)
        found.append(causes.invalid("roleRef", shown, "cannot change roleRef"))
    return found


def _subject(path: str, subject: Object) -> Causes:
    found: Causes = []
    if not subject.get("name"):
        found.append(causes.required(f"{path}.name"))
    kind = subject.get("kind", "")
    if kind not in ("Group", "ServiceAccount", "User"):
        supported = ("ServiceAccount", "User", "Group")
        found.append(causes.unsupported(f"{path}.kind", kind, supported))
    if kind == "ServiceAccount" and not subject.get("namespace"):
        found.append(causes.required(f"{path}.namespace"))
    return found


def priority_class(body: Object, old: Object | None) -> Causes:
    """Check a PriorityClass."""
    if old is None:
        return []
    detail = "may not be changed in an update."
    found: Causes = []
    if body.get("value", 0) != old.get("value", 0):
        found.append(causes.forbidden("value", detail))
    policy = body.get("preemptionPolicy")
    return found + checks.unchanged("preemptionPolicy", policy, old.get("preemptionPolicy"))


_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")


def storage_class(body: Object, old: Object | None) -> Causes:
    """Check a StorageClass."""
    found: Causes = []
    if not body.get("provisioner"):
        found.append(causes.required("provisioner"))
    found += checks.one_of("reclaimPolicy", body.get("reclaimPolicy"), _RECLAIM_POLICIES)
    found += checks.one_of("volumeBindingMode", body.get("volumeBindingMode"), _BINDING_MODES)
    if old is None:
        return found
    found += [
        causes.forbidden(name, f"updates to {name} are forbidden.")
        for name in ("parameters", "provisioner", "reclaimPolicy")
        if body.get(name) != old.get(name)
    ]
    mode = body.get("volumeBindingMode")
    return found + checks.unchanged("volumeBindingMode", mode, old.get("volumeBindingMode"))


def ingress_class(body: Object, old: Object | None) -> Causes:
    """Check an IngressClass."""
    controller = (body.get("spec") or {}).get("controller", "")
    before = ((old or {}).get("spec") or {}).get("controller", "")
    if not controller:
        return [causes.required("spec.controller")]
    return [] if old is None else checks.unchanged("spec.controller", controller, before)


def controller_revision(body: Object, old: Object | None) -> Causes:
    """Check a ControllerRevision."""
    found: Causes = []
    if body.get("data") is None:
        found.append(causes.required("data", "data is mandatory"))
    found += checks.not_negative("revision", body.get("revision"))
    return found if old is None else found + checks.unchanged("data", body["data"], old.get("data"))
