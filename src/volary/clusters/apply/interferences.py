"""What somebody changed of what was applied, while a stage waited for it: pure.

When an object was applied, its fields were ours. A field that another manager has at the end,
with another value, was changed meanwhile; one that an apply would have handed over, and that Git
does not have, was added. A field that nobody has any more was removed, and an object that is gone
was deleted; API servers do not note by whom. What was left to its owner at the apply, as replicas
are to an autoscaler, is no interference.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from volary.clusters.apply import applied_objects
from volary.manifests import objects, redaction
from volary.manifests.ownership import field_managers, field_sets, handovers
from volary.model import json
from volary.model.objects import manifest, ownership

#: Through these controllers say what they see, and autoscalers what they decide.
_REPORTS = ("status", "scale")
#: How many pods there are is for controllers to say, also those that do not say it by `scale`.
_REPLICAS = ("f:spec", "f:replicas")
#: They go when they are done, or with their node: that they are gone says nothing of people.
_PASSING = (("batch", "Job"), ("", "Pod"))


class Deed(Enum):
    """What somebody did."""

    CHANGED = "changed {path}"
    #: Git does not have it.
    ADDED = "added {path}"
    REMOVED = "removed {path}"
    DELETED = "deleted it"
    #: That one is theirs.
    REPLACED = "deleted it and made another one"


@dataclass(frozen=True, slots=True)
class Interference:
    """One field that somebody else has by now, with another value, or that is not there."""

    key: manifest.ResourceKey
    #: Empty: nobody knows who did it.
    manager: str = ""
    #: With which it wrote it.
    operation: str = ""
    #: As API servers write it; empty: the whole object.
    path: str = ""
    #: For a sentence; empty: it is not to be shown.
    value: str = ""
    deed: Deed = Deed.CHANGED

    @property
    def sentence(self) -> str:
        """Who changed what to what."""
        who = f"somebody ({self.manager})" if self.manager else "somebody"
        now = f" to {self.value}" if self.value else ""
        did = self.deed.value.format(path=self.path)
        return f"{self.key.title}: {who} {did}{now} while the stage waited"

    @property
    def is_by_person(self) -> bool:
        """Whether it was done with a tool of people, or of those who apply in our place.

        What nobody is known for counts as theirs: controllers write, they do not take away.
        """
        role = field_managers.role_of(self.manager, self.operation)
        return not self.manager or role is not field_managers.Role.CONTROLLER

    def is_taken_back(self, conflicts: ownership.Conflicts) -> bool:
        """Whether the application's rule says that the field is taken back."""
        if not self.manager:
            takes = conflicts.policy is ownership.ConflictPolicy.TAKE_BACK
            is_ours = self.deed is not Deed.REPLACED
            return is_ours and takes is not conflicts.is_exception("", self.path)
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
                yield Interference(key, manager, operation, shown, deed=Deed.ADDED)


def find_since(
    applied: applied_objects.AppliedObject,
    live: json.JsonObject | None,
    conflicts: ownership.Conflicts,
) -> list[Interference]:
    """Return what somebody did to an object since it was applied; it is gone where `live` is None.

    What a Job or a pod leaves behind by going is not looked at.
    """
    key = applied.key
    if live is None or objects.is_terminating(live) or applied.is_replaced(live):
        is_gone = live is None or objects.is_terminating(live)
        deed = Deed.DELETED if is_gone else Deed.REPLACED
        return [] if (key.group, key.kind) in _PASSING else [Interference(key, deed=deed)]
    if applied.is_untouched(live):
        return []
    desired = applied.mapped.item.body
    lost = field_sets.minus(applied.owned, applied_objects.owned_fields(live))
    removed = [
        Interference(key, path=field_sets.shown(path), deed=Deed.REMOVED)
        for path, now, wanted in field_sets.differences(lost, live, desired)
        if now is field_sets.ABSENT and wanted is not field_sets.ABSENT
    ]
    changed = find(desired, live, conflicts)
    said = {one.path for one in changed}
    return [*changed, *(one for one in removed if one.path not in said)]


def _value(live: json.JsonObject, path: field_sets.Path, now: object) -> str:
    names = tuple(part.partition(":")[2] for part in path)
    if now is field_sets.ABSENT or redaction.is_redacted(live, names):
        return ""
    return field_sets.shown_value(now)


def sentences(found: Iterable[Interference]) -> str:
    """Return what happened, in one sentence."""
    return "; ".join(one.sentence for one in found)
