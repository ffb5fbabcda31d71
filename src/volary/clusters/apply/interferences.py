"""What somebody changed of what was applied, while a stage waited for it: pure.

When an object was applied, its fields were ours. A field that another manager has at the end,
with another value, was changed meanwhile; one that an apply would have handed over, and that Git
does not have, was added. What was left to its owner at the apply, as replicas are to an
autoscaler, is no interference.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from volary.manifests import objects, redaction
from volary.manifests.ownership import field_managers, field_sets, handovers
from volary.model import json
from volary.model.objects import manifest, ownership

#: Through these controllers say what they see, and autoscalers what they decide.
_REPORTS = ("status", "scale")
#: How many pods there are is for controllers to say, also those that do not say it by `scale`.
_REPLICAS = ("f:spec", "f:replicas")


@dataclass(frozen=True, slots=True)
class Interference:
    """One field that somebody else has by now, with another value."""

    key: manifest.ResourceKey
    manager: str
    #: With which it wrote it.
    operation: str
    #: As API servers write it.
    path: str
    #: For a sentence; empty: it is not to be shown.
    value: str = ""
    #: Git does not have it.
    is_added: bool = False

    @property
    def sentence(self) -> str:
        """Who changed what to what."""
        now = f" to {self.value}" if self.value else ""
        did = f"added {self.path}" if self.is_added else f"changed {self.path}{now}"
        return f"{self.key.title}: somebody ({self.manager}) {did} while the stage waited"

    @property
    def is_by_person(self) -> bool:
        """Whether it was done with a tool of people, or of those who apply in our place."""
        role = field_managers.role_of(self.manager, self.operation)
        return role is not field_managers.Role.CONTROLLER

    def is_taken_back(self, conflicts: ownership.Conflicts) -> bool:
        """Whether the application's rule says that the field is taken back."""
        return field_managers.takes(conflicts, self.manager, self.operation, self.path)

    def is_left(self, conflicts: ownership.Conflicts) -> bool:
        """Whether the application leaves the field to whoever has it."""
        excepted = conflicts.is_exception(self.manager, self.path)
        return excepted and not self.is_taken_back(conflicts)


def find(
    desired: json.JsonObject, live: json.JsonObject, conflicts: ownership.Conflicts | None = None
) -> list[Interference]:
    """Return what is not as it was applied, because somebody else has written it since.

    Without `conflicts`, by which an apply hands fields over, additions are not looked for.
    """
    found = {one.path: one for one in _of_others(desired, live, conflicts)}
    return [found[path] for path in sorted(found)]


def _of_others(
    desired: json.JsonObject, live: json.JsonObject, conflicts: ownership.Conflicts | None
) -> Iterator[Interference]:
    key = manifest.Manifest(live).key
    for entry in field_managers.entries(live):
        manager, operation = objects.text(entry, "manager"), objects.text(entry, "operation")
        role = field_managers.role_of(manager, operation)
        is_report = entry.get("subresource") in _REPORTS
        by_controller = role is field_managers.Role.CONTROLLER
        if role is field_managers.Role.OURS or (is_report and by_controller):
            continue
        fields = objects.mapping(entry, "fieldsV1")
        for path, now, wanted in field_sets.differences(fields, live, desired):
            is_scaled = by_controller and path == _REPLICAS
            if wanted is not field_sets.ABSENT and not is_scaled:
                shown = field_sets.shown(path)
                yield Interference(key, manager, operation, shown, _value(live, path, now))
        if conflicts is None:
            continue
        added, _ = handovers.divide(entry, objects.text(desired, "apiVersion"), conflicts)
        for path, _, wanted in field_sets.differences(added, live, desired):
            if wanted is field_sets.ABSENT:
                shown = field_sets.shown(path)
                yield Interference(key, manager, operation, shown, is_added=True)


def _value(live: json.JsonObject, path: field_sets.Path, now: object) -> str:
    names = tuple(part.partition(":")[2] for part in path)
    if now is field_sets.ABSENT or redaction.is_redacted(live, names):
        return ""
    return field_sets.shown_value(now)


def sentences(found: Iterable[Interference]) -> str:
    """Return what happened, in one sentence."""
    return "; ".join(one.sentence for one in found)
