"""What kube-apiserver refuses about the volumes of a pod, and about what mounts them."""

from collections.abc import Callable, Mapping

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes, quantities
from kube_sandbox.apimachinery.validation import checks, names, paths, references

Causes = list[causes.Cause]
Object = json.JsonObject

_MORE_THAN_ONE = "may not specify more than 1 volume type"
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_CONFLICTING = "conflicting duplicate paths"
_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate"),
    *("File", "FileOrCreate", "Socket"),
)
_VOLUME_FIELDS = (
    *("metadata.annotations", "metadata.labels", "metadata.name"),
    *("metadata.namespace", "metadata.uid"),
)
_LEAST_TOKEN_SECONDS, _MOST_TOKEN_SECONDS = 600, 1 << 32


def check(path: str, volumes: list[Object], pod_name: str = "") -> tuple[dict[str, Object], Causes]:
    """Return the volumes that containers may mount, by name, and what is wrong with the others.

    `pod_name` names the claims of ephemeral volumes; empty for a template.
    """
    usable: dict[str, Object] = {}
    refused: Causes = []
    created = {f"{pod_name}-{each.get('name')}" for each in volumes if "ephemeral" in each}
    for index, volume in enumerate(volumes):
        where, name = f"{path}[{index}]", volume.get("name", "")
        faults = _source(where, volume)
        if not name:
            faults.append(causes.required(f"{where}.name"))
        else:
            faults += checks.named(f"{where}.name", name, names.label)
        if name in usable:
            faults.append(causes.duplicate(f"{where}.name", name))
        if not faults:
            usable[name] = volume
        refused += faults
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if pod_name and claim in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            where = f"{where}.persistentVolumeClaim.claimName"
            refused.append(causes.invalid(where, claim, detail))
    return usable, refused


def _source(path: str, volume: Object) -> Causes:
    """Refuse a volume without a source, with several, or with a malformed one."""
    given = [name for name in _SOURCES if name in volume]
    if not given:
        return [causes.required(path, "must specify a volume type")]
    faults = _SOURCES[given[0]](f"{path}.{_PLACES.get(given[0], given[0])}", volume[given[0]])
    return faults + [
        causes.forbidden(f"{path}.{_MISSPELT.get(extra, extra)}", _MORE_THAN_ONE)
        for extra in given[1:]
    ]


def _requiring(*fields: str) -> Callable[[str, Object], Causes]:
    def refuse(path: str, source: Object) -> Causes:
        return [causes.required(f"{path}.{name}") for name in fields if not source.get(name)]

    return refuse


def _empty_directory(path: str, source: Object) -> Causes:
    limit = source.get("sizeLimit")
    if limit is not None and quantities.parse(str(limit)) < 0:
        detail = "SizeLimit field must be a valid resource quantity"
        return [causes.forbidden(f"{path}.sizeLimit", detail)]
    return []


def _host_path(path: str, source: Object) -> Causes:
    place = source.get("path", "")
    if not place:
        return [causes.required(f"{path}.path")]
    faults = paths.without_backsteps(f"{path}.path", place)
    return faults + checks.one_of(f"{path}.type", source.get("type"), _HOST_PATH_TYPES)


def _repository(path: str, source: Object) -> Causes:
    faults = _requiring("repository")(path, source)
    return faults + paths.descending(f"{path}.directory", source.get("directory", ""))


def _partitioned(field: str) -> Callable[[str, Object], Causes]:
    def refuse(path: str, source: Object) -> Causes:
        faults = _requiring(field)(path, source)
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            detail = "must be between 1 and 255, inclusive"
            faults.append(causes.invalid(f"{path}.partition", partition, detail))
        return faults

    return refuse


def _network_files(path: str, source: Object) -> Causes:
    faults = _requiring("server", "path")(path, source)
    place = source.get("path", "")
    if not place.startswith("/"):
        faults.append(causes.invalid(f"{path}.path", place, "must be an absolute path"))
    return faults


def _iscsi(path: str, source: Object) -> Causes:
    faults = _requiring("targetPortal", "iqn")(path, source)
    name = source.get("iqn", "")
    if name and not name.startswith(("iqn", "eui", "naa")):
        detail = "must be valid format starting with iqn, eui, or naa"
        faults.append(causes.invalid(f"{path}.iqn", name, detail))
    unit = source.get("lun", 0)
    if not 0 <= unit <= 255:
        detail = "must be between 0 and 255, inclusive"
        faults.append(causes.invalid(f"{path}.lun", unit, detail))
    authenticated = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if authenticated and "secretRef" not in source:
        faults.append(causes.required(f"{path}.secretRef"))
    return faults


