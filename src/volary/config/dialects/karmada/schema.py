"""The fields of Karmada's policies, as pydantic models; named as Karmada names them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from volary.config.decoding import base_sections
from volary.model.placement import rollouts

API_VERSION = "policy.karmada.io/v1alpha1"


class FieldSelector(base_sections.Section):
    """Conditions on `provider`, `region` and `zone`."""

    match_expressions: list[rollouts.Requirement] = Field(
        default_factory=list, description="The conditions."
    )


class LabelSelector(base_sections.Section):
    """Kubernetes' label selector."""

    match_labels: dict[str, str] = Field(default_factory=dict, description="Labels.")
    match_expressions: list[rollouts.Requirement] = Field(
        default_factory=list, description="Conditions."
    )


class ClusterAffinity(base_sections.Section):
    """Which clusters."""

    label_selector: LabelSelector | None = Field(default=None, description="By labels.")
    field_selector: FieldSelector | None = Field(default=None, description="By fields.")
    cluster_names: list[str] = Field(default_factory=list, description="By name.")
    exclude: list[str] = Field(default_factory=list, description="Never these.")


class NamedAffinity(ClusterAffinity):
    """One of several affinities, tried in order."""

    affinity_name: str = Field(default="", description="Its name.")
    overflow_affinities: list[Any] = Field(default_factory=list, description="Tiers.")


class ResourceSelector(base_sections.Section):
    """Which objects."""

    api_version: base_sections.Text = Field(description="Group and version.")
    kind: base_sections.Text = Field(description="Kind.")
    namespace: str = Field(default="", description="Namespace.")
    name: str = Field(default="", description="Name; the labels do not count with it.")
    label_selector: LabelSelector | None = Field(default=None, description="By labels.")


class StaticWeight(base_sections.Section):
    """The share of some clusters."""

    target_cluster: ClusterAffinity = Field(
        default_factory=ClusterAffinity, description="Which clusters."
    )
    weight: Annotated[int, Field(ge=1, strict=True)] = Field(description="Their share.")


class WeightPreference(base_sections.Section):
    """How replicas are weighted."""

    static_weight_list: list[StaticWeight] = Field(default_factory=list, description="Weights.")
    dynamic_weight: str = Field(default="", description="By free capacity.")


class ReplicaScheduling(base_sections.Section):
    """How replicas are spread (defaults: those of Karmada's CRD)."""

    replica_scheduling_type: Literal["Duplicated", "Divided"] = Field(
        default="Divided", description="Duplicated or Divided."
    )
    replica_division_preference: Literal["", "Weighted", "Aggregated"] = Field(
        default="", description="How they are divided."
    )
    weight_preference: WeightPreference | None = Field(default=None, description="Weights.")


class SpreadConstraint(base_sections.Section):
    """How many groups of clusters are chosen."""

    spread_by_field: str = Field(default="", description="Field.")
    spread_by_label: str = Field(default="", description="Label.")
    min_groups: int = Field(default=0, description="Least.")
    max_groups: int = Field(default=0, description="Most; 0: any number.")


class Toleration(base_sections.Section):
    """Marks of clusters that do not keep the objects away; Kubernetes' own."""

    key: str = Field(default="", description="Key.")
    operator: str = Field(default="", description="`Equal`, `Exists`; others are refused.")
    value: str = Field(default="", description="Value.")
    effect: str = Field(default="", description="Effect; empty: all.")
    toleration_seconds: int | None = Field(default=None, description="How long.")


class Placement(base_sections.Section):
    """Where the objects go."""

    cluster_affinity: ClusterAffinity | None = Field(default=None, description="Clusters.")
    cluster_affinities: list[NamedAffinity] = Field(
        default_factory=list, description="Alternatives in order."
    )
    cluster_tolerations: list[Toleration] = Field(default_factory=list, description="Tolerations.")
    spread_constraints: list[SpreadConstraint] = Field(
        default_factory=list, description="Groups of clusters."
    )
    replica_scheduling: ReplicaScheduling | None = Field(default=None, description="Replicas.")
    workload_affinity: dict[str, Any] | None = Field(default=None, description="Near others.")


class ClusterNames(base_sections.Section):
    """Clusters by name."""

    cluster_names: list[str] = Field(default_factory=list, description="Names.")


class Suspension(base_sections.Section):
    """What is held back."""

    dispatching: bool = Field(default=False, description="Everything.")
    dispatching_on_clusters: ClusterNames | None = Field(
        default=None, description="What goes to these clusters."
    )


class DecisionConditions(base_sections.Section):
    """When an application counts as unhealthy."""

    toleration_seconds: int | None = Field(default=None, ge=0, description="Without a break.")


class FailoverBehaviour(base_sections.Section):
    """What is done for one reason to move."""

    decision_conditions: DecisionConditions | None = Field(default=None, description="When.")
    purge_mode: str = Field(default="", description="What becomes of the old copy.")
    grace_period_seconds: int | None = Field(default=None, ge=0, description="For Gracefully.")
    state_preservation: dict[str, Any] | None = Field(default=None, description="Status kept.")


