"""Chooses between quick sync and pipeline, in PipeCD's order (PipeCD: 5.3).

Where nothing else decides, the running manifests are compared with the new ones.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from volary.config.text import patterns
from volary.manifests.diff import value_diff
from volary.manifests.loading import object_keys
from volary.manifests.ownership import tracking
from volary.manifests.services import service_targets
from volary.manifests.workloads import config_references, images, workloads
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.runs import run_plans

Manifests = Sequence[manifest.Manifest]

#: The summary when nothing in particular decided.
NOTHING_SPECIAL = "Quick sync by applying all manifests"

_IMAGE = re.compile(r"spec\.template\.spec\.containers\.[0-9]+\.image")
_SELECTOR = "spec.selector"

#: A commit subject is somebody else's text; expressions look at this much of it.
_SUBJECT_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Decision:
    """A strategy and the sentence that says why."""

    strategy: run_plans.Strategy
    summary: str


def decide(
    app: applications.Application,
    *,
    running: Mapping[str, Manifests | None],
    target: Mapping[str, Manifests],
    subject: str = "",
    forced: run_plans.Strategy | None = None,
) -> Decision:
    """Return the strategy with the sentence that says why; the first rule that applies wins.

    Args:
        app: The application at the new commit.
        running: Manifests of the last successful commit by target name; None, or no
            entry, where nothing was deployed yet.
        target: Manifests of the new commit by target name, in the order to look at them.
        subject: The commit message; only its first line counts.
        forced: What the user asked for.

    Raises:
        UserError: The pipeline was asked for and there is none.
    """
    if forced is not None:
        return _forced(app, forced)
    if not app.pipeline:
        return _quick("Quick sync due to the pipeline was not configured")
    if app.planner.always_use_pipeline:
        return _pipeline("Sync with the specified pipeline (alwaysUsePipeline was set)")
    matched = _matched(app.commit_matcher, subject)
    if matched is not None:
        return matched
    if all(running.get(name) is None for name in target):
        return _quick("Quick sync, it seems this is the first deployment of the application")
    return _compared(app, running, target)


def _forced(app: applications.Application, forced: run_plans.Strategy) -> Decision:
    if forced is run_plans.Strategy.QUICK_SYNC:
        return _quick("Quick sync because it was asked for")
    if not app.pipeline:
        raise errors.user_error(
            f"the pipeline was asked for, but {app.name} has none",
            hint="add pipeline.stages to the application file, or run a quick sync",
        )
    return _pipeline("Sync with the specified pipeline because it was asked for")


def _matched(matcher: applications.CommitMatcher, message: str) -> Decision | None:
    subject = message.split("\n", 1)[0][:_SUBJECT_LENGTH]
    if _matches(matcher.pipeline, subject):
        quoted = _quote(matcher.pipeline)
        return _pipeline(f"Sync progressively because the commit message was matching {quoted}")
    if _matches(matcher.quick_sync, subject):
        quoted = _quote(matcher.quick_sync)
        return _quick(f"Quick sync because the commit message was matching {quoted}")
    return None


def _matches(pattern: str, subject: str) -> bool:
    """An invalid expression never matches (PipeCD); `config` has warned about it."""
    try:
        return bool(pattern) and patterns.search(pattern, subject)
    except patterns.PatternError:
        return False


def _quote(pattern: str) -> str:
    return json.dumps(pattern, ensure_ascii=False)


def _compared(
    app: applications.Application,
    running: Mapping[str, Manifests | None],
    target: Mapping[str, Manifests],
) -> Decision:
    """Compare cluster by cluster; the first that needs the pipeline decides for all.

    A cluster without running manifests is new and needs nothing of its own. Clusters
    that share their manifests are compared once. PipeCD forgets which cluster scales
    when there are several; here the first particular reason is kept.
    """
    chosen: Decision | None = None
    seen: set[tuple[int, int]] = set()
    for name, new in target.items():
        old = running.get(name)
        if old is None or (id(old), id(new)) in seen:
            continue
        seen.add((id(old), id(new)))
        decision = compare(old, new, app.workloads)
        if decision.strategy is run_plans.Strategy.PIPELINE:
            return decision
        if chosen is None or chosen.summary == NOTHING_SPECIAL:
            chosen = decision
    return chosen or _quick(NOTHING_SPECIAL)


def _quick(summary: str) -> Decision:
    return Decision(run_plans.Strategy.QUICK_SYNC, summary)


def _pipeline(summary: str) -> Decision:
    return Decision(run_plans.Strategy.PIPELINE, summary)


def compare(
    running: Manifests, target: Manifests, references: Sequence[routing_options.ObjectReference]
) -> Decision:
    """Decide for one cluster, from the manifests of the commit that runs and of the new one.

    First hit wins, in PipeCD's order and words (PipeCD: 5.2). Tracking metadata is left out:
    PipeCD compares its own commit annotation and therefore takes the pipeline for every commit
    of an application that has a ConfigMap. `references` are the application's ``workloads``.
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
        return _pipeline(f"Sync progressively because {reason}")
    return _quick(_scaling(pairs) or NOTHING_SPECIAL)


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
