"""Open Cluster Management's Placement: which clusters, and in which groups."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.config.dialects.karmada import policies
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


class Placement(base_sections.Section):
    """A Placement."""

    api_version: base_sections.Text = Field(description="Version.")
    kind: str = Field(description="Kind.")
    metadata: dict[str, Any] = options.option("Metadata.", {})
    spec: Spec = Field(default_factory=Spec, description="What it says.")
    status: Any = options.option("What is noted.", None)


def find(plan: plans.Plan, documents: Sequence[yaml.Document], name: str) -> Placement | None:
    """Return the Placement of that name; None when it is not in the file. Problems are noted."""
    for document in documents:
        value = document.value
        if not isinstance(value, dict) or value.get("kind") != "Placement":
            continue
        if policies.text(value.get("metadata"), "name") == name:
            reading = readings.Reading(document, applications.Dialect.VOLARY)
            placement = reading.read(Placement, value, ())
            if placement is not None:
                _refuse(reading, placement.spec)
            plan.reading.problems += reading.problems
            return placement
    message = f"the Placement {name} is not in the file, so which clusters it takes is not known"
    plan.reading.warn(("spec", "placementRefs", 0, "name"), message, "write spec.targets")
    return None


def targets(plan: plans.Plan, read: Placement) -> dict[str, Any]:
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
    for key, given in (
        ("clusterSets", read.cluster_sets),
        ("prioritizerPolicy", read.prioritizer_policy),
        ("spreadPolicy", read.spread_policy),
        ("tolerations", read.tolerations),
    ):
        if given:
            reading.warn(("spec", key), "is not carried over", "limit spec.targets if it matters")
