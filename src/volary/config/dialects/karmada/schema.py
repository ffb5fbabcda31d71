"""The fields of Karmada's policies, as pydantic models; named as Karmada names them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.dialects import drafts
from volary.model import options
from volary.model.placement import overrides, rollouts


class FieldSelector(base_sections.Section):
    """Conditions on `provider`, `region` and `zone`."""

    match_expressions: list[rollouts.Requirement] = options.option("The conditions.", [])


class LabelSelector(base_sections.Section):
    """Kubernetes' label selector."""

    match_labels: dict[str, str] = options.option("Labels.", {})
    match_expressions: list[rollouts.Requirement] = options.option("Conditions.", [])


class ClusterAffinity(base_sections.Section):
    """Which clusters."""

    label_selector: LabelSelector | None = options.option("By labels.", None)
    field_selector: FieldSelector | None = options.option("By fields.", None)
    cluster_names: list[str] = options.option("By name.", [])
    exclude: list[str] = options.option("Never these.", [])


class NamedAffinity(ClusterAffinity):
    """One of several affinities, tried in order."""

    affinity_name: str = options.option("Its name.", "")
    overflow_affinities: list[Any] = options.option("Tiers.", [])


class ResourceSelector(base_sections.Section):
    """Which objects."""

    api_version: base_sections.Text = Field(description="Group and version.")
    kind: base_sections.Text = Field(description="Kind.")
    namespace: str = options.option("Namespace.", "")
    name: str = options.option("Name; the labels do not count with it.", "")
    label_selector: LabelSelector | None = options.option("By labels.", None)


class StaticWeight(base_sections.Section):
    """The share of some clusters."""

    target_cluster: ClusterAffinity = Field(
        default_factory=ClusterAffinity, description="Which clusters."
    )
    weight: Annotated[int, Field(ge=1)] = Field(description="Their share.")


class WeightPreference(base_sections.Section):
    """How replicas are weighted."""

    static_weight_list: list[StaticWeight] = options.option("Weights.", [])
    dynamic_weight: str = options.option("By free capacity.", "")


class ReplicaScheduling(base_sections.Section):
    """How replicas are spread (defaults: those of Karmada's CRD)."""

    replica_scheduling_type: Literal["Duplicated", "Divided"] = options.option(
        "Duplicated or Divided.", "Divided"
    )
    replica_division_preference: Literal["", "Weighted", "Aggregated"] = options.option(
        "How they are divided.", ""
    )
    weight_preference: WeightPreference | None = options.option("Weights.", None)


class SpreadConstraint(base_sections.Section):
    """How many groups of clusters are chosen."""

    spread_by_field: str = options.option("Field.", "")
    spread_by_label: str = options.option("Label.", "")
    min_groups: int = options.option("Least.", 0)
    max_groups: int = options.option("Most; 0: any number.", 0)


class Toleration(base_sections.Section):
    """Marks of clusters that do not keep the objects away; Kubernetes' own."""

    key: str = options.option("Key.", "")
    operator: str = options.option("`Equal`, `Exists`; others are refused.", "")
    value: str = options.option("Value.", "")
    effect: str = options.option("Effect; empty: all.", "")
    toleration_seconds: int | None = options.option("How long.", None)


class Placement(base_sections.Section):
    """Where the objects go."""

    cluster_affinity: ClusterAffinity | None = options.option("Clusters.", None)
    cluster_affinities: list[NamedAffinity] = options.option("Alternatives in order.", [])
    cluster_tolerations: list[Toleration] = options.option("Tolerations.", [])
    spread_constraints: list[SpreadConstraint] = options.option("Groups of clusters.", [])
    replica_scheduling: ReplicaScheduling | None = options.option("Replicas.", None)
    workload_affinity: dict[str, Any] | None = options.option("Near others.", None)


class ClusterNames(base_sections.Section):
    """Clusters by name."""

    cluster_names: list[str] = options.option("Names.", [])


class Suspension(base_sections.Section):
    """What is held back."""

    dispatching: bool = options.option("Everything.", False)
    dispatching_on_clusters: ClusterNames | None = options.option(
        "What goes to these clusters.", None
    )


class DecisionConditions(base_sections.Section):
    """When an application counts as unhealthy."""

    toleration_seconds: int | None = options.option("Without a break.", None, least=0)


