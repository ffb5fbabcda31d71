"""An adopted object goes back to what it was before a run wrote to it.

It is replaced by what was kept, as exactly what was read just now: its uid and its resource
version are preconditions. A write makes its writer the owner of what it changes, so who owned
which fields is written after that, for its own sake. What was deleted meanwhile is created again.
"""

from dataclasses import dataclass
from typing import Any

from volary.clusters.api import api_errors
from volary.clusters.apply import preconditions
from volary.clusters.client import clients, resource_mapping
from volary.manifests import objects
from volary.manifests.ownership import field_managers, tracking
from volary.model import errors, json
from volary.model.objects import apply_results, manifest, ownership

#: The server's, and different for an object that was created again.
_SERVERS = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
_GONE = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
#: Annotations of controllers, which are as they are live.
_CONTROLLERS = "deployment.kubernetes.io/"
_SCALE = "scale"


class NotRestoredError(errors.PermanentError):
    """An object is not as it was before, and why."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An adopted object as it was, and where it is."""

    mapped: resource_mapping.MappedManifest
    owner: ownership.Owner

    @property
    def key(self) -> manifest.ResourceKey:
        """The object's identity."""
        return self.mapped.key

    @property
    def before(self) -> json.JsonObject:
        """The object as it was."""
        return self.mapped.item.body


async def restore(client: clients.Client, kept: Kept) -> apply_results.Change:
    """Make an object again what it was; nothing is written where it is already.

    Raises:
        NotRestoredError: when it is somebody else's by now, or kept changing.
        VolaryError: when the cluster refused it.
    """
    item, resource = kept.mapped.item, kept.mapped.resource
    written: apply_results.Action | None = None
    async for _ in preconditions.attempts():
        live = await client.get(resource, item.name, namespace=item.namespace)
        if live is not None and is_restored(live, kept.before):
            action = written or apply_results.Action.UNCHANGED
            return apply_results.Change(kept.key, action, _WORD[action], written=bool(written))
        if live is None:
            await client.create(resource, _anew(kept.before))
            written = apply_results.Action.CREATED
            continue
        refuse_foreign(kept, live)
        try:
            await client.replace(resource, _over(kept.before, live))
        except api_errors.Conflict:
            continue
        written = written or apply_results.Action.CONFIGURED
    raise NotRestoredError(f"it is still not what it was after {preconditions.TRIES} tries")


_WORD = {
    apply_results.Action.UNCHANGED: "",
    apply_results.Action.CREATED: "as it was before",
    apply_results.Action.CONFIGURED: "as it was before",
}


def refuse_foreign(kept: Kept, live: json.JsonObject) -> None:
    """Refuse to write over what is not what we wrote.

    Raises:
        NotRestoredError: when somebody else has it by now.
    """
    same = objects.uid(live) == objects.uid(kept.before)
    ours = tracking.is_ours(live, kept.owner) or any(
        entry.get("manager") in field_managers.OURS for entry in field_managers.entries(live)
    )
    if objects.is_terminating(live):
        raise NotRestoredError("somebody is deleting it")
    if not ours:
        by = "changed it" if same else "put another one in its place"
        raise NotRestoredError(f"somebody else {by} since")


def is_restored(live: json.JsonObject, before: json.JsonObject) -> bool:
    """Whether an object is what it was, and its fields are whose they were."""
    return not differing_part(live, before)


def differing_part(live: json.JsonObject, before: json.JsonObject) -> str:
    """Return which part of an object is not what it was; empty: all of it is."""
    now, then = _substance(live), _substance(_with_live_scale(before, live))
    parts = [key for key in sorted({*now, *then}) if now.get(key) != then.get(key)]
    if parts:
        return f".{parts[0]}"
    return "" if _owners(live) == _owners(before) else ".metadata.managedFields"


def _substance(body: json.JsonObject) -> json.JsonObject:
    metadata = {
        key: value
        for key, value in objects.mapping(body, "metadata").items()
        if key not in (*_SERVERS, *_GONE)
    }
    annotations = _without_controllers(objects.mapping(metadata, "annotations"))
    metadata.pop("annotations", None)
    rest = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": metadata, "metadata.annotations": annotations}


def _owners(body: json.JsonObject) -> list[tuple[str, str, str]]:
    """Return who owns which fields, but for what controllers report."""
    return sorted(
        (
            str(entry.get("manager")),
            str(entry.get("operation")),
            str(_sorted(entry.get("fieldsV1"))),
        )
        for entry in _own_entries(body)
    )


def _own_entries(body: json.JsonObject) -> list[json.JsonObject]:
    """Return the entries of those who wrote the object itself, and not a part of its own."""
    return [
        entry
        for entry in field_managers.entries(body)
        if not entry.get("subresource") and not _is_by_controller(entry)
    ]


def _is_by_controller(entry: json.JsonObject) -> bool:
    return str(entry.get("manager")).startswith("kube-controller-manager")


def _anew(before: json.JsonObject) -> json.JsonObject:
    metadata = {
        key: value
        for key, value in objects.mapping(before, "metadata").items()
        if key not in (*_SERVERS, *_GONE)
    }
    return {**before, "metadata": metadata}


def _over(before: json.JsonObject, live: json.JsonObject) -> json.JsonObject:
    """Return what replaces a live object: as it was, with what controllers say by now."""
    old, now = objects.mapping(before, "metadata"), objects.mapping(live, "metadata")
    annotations = _without_controllers(objects.mapping(old, "annotations"))
    for key, value in objects.mapping(now, "annotations").items():
        if key.startswith(_CONTROLLERS):
            annotations[key] = value
    own = _own_entries(before)
    others = [entry for entry in field_managers.entries(live) if entry not in _own_entries(live)]
    metadata = {
        **{key: value for key, value in old.items() if key not in _GONE},
        "uid": now.get("uid"),
        "resourceVersion": now.get("resourceVersion"),
        "managedFields": [*own, *others],
    }
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    body = {**_with_live_scale(before, live), "metadata": metadata}
    if "status" in live:
        body["status"] = live["status"]
    return body


def _with_live_scale(before: json.JsonObject, live: json.JsonObject) -> json.JsonObject:
    """Return `before` with as many pods as an autoscaler has set meanwhile."""
    scaled = any(
        entry.get("subresource") == _SCALE and _is_by_controller(entry)
        for entry in field_managers.entries(live)
    )
    if not scaled or "replicas" not in objects.mapping(before, "spec"):
        return before
    replicas = objects.number(live, "spec", "replicas", default=1)
    return {**before, "spec": {**before["spec"], "replicas": replicas}}


def _without_controllers(annotations: json.JsonObject) -> json.JsonObject:
    return {key: value for key, value in annotations.items() if not key.startswith(_CONTROLLERS)}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return value