class Failover(base_sections.Section):
    """When it moves."""

    application: FailoverBehaviour | None = Field(default=None, description="When it is unhealthy.")
    cluster: FailoverBehaviour | None = Field(default=None, description="By taints.")


class PropagationSpec(base_sections.Section):
    """What a PropagationPolicy says."""

    resource_selectors: list[ResourceSelector] = Field(min_length=1, description="Objects.")
    association: bool = Field(default=False, description="Old name of propagateDeps.")
    propagate_deps: bool = Field(default=False, description="What they refer to, too.")
    placement: Placement = Field(default_factory=Placement, description="Where they go.")
    priority: int = Field(default=0, description="Between policies.")
    preemption: Literal["Never", "Always"] = Field(
        default="Never", description="Take over what other policies have."
    )
    dependent_overrides: list[str] = Field(default_factory=list, description="Waits for these.")
    scheduler_name: str = Field(default="", description="Who places.")
    failover: Failover | None = Field(default=None, description="When it moves.")
    conflict_resolution: Literal["Abort", "Overwrite"] = Field(
        default="Abort", description="What is there already."
    )
    activation_preference: str = Field(default="", description="When an edit takes effect.")
    suspension: Suspension | None = Field(default=None, description="Held back.")
    preserve_resources_on_deletion: bool = Field(default=False, description="Keep objects.")
    schedule_priority: dict[str, Any] | None = Field(default=None, description="Queue.")


class PropagationPolicy(base_sections.Section):
    """A PropagationPolicy or ClusterPropagationPolicy."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = Field(description="Version.")
    kind: str = Field(description="Kind.")
    metadata: dict[str, Any] = Field(description="Metadata.")
    spec: PropagationSpec = Field(description="What it says.")
    status: Any = Field(default=None, description="What Karmada noted.")


class Predicate(base_sections.Section):
    """Which image."""

    path: base_sections.Text = Field(description="JSON pointer.")


class ImageOverrider(base_sections.Section):
    """A change of images."""

    predicate: Predicate | None = Field(default=None, description="Which one.")
    component: str = Field(description="Registry, Repository or Tag.")
    operator: str = Field(description="add, remove or replace.")
    value: str = Field(default="", description="Value.")


class ArgumentsOverrider(base_sections.Section):
    """A change of a command or of arguments."""

    container_name: str = Field(description="Container.")
    operator: str = Field(description="add or remove.")
    value: list[str] = Field(default_factory=list, description="Values.")


class MapOverrider(base_sections.Section):
    """A change of labels or annotations."""

    operator: str = Field(description="add, remove or replace.")
    value: dict[str, str] = Field(default_factory=dict, description="Values.")


class FieldPatch(base_sections.Section):
    """One operation inside a text."""

    sub_path: str = Field(description="JSON pointer.")
    operator: str = Field(description="add, remove or replace.")
    value: Any = Field(default=None, description="Value.")


class FieldOverrider(base_sections.Section):
    """A change of a document inside a text."""

    field_path: str = Field(description="JSON pointer.")
    json_: list[FieldPatch] = Field(default_factory=list, alias="json", description="As JSON.")
    yaml: list[FieldPatch] = Field(default_factory=list, description="As YAML.")


class Plaintext(base_sections.Section):
    """One operation on the object."""

    path: str = Field(description="JSON pointer.")
    operator: str = Field(description="add, remove or replace.")
    value: Any = Field(default=None, description="Value.")


class Overriders(base_sections.Section):
    """What is changed."""

    image_overrider: list[ImageOverrider] = Field(default_factory=list, description="Images.")
    command_overrider: list[ArgumentsOverrider] = Field(
        default_factory=list, description="Commands."
    )
    args_overrider: list[ArgumentsOverrider] = Field(default_factory=list, description="Arguments.")
    labels_overrider: list[MapOverrider] = Field(default_factory=list, description="Labels.")
    annotations_overrider: list[MapOverrider] = Field(
        default_factory=list, description="Annotations."
    )
    field_overrider: list[FieldOverrider] = Field(default_factory=list, description="Documents.")
    plaintext: list[Plaintext] = Field(default_factory=list, description="Anything else.")


class OverrideRule(base_sections.Section):
    """What some clusters have different."""

    target_cluster: ClusterAffinity | None = Field(default=None, description="Clusters.")
    overriders: Overriders = Field(default_factory=Overriders, description="Changes.")


class OverrideSpec(base_sections.Section):
    """What an OverridePolicy says."""

    resource_selectors: list[ResourceSelector] = Field(
        default_factory=list, description="Objects; none: all."
    )
    override_rules: list[OverrideRule] = Field(default_factory=list, description="Rules.")
    target_cluster: ClusterAffinity | None = Field(default=None, description="Before rules.")
    overriders: Overriders | None = Field(default=None, description="Before rules.")


class OverridePolicy(base_sections.Section):
    """An OverridePolicy or ClusterOverridePolicy."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = Field(description="Version.")
    kind: str = Field(description="Kind.")
    metadata: dict[str, Any] = Field(description="Metadata.")
    spec: OverrideSpec = Field(description="What it says.")
    status: Any = Field(default=None, description="What Karmada noted.")
