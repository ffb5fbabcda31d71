"""Decides from running and new manifests whether a change needs the pipeline (PipeCD: 5.2).

First hit wins, in PipeCD's order and words. Tracking metadata is left out of the
comparison: PipeCD compares its own commit annotation and therefore takes the
pipeline for every commit of an application that has a ConfigMap.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from volary.manifests.diff import value_diff
from volary.manifests.loading import object_keys
from volary.manifests.ownership import tracking
from volary.manifests.services import service_targets
from volary.manifests.workloads import config_references, images, workloads
from volary.model import applications
from volary.model.objects import manifest
from volary.model.runs import run_plans

Manifests = Sequence[manifest.Manifest]

#: The summary when nothing in particular decided.
NOTHING_SPECIAL = "Quick sync by applying all manifests"

_IMAGE = re.compile(r"spec\.template\.spec\.containers\.[0-9]+\.image")
_SELECTOR = "spec.selector"


@dataclass(frozen=True, slots=True)
class Decision:
    """A strategy and the sentence that says why."""

    strategy: run_plans.Strategy
    summary: str


def compare(
    running: Manifests, target: Manifests, references: Sequence[applications.ObjectReference]
) -> Decision:
    """Decide for one cluster.

    Args:
        running: Manifests of the last commit that succeeded.
        target: Manifests of the new commit.
        references: The application's ``workloads``.
    """
    old = workloads.find(running, references)
    new = workloads.find(target, references)
    if not old:
        return _quick(
            "Quick sync by applying all manifests because it was unable to find the currently "
            "running workloads"
        )
    if not new:
        return _quick(
            "Quick sync by applying all manifests because it was unable to find workloads in the "
            "new manifests"
        )
    pairs = _pairs(old, new)
    reason = (
        _changed_template(pairs)
        or _changed_service(pairs)
        or _changed_configuration(running, target)
    )
    if reason:
        return Decision(run_plans.Strategy.PIPELINE, f"Sync progressively because {reason}")
    return _quick(_scaling(pairs) or NOTHING_SPECIAL)


def _quick(summary: str) -> Decision:
    return Decision(run_plans.Strategy.QUICK_SYNC, summary)


_Pair = tuple[manifest.Manifest, manifest.Manifest]


def _pairs(old: Manifests, new: Manifests) -> list[_Pair]:
    """Return workloads that are on both sides; new and removed ones need no pipeline."""
    by_key = object_keys.index(new)
    pairs = ((item, by_key.get(object_keys.normalise(item.key))) for item in old)
    return [(before, after) for before, after in pairs if after is not None]


def _changed_template(pairs: Sequence[_Pair]) -> str:
    for old, new in pairs:
        items = value_diff.below(value_diff.compare(old.body, new.body), "spec", "template")
        updates = [_update(item) for item in items if _IMAGE.fullmatch(item.dotted)]
        if updates:
            return f"of updating {', '.join(updates)}"
        if items:
            return f"pod template of workload {new.name} was changed"
    return ""


def _changed_service(pairs: Sequence[_Pair]) -> str:
    """Say what is new about a Service that is rolled out (Flagger: its whole specification)."""
    for old, new in pairs:
        if new.kind != service_targets.KIND:
            continue
        changed = value_diff.below(value_diff.compare(old.body, new.body), "spec")
        if any(change.dotted.startswith(_SELECTOR) for change in changed):
            return f"Service {new.name} leads to other pods"
        if changed:
            return f"{changed[0].dotted} of Service {new.name} was changed"
    return ""


def _update(item: value_diff.Item) -> str:
    """Word one image update; a reference that is missing on a side reads as empty."""
    before = "" if item.old is value_diff.ABSENT else str(item.old)
    after = "" if item.new is value_diff.ABSENT else str(item.new)
    old, new = images.parse(before), images.parse(after)
    if old.name != new.name:
        return f"image {old} to {new}"
    if old.version == new.version:  # only the registry or folder changed
        return f"image {before} to {after}"
    return f"image {new.name} from {_version(old)} to {_version(new)}"


def _version(image: images.Image) -> str:
    return image.version or "latest"


def _changed_configuration(running: Manifests, target: Manifests) -> str:
    old = list(filter(config_references.is_config, running))
    new = list(filter(config_references.is_config, target))
    if len(old) > len(new):
        return f"{len(old) - len(new)} configmap/secret deleted"
    if len(old) < len(new):
        return f"new {len(new) - len(old)} configmap/secret added"
    by_key = {item.key: item for item in new}
    for item in old:
        after = by_key.get(item.key)
        if after is None:
            return f"{item.kind} {item.name} was deleted"
        if value_diff.compare(tracking.untrack(item).body, tracking.untrack(after).body):
            return f"{item.kind} {item.name} was updated"
    return ""


def _scaling(pairs: Sequence[_Pair]) -> str:
    changes = sorted(
        f"{new.kind}/{new.name} from {_replicas(old)} to {_replicas(new)}"
        for old, new in pairs
        if value_diff.compare(_replicas(old), _replicas(new))
    )
    return f"Quick sync to scale {', '.join(changes)}" if changes else ""


def _replicas(item: manifest.Manifest) -> object:
    """Return ``spec.replicas``; PipeCD words an absent one in Go's way."""
    return (item.body.get("spec") or {}).get("replicas", "<nil>")
