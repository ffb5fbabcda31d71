"""Identities of objects: read from anywhere, brought to one form for comparing."""

from collections.abc import Iterable

from volary.manifests import objects
from volary.manifests.loading import namespace_scopes
from volary.model import json
from volary.model.objects import manifest

_DEFAULT_NAMESPACE = "default"
_PARTS = 4


def of(body: json.JsonObject) -> manifest.ResourceKey:
    """Return the key of an object as it came from a cluster."""
    return manifest.Manifest(body).key


def parse(text: str) -> manifest.ResourceKey | None:
    """Read PipeCD's form, ``apps:Deployment:shop:web``; None when it is another one.

    Names of roles may contain colons, so only the first three count.
    """
    parts = text.split(":", _PARTS - 1)
    if len(parts) != _PARTS or not parts[1] or not parts[3]:
        return None
    return manifest.ResourceKey(*parts)


def normalise(
    key: manifest.ResourceKey, known: namespace_scopes.Scope | None = None
) -> manifest.ResourceKey:
    """Return the form that two keys of one object share.

    Group and kind in lower case, namespace ``default`` left out (PipeCD: normalised
    key). Kinds that `known` says are cluster-scoped lose any namespace.
    """
    namespace = "" if key.namespace == _DEFAULT_NAMESPACE else key.namespace
    if known and known(key.group, key.kind) is False:
        namespace = ""
    return manifest.ResourceKey(key.group.lower(), key.kind.lower(), namespace, key.name)


def index(
    manifests: Iterable[manifest.Manifest], known: namespace_scopes.Scope | None = None
) -> dict[manifest.ResourceKey, manifest.Manifest]:
    """Return the manifests by normalised key; of two with one key the first."""
    manifests_by_key: dict[manifest.ResourceKey, manifest.Manifest] = {}
    for item in manifests:
        manifests_by_key.setdefault(normalise(item.key, known), item)
    return manifests_by_key


def is_own_key(key: manifest.ResourceKey, body: json.JsonObject) -> bool:
    """Say whether the key that an object carries in an annotation is its own.

    A copy that somebody made with ``kubectl get -o yaml`` carries the original's. An
    empty namespace in the annotation was left to the cluster's context and fits any.
    """
    own = of(body)
    return (
        key.group.lower() == own.group.lower()
        and key.kind.lower() == own.kind.lower()
        and key.name == own.name
        and (not key.namespace or key.namespace == objects.text(body, "metadata", "namespace"))
    )
