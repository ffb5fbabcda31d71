"""CustomResourceDefinitions: from a definition to served kinds, and back out again.

A definition is accepted and established as soon as it is stored, in the same
steps a watcher sees on a real server: created, then conditions. One that is
deleted takes its objects with it before it goes.
"""

from kube_sandbox import json
from kube_sandbox.apimachinery.patching import managed_fields
from kube_sandbox.apimachinery.scheme import kinds, schema
from kube_sandbox.apiserver.storage import cluster_state

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
#: The manager that owns what the server writes itself.
_SERVER = "kube-apiserver"
_STATUS = kinds.Subresource("status", ("", "", ""), kinds.READ_WRITE)
_SCALE = kinds.Subresource("scale", ("autoscaling", "v1", "Scale"), kinds.READ_WRITE)

_Condition = tuple[str, str, str, str]
_ACCEPTED: _Condition = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
_ESTABLISHED: _Condition = (
    "Established",
    "True",
    "InitialNamesAccepted",
    "the initial names have been accepted",
)
_TERMINATING: _Condition = (
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)


def served_kinds(definition: json.JsonObject) -> tuple[kinds.Kind, ...]:
    """Return the kinds a definition stands for, one per served version, the preferred first."""
    versions = [each for each in definition["spec"]["versions"] if each.get("served")]
    ordered = sorted(versions, key=lambda each: _priority(each["name"]))
    return tuple(_kind(definition, each) for each in ordered)


def _priority(version: str) -> tuple[int, int, int, str]:
    """Sort versions as Kubernetes does: v2, v1, v1beta2, v1beta1, v1alpha1, others."""
    head, digits = version[:1], version[1:]
    for rank, word in enumerate(("", "beta", "alpha")):
        major, found, minor = digits.partition(word) if word else (digits, "", "")
        if head == "v" and major.isdigit() and (minor.isdigit() if word else not found):
            return rank, -int(major), -int(minor or 0), ""
    return 3, 0, 0, version


def _kind(definition: json.JsonObject, version: json.JsonObject) -> kinds.Kind:
    spec = definition["spec"]
    names = spec["names"]
    sub = version.get("subresources") or {}
    scale = sub.get("scale")
    subresources = [_STATUS] if "status" in sub else []
    if scale:
        subresources.append(_SCALE)
    stored = next(each["name"] for each in spec["versions"] if each.get("storage"))
    return kinds.Kind(
        group=spec["group"],
        version=version["name"],
        name=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(subresources),
        counted=True,
        custom_schema=schema.custom(
            spec["group"],
            version["name"],
            names["kind"],
            (version.get("schema") or {}).get("openAPIV3Schema"),
            preserve_unknown_fields=bool(spec.get("preserveUnknownFields")),
            has_status="status" in sub,
        ),
        definition=definition["metadata"]["name"],
        list_name=names.get("listKind", ""),
        stored_version=stored,
        selectable=tuple(
            each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ()
        ),
        scale_paths=_scale_paths(scale) if scale else None,
        deprecation=_deprecation(spec["group"], version, names["kind"]),
        printer_columns=tuple(version.get("additionalPrinterColumns") or ()),
    )


def _deprecation(group: str, version: json.JsonObject, kind: str) -> str:
    """Say what every answer about a deprecated version warns of; empty: it is not deprecated."""
    if not version.get("deprecated"):
        return ""
    return version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated"


def _scale_paths(scale: json.JsonObject) -> kinds.ScalePaths:
    return kinds.ScalePaths(
        scale["specReplicasPath"],
        scale["statusReplicasPath"],
        scale.get("labelSelectorPath", ""),
    )


def establish(state: cluster_state.ClusterState, definition: json.JsonObject) -> None:
    """Serve what a definition describes; note in its status that it is established."""
    name = definition["metadata"]["name"]
    state.served.set_custom(name, served_kinds(definition))
    before = definition.get("status") or {}
    names = {
        key: value for key, value in definition["spec"]["names"].items() if key != "categories"
    }
    accepted = {**names, **_categories(definition)}
    stored = list(before.get("storedVersions") or ())
    current = next(each["name"] for each in definition["spec"]["versions"] if each.get("storage"))
    if current not in stored:
        stored.append(current)
    conditions = _conditions(state, before, _ACCEPTED, _ESTABLISHED)
    status = {"conditions": conditions, "acceptedNames": accepted, "storedVersions": stored}
    settled = {**definition, "status": status}
    if settled != definition:
        settled = managed_fields.update(
            kinds.CUSTOM_RESOURCE_DEFINITION.schema,
            definition,
            settled,
            manager=_SERVER,
            now=state.stamp(),
            subresource="status",
        )
        state.storage.put(kinds.CUSTOM_RESOURCE_DEFINITION.bucket, "", name, settled)


def _categories(definition: json.JsonObject) -> json.JsonObject:
    found = definition["spec"]["names"].get("categories")
    return {"categories": found} if found else {}


def _conditions(
    state: cluster_state.ClusterState, before: json.JsonObject, *wanted: _Condition
) -> list[json.JsonObject]:
    known = {each["type"]: each for each in before.get("conditions") or ()}
    for kind, status, reason, message in wanted:
        if known.get(kind, {}).get("status") != status:
            known[kind] = {
                "type": kind,
                "status": status,
                "lastTransitionTime": state.stamp(),
                "reason": reason,
                "message": message,
            }
    return list(known.values())


def terminating(state: cluster_state.ClusterState, definition: json.JsonObject) -> json.JsonObject:
    """Return a definition's status with the condition that says it is on its way out."""
    before = definition.get("status") or {}
    return {**before, "conditions": _conditions(state, before, _TERMINATING)}


def finish(state: cluster_state.ClusterState, kind: kinds.Kind) -> None:
    """Let a definition go that waited for the last of its objects."""
    definition = state.find(kinds.CUSTOM_RESOURCE_DEFINITION, "", kind.definition)
    if definition is None or state.storage.count(kind.bucket):
        return
    metadata = definition["metadata"]
    if not metadata.get("deletionTimestamp"):
        return
    bucket = kinds.CUSTOM_RESOURCE_DEFINITION.bucket
    rest = [each for each in metadata.get("finalizers") or () if each != FINALIZER]
    if rest:
        changed = {**definition, "metadata": {**metadata, "finalizers": rest}}
        state.storage.put(bucket, "", kind.definition, changed)
    else:
        state.served.drop_custom(kind.definition)
        state.storage.remove(bucket, "", kind.definition)
