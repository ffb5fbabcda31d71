"""The annotation of kubectl's client-side apply, and how server-side apply takes over from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.patching import field_ownership, field_sets, structured_merge
from kube_sandbox.apimachinery.scheme import schema

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
#: The only manager for which the server looks at the annotation.
KUBECTL = "kubectl"


def last_applied_fields(kind: schema.Schema, live: json.JsonObject) -> field_sets.FieldSet:
    """Return the fields client-side apply set and nobody changed since; they cause no conflict."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return {}
    try:
        applied: Any = msgspec.json.decode(text)
        fields = structured_merge.field_set(kind.type, applied)
    except (msgspec.DecodeError, structured_merge.TypedError, AttributeError):
        return {}
    if applied.get("apiVersion") != kind.api_version:
        return {}
    changed, removed = structured_merge.compare(kind.type, applied, live)
    rest = field_sets.difference(fields, changed or {})
    return field_sets.difference(rest, removed or {})


def with_last_applied(
    merged: json.JsonObject, applied: json.JsonObject, manager: str
) -> json.JsonObject:
    """Return `merged` with the annotation brought up to date if kubectl applied."""
    annotations = (merged.get("metadata") or {}).get("annotations") or {}
    if manager != KUBECTL or not annotations.get(LAST_APPLIED):
        return merged
    metadata = dict(applied.get("metadata") or {})
    kept = {
        key: each
        for key, each in (metadata.get("annotations") or {}).items()
        if key != LAST_APPLIED
    }
    metadata["annotations"] = kept
    text = msgspec.json.encode({**applied, "metadata": metadata}, order="sorted").decode() + "\n"
    updated = {**merged["metadata"], "annotations": {**annotations, LAST_APPLIED: text}}
    return {**merged, "metadata": updated}


FieldSet = field_sets.FieldSet

#: Owner of everything an object held before its first apply, when nobody was tracked.
BEFORE_FIRST_APPLY = "before-first-apply"
#: More Update managers than this are put together into one.
MAXIMUM_UPDATE_MANAGERS = 10
ANCIENT_CHANGES = "ancient-changes"

#: Metadata that belongs to the server, so that nobody owns it.
_SERVER_METADATA = frozenset(
    (
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    )
)

_NAMED: FieldSet = {"f:metadata": {"f:name": {}}}


#: An apply without force met fields of others (409); the message is the server's.
ConflictError = field_ownership.ConflictError


class BadApplyError(ValueError):
    """The applied object may not be applied at all (400)."""


#: The applied object does not fit its type (500 without reason, as the server says).
TypedError = structured_merge.TypedError


@dataclass(frozen=True, slots=True)
class Result:
    """What an apply makes of the live object, before defaults."""

    body: json.JsonObject
    #: False: fields are as they were (managers may have changed).
    changed: bool


def _comparable(body: json.JsonObject, resets: Iterable[schema.Path]) -> json.JsonObject:
    """Return what managers can own of an object."""
    metadata = body.get("metadata")
    kept = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
    if isinstance(metadata, dict):
        kept["metadata"] = {
            key: value for key, value in metadata.items() if key not in _SERVER_METADATA
        }
    for path in resets:
        if len(path) == 1:
            kept.pop(path[0], None)
        elif isinstance(kept.get(path[0]), dict):
            inner = {key: each for key, each in kept[path[0]].items() if key != path[1]}
            kept[path[0]] = inner
    return kept


def _strip(fields: FieldSet) -> FieldSet:
    """Return a set without the metadata object itself, which everybody would own."""
    node = fields.get("f:metadata")
    if node is None or (node and "." not in node):
        return fields
    rest = {key: value for key, value in node.items() if key != "."}
    if rest:
        return {**fields, "f:metadata": rest}
    return {key: value for key, value in fields.items() if key != "f:metadata"}


def _compare(
    kind: schema.Schema, live: json.JsonObject, new: json.JsonObject, resets: Iterable[schema.Path]
) -> tuple[FieldSet, FieldSet]:
    changed, removed = structured_merge.compare(
        kind.type, _comparable(live, resets), _comparable(new, resets)
    )
    return changed or {}, removed or {}


