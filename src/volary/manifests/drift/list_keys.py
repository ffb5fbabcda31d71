"""How the items of a list are told apart, where the object itself does not say so.

``metadata.managedFields`` names the keys of lists that somebody has applied. For lists that nobody
has, those of the built-in kinds are known here, as server-side apply merges them.
"""

import json as text
from collections.abc import Mapping
from typing import Any

from volary.model import json

#: Names of the fields that tell items apart, by the name of the list. Each is tried in order:
#: ports of pods and of Services are told apart by different fields.
_KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "containers": (("name",),),
    "initContainers": (("name",),),
    "ephemeralContainers": (("name",),),
    "env": (("name",),),
    "volumes": (("name",),),
    "volumeMounts": (("mountPath",),),
    "volumeDevices": (("devicePath",),),
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
    "imagePullSecrets": (("name",),),
    "hostAliases": (("ip",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "ownerReferences": (("uid",),),
    "conditions": (("type",),),
    "webhooks": (("name",),),
}
#: Lists that are sets of plain values.
_SETS = frozenset({"finalizers", "loadBalancerSourceRanges"})
#: What the API server fills in for a key that is not written.
_DEFAULTS: Mapping[str, object] = {"protocol": "TCP"}


def is_set(name: str, structure: json.JsonObject) -> bool:
    """Say whether a list called `name` is a set, by what managers own of it, or its name."""
    children = [key for key in structure if key != "."]
    if children:
        return all(key.startswith("v:") for key in children)
    return name in _SETS


def keys_of(name: str, structure: json.JsonObject, items: list[Any]) -> tuple[str, ...]:
    """Return the fields that tell the items of a list apart; nothing: their place does."""
    if not all(isinstance(item, dict) for item in items):
        return ()
    for key in structure:
        if key.startswith("k:"):
            return tuple(text.loads(key[2:]))
    if any(key != "." for key in structure):
        return ()
    for names in _KEYS.get(name, ()):
        if items and all(any(key in item for key in names) for item in items):
            return names
    return ()


def find(item: json.JsonObject, keys: tuple[str, ...], among: list[Any]) -> json.JsonObject | None:
    """Return the item of a live list that is meant by `item`; None: there is none."""
    wanted = {key: item.get(key, _DEFAULTS.get(key)) for key in keys}
    for live in among:
        if isinstance(live, dict) and all(
            value is None or live.get(key, _DEFAULTS.get(key)) == value
            for key, value in wanted.items()
        ):
            return live
    return None


def named(item: json.JsonObject, keys: tuple[str, ...]) -> str:
    """Return the key of an item as field sets write it."""
    return "k:" + text.dumps({key: item[key] for key in keys if key in item})
