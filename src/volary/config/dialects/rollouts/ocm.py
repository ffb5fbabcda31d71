"""Open Cluster Management's Placement: which clusters, and in which groups."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.config.dialects import drafts
from volary.config.dialects.karmada import schema as selectors
from volary.config.dialects.rollouts import plans
from volary.config.text import yaml
from volary.model import applications, options


class ClusterSelector(base_sections.Section):
    """Clusters by labels and claims."""

    label_selector: selectors.LabelSelector | None = options.option("Labels.", None)
    claim_selector: dict[str, Any] | None = options.option("Claims.", None)
    cel_selector: dict[str, Any] | None = options.option("Expressions.", None)


class DecisionGroup(base_sections.Section):
    """Clusters that are decided on together."""

    group_name: base_sections.Text = Field(description="Its name.")
    group_cluster_selector: ClusterSelector | None = options.option("Which.", None)


class Groups(base_sections.Section):
    """How clusters are grouped."""

    decision_groups: list[DecisionGroup] = options.option("Named.", [])
    clusters_per_decision_group: int | Annotated[str, Field(pattern="^[0-9]{1,3}%$")] = (
        options.option("The others.", "100%")
    )


class Decision(base_sections.Section):
    """How it is decided."""

    group_strategy: Groups = Field(default_factory=Groups, description="In groups.")


class Predicate(base_sections.Section):
    """Clusters that may be chosen."""

    required_cluster_selector: ClusterSelector = Field(
        default_factory=ClusterSelector, description="Which."
    )


class Spec(base_sections.Section):
    """What a Placement says."""

    cluster_sets: list[str] = options.option("Sets.", [])
    number_of_clusters: int | None = options.option("How many.", None)
    predicates: list[Predicate] = options.option("Any of them.", [])
    prioritizer_policy: dict[str, Any] | None = options.option("Which first.", None)
    spread_policy: dict[str, Any] | None = options.option("Spread.", None)
    tolerations: list[Any] = options.option("Taints.", [])
    decision_strategy: Decision = Field(default_factory=Decision, description="Groups.")

    @property
    def groups(self) -> Groups:
        """How clusters are grouped."""
        return self.decision_strategy.group_strategy


class Placement(drafts.CustomResource):
    """A Placement."""

    spec: Spec = Field(default_factory=Spec, description="What it says.")


def find_placement(
    plan: plans.Plan, documents: Sequence[yaml.Document], name: str
) -> Placement | None:
    """Return the Placement of that name; None when it is not in the file. Problems are noted."""
    for document in documents:
        value = document.value
        if not isinstance(value, dict) or value.get("kind") != "Placement":
            continue
        if drafts.text(value.get("metadata"), "name") == name:
            reading = readings.Reading(document, applications.Dialect.VOLARY)
            placement = reading.read(Placement, value, ())
            if placement is not None:
                _refuse(reading, placement.spec)
            plan.reading.problems += reading.problems
            return placement
    message = f"the Placement {name} is not in the file, so which clusters it takes is not known"
    plan.reading.warn(("spec", "placementRefs", 0, "name"), message, "write spec.targets")
    return None


def placement_targets(plan: plans.Plan, read: Placement) -> dict[str, Any]:
    """Return the ``targets`` of an application for a Placement."""
    if not read.spec.predicates:
        return {}
    chosen = read.spec.predicates[0].required_cluster_selector.label_selector
    return plans.labels(chosen or selectors.LabelSelector())


def _refuse(reading: readings.Reading, read: Spec) -> None:
    if len(read.predicates) > 1:
        message = "any of several predicates is not carried over"
        reading.error(("spec", "predicates"), message, "give the clusters a label of their own")
    groups = read.groups.decision_groups
    chosen = [predicate.required_cluster_selector for predicate in read.predicates]
    chosen += [group.group_cluster_selector for group in groups if group.group_cluster_selector]
    if any(selector.claim_selector or selector.cel_selector for selector in chosen):
        message = "clusters by claims or expressions are not carried over"
        reading.error(("spec",), message, "give the clusters a label of their own")
    if read.number_of_clusters is not None:
        at = ("spec", "numberOfClusters")
        reading.error(at, "a number of clusters is not carried over", "name them in spec.targets")
    if read.cluster_sets:
        hint = "give the clusters of the sets a label, and select it in a predicate"
        reading.error(("spec", "clusterSets"), "sets of clusters are not carried over", hint)
    if read.tolerations:
        hint = "write them to spec.placement.tolerations of the converted file"
        reading.error(("spec", "tolerations"), "tolerations are not carried over", hint)
    for key, given in (
        ("prioritizerPolicy", read.prioritizer_policy),
        ("spreadPolicy", read.spread_policy),
    ):
        if given:
            reading.warn(("spec", key), "has no effect without numberOfClusters, there neither")


_REFS: yaml.Path = ("spec", "placementRefs")
_SAFE = "stop"


class Group(base_sections.Section):
    """Names a decision group."""

    group_name: str = options.option("By name.", "")
    group_index: int | None = options.option("By index.", None)


class Rollout(base_sections.Section):
    """How every type goes on."""

    min_success_time: str = options.option("Soak.", "")
    progress_deadline: str = options.option("Limit.", "")
    max_failures: int | str = options.option("How many may fail.", 0)


class RolloutPerGroup(Rollout):
    """How it goes on group by group."""

    mandatory_decision_groups: list[Group] = options.option("First.", [])


class ProgressiveRollout(RolloutPerGroup):
    """How it goes on cluster by cluster."""

    max_concurrency: int | str = options.option("How many at once; 0: all.", 0)


class Strategy(base_sections.Section):
    """A rolloutStrategy."""

    type: Literal["All", "Progressive", "ProgressivePerGroup"] = options.option("Which.", "All")
    all: Rollout | None = options.option("For All.", None)
    progressive: ProgressiveRollout | None = options.option("For Progressive.", None)
    progressive_per_group: RolloutPerGroup | None = options.option("For the third.", None)


class PlacementRef(base_sections.Section):
    """A Placement, and how its clusters are updated."""

    name: base_sections.Text = Field(description="Its name.")
    rollout_strategy: Strategy = Field(default_factory=Strategy, description="How.")


class ReplicaSetSpec(base_sections.Section):
    """What a ManifestWorkReplicaSet says."""

    placement_refs: list[PlacementRef] = Field(min_length=1, description="Where.")
    manifest_work_template: dict[str, Any] = options.option("What.", {})
    cascade_deletion_policy: str = options.option("How it is deleted.", "")


class ManifestWorkReplicaSet(drafts.CustomResource):
    """A ManifestWorkReplicaSet."""

    spec: ReplicaSetSpec = Field(description="What it says.")


def convert(documents: Sequence[yaml.Document], approvers: Sequence[str]) -> plans.Plan:
    """Return the waves of the one ManifestWorkReplicaSet, with its Placement in the same file."""
    kinds = ("ManifestWorkReplicaSet",)
    plan = plans.begin(documents, kinds, approvers, beside=("Placement",))
    reading = plan.reading
    read = reading.read(ManifestWorkReplicaSet, reading.document.value, ())
    if read is None:
        return plan
    if len(read.spec.placement_refs) != 1:
        message = "exactly one placement can be converted"
        reading.error(_REFS, message, "convert one file for each of them")
        return plan
    _check_template(plan, read.spec)
    reference = read.spec.placement_refs[0]
    placed = find_placement(plan, documents, reference.name)
    if placed is not None:
        plan.targets = placement_targets(plan, placed)
    at: yaml.Path = (*_REFS, 0, "rolloutStrategy")
    _waves(plan, reference.rollout_strategy, placed, at)
    for key in ("all", "progressive", "progressivePerGroup"):
        if key.lower() != reference.rollout_strategy.type.lower() and reading.written((*at, key)):
            message = f"has no effect with type: {reference.rollout_strategy.type}, there neither"
            reading.warn((*at, key), message, "remove it")
    return plan


def _check_template(plan: plans.Plan, read: ReplicaSetSpec) -> None:
    at: yaml.Path = ("spec", "manifestWorkTemplate")
    for key in read.manifest_work_template:
        if key == "workload":
            hint = "put them beside the converted file"
            plan.reading.warn((*at, key), "the manifests are not converted", hint)
        else:
            message = f"{key} is not carried over: it changes how the manifests are applied"
            plan.reading.error((*at, key), message, "leave it out of the file that is converted")
    if read.cascade_deletion_policy:
        message = "has no effect: no cluster is left by a release"
        plan.reading.warn(("spec", "cascadeDeletionPolicy"), message)


def _waves(plan: plans.Plan, read: Strategy, placed: Placement | None, at: yaml.Path) -> None:
    share: int | str = 0
    match read.type:
        case "All":
            rollout, key = read.all or Rollout(), "all"
            _add(plan, "all", rollout, failures="100%")
            if str(rollout.max_failures) != "0":
                message = "has no effect with type: All, there neither"
                plan.reading.warn((*at, key, "maxFailures"), message, "remove it")
            message = "a cluster that fails is rolled back here, and stays as it is there"
            plan.reading.warn(at, message)
        case "Progressive":
            progressive = read.progressive or ProgressiveRollout()
            rollout, key = progressive, "progressive"
            _mandatory(plan, rollout, placed, (*at, key))
            share = progressive.max_concurrency
            _add(plan, "rest", rollout, maxConcurrency=None if _is_all(share) else share)
            if rollout.min_success_time and not _is_all(share):
                message = (
                    "here all clusters of a wave soak together at its end; there each one keeps"
                    " its place until it has soaked"
                )
                hint = "write several waves with a size to soak in between"
                plan.reading.warn((*at, key, "minSuccessTime"), message, hint)
        case "ProgressivePerGroup":
            per_group = read.progressive_per_group or RolloutPerGroup()
            rollout, key = per_group, "progressivePerGroup"
            _per_group(plan, per_group, placed, (*at, key))
        case _:
            assert_never(read.type)
    if "%" in f"{rollout.max_failures}{share}":
        message = "shares are rounded down here, and up there; they are of the wave's clusters"
        plan.reading.warn((*at, key), message)


def _add(
    plan: plans.Plan,
    name: str,
    rollout: Rollout,
    *,
    failures: int | str | None = None,
    **fields: object,
) -> None:
    limit = rollout.max_failures if failures is None else failures
    deadline = rollout.progress_deadline
    plan.add(
        name,
        **fields,
        soak=rollout.min_success_time or None,
        progressDeadline=None if deadline in ("", "None") else deadline,
        budget={"failures": limit} if str(limit) not in ("0", "0%") else None,
        onFailure=_SAFE,
    )


def _is_all(share: int | str) -> bool:
    return str(share).startswith("-") or str(share) in ("0", "0%", "100%")


def _groups(placed: Placement | None) -> Sequence[DecisionGroup]:
    return [] if placed is None else placed.spec.groups.decision_groups


def _mandatory(
    plan: plans.Plan, rollout: RolloutPerGroup, placed: Placement | None, at: yaml.Path
) -> list[str]:
    """Add the groups that come first, in the order in which they are listed; return their names."""
    groups = _groups(placed)
    taken = []
    for i, listed_group in enumerate(rollout.mandatory_decision_groups):
        group = next((one for one in groups if one.group_name == listed_group.group_name), None)
        if not listed_group.group_name and listed_group.group_index is not None:
            group = (
                groups[listed_group.group_index]
                if 0 <= listed_group.group_index < len(groups)
                else None
            )
        if group is None:
            name = listed_group.group_name or listed_group.group_index
            message = f"the file has no Placement with the decision group {name}"
            hint = "put the Placement into the same file"
            plan.reading.error((*at, "mandatoryDecisionGroups", i), message, hint)
            continue
        _add(plan, group.group_name, rollout, failures=0, targets=_selector(group))
        taken.append(group.group_name)
    return taken


def _per_group(
    plan: plans.Plan, rollout: RolloutPerGroup, placed: Placement | None, at: yaml.Path
) -> None:
    if placed is None:
        message = "groups are unknown without the Placement"
        plan.reading.error(at, message, "put the Placement into the same file")
        return
    taken = _mandatory(plan, rollout, placed, at)
    for group in _groups(placed):
        if group.group_name not in taken:
            _add(plan, group.group_name, rollout, targets=_selector(group))
    size = str(placed.spec.groups.clusters_per_decision_group)
    if not size.endswith("%"):
        message = f"groups of {size}: how many there are is not known, so they are one wave"
        hint = f"write waves with size: {size} before it"
        plan.reading.warn(at, message, hint)
        _add(
            plan,
            "rest",
            rollout,
            maxConcurrency=int(size) if size.isdigit() and int(size) else None,
        )
        return
    percent = int(size.removesuffix("%"))
    count = math.ceil(100 / min(max(percent, 1), 100))
    if count > 1:
        message = (
            f"groups of {size} are rounded down here, and up there; a named group stays one wave"
            " here, however many clusters it has"
        )
        plan.reading.warn(at, message)
    for i in range(count - 1):
        _add(plan, f"group-{i + 1}", rollout, size=size)
    _add(plan, "rest", rollout)


def _selector(read: DecisionGroup) -> dict[str, Any]:
    chosen = read.group_cluster_selector or ClusterSelector()
    return plans.labels(chosen.label_selector or selectors.LabelSelector())