def apply(
    kind: schema.Schema,
    live: json.JsonObject | None,
    applied: json.JsonObject,
    *,
    manager: str,
    now: str,
    force: bool = False,
    subresource: str = "",
) -> Result:
    """Return the live object with `applied` merged in on behalf of `manager`.

    Args:
        kind: The kind of both objects.
        live: What the server has; None: the object is to be created.
        applied: What the manager wants, as it was sent.
        manager: The field manager's name.
        now: RFC 3339 in UTC, whole seconds.
        force: Take fields from other managers instead of refusing.
        subresource: ``status`` or ``scale`` when applied through one.

    Raises:
        BadApplyError: The applied object has managedFields or another apiVersion (400).
        TypedError: It does not fit the kind's type (500).
        ConflictError: Others own fields it would change (409).
    """
    _check_applicable(kind, applied)
    resets = kind.resets(subresource)
    wanted = _comparable(applied, resets)
    owned = _field_set(kind, applied, wanted)
    managers = field_ownership.read(live)
    if live is not None and not managers:
        managers = _before_first_apply(kind, live, now)
    who = field_ownership.Manager(manager, field_ownership.APPLY, kind.api_version, subresource)
    before = dict(managers)
    current = live if live is not None else _created(kind, applied)
    merged = _merged(kind, current, wanted)
    last = managers.get(who)
    # Only a changed object moves the time; a manager that came without a change has none.
    managers[who] = field_ownership.Entry(owned, last.time if last else "")
    if last is not None and last.fields != owned:
        merged = _pruned(kind, merged, last.fields, managers)
    _settle_conflicts(kind, managers, who, live, merged, resets, force=force)
    changed = live is None or _differs(merged, live)
    if changed:
        managers[who] = field_ownership.Entry(owned, now)
    if not owned:
        del managers[who]
    merged = with_last_applied(merged, applied, manager)
    return Result(field_ownership.with_managers(merged, managers, before, live), changed)


def _check_applicable(kind: schema.Schema, applied: json.JsonObject) -> None:
    if field_ownership.metadata_of(applied).get("managedFields") is not None:
        raise BadApplyError("metadata.managedFields must be nil")
    version = applied.get("apiVersion")
    if version != kind.api_version:
        raise BadApplyError(
            "Incorrect version specified in apply patch. "
            f"Specified patch version: {version}, expected: {kind.api_version}"
        )


def _field_set(kind: schema.Schema, applied: json.JsonObject, wanted: json.JsonObject) -> FieldSet:
    try:
        return _strip(structured_merge.field_set(kind.type, wanted))
    except structured_merge.TypedError as error:
        metadata = field_ownership.metadata_of(applied)
        name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        where = f"{name}; {kind.api_version}, Kind={kind.kind}"
        raise TypedError(f"failed to create typed patch object ({where}): {error}") from error


def _before_first_apply(
    kind: schema.Schema, live: json.JsonObject, now: str
) -> field_ownership.Managers:
    changed, _ = _compare(kind, kind.zero, live, ())
    fields = _strip(changed)
    if not fields:
        return {}
    return {
        field_ownership.Manager(
            BEFORE_FIRST_APPLY, field_ownership.UPDATE, kind.api_version
        ): field_ownership.Entry(fields, now)
    }


def _created(kind: schema.Schema, applied: json.JsonObject) -> json.JsonObject:
    metadata = {
        key: value
        for key, value in field_ownership.metadata_of(applied).items()
        if key in ("name", "namespace")
    }
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        **kind.zero,
        "metadata": metadata,
    }


def _merged(
    kind: schema.Schema, current: json.JsonObject, wanted: json.JsonObject
) -> json.JsonObject:
    merged: json.JsonObject = structured_merge.merge(kind.type, current, wanted)
    return merged


def _pruned(
    kind: schema.Schema, merged: json.JsonObject, last: FieldSet, managers: field_ownership.Managers
) -> json.JsonObject:
    # Whoever applies names the object, so that metadata is never given up as a whole.
    managed = [_NAMED, *(entry.fields for entry in managers.values())]
    pruned = structured_merge.prune(kind.type, merged, last, managed)
    result: json.JsonObject = {} if pruned is structured_merge.MISSING else pruned
    return result


def _differs(merged: json.JsonObject, live: json.JsonObject) -> bool:
    return merged is not live and merged != live


def _settle_conflicts(
    kind: schema.Schema,
    managers: field_ownership.Managers,
    who: field_ownership.Manager,
    live: json.JsonObject | None,
    merged: json.JsonObject,
    resets: tuple[schema.Path, ...],
    *,
    force: bool,
) -> None:
    """Take changed fields from the other managers, or refuse to.

    Raises:
        ConflictError: Somebody owns a changed field, and `force` is off.
    """
    if live is None or merged is live:
        return
    changed, removed = _compare(kind, live, merged, resets)
    conflicts = {
        each: found
        for each, entry in managers.items()
        if each != who and (found := field_sets.intersection(entry.fields, changed))
    }
    if conflicts and not force:
        _refuse(kind, conflicts, who, live)
    _take_away(managers, who, changed, removed)


