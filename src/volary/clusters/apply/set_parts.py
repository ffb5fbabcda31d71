"""A set, divided by what has to be there before what: pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from volary.clusters.apply import live_objects, steps
from volary.clusters.client import resource_mapping
from volary.model.objects import manifest


@dataclass(frozen=True, slots=True)
class Parts:
    """A set, divided by what has to be there before what."""

    #: Of `first`, those that the rest waits for.
    ground: frozenset[manifest.ResourceKey]
    #: Of kinds or versions that the set itself defines.
    later: Sequence[manifest.Manifest]
    live: live_objects.Live
    #: What can be tried at once.
    first: list[resource_mapping.MappedManifest] = field(default_factory=list)
    #: What is in namespaces of the set itself, which are not there yet.
    dependent: list[resource_mapping.MappedManifest] = field(default_factory=list)
    #: Of kinds that are served, but whose definition the set may change.
    redefined: list[resource_mapping.MappedManifest] = field(default_factory=list)


def divide(
    mapped: Sequence[resource_mapping.MappedManifest],
    live: live_objects.Live,
    later: Sequence[manifest.Manifest],
    tools: steps.Tools,
) -> Parts:
    """Divide what is served already; `later` is of kinds or versions that the set defines."""
    ground = _prerequisites(mapped, live, later, tools)
    built = {placed.item.name for placed in ground if placed.is_namespace}
    changing = {
        resource_mapping.defined_kind(placed.item)
        for placed in ground
        if resource_mapping.is_definition(placed.item)
    }
    parts = Parts(frozenset(placed.key for placed in ground), later, live)
    for placed in mapped:
        if placed.item.namespace in built:
            parts.dependent.append(placed)
        elif (placed.item.group, placed.item.kind) in changing:
            parts.redefined.append(placed)
        else:
            parts.first.append(placed)
    return parts


def _prerequisites(
    mapped: Sequence[resource_mapping.MappedManifest],
    live: live_objects.Live,
    later: Sequence[manifest.Manifest],
    tools: steps.Tools,
) -> list[resource_mapping.MappedManifest]:
    """Return new namespaces that the set uses, and definitions of its kinds that may change."""
    used = {placed.item.namespace for placed in mapped}
    kinds = {(item.group, item.kind) for item in (*(placed.item for placed in mapped), *later)}

    def comes_first(placed: resource_mapping.MappedManifest) -> bool:
        if placed.is_namespace:
            return placed.key not in live and placed.item.name in used
        if not resource_mapping.is_definition(placed.item):
            return False
        step = steps.assess(placed, live.get(placed.key), tools)
        changes = not step.is_unchanged and not step.is_commit_only
        return changes and resource_mapping.defined_kind(placed.item) in kinds

    return [placed for placed in mapped if comes_first(placed)]