class FailoverBehaviour(base_sections.Section):
    """What is done for one reason to move."""

    decision_conditions: DecisionConditions | None = options.option("When.", None)
    purge_mode: str = options.option("What becomes of the old copy.", "")
    grace_period_seconds: int | None = options.option("For Gracefully.", None, least=0)
    state_preservation: dict[str, Any] | None = options.option("Status kept.", None)


class Failover(base_sections.Section):
    """When it moves."""

    application: FailoverBehaviour | None = options.option("When it is unhealthy.", None)
    cluster: FailoverBehaviour | None = options.option("By taints.", None)


class PropagationSpec(base_sections.Section):
    """What a PropagationPolicy says."""

    resource_selectors: list[ResourceSelector] = Field(min_length=1, description="Objects.")
    association: bool = options.option("Old name of propagateDeps.", False)
    propagate_deps: bool = options.option("What they refer to, too.", False)
    placement: Placement = Field(default_factory=Placement, description="Where they go.")
    priority: int = options.option("Between policies.", 0)
    preemption: Literal["Never", "Always"] = options.option(
        "Take over what other policies have.", "Never"
    )
    dependent_overrides: list[str] = options.option("Waits for these.", [])
    scheduler_name: str = options.option("Who places.", "")
    failover: Failover | None = options.option("When it moves.", None)
    conflict_resolution: Literal["Abort", "Overwrite"] = options.option(
        "What is there already.", "Abort"
    )
    activation_preference: Literal["", "Lazy"] = options.option("When an edit takes effect.", "")
    suspension: Suspension | None = options.option("Held back.", None)
    preserve_resources_on_deletion: bool = options.option("Keep objects.", False)
    schedule_priority: dict[str, Any] | None = options.option("Queue.", None)


class PropagationPolicy(drafts.CustomResource):
    """A PropagationPolicy or ClusterPropagationPolicy."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = Field(description="Version.")
    spec: PropagationSpec = Field(description="What it says.")


class Predicate(base_sections.Section):
    """Which image."""

    path: base_sections.Text = Field(description="JSON pointer.")


class ImageOverrider(base_sections.Section):
    """A change of images."""

    predicate: Predicate | None = options.option("Which one.", None)
    component: overrides.Component = Field(description="Registry, Repository or Tag.")
    operator: overrides.Operator = Field(description="add, remove or replace.")
    value: str = options.option("Value.", "")


class ArgumentsOverrider(base_sections.Section):
    """A change of a command or of arguments."""

    container_name: str = Field(description="Container.")
    operator: overrides.Operator = Field(description="add or remove.")
    value: list[str] = options.option("Values.", [])


class MapOverrider(base_sections.Section):
    """A change of labels or annotations."""

    operator: overrides.Operator = Field(description="add, remove or replace.")
    value: dict[str, str] = options.option("Values.", {})


class Overriders(base_sections.Section):
    """What is changed."""

    image_overrider: list[ImageOverrider] = options.option("Images.", [])
    command_overrider: list[ArgumentsOverrider] = options.option("Commands.", [])
    args_overrider: list[ArgumentsOverrider] = options.option("Arguments.", [])
    labels_overrider: list[MapOverrider] = options.option("Labels.", [])
    annotations_overrider: list[MapOverrider] = options.option("Annotations.", [])
    field_overrider: list[overrides.FieldOverride] = options.option("Documents.", [])
    plaintext: list[overrides.PatchOverride] = options.option("Anything else.", [])


class OverrideRule(base_sections.Section):
    """What some clusters have different."""

    target_cluster: ClusterAffinity | None = options.option("Clusters.", None)
    overriders: Overriders = Field(default_factory=Overriders, description="Changes.")


class OverrideSpec(base_sections.Section):
    """What an OverridePolicy says."""

    resource_selectors: list[ResourceSelector] = options.option("Objects; none: all.", [])
    override_rules: list[OverrideRule] = options.option("Rules.", [])
    target_cluster: ClusterAffinity | None = options.option("Before rules.", None)
    overriders: Overriders | None = options.option("Before rules.", None)


class OverridePolicy(drafts.CustomResource):
    """An OverridePolicy or ClusterOverridePolicy."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = Field(description="Version.")
    spec: OverrideSpec = Field(description="What it says.")