def _refuse(
    kind: schema.Schema,
    conflicts: dict[field_ownership.Manager, FieldSet],
    who: field_ownership.Manager,
    live: json.JsonObject,
) -> None:
    if who.name == KUBECTL:
        allowed = last_applied_fields(kind, live)
        conflicts = {
            each: rest
            for each, fields in conflicts.items()
            if (rest := field_sets.difference(fields, allowed))
        }
        if not conflicts:
            return
    ordered = sorted(conflicts.items(), key=lambda each: str(each[0]))
    raise field_ownership.ConflictError(
        tuple(
            field_ownership.Conflict(manager, path)
            for manager, fields in ordered
            for path in field_sets.paths(fields)
        )
    )


def _take_away(
    managers: field_ownership.Managers,
    who: field_ownership.Manager | None,
    changed: FieldSet,
    removed: FieldSet,
) -> None:
    """Remove fields from every manager but `who`; drop those who own nothing any more."""
    for each, entry in list(managers.items()):
        if each == who:
            continue
        rest = field_sets.difference(field_sets.difference(entry.fields, changed), removed)
        if not rest:
            del managers[each]
        elif rest is not entry.fields:
            managers[each] = field_ownership.Entry(rest, entry.time)


def update(
    kind: schema.Schema,
    live: json.JsonObject | None,
    new: json.JsonObject,
    *,
    manager: str,
    now: str,
    subresource: str = "",
) -> json.JsonObject:
    """Return `new` with managedFields after a write that is no apply.

    Args:
        kind: The kind of both objects.
        live: What the server has; None: `new` is created.
        new: The whole object to be written, decoded and with defaults, before the
            server fills in what nobody owns (cluster IPs, uid, generation).
        manager: The field manager's name.
        now: RFC 3339 in UTC, whole seconds.
        subresource: ``status`` or ``scale`` when written through one.
    """
    sent = field_ownership.metadata_of(new).get("managedFields")
    if live is not None and sent == [{}]:
        return field_ownership.with_managers(new, {}, {}, None)  # kubectl's way to clear them all
    before = field_ownership.read(live)
    # Clients may change who owns what, but not through a subresource.
    managers = (field_ownership.read_sent(new) if subresource == "" else {}) or dict(before)
    if live is not None and not managers:
        return field_ownership.with_managers(new, {}, {}, None)  # not tracked so far: stays so
    resets = kind.resets(subresource)
    changed, removed = _compare(kind, kind.zero if live is None else live, new, resets)
    changed = _strip(changed)
    if changed or removed:
        who = field_ownership.Manager(
            manager, field_ownership.UPDATE, kind.api_version, subresource
        )
        previous = managers.get(who)
        _take_away(managers, None, changed, removed)
        _give(managers, who, previous, changed, now)
        _cap(managers)
    return field_ownership.with_managers(new, managers, before, live)


def _give(
    managers: field_ownership.Managers,
    who: field_ownership.Manager,
    previous: field_ownership.Entry | None,
    changed: FieldSet,
    now: str,
) -> None:
    if not changed:
        return
    rest = managers[who].fields if who in managers else {}
    fields = field_sets.union(rest, changed)
    managers[who] = field_ownership.Entry(fields, now)
    if previous is not None and previous.fields == fields and previous.time == now:
        managers[who] = previous


def _cap(managers: field_ownership.Managers) -> None:
    """Put the oldest Update managers together, one version at a time."""
    updates = [each for each in managers if each.operation == field_ownership.UPDATE]
    if len(updates) <= MAXIMUM_UPDATE_MANAGERS:
        return
    oldest = sorted(updates, key=lambda each: (managers[each].time, each.name))
    for each in oldest[: len(updates) - MAXIMUM_UPDATE_MANAGERS + 1]:
        bucket = field_ownership.Manager(ANCIENT_CHANGES, field_ownership.UPDATE, each.api_version)
        if each == bucket:
            continue
        entry = managers.pop(each)
        known = managers.get(bucket, field_ownership.Entry({}, entry.time))
        managers[bucket] = field_ownership.Entry(
            field_sets.union(known.fields, entry.fields), max(known.time, entry.time)
        )


def settle(live: json.JsonObject, new: json.JsonObject) -> json.JsonObject:
    """Return `live` when `new` differs from it in managedFields' times only, else `new`.

    The server compares like that before it writes, so that an apply that changes
    nothing keeps the resourceVersion.
    """
    if _timeless(live) == _timeless(new):
        return live
    return new


def _timeless(body: json.JsonObject) -> tuple[Any, ...]:
    metadata = dict(body.get("metadata") or {})
    entries = metadata.pop("managedFields", None) or ()
    sets = [{key: value for key, value in each.items() if key != "time"} for each in entries]
    sets.sort(key=lambda each: (each.get("manager", ""), msgspec.json.encode(each, order="sorted")))
    return ({key: each for key, each in body.items() if key != "metadata"}, metadata, sets)
