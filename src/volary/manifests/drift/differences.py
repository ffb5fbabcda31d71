"""Where a live object differs from its manifest, field by field: pure.

Only what the manifest states counts, and what our manager owned before and the manifest does not
state any more. So defaults, and what controllers add, are no differences. Lists are matched as
server-side apply merges them: by their keys, as sets, or by place. A value that a server writes in
another form is the same: quantities, numbers as text, nothing and an empty list.

What cannot be told from the two objects alone is told as a difference; a server-side dry run then
shows whether it is one (`clusters.apply.confirmations`).
"""

import json as text
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from volary.manifests import objects
from volary.manifests.drift import list_keys
from volary.manifests.ownership import field_managers, field_sets, tracking
from volary.manifests.workloads import quantities
from volary.model import json

ABSENT = field_sets.ABSENT
#: Named in an object's address, or kept by the server.
_BOOKKEEPING = frozenset(
    {
        *("name", "namespace", "generateName", "uid", "resourceVersion", "generation"),
        *("creationTimestamp", "managedFields", "selfLink"),
    }
)
#: Maps of the built-in kinds that are replaced whole: what is added to them changes what they say.
_WHOLE_MAPS = frozenset({"selector", "matchLabels", "nodeSelector"})
#: Ours besides the one that applies manifests: what these write, a run has left there.
_LEFT_BY_RUNS = frozenset({field_managers.TRAFFIC_MANAGER, field_managers.SCALE_MANAGER})


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns a field, as the object says."""

    manager: str
    operation: str
    #: When that manager last changed anything of the object; None: it is not said.
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as Git says. A side is `ABSENT` when there is no such field."""

    #: As field sets have it; places of lists without keys as ``i:0``.
    path: field_sets.Path
    wanted: object
    live: object
    owners: tuple[Owner, ...] = ()

    @property
    def shown_path(self) -> str:
        """The path for people: ``spec.containers[name="main"].image``."""
        return shown(self.path)

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of the fields on the way, without what tells items of lists apart."""
        return tuple(key[2:] for key in self.path if key.startswith("f:"))

    @property
    def since(self) -> datetime | None:
        """When it may have come to be; None: nobody knows."""
        known = [owner.since for owner in self.owners if owner.since is not None]
        return max(known, default=None)


def compare(
    wanted: json.JsonObject, live: json.JsonObject, *, manager: str = field_managers.MANAGER
) -> tuple[Difference, ...]:
    """Return where `live` is not as `wanted` says, in the order of the manifest.

    `wanted` is the manifest as `manager` applies it, a Secret's values under ``data``.
    """
    entries = field_managers.stored_entries(live)
    structure: json.JsonObject = {}
    for entry in entries:
        structure = field_sets.union(structure, objects.mapping(entry, "fieldsV1"))
    stated, there = _stated(wanted), _stated(live)
    found: dict[field_sets.Path, Difference] = {}
    for path, before, now in (
        *_compare((), stated, there, structure),
        *_dropped((), _owned(entries, manager, wanted), stated, there),
    ):
        found.setdefault(path, Difference(path, before, now, owners_of(path, entries)))
    return tuple(one for one in found.values() if not _is_left_by_runs(one))


def shown(path: field_sets.Path) -> str:
    """Return a path for people; a key that holds dots stands in brackets."""
    parts = []
    for key in path:
        if key.startswith("f:") and "." in key:
            parts.append(f"[{key[2:]}]")
        else:
            parts.append(field_sets.shown((key,)))
    return "".join(parts).removeprefix(".")


def at(value: Any, path: field_sets.Path) -> Any:
    """Return what is at a path; `ABSENT`: there is nothing."""
    for key in path:
        value = _child(value, key)
        if value is ABSENT:
            return ABSENT
    return value


def owners_of(path: field_sets.Path, entries: list[json.JsonObject]) -> tuple[Owner, ...]:
    """Return who owns a field, others before us, the latest first."""
    found = [
        Owner(
            objects.text(entry, "manager"),
            objects.text(entry, "operation"),
            _time(objects.text(entry, "time")),
        )
        for entry in entries
        if _owns(objects.mapping(entry, "fieldsV1"), path)
    ]
    return tuple(
        sorted(
            found,
            key=lambda owner: (
                owner.manager in field_managers.OURS,
                -(owner.since.timestamp() if owner.since else 0),
            ),
        )
    )


def _stated(body: json.JsonObject) -> json.JsonObject:
    metadata = {
        key: value
        for key, value in objects.mapping(body, "metadata").items()
        if key not in _BOOKKEEPING
    }
    annotations = {
        key: value
        for key, value in objects.mapping(metadata, "annotations").items()
        # The commit changes with every release, whatever else does.
        if key not in (tracking.COMMIT, tracking.LAST_APPLIED)
    }
    metadata["annotations"] = annotations
    rest = {
        key: value
        for key, value in body.items()
        if key not in ("apiVersion", "kind", "metadata", "status")
    }
    return {"metadata": metadata, **rest}


def _compare(
    path: field_sets.Path, wanted: Any, live: Any, structure: json.JsonObject
) -> Iterator[tuple[field_sets.Path, object, object]]:
    if _same(path, wanted, live):
        return
    if isinstance(wanted, dict) and isinstance(live, dict):
        yield from _compare_maps(path, wanted, live, structure)
    elif isinstance(wanted, list) and isinstance(live, list):
        yield from _compare_lists(path, wanted, live, structure)
    else:
        yield path, wanted, live


def _compare_maps(
    path: field_sets.Path,
    wanted: Mapping[str, Any],
    live: Mapping[str, Any],
    structure: json.JsonObject,
) -> Iterator[tuple[field_sets.Path, object, object]]:
    for key, value in wanted.items():
        step = f"f:{key}"
        here = (*path, step)
        below = objects.mapping(structure, step)
        yield from _compare(here, value, live.get(key, ABSENT), below)
    if path and path[-1][2:] in _WHOLE_MAPS and all(isinstance(v, str) for v in live.values()):
        for key, value in live.items():
            if key not in wanted:
                yield (*path, f"f:{key}"), ABSENT, value


def _compare_lists(
    path: field_sets.Path, wanted: list[Any], live: list[Any], structure: json.JsonObject
) -> Iterator[tuple[field_sets.Path, object, object]]:
    name = path[-1][2:] if path else ""
    if list_keys.is_set(name, structure):
        for element in wanted:
            if element not in live:
                yield (*path, f"v:{text.dumps(element)}"), element, ABSENT
        return
    keys = list_keys.keys_of(name, structure, wanted)
    if keys:
        for item in wanted:
            there = list_keys.find(item, keys, live)
            step = list_keys.named(there if there is not None else item, keys)
            below: json.JsonObject = next(
                (inner for key, inner in structure.items() if field_sets.is_item(key, there)), {}
            )
            yield from _compare((*path, step), item, ABSENT if there is None else there, below)
    elif len(wanted) != len(live) or not all(isinstance(item, dict) for item in (*wanted, *live)):
        if not _same_elements(path, wanted, live):
            yield path, wanted, live
    else:
        for place, (item, there) in enumerate(zip(wanted, live, strict=True)):
            yield from _compare((*path, f"i:{place}"), item, there, {})


def _same_elements(path: field_sets.Path, wanted: list[Any], live: list[Any]) -> bool:
    return len(wanted) == len(live) and all(
        _same((*path, "i:0"), one, other) for one, other in zip(wanted, live, strict=True)
    )


def _dropped(
    path: field_sets.Path, owned: json.JsonObject, wanted: Any, live: Any
) -> Iterator[tuple[field_sets.Path, object, object]]:
    """Yield what was applied once, is still there, and is not stated any more."""
    for key, below in owned.items():
        if key == ".":
            continue
        here = (*path, key)
        if here[:1] == ("f:metadata",) and here[1:2] and here[1][2:] in _BOOKKEEPING:
            continue
        now, stated = _child(live, key), _child(wanted, key)
        if now is ABSENT or _is_empty(now):
            continue
        if stated is ABSENT:
            yield here, ABSENT, now
        elif any(inner != "." for inner in below):
            yield from _dropped(here, below, stated, now)


def _owned(
    entries: list[json.JsonObject], manager: str, wanted: json.JsonObject
) -> json.JsonObject:
    """Return what a manager has applied, as far as it is in the version that is compared."""
    for entry in entries:
        if field_managers.is_applied_by(entry, manager):
            if entry.get("apiVersion") == wanted.get("apiVersion"):
                return objects.mapping(entry, "fieldsV1")
            return {}
    return {}


def _child(value: Any, key: str) -> Any:
    if isinstance(value, dict) and key.startswith("f:"):
        return value.get(key[2:], ABSENT)
    if isinstance(value, list):
        if key.startswith("i:"):
            place = int(key[2:])
            return value[place] if place < len(value) else ABSENT
        return next((item for item in value if _is_item(key, item)), ABSENT)
    return ABSENT


def _is_item(key: str, item: Any) -> bool:
    if not key.startswith("k:") or not isinstance(item, dict):
        return field_sets.is_item(key, item)
    wanted = text.loads(key[2:])
    return list_keys.find(wanted, tuple(wanted), [item]) is not None


def _owns(fields: json.JsonObject, path: field_sets.Path) -> bool:
    """Say whether a set has a field, or owns something whole that it is in."""
    node = fields
    for position, key in enumerate(path):
        children = [inner for inner in node if inner != "."]
        if position and not children:
            return True
        below = node.get(key)
        if below is None and key.startswith("k:"):
            below = next(
                (node[inner] for inner in children if _names_the_same(inner, key)),
                None,
            )
        if not isinstance(below, dict):
            return False
        node = below
    return True


def _names_the_same(key: str, other: str) -> bool:
    if not key.startswith("k:"):
        return False
    return bool(text.loads(key[2:]) == text.loads(other[2:]))


def _is_left_by_runs(difference: Difference) -> bool:
    return any(owner.manager in _LEFT_BY_RUNS for owner in difference.owners)


def _same(path: field_sets.Path, wanted: Any, live: Any) -> bool:
    if wanted is None or (_is_empty(wanted) and (live is ABSENT or _is_empty(live))):
        return True
    if wanted in ({}, []):
        return isinstance(live, dict | list)
    if live is ABSENT or isinstance(wanted, dict | list) or isinstance(live, dict | list):
        return False
    if isinstance(wanted, bool) or isinstance(live, bool):
        return wanted is live
    return wanted == live or _is_same_number(wanted, live) or _is_same_quantity(path, wanted, live)


def _is_same_quantity(path: field_sets.Path, wanted: Any, live: Any) -> bool:
    if not quantities.expected(tuple(key[2:] for key in path)):
        return False
    before, now = quantities.parse(wanted), quantities.parse(live)
    return before is not None and before == now


def _is_same_number(wanted: Any, live: Any) -> bool:
    """Say whether a port, or another number that may be text, is the same in both forms."""
    if isinstance(wanted, str) == isinstance(live, str):
        return False
    return str(wanted) == str(live)


def _is_empty(value: Any) -> bool:
    """Say whether a server keeps nothing of a value; false and 0 are values."""
    if isinstance(value, dict):
        return all(_is_empty(inner) for inner in value.values())
    return value is None or value == "" or value == []


def _time(written: str) -> datetime | None:
    try:
        return datetime.fromisoformat(written) if written else None
    except ValueError:
        return None
