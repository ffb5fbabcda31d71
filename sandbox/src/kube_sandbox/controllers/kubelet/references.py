"""What pods take from ConfigMaps and Secrets, and what of it is missing; pure.

Messages are those of the real kubelet. What is marked optional may be missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import view


@dataclass(frozen=True, slots=True)
class _Source:
    """A kind that pods take data from, in the words of messages about it."""

    kind: str
    #: ``configmap "x" not found``.
    noun: str
    #: ``references non-existent config key``.
    key_noun: str
    fields: tuple[str, ...]

    def missing(self, cluster: view.View, namespace: str, name: str) -> str:
        """Say that the object is not there; empty when it is."""
        if cluster.get(self.kind, namespace, name) is None:
            return f'{self.noun} "{name}" not found'
        return ""

    def has_key(self, cluster: view.View, namespace: str, name: str, key: str) -> bool:
        """Tell whether the object holds the key."""
        body = cluster.get(self.kind, namespace, name) or {}
        return any(key in (body.get(field) or {}) for field in self.fields)


_CONFIG_MAP = _Source("ConfigMap", "configmap", "config", ("data", "binaryData"))
_SECRET = _Source("Secret", "secret", "secret", ("data",))


def missing_environment(
    cluster: view.View, pod: json.JsonObject, container: json.JsonObject
) -> str:
    """Return why the container's environment cannot be made; empty when it can."""
    namespace = objects.namespace(pod)
    for entry in container.get("envFrom") or ():
        for field, source in (("configMapRef", _CONFIG_MAP), ("secretRef", _SECRET)):
            reference = entry.get(field)
            if reference and not reference.get("optional"):
                name = str(reference.get("name") or "")
                if problem := source.missing(cluster, namespace, name):
                    return problem
    for variable in container.get("env") or ():
        value = variable.get("valueFrom") or {}
        for field, source in (("configMapKeyRef", _CONFIG_MAP), ("secretKeyRef", _SECRET)):
            reference = value.get(field)
            if not reference or reference.get("optional"):
                continue
            name, key = str(reference.get("name") or ""), str(reference.get("key"))
            if problem := source.missing(cluster, namespace, name):
                return problem
            if not source.has_key(cluster, namespace, name, key):
                return f"couldn't find key {key} in {source.kind} {namespace}/{name}"
    return ""


def missing_volume(cluster: view.View, pod: json.JsonObject) -> str:
    """Return why a volume of the pod cannot be mounted; empty when all can."""
    namespace = objects.namespace(pod)
    for volume in objects.spec(pod).get("volumes") or ():
        for source, name, reference in _volume_sources(volume):
            if reference.get("optional"):
                continue
            problem = source.missing(cluster, namespace, name)
            for item in () if problem else reference.get("items") or ():
                key = str(item.get("key"))
                if not source.has_key(cluster, namespace, name, key):
                    problem = f"references non-existent {source.key_noun} key: {key}"
            if problem:
                return f'MountVolume.SetUp failed for volume "{volume.get("name")}" : {problem}'
    return ""


def _volume_sources(volume: json.JsonObject) -> Iterator[tuple[_Source, str, json.JsonObject]]:
    """Yield the kind, name and reference of what fills the volume."""
    if secret := volume.get("secret"):
        yield _SECRET, str(secret.get("secretName") or ""), secret
    listed = (volume.get("projected") or {}).get("sources") or ()
    for place in (volume, *listed):
        if config_map := place.get("configMap"):
            yield _CONFIG_MAP, str(config_map.get("name") or ""), config_map
    for place in listed:
        if secret := place.get("secret"):
            yield _SECRET, str(secret.get("name") or ""), secret
