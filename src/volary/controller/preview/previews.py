"""What a run would change, object by object: found out on the servers, nothing written.

The set that the last rollout for a cluster applies is tried by server-side dry run, and
the answer compared with the live object: defaults are on both sides, so they do not show,
and neither does what other programs own. Left out are status, bookkeeping, and the labels
Volary puts on its objects, which change with every commit. What would be pruned is decided
as the stage decides it. Values of Secrets are masked wherever they stand.
"""

import hashlib
import json as json_text
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from volary.clusters.apply import dry_runs
from volary.clusters.client import client_pool
from volary.concurrency import work_threads
from volary.controller.planning import cluster_questions, preflight, preparation
from volary.controller.preview import target_groups
from volary.manifests import redaction
from volary.manifests.diff import value_diff
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import apply_results, manifest, object_health
from volary.model.runs import run_plans
from volary.placement.replicas import assignment
from volary.planner import targets as target_choice
from volary.stages import executor

#: Differences of one object that are told, and characters of one value.
MOST_DIFFERENCES = 50
LONGEST_VALUE = 4000
#: Parts of an object that are not what it says, but what happened to it.
_BOOKKEEPING = frozenset(
    {
        *("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"),
        *("selfLink", "name", "namespace", "generateName"),
    }
)


class Verb(StrEnum):
    """What would happen to an object."""

    CREATED = "created"
    CHANGED = "changed"
    PRUNED = "pruned"
    #: Git no longer has it, and it stays all the same.
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class ObjectPreview:
    """One object and what would happen to it."""

    key: manifest.ResourceKey
    verb: Verb
    reason: str = ""
    #: Of a changed object; redacted and bounded.
    differences: tuple[value_diff.Item, ...] = ()
    #: Differences beyond the bound.
    omitted: int = 0


class TargetStatus(StrEnum):
    """How a cluster answered."""

    CHANGES = "changes"
    UNCHANGED = "unchanged"
    #: Nothing would be written, and what Git no longer has would be left.
    NOT_PRUNED = "not_pruned"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class TargetPreview:
    """What one cluster would do."""

    target: str
    objects: tuple[ObjectPreview, ...] = ()
    #: Objects that stay as they are.
    unchanged: int = 0
    #: Why it would refuse.
    problems: tuple[str, ...] = ()
    #: Why it could not be asked; empty: it could.
    unreachable_reason: str = ""
    warnings: tuple[str, ...] = ()
    #: Why nothing that Git no longer has would go; empty: it would.
    prune_refusal: str = ""

    @property
    def status(self) -> TargetStatus:
        """How it answered, in a word."""
        if self.unreachable_reason:
            return TargetStatus.UNREACHABLE
        if self.problems:
            return TargetStatus.REFUSED
        if self.has_changes:
            return TargetStatus.CHANGES
        return TargetStatus.NOT_PRUNED if self.prune_refusal else TargetStatus.UNCHANGED

    @property
    def has_changes(self) -> bool:
        """Whether anything would be written."""
        return any(object_preview.verb is not Verb.KEPT for object_preview in self.objects)

    def count(self, verb: Verb) -> int:
        """Return how many objects that would happen to."""
        return sum(object_preview.verb is verb for object_preview in self.objects)

    @property
    def summary(self) -> str:
        """``1 created, 2 changed``; ``no changes`` when there are none."""
        parts = [f"{self.count(verb)} {verb.value}" for verb in Verb if self.count(verb)]
        calm = self.status is TargetStatus.UNCHANGED
        return ", ".join(["no changes", *parts] if calm else parts or ["nothing pruned"])


