"""Handing fields over: what others own of an object becomes Git's, so that Git can remove it.

A server-side apply removes what its manager named before and names no more, and nothing else. So
what `kubectl apply`, Helm or a person's `kubectl set env` wrote would stay for ever. Right before
an object is applied, their entries of ``metadata.managedFields`` are made entries of Volary's.

Never handed over, because nobody decides them by leaving them out of Git:

- status, and what was written through other subresources;
- the number of pods: a workload that stops naming it falls to one;
- what the cluster has allotted (addresses, volumes);
- labels and annotations of the object that people set by hand, and of `volary.dev` whoever did;
- the mark of `kubectl rollout restart`.
"""

from dataclasses import dataclass

from volary.manifests.ownership import field_managers, field_sets, tracking
from volary.model import json
from volary.model.objects import ownership

_RESTARTED = "f:kubectl.kubernetes.io/restartedAt"
_LAST_APPLIED = ("f:metadata", "f:annotations", f"f:{tracking.LAST_APPLIED}")
_NAMED_METADATA = ("f:labels", "f:annotations")
_ALLOTTED = frozenset(
    {"f:clusterIP", "f:clusterIPs", "f:healthCheckNodePort", "f:volumeName", "f:nodeName"}
)
_OURS = "f:volary.dev/"


@dataclass(frozen=True, slots=True)
class Handover:
    """Entries of ``metadata.managedFields`` as they are to be, and what is handed over."""

    managed_fields: tuple[json.JsonObject, ...]
    given: json.JsonObject
    #: What others keep, and what Volary applied itself.
    kept: json.JsonObject


def plan(
    live: json.JsonObject, *, manager: str, api_version: str, conflicts: ownership.Conflicts
) -> Handover | None:
    """Return how fields of others become those of `manager`; None: there are none.

    Fields of another version of the kind have other names, and stay where they are.
    """
    given: json.JsonObject = {}
    kept: json.JsonObject = {}
    entries: list[json.JsonObject] = []
    own: json.JsonObject | None = None
    as_written = field_managers.entries(live)
    for entry, written in zip(field_managers.stored_entries(live), as_written, strict=True):
        fields = entry.get("fieldsV1") or {}
        if field_managers.is_applied_by(entry, manager):
            own = entry
            kept = field_sets.union(kept, fields)
            continue
        taken, rest = divide(entry, api_version, conflicts)
        given = field_sets.union(given, taken)
        kept = field_sets.union(kept, rest)
        if not taken:
            entries.append(written)
        elif rest:
            entries.append({**entry, "fieldsV1": rest})
    if not given or (own is not None and own.get("apiVersion") != api_version):
        return None
    fields = field_sets.union(own.get("fieldsV1") or {} if own else {}, given)
    ours = {
        **(own or {}),
        "manager": manager,
        "operation": field_managers.APPLY,
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return Handover((ours, *entries), given, kept)


def apply_to(answer: json.JsonObject, handover: Handover) -> json.JsonObject:
    """Return what an apply gives after a handover, of what a dry run answered without it.

    `handover` is planned from the answer.
    """
    body: json.JsonObject = field_sets.without(answer, handover.given, handover.kept)
    return body


def divide(
    entry: json.JsonObject, api_version: str, conflicts: ownership.Conflicts
) -> tuple[json.JsonObject, json.JsonObject]:
    """Return which fields of an entry are handed over, and which are not."""
    fields = entry.get("fieldsV1") or {}
    name, operation = str(entry.get("manager")), str(entry.get("operation"))
    role = field_managers.role_of(name, operation)
    if (
        role is field_managers.Role.OURS
        or entry.get("subresource")
        or entry.get("apiVersion") != api_version
    ):
        return {}, fields
    # Nobody knows who wrote the labels and annotations of before.
    by_hand = role is not field_managers.Role.APPLIER or (name == field_managers.BEFORE_FIRST_APPLY)
    return field_sets.split(
        fields,
        lambda path: (
            _may_go(path, by_hand=by_hand)
            and field_managers.takes(conflicts, name, operation, field_sets.shown(path))
        ),
    )


def _may_go(path: field_sets.Path, *, by_hand: bool) -> bool:
    if path == _LAST_APPLIED:
        return True
    if path[0] == "f:metadata":
        return (
            not by_hand
            and len(path) > 2
            and path[1] in _NAMED_METADATA
            and not path[2].startswith(_OURS)
        )
    if path[0] == "f:status" or path[-1] == _RESTARTED:
        return False
    return not (
        path[0] == "f:spec" and len(path) == 2 and (path[1] == "f:replicas" or path[1] in _ALLOTTED)
    )
