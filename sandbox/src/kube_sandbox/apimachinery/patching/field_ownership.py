"""Who owns which fields of an object: the entries of ``metadata.managedFields``."""

from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.patching import field_sets

FieldSet = field_sets.FieldSet

APPLY = "Apply"
UPDATE = "Update"


@dataclass(frozen=True, slots=True)
class Manager:
    """Who owns a set of fields: the identity of an entry of ``managedFields``."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def __str__(self) -> str:
        shown = f'"{self.name}"'
        if self.subresource:
            shown = f'{shown} with subresource "{self.subresource}"'
        return f"{shown} using {self.api_version}" if self.operation == UPDATE else shown


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field somebody else owns and the applied object would change."""

    manager: Manager
    #: ``.spec.replicas``.
    field: str

    @property
    def json(self) -> dict[str, str]:
        """The conflict as a cause in ``details.causes``."""
        return {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {self.manager}",
            "field": self.field,
        }


class ConflictError(Exception):
    """An apply without force met fields of others (409); the message is the server's."""

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__(_conflict_message(conflicts))
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class Entry:
    """What a manager owns, and since when."""

    fields: FieldSet
    #: Empty: it came without changing anything.
    time: str


#: Everybody who owns something of one object.
Managers = dict[Manager, Entry]


def _conflict_message(conflicts: tuple[Conflict, ...]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {only.manager}: {only.field}"
    lines: dict[str, list[str]] = {}
    for each in conflicts:
        lines.setdefault(str(each.manager), []).append(f"- {each.field}")
    blocks = [f"conflicts with {name}:\n" + "\n".join(fields) for name, fields in lines.items()]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(blocks)


def metadata_of(body: json.JsonObject | None) -> json.JsonObject:
    """Return an object's metadata; empty when it is missing or no object at all."""
    found = (body or {}).get("metadata")
    return found if isinstance(found, dict) else {}


def read(body: json.JsonObject | None) -> Managers:
    """Return who owns what of a stored object."""
    found: Managers = {}
    for each in metadata_of(body).get("managedFields") or ():
        manager = Manager(
            each.get("manager", ""),
            each.get("operation", ""),
            each.get("apiVersion", ""),
            each.get("subresource", ""),
        )
        found[manager] = Entry(each.get("fieldsV1") or {}, each.get("time", ""))
    return found


def read_sent(body: json.JsonObject) -> Managers:
    """Return who owns what by what a client sent; nobody when an entry is malformed."""
    found = read(body)
    return found if all(field_sets.is_valid(each.fields) for each in found.values()) else {}


def _write(managers: Managers) -> list[json.JsonObject]:
    # The server's order: Apply before Update, then the oldest first.
    order = sorted(
        managers.items(),
        key=lambda each: (
            each[0].operation,
            each[1].time,
            each[0].name,
            each[0].api_version,
            each[0].subresource,
        ),
    )
    return [_write_entry(manager, entry) for manager, entry in order]


def _write_entry(manager: Manager, entry: Entry) -> json.JsonObject:
    written: json.JsonObject = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
    }
    if entry.time:
        written["time"] = entry.time
    written |= {"fieldsType": "FieldsV1", "fieldsV1": entry.fields}
    if manager.subresource:
        written["subresource"] = manager.subresource
    return written


def with_managers(
    body: json.JsonObject, managers: Managers, before: Managers, live: json.JsonObject | None
) -> json.JsonObject:
    """Return `body` with `managers` written down; the live list itself when it says the same."""
    metadata = dict(body.get("metadata") or {})
    metadata.pop("managedFields", None)
    known = metadata_of(live).get("managedFields")
    if managers == before and known:
        metadata["managedFields"] = known
    elif managers:
        metadata["managedFields"] = _write(managers)
    return {**body, "metadata": metadata}