@dataclass(frozen=True, slots=True)
class StagePreview:
    """A stage of the run; with a reason one that is left out."""

    name: str
    description: str = ""
    targets: tuple[str, ...] = ()
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do, everywhere."""

    application: str
    commit: str
    subject: str
    running_commit: str
    #: How the running commit is known.
    running_reason: str
    strategy: run_plans.Strategy
    #: Why this strategy.
    reason: str
    images: tuple[str, ...]
    #: In the order of the pipeline, skipped ones too.
    stages: tuple[StagePreview, ...]
    targets: tuple[TargetPreview, ...]
    warnings: tuple[str, ...] = ()
    #: Who would get how many replicas of what is divided.
    replicas: assignment.Assignment = assignment.EMPTY
    #: The clusters once more, those that would change alike together.
    groups: tuple[target_groups.TargetGroup, ...] = ()
    #: What does not become the same on all of them.
    variations: tuple[target_groups.Variation, ...] = ()

    @property
    def has_changes(self) -> bool:
        """Whether any cluster would change, or be left with what Git no longer has."""
        return any(target.has_changes or target.prune_refusal for target in self.targets)

    @property
    def failed(self) -> bool:
        """Whether a cluster would refuse, or could not be asked."""
        return any(target.problems or target.unreachable_reason for target in self.targets)


async def preview_run(
    prepared: preparation.PreparedRun,
    clusters: client_pool.FleetClients,
    *,
    masker: redaction.Masker | None = None,
    patience: timedelta = cluster_questions.PATIENCE,
    told: Callable[[str], None] = lambda _: None,
) -> Preview:
    """Ask every cluster of a prepared run what it would do.

    `masker` knows what must never be seen, and learns what Secrets among the manifests hold;
    `told` is given a sentence with the clusters that are waited for.
    """
    trials = await preflight.try_run(prepared, clusters, patience=patience, told=told, closely=True)
    return await work_threads.run(
        f"comparing the manifests of {prepared.opened.application.name}",
        _shown_of,
        prepared,
        trials,
        masker or redaction.Masker(),
    )


def _shown_of(
    prepared: preparation.PreparedRun, trials: Sequence[preflight.Trial], masker: redaction.Masker
) -> Preview:
    for side in (prepared.manifests, prepared.old_manifests):
        for manifests in side.values():
            masker.learn(manifests)
    return of(prepared, trials, masker)


def of(
    prepared: preparation.PreparedRun, trials: Sequence[preflight.Trial], masker: redaction.Masker
) -> Preview:
    """Put together what is to be shown; `masker` learns the Secrets of the clusters as well."""
    for trial in trials:
        masker.learn(
            manifest.Manifest(body)
            for object_preview in trial.previewed
            for body in (object_preview.before, object_preview.after)
            if body is not None
        )
    opened, decided = prepared.opened, prepared.plan
    rules = executor.with_rules(opened.application, prepared.members).health
    targets = tuple(_target(trial, masker, rules) for trial in trials)
    grouped = _grouped(trials, targets, masker)
    changing = [(names, sides) for (names, sides), status in grouped if status in _WOULD_CHANGE]
    return Preview(
        application=opened.application.name,
        commit=opened.commit,
        subject=masker.clean(opened.subject),
        running_commit=prepared.running.commit,
        running_reason=masker.clean(prepared.running.reason),
        strategy=decided.strategy,
        reason=masker.clean(decided.summary),
        images=tuple(masker.clean(version.image) for version in decided.versions),
        stages=_stages(decided),
        targets=targets,
        warnings=tuple(masker.clean(str(warning)) for warning in prepared.warnings),
        replicas=prepared.numbers.now,
        groups=tuple(target_groups.group(names, sides) for (names, sides), _ in grouped),
        variations=target_groups.variations(changing),
    )


#: Of a cluster that refuses or does not answer nobody knows what would differ there.
_WOULD_CHANGE = (TargetStatus.CHANGES, TargetStatus.UNCHANGED, TargetStatus.NOT_PRUNED)
_Members = tuple[list[str], tuple[target_groups.ObjectSides, ...]]


def _grouped(
    trials: Sequence[preflight.Trial], targets: Sequence[TargetPreview], masker: redaction.Masker
) -> list[tuple[_Members, TargetStatus]]:
    """Return the clusters that would change alike, in the order of the first of each.

    Whole objects are put together for the first one only: of the others they are the same.
    """
    groups: dict[tuple[object, ...], tuple[_Members, TargetStatus]] = {}
    for trial, target in zip(trials, targets, strict=True):
        key = _sameness(trial, target)
        if key not in groups:
            groups[key] = (([], tuple(_sides(trial, target, masker))), target.status)
        groups[key][0][0].append(target.target)
    return list(groups.values())


def _sameness(trial: preflight.Trial, target: TargetPreview) -> tuple[object, ...]:
    """Return what is the same for clusters that would change alike."""
    if target.status is TargetStatus.UNREACHABLE:
        return (target.status,)
    created = {item.key for item in target.objects if item.verb is Verb.CREATED}
    # What is changed has defaults that are the cluster's own, such as addresses.
    whole = [
        json_text.dumps(_substance(item.after), sort_keys=True, default=str)
        for item in trial.previewed
        if item.change.key in created and item.after is not None
    ]
    digest = hashlib.blake2b("\n".join(whole).encode(), digest_size=16).hexdigest()
    said = (target.status, repr(target.objects), target.problems, target.prune_refusal)
    return (*said, digest)


def _sides(
    trial: preflight.Trial, target: TargetPreview, masker: redaction.Masker
) -> Iterator[target_groups.ObjectSides]:
    previewed = {item.change.key: item for item in trial.previewed}
    for shown in target.objects:
        found = previewed.get(shown.key)
        before, after = (found.before, found.after) if found else (None, None)
        # What is changed is compared only where it is known what it becomes.
        known = shown.verb is Verb.PRUNED or (after is not None and shown.verb is not Verb.KEPT)
        if not known:
            yield target_groups.ObjectSides(shown.key, shown.verb.value)
            continue
        old, new = (None if side is None else _substance(side) for side in (before, after))
        hidden = frozenset(
            item.path
            for item in value_diff.compare(old or {}, new or {}, value_diff.PLAIN)
            if after is not None and redaction.is_redacted(after, item.path)
        )
        yield target_groups.ObjectSides(
            shown.key,
            shown.verb.value,
            None if old is None else _masked(old, masker),
            None if new is None else _masked(new, masker, hidden if old else frozenset()),
            shown.differences,
        )


def _masked(
    body: json.JsonObject,
    masker: redaction.Masker,
    changed: frozenset[value_diff.Path] = frozenset(),
) -> json.JsonObject:
    """Return an object to be shown; what is masked and becomes another value says so."""

    def shown(value: object, path: value_diff.Path) -> object:
        if redaction.is_redacted(body, path) and not isinstance(value, dict):
            return f"{redaction.MASK} (another value)" if path in changed else redaction.MASK
        if isinstance(value, dict):
            return {
                masker.clean(str(key)): shown(inner, (*path, key)) for key, inner in value.items()
            }
        if isinstance(value, list):
            return [shown(element, (*path, place)) for place, element in enumerate(value)]
        return _bounded(value, masker)

    return {str(key): shown(value, (key,)) for key, value in body.items()}


def _stages(decided: run_plans.Plan) -> tuple[StagePreview, ...]:
    visited = {
        stage.index: StagePreview(
            stage.name, stage.description, target_choice.of_stage(stage, decided.targets)
        )
        for stage in decided.stages
    }
    left_out = {
        skipped_stage.index: StagePreview(skipped_stage.name, skipped=skipped_stage.reason)
        for skipped_stage in decided.skipped
    }
    every = {**visited, **left_out}
    return tuple(every[index] for index in sorted(every))


def _target(
    trial: preflight.Trial, masker: redaction.Masker, rules: Sequence[object_health.Rule]
) -> TargetPreview:
    previewed = {object_preview.change.key: object_preview for object_preview in trial.previewed}
    shown = [
        _object(change, previewed.get(change.key), masker)
        for change in trial.changes.changes
        if change.action is not apply_results.Action.UNCHANGED
    ]
    kept = tuple(object_preview for object_preview in shown if object_preview is not None)
    return TargetPreview(
        trial.target,
        # Nothing would be written at all to a cluster that refuses a part.
        () if trial.problems else kept,
        0 if trial.problems else len(trial.changes.changes) - len(kept),
        tuple(masker.clean(str(problem)) for problem in errors.hints_once(trial.problems)),
        masker.clean(trial.unreachable_reason),
        tuple(
            masker.clean(warning)
            for warning in (
                *trial.warnings,
                *(problem.message for problem in trial.unmeasured),
                *preflight.warn_of_unknown_kinds(trial.previewed, rules),
            )
        ),
        "" if trial.problems else masker.clean(trial.prune_refusal),
    )


_VERBS = {
    apply_results.Action.CREATED: Verb.CREATED,
    apply_results.Action.CONFIGURED: Verb.CHANGED,
    apply_results.Action.DELETED: Verb.PRUNED,
    apply_results.Action.SKIPPED: Verb.KEPT,
}


def _object(
    made: apply_results.Change, previewed: dry_runs.ObjectPreview | None, masker: redaction.Masker
) -> ObjectPreview | None:
    """Return what would happen to an object; None: nothing that people would see."""
    verb, reason = _VERBS[made.action], masker.clean(made.reason)
    if verb is not Verb.CHANGED or previewed is None:
        return ObjectPreview(made.key, verb, reason)
    changed_values = differences(previewed.before, previewed.after, masker)
    if not changed_values and not reason:
        return None  # only who owns which field would change
    return ObjectPreview(
        made.key,
        verb,
        reason,
        tuple(changed_values[:MOST_DIFFERENCES]),
        max(0, len(changed_values) - MOST_DIFFERENCES),
    )


def differences(
    before: json.JsonObject | None, after: json.JsonObject | None, masker: redaction.Masker
) -> list[value_diff.Item]:
    """Return what differs between two sides of an object, masked, each value bounded."""
    if before is None or after is None:
        return []
    compared = value_diff.compare(_substance(before), _substance(after), value_diff.PLAIN)
    return [_shown(changed_value, after, masker) for changed_value in compared]


def _substance(body: json.JsonObject) -> json.JsonObject:
    unmarked = tracking.untrack(manifest.Manifest(body)).body
    metadata = {
        key: value for key, value in unmarked["metadata"].items() if key not in _BOOKKEEPING
    }
    rest = {key: value for key, value in unmarked.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": metadata}


def _shown(
    item: value_diff.Item, body: json.JsonObject, masker: redaction.Masker
) -> value_diff.Item:
    if redaction.is_redacted(body, item.path):
        old, new = (
            side if side is value_diff.ABSENT else redaction.MASK for side in (item.old, item.new)
        )
        return value_diff.Item(item.path, old, new)
    return value_diff.Item(item.path, _bounded(item.old, masker), _bounded(item.new, masker))


def _bounded(value: object, masker: redaction.Masker) -> object:
    if value is value_diff.ABSENT:
        return value
    cleaned = _clean(value, masker)
    text = cleaned if isinstance(cleaned, str) else json_text.dumps(cleaned, default=str)
    if len(text) <= LONGEST_VALUE:
        return cleaned
    return f"{text[:LONGEST_VALUE]} … ({len(text) - LONGEST_VALUE} characters more)"


def _clean(value: object, masker: redaction.Masker) -> object:
    match value:
        case str():
            return masker.clean(value)
        case dict():
            return {masker.clean(str(key)): _clean(inner, masker) for key, inner in value.items()}
        case list():
            return [_clean(element, masker) for element in value]
        case _:
            return value