def _fibre_channel(path: str, source: Object) -> Causes:
    targets, wide = source.get("targetWWNs"), source.get("wwids")
    if not targets and not wide:
        detail = "must specify either targetWWNs or wwids, but not both"
        return [causes.required(f"{path}.targetWWNs", detail)]
    if targets and wide:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        return [causes.invalid(f"{path}.targetWWNs", targets, detail)]
    if targets and source.get("lun") is None:
        return [causes.required(f"{path}.lun", "lun is required if targetWWNs is specified")]
    return []


def _mode(path: str, value: int | None) -> Causes:
    if value is None or 0 <= value <= 0o777:
        return []
    return [causes.invalid(path, value, _MODE)]


def _item(path: str, item: Object) -> Causes:
    """Refuse a malformed pair of a key and the file it becomes."""
    faults = _requiring("key", "path")(path, item)
    faults += paths.local_file(f"{path}.path", item.get("path", ""))
    return faults + _mode(f"{path}.mode", item.get("mode"))


def _keyed(field: str) -> Callable[[str, Object], Causes]:
    def refuse(path: str, source: Object) -> Causes:
        faults = _requiring(field)(path, source)
        faults += _mode(f"{path}.defaultMode", source.get("defaultMode"))
        for index, item in enumerate(source.get("items") or ()):
            faults += _item(f"{path}.items[{index}]", item)
        return faults

    return refuse


def _downward(path: str, source: Object) -> Causes:
    faults = _mode(f"{path}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        faults += _downward_file(path, item)
    return faults


def _downward_file(path: str, item: Object) -> Causes:
    """Refuse a malformed file; the server does not say which of the items it is."""
    place = item.get("path", "")
    faults = [] if place else [causes.required(f"{path}.path")]
    faults += paths.local_file(f"{path}.path", place)
    if "fieldRef" in item:
        faults += references.object_field(f"{path}.fieldRef", item["fieldRef"], _VOLUME_FIELDS)
        if "resourceFieldRef" in item:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            faults.append(causes.invalid(path, "resource", detail))
    elif "resourceFieldRef" in item:
        where = f"{path}.resourceFieldRef"
        faults += references.resource_field(where, item["resourceFieldRef"], in_volume=True)
    else:
        detail = "one of fieldRef and resourceFieldRef is required"
        faults.append(causes.required(path, detail))
    return faults + _mode(f"{path}.mode", item.get("mode"))


def _projected(path: str, source: Object) -> Causes:
    faults = _mode(f"{path}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if kind in part:
                faults += _requiring("name")(f"{where}.{kind}", part[kind])
                faults += _projected_items(path, f"{where}.{kind}", part[kind], taken)
        for item in (part.get("downwardAPI") or {}).get("items") or ():
            faults += _downward_file(f"{where}.downwardAPI", item)
            faults += _taken(path, item.get("path", ""), item.get("path", ""), taken)
        if "serviceAccountToken" in part:
            where = f"{where}.serviceAccountToken"
            faults += _token(path, where, part["serviceAccountToken"])
        if len(part) > 1:
            faults.append(causes.forbidden(f"{path}.sources[{index}]", _MORE_THAN_ONE))
    return faults


def _projected_items(path: str, where: str, source: Object, taken: set[str]) -> Causes:
    faults: Causes = []
    for index, item in enumerate(source.get("items") or ()):
        faults += _item(f"{where}.items[{index}]", item)
        faults += _taken(path, item.get("path", ""), source.get("name", ""), taken)
    return faults


def _taken(path: str, place: str, shown: str, taken: set[str]) -> Causes:
    """Refuse a second file at one place; the message shows what the server shows."""
    if not place:
        return []
    if place in taken:
        return [causes.invalid(path, shown, _CONFLICTING)]
    taken.add(place)
    return []


def _token(path: str, where: str, token: Object) -> Causes:
    faults: Causes = []
    seconds = token.get("expirationSeconds", 0)
    if seconds < _LEAST_TOKEN_SECONDS:
        detail = "may not specify a duration less than 10 minutes"
        faults.append(causes.invalid(f"{where}.expirationSeconds", seconds, detail))
    if seconds > _MOST_TOKEN_SECONDS:
        detail = "may not specify a duration larger than 2^32 seconds"
        faults.append(causes.invalid(f"{where}.expirationSeconds", seconds, detail))
    if not token.get("path"):
        return [*faults, causes.required(f"{path}.path")]
    return faults + paths.local_file(f"{path}.path", token["path"])


def _storage_driver(path: str, source: Object) -> Causes:
    driver, secret = source.get("driver", ""), source.get("nodePublishSecretRef")
    faults = [] if driver else [causes.required(f"{path}.driver")]
    faults += checks.named(f"{path}.driver", driver, lambda text: names.subdomain(text.lower()))
    if secret is not None and not secret.get("name"):
        faults.append(causes.required(f"{path}.nodePublishSecretRef.name"))
    return faults


def _ephemeral(path: str, source: Object) -> Causes:
    where = f"{path}.volumeClaimTemplate"
    if "volumeClaimTemplate" not in source:
        return [causes.required(where)]
    return claim_spec(f"{where}.spec", source["volumeClaimTemplate"].get("spec") or {})


def _image(path: str, source: Object) -> Causes:
    faults = _requiring("reference")(path, source)
    policies = ("Always", "IfNotPresent", "Never")
    return faults + checks.one_of(f"{path}.pullPolicy", source.get("pullPolicy"), policies)


#: What is checked of each source; the first one given is, in this order.
_SOURCES: Mapping[str, Callable[[str, Object], Causes]] = {
    "emptyDir": _empty_directory,
    "hostPath": _host_path,
    "gitRepo": _repository,
    "gcePersistentDisk": _partitioned("pdName"),
    "awsElasticBlockStore": _partitioned("volumeID"),
    "secret": _keyed("secretName"),
    "nfs": _network_files,
    "iscsi": _iscsi,
    "glusterfs": _requiring("endpoints", "path"),
    "flocker": _requiring(),
    "persistentVolumeClaim": _requiring("claimName"),
    "rbd": _requiring("monitors", "image"),
    "cinder": _requiring("volumeID"),
    "cephfs": _requiring("monitors"),
    "quobyte": _requiring("registry", "volume"),
    "downwardAPI": _downward,
    "fc": _fibre_channel,
    "flexVolume": _requiring("driver"),
    "configMap": _keyed("name"),
    "azureFile": _requiring("secretName", "shareName"),
    "vsphereVolume": _requiring("volumePath"),
    "photonPersistentDisk": _requiring("pdID"),
    "portworxVolume": _requiring("volumeID"),
    "azureDisk": _requiring("diskName", "diskURI"),
    "storageos": _requiring("volumeName"),
    "projected": _projected,
    "scaleIO": _requiring("gateway", "system", "volumeName"),
    "csi": _storage_driver,
    "ephemeral": _ephemeral,
    "image": _image,
}

#: Sources whose faults the server places under another name than that of the field.
_PLACES = {"gcePersistentDisk": "persistentDisk"}
#: Sources the server misspells when they are one too many.
_MISSPELT = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}

_PERSISTENT_SOURCES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs"),
    *("rbd", "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile"),
    *("vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local"),
    *("storageos", "csi"),
)


