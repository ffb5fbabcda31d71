"""What people see of a sync that has not begun."""

from volary.controller.api import representations
from volary.model import json


class PlannedStage(representations.Representation, frozen=True):
    """A stage of the run to be."""

    name: str
    description: str
    clusters: tuple[str, ...]
    #: Why it is left out; empty: it is not.
    skipped: str


class PlannedObject(representations.Representation, frozen=True):
    """What would happen to one object."""

    object: str
    #: ``created``, ``changed``, ``pruned`` or ``kept``.
    action: str
    reason: str
    #: Each with ``path``, ``operation`` and, where there is one, the ``old`` and ``new`` value;
    #: redacted and bounded.
    differences: tuple[json.JsonObject, ...]
    #: Differences beyond the bound.
    omitted: int


class PlannedCluster(representations.Representation, frozen=True):
    """What one cluster would do."""

    name: str
    #: ``changes``, ``unchanged``, ``not_pruned``, ``refused`` or ``unreachable``.
    status: str
    created: int
    changed: int
    pruned: int
    kept: int
    unchanged: int
    objects: tuple[PlannedObject, ...]
    #: Why it would refuse.
    problems: tuple[str, ...]
    #: Why it could not be asked; empty: it could.
    unreachable_reason: str
    warnings: tuple[str, ...]
    #: Why nothing that Git no longer has would go; empty: it would.
    prune_refusal: str


class ObjectDiff(representations.Representation, frozen=True):
    """What would change of one object, as a unified diff of its YAML."""

    object: str
    #: ``created``, ``changed``, ``pruned`` or ``kept``.
    action: str
    #: Redacted and bounded; empty: there is nothing to compare.
    diff: str
    #: Lines beyond the bound.
    omitted: int


class PlannedGroup(representations.Representation, frozen=True):
    """Clusters that would change alike."""

    clusters: tuple[str, ...]
    #: As of each of them.
    status: str
    created: int
    changed: int
    pruned: int
    kept: int
    diffs: tuple[ObjectDiff, ...]
    #: Objects without a diff, because there are too many.
    omitted: int
    #: Why they would refuse, or why the first of them could not be asked.
    problems: tuple[str, ...]


class VariationSide(representations.Representation, frozen=True):
    """What a group of clusters would do with an object that others treat differently."""

    #: The first cluster of its group.
    cluster: str
    #: ``created``, ``changed``, ``pruned``, ``kept`` or ``unchanged``.
    action: str
    #: What it becomes at each of the places; empty: nothing happens to it there.
    values: tuple[str, ...]


class PlannedVariation(representations.Representation, frozen=True):
    """An object that would not become the same on all clusters."""

    object: str
    #: How it differs, one sentence.
    sentence: str
    #: Where it becomes something else; redacted and bounded, as the values are.
    places: tuple[str, ...]
    #: The groups of clusters that could be asked.
    sides: tuple[VariationSide, ...]
    #: Places and sides beyond the bounds.
    omitted_places: int
    omitted_sides: int


class Plan(representations.Representation, frozen=True):
    """What a sync would do now: the same as ``volary plan --output json`` says."""

    application: str
    commit: str
    subject: str
    running_commit: str
    #: How the running commit is known.
    running_reason: str
    strategy: str
    #: Why this strategy.
    reason: str
    images: tuple[str, ...]
    #: A cluster would change, or be left with what Git no longer has.
    has_changes: bool
    #: A cluster would refuse, or could not be asked.
    failed: bool
    stages: tuple[PlannedStage, ...]
    clusters: tuple[PlannedCluster, ...]
    warnings: tuple[str, ...] = ()
    #: Of what is divided over the clusters.
    replicas: tuple[representations.WorkloadReplicas, ...] = ()
    #: The clusters once more, those that would change alike together.
    groups: tuple[PlannedGroup, ...] = ()
    #: What differs between clusters.
    variations: tuple[PlannedVariation, ...] = ()
