"""What kube-apiserver refuses about the places at which a container has its volumes."""

from collections.abc import Mapping

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.validation import checks, paths

Causes = list[causes.Cause]
Object = json.JsonObject

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def check(path: str, container: Object, volumes: Mapping[str, Object]) -> Causes:
    """Refuse mounts and devices of a container at `path` that do not fit the pod's volumes."""
    mounts = container.get("volumeMounts") or []
    devices = container.get("volumeDevices") or []
    faults: Causes = []
    taken: set[str] = set()
    device_names = {each.get("name", "") for each in devices}
    device_places = {each.get("devicePath", "") for each in devices}
    for index, mount in enumerate(mounts):
        where = f"{path}.volumeMounts[{index}]"
        faults += _mount(where, mount, volumes, taken)
        if mount.get("name", "") in device_names:
            detail = "must not already exist in volumeDevices"
            faults.append(causes.invalid(f"{where}.name", mount.get("name", ""), detail))
        if mount.get("mountPath", "") in device_places:
            detail = "must not already exist as a path in volumeDevices"
            faults.append(causes.invalid(f"{where}.mountPath", mount.get("mountPath", ""), detail))
        # The server does not say which of the mounts it means.
        faults += _details(f"{path}.volumeMounts", where, mount, container)
    return faults + _devices(f"{path}.volumeDevices", devices, mounts, volumes)


def _mount(path: str, mount: Object, volumes: Mapping[str, Object], taken: set[str]) -> Causes:
    name, place = mount.get("name", ""), mount.get("mountPath", "")
    faults = [] if name else [causes.required(f"{path}.name")]
    if name not in volumes:
        faults.append(causes.not_found(f"{path}.name", name))
    if not place:
        faults.append(causes.required(f"{path}.mountPath"))
    if place in taken:
        faults.append(causes.invalid(f"{path}.mountPath", place, "must be unique"))
    taken.add(place)
    return faults


def _details(path: str, where: str, mount: Object, container: Object) -> Causes:
    part, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    faults = paths.descending(f"{path}.subPath", part)
    if expression:
        if part:
            detail = "subPathExpr and subPath are mutually exclusive"
            faults.append(causes.invalid(f"{where}.subPathExpr", expression, detail))
        faults += paths.descending(f"{path}.subPathExpr", expression)
    propagation = mount.get("mountPropagation")
    faults += checks.one_of(f"{path}.mountPropagation", propagation, _PROPAGATIONS)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        detail = "Bidirectional mount propagation is available only to privileged containers"
        faults.append(causes.forbidden(f"{path}.mountPropagation", detail))
    return faults + _read_only(f"{path}.recursiveReadOnly", mount)


def _read_only(path: str, mount: Object) -> Causes:
    recursive = mount.get("recursiveReadOnly")
    if recursive in (None, "Disabled"):
        return []
    if recursive not in _RECURSIVE:
        return [causes.unsupported(path, recursive, _RECURSIVE)]
    faults: Causes = []
    if not mount.get("readOnly"):
        faults.append(causes.forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation", "None") != "None":
        detail = "may only be specified when mountPropagation is None or not specified"
        faults.append(causes.forbidden(path, detail))
    return faults


def _devices(
    path: str, devices: list[Object], mounts: list[Object], volumes: Mapping[str, Object]
) -> Causes:
    faults: Causes = []
    seen_names: set[str] = set()
    seen_places: set[str] = set()
    for index, device in enumerate(devices):
        where = f"{path}[{index}]"
        faults += _device(where, device, volumes, seen_names, seen_places)
        name, place = device.get("name", ""), device.get("devicePath", "")
        if any(mount.get("name", "") == name for mount in mounts):
            detail = "must not already exist in volumeMounts"
            faults.append(causes.invalid(f"{where}.name", name, detail))
        if any(mount.get("mountPath", "") == place for mount in mounts):
            detail = "must not already exist as a path in volumeMounts"
            faults.append(causes.invalid(f"{where}.devicePath", place, detail))
    return faults


def _device(
    path: str,
    device: Object,
    volumes: Mapping[str, Object],
    seen_names: set[str],
    seen_places: set[str],
) -> Causes:
    name, place = device.get("name", ""), device.get("devicePath", "")
    faults = [] if name else [causes.required(f"{path}.name")]
    if name in seen_names:
        faults.append(causes.invalid(f"{path}.name", name, "must be unique"))
    volume = volumes.get(name)
    if volume is None:
        faults.append(causes.not_found(f"{path}.name", name))
    elif not volume.keys() & {"persistentVolumeClaim", "ephemeral"}:
        detail = (
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        )
        faults.append(causes.invalid(f"{path}.name", name, detail))
    if not place:
        faults.append(causes.required(f"{path}.devicePath"))
    if place in seen_places:
        faults.append(causes.invalid(f"{path}.devicePath", place, "must be unique"))
    if ".." in place.split("/"):
        detail = "can not contain backsteps ('..')"
        faults.append(causes.invalid(f"{path}.devicePath", place, detail))
    if name:
        seen_names.add(name)
    seen_places.add(place)
    return faults
