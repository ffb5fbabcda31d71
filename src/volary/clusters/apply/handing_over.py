"""Handing the fields of one live object over before it is applied, and foreseeing what that does.

API servers cannot try an apply after a handover that was only tried. So what both give together
is computed from the answer to the apply alone, and that is tried.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from volary.clusters.api import api_errors
from volary.clusters.apply import live_objects, managed_fields, preconditions
from volary.clusters.client import clients, resource_mapping
from volary.manifests import objects
from volary.manifests.ownership import handovers
from volary.model import errors, json
from volary.model.objects import ownership


@dataclass(frozen=True, slots=True)
class Rule:
    """For which manager fields are handed over, and whose."""

    manager: str
    conflicts: ownership.Conflicts = field(default_factory=ownership.Conflicts)

    def plan(
        self, mapped: resource_mapping.MappedManifest, live: json.JsonObject
    ) -> handovers.Handover | None:
        """Return what would be handed over; None: nothing."""
        if objects.is_terminating(live):
            return None
        return handovers.plan(
            live,
            manager=self.manager,
            api_version=mapped.item.api_version,
            conflicts=self.conflicts,
        )


async def hand_over(
    client: clients.Client,
    mapped: resource_mapping.MappedManifest,
    live: json.JsonObject,
    rule: Rule,
    check: Callable[[json.JsonObject], None],
) -> json.JsonObject | None:
    """Hand fields over and return the object as it was right before; None: it has gone.

    Only its version is the one that it has since.

    `check` raises when what was read anew may not be written.

    Raises:
        VolaryError: when the cluster refuses it, or the object keeps changing.
    """
    seen: json.JsonObject | None = live
    async for _ in preconditions.attempts():
        planned = rule.plan(mapped, seen) if seen is not None else None
        if seen is None or planned is None:
            return seen
        metadata: json.JsonObject = {
            "uid": objects.uid(seen),
            "resourceVersion": objects.text(seen, "metadata", "resourceVersion"),
            "managedFields": list(planned.managed_fields),
        }
        try:
            answer = await client.merge_patch(
                mapped.resource,
                _named(mapped, {"metadata": metadata}),
                field_manager=rule.manager,
            )
        except api_errors.Conflict:
            seen = await live_objects.get(client, mapped)
            if seen is not None:
                check(seen)
            continue
        return preconditions.at_version_of(seen, answer)
    raise errors.TemporaryError("it kept changing while its fields were handed over")


async def foresee(
    client: clients.Client,
    mapped: resource_mapping.MappedManifest,
    live: json.JsonObject,
    answer: json.JsonObject,
    rule: Rule,
) -> json.JsonObject:
    """Return what handing over and applying give, of what applying alone was answered with.

    Raises:
        VolaryError: when the cluster would refuse it.
    """
    planned = rule.plan(mapped, answer)
    if planned is None:
        return answer
    expected = handovers.apply_to(answer, planned)
    if expected == answer:
        return answer
    patch = _merge_patch(managed_fields.substance(live), managed_fields.substance(expected))
    return await client.merge_patch(
        mapped.resource, _named(mapped, patch), field_manager=rule.manager, dry_run=True
    )


def _named(mapped: resource_mapping.MappedManifest, patch: json.JsonObject) -> json.JsonObject:
    metadata = {"name": mapped.item.name, **objects.mapping(patch, "metadata")}
    if mapped.item.namespace:
        metadata["namespace"] = mapped.item.namespace
    return {**patch, "metadata": metadata}


def _merge_patch(before: Any, after: Any) -> Any:
    """Return the merge patch that makes `after` of `before`."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: json.JsonObject = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif before[key] != value:
            patch[key] = _merge_patch(before[key], value)
    return patch