def persistent_sources(spec: Object) -> Object:
    """Return the sources in the spec of a PersistentVolume."""
    return {name: spec[name] for name in _PERSISTENT_SOURCES if name in spec}


def persistent_source(path: str, spec: Object) -> Causes:
    """Refuse the spec of a PersistentVolume without a source, or with several."""
    given = list(persistent_sources(spec))
    if not given:
        return [causes.required(path, "must specify a volume type")]
    first, where = given[0], f"{path}.{_PLACES.get(given[0], given[0])}"
    faults: Causes = []
    if first == "local":
        faults += _requiring("path")(where, spec[first])
        if "nodeAffinity" not in spec:
            detail = "Local volume requires node affinity"
            faults.append(causes.required("spec.nodeAffinity", detail))
    elif first == "csi":
        faults += _storage_driver(where, spec[first])
        faults += _requiring("volumeHandle")(where, spec[first])
    else:
        faults += _SOURCES[first](where, spec[first])
    return faults + [
        causes.forbidden(f"{path}.{_MISSPELT.get(extra, extra)}", _MORE_THAN_ONE)
        for extra in given[1:]
    ]


_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def access_modes(path: str, modes: list[str]) -> Causes:
    """Refuse access modes that do not exist, or do not go together."""
    faults = [
        causes.unsupported(path, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES
    ]
    if "ReadWriteOncePod" in modes and set(modes) & set(_ACCESS_MODES[:3]):
        detail = "may not use ReadWriteOncePod with other access modes"
        faults.append(causes.forbidden(path, detail))
    return faults


def claim_spec(path: str, spec: Object) -> Causes:
    """Refuse the malformed spec of a claim."""
    modes = spec.get("accessModes") or []
    faults: Causes = []
    if not modes:
        faults.append(causes.required(f"{path}.accessModes", "at least 1 access mode is required"))
    faults += checks.label_selector(f"{path}.selector", spec.get("selector"))
    faults += access_modes(f"{path}.accessModes", modes)
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        faults.append(causes.required(f"{path}.resources[storage]"))
    else:
        faults += checks.positive_amount(f"{path}.resources[storage]", size)
    name = spec.get("storageClassName")
    if name:
        faults += checks.named(f"{path}.storageClassName", name, names.subdomain)
    return faults + checks.one_of(
        f"{path}.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem")
    )
