"""References from pods to ConfigMaps and Secrets: found, and renamed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.workloads import workloads
from volary.model import json
from volary.model.objects import manifest

CONFIG_MAP = "ConfigMap"
SECRET = "Secret"


def is_config(item: manifest.Manifest) -> bool:
    """Say whether a manifest is a ConfigMap or a Secret."""
    return not item.group and item.kind in (CONFIG_MAP, SECRET)


def is_secret(item: manifest.Manifest) -> bool:
    """Say whether this is a Secret of the core group."""
    return not item.group and item.kind == SECRET


@dataclass(slots=True)
class Reference:
    """A place inside an object where a name is written; `holder` is that place, not a copy."""

    kind: str
    holder: json.JsonObject
    field: str
    #: By way of a projected volume, where PipeCD does not look.
    is_projected: bool = False
    #: Where PipeCD's config hash looks: volumes, env and envFrom of (init) containers.
    is_hashed: bool = False

    @property
    def name(self) -> str:
        """The name that is referred to; empty when missing."""
        return objects.text(self.holder, self.field)


def find(spec: json.JsonObject) -> Iterator[Reference]:
    """Yield every reference of a pod specification to a ConfigMap or Secret that has a name."""
    return (reference for reference in _find(spec) if reference.name)


def rename(
    spec: json.JsonObject, config_maps: Iterable[str], secrets: Iterable[str], suffix: str
) -> None:
    """Change the names of the given ConfigMaps and Secrets in `spec` itself.

    References to others stay: they are not ours and have no copy.
    """
    ours = {CONFIG_MAP: frozenset(config_maps), SECRET: frozenset(secrets)}
    for reference in list(find(spec)):
        if reference.name in ours[reference.kind]:
            reference.holder[reference.field] = f"{reference.name}-{suffix}"


def _find(spec: json.JsonObject) -> Iterator[Reference]:
    for container in workloads.containers(spec, ephemeral=False):
        yield from _container(container, is_hashed=True)
    for container in objects.mappings(spec, "ephemeralContainers"):
        yield from _container(container, is_hashed=False)
    for volume in objects.mappings(spec, "volumes"):
        yield from _volume(volume)
    for pull_secret in objects.mappings(spec, "imagePullSecrets"):
        yield Reference(SECRET, pull_secret, "name")


def _container(container: json.JsonObject, *, is_hashed: bool) -> Iterator[Reference]:
    for variable in objects.mappings(container, "env"):
        source = objects.mapping(variable, "valueFrom")
        yield from _pair(source, "configMapKeyRef", "secretKeyRef", is_hashed=is_hashed)
    for source in objects.mappings(container, "envFrom"):
        yield from _pair(source, "configMapRef", "secretRef", is_hashed=is_hashed)


def _pair(
    source: json.JsonObject,
    config_map: str,
    secret: str,
    *,
    is_projected: bool = False,
    is_hashed: bool = False,
) -> Iterator[Reference]:
    for kind, field in ((CONFIG_MAP, config_map), (SECRET, secret)):
        if isinstance(source.get(field), dict):
            yield Reference(kind, source[field], "name", is_projected, is_hashed)


def _volume(volume: json.JsonObject) -> Iterator[Reference]:
    for kind, source in volume.items():
        if not isinstance(source, dict):
            continue
        if kind == "configMap":
            yield Reference(CONFIG_MAP, source, "name", is_hashed=True)
        elif kind == "secret":
            yield Reference(SECRET, source, "secretName", is_hashed=True)
        elif kind == "projected":
            for projected in objects.mappings(source, "sources"):
                yield from _pair(projected, "configMap", "secret", is_projected=True)
        else:
            yield from _driver(source)


def _driver(source: json.JsonObject) -> Iterator[Reference]:
    """Credentials of a storage driver: CSI, and the in-tree ones before it."""
    for field in ("nodePublishSecretRef", "secretRef"):
        if isinstance(source.get(field), dict):
            yield Reference(SECRET, source[field], "name")
    if isinstance(source.get("secretName"), str):
        yield Reference(SECRET, source, "secretName")
