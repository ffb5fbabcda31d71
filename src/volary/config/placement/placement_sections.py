"""The fields of ``placement``: what an application has different on its clusters."""

from typing import Annotated

from pydantic import Field

from volary.config.decoding import base_sections
from volary.config.fleet import cluster_taints
from volary.config.placement import spread_and_failover, wave_sections
from volary.model.placement import overrides

Operator = overrides.Operator
_OPERATOR = "`add`, `remove` or `replace`."


class ObjectSelector(base_sections.Section):
    """Which manifests; all that is given has to hold."""

    api_version: str = Field(default="", description="Such as `apps/v1`.")
    kind: str = Field(default="", description="Such as `Deployment`.")
    name: str = Field(default="", description="Name of the object.")
    namespace: str = Field(default="", description="Namespace of the object.")
    match_labels: dict[str, str] = Field(default_factory=dict, description="Labels it carries.")
    match_expressions: list[wave_sections.Requirement] = Field(
        default_factory=list, description="Conditions on its labels."
    )


class ImageOverride(base_sections.Section):
    """A change of images."""

    component: overrides.Component = Field(description="`Registry`, `Repository` or `Tag`.")
    operator: Operator = Field(description=_OPERATOR)
    value: str = Field(default="", description="What is added or set; a tag or a digest.")
    path: str = Field(
        default="",
        description="JSON pointer to the image; empty: of all containers of Pods, ReplicaSets, "
        "Deployments, DaemonSets, StatefulSets and Jobs (not of init containers).",
    )


class ArgumentsOverride(base_sections.Section):
    """A change of a container's command or arguments."""

    container_name: base_sections.Text = Field(description="The container.")
    operator: Operator = Field(description="`add` or `remove`.")
    value: list[str] = Field(min_length=1, description="What is added or removed.")


class EnvOverride(base_sections.Section):
    """A change of environment variables."""

    container_name: str = Field(default="", description="The container; empty: every one.")
    operator: Operator = Field(default=Operator.ADD, description=_OPERATOR)
    value: dict[str, str] = Field(description="Variables by name.")


class MapOverride(base_sections.Section):
    """A change of labels or annotations."""

    operator: Operator = Field(description=_OPERATOR)
    value: dict[str, str] = Field(description="Values by key.")


class ManifestPatch(base_sections.Section):
    """One operation on the manifest (RFC 6902)."""

    path: base_sections.Text = Field(description="JSON pointer, such as `/spec/replicas`.")
    operator: Operator = Field(description=_OPERATOR)
    value: object = Field(default=None, description="What is added or set.")


class FieldPatch(base_sections.Section):
    """One operation on the document inside a field."""

    sub_path: base_sections.Text = Field(description="JSON pointer inside the document.")
    operator: Operator = Field(description=_OPERATOR)
    value: object = Field(default=None, description="What is added or set.")


class FieldOverride(base_sections.Section):
    """A change of a document that is the text of a field."""

    field_path: base_sections.Text = Field(
        description="JSON pointer to the text, such as `/data/app.yaml`."
    )
    json_: list[FieldPatch] = Field(
        default_factory=list, alias="json", description="Changes of a text that is JSON."
    )
    yaml: list[FieldPatch] = Field(
        default_factory=list, description="Changes of a text that is YAML; its comments are lost."
    )


class Overriders(base_sections.Section):
    """What is changed, in the order of these fields (Karmada: overriders)."""

    images: list[ImageOverride] = Field(default_factory=list, description="Images.")
    commands: list[ArgumentsOverride] = Field(default_factory=list, description="Commands.")
    args: list[ArgumentsOverride] = Field(default_factory=list, description="Arguments.")
    env: list[EnvOverride] = Field(default_factory=list, description="Environment variables.")
    labels: list[MapOverride] = Field(default_factory=list, description="Labels.")
    annotations: list[MapOverride] = Field(default_factory=list, description="Annotations.")
    fields: list[FieldOverride] = Field(
        default_factory=list, description="Documents inside of texts."
    )
    patches: list[ManifestPatch] = Field(default_factory=list, description="Anything else, last.")


class Override(Overriders):
    """What some clusters have different."""

    targets: wave_sections.ClusterSelector = Field(
        default_factory=wave_sections.ClusterSelector,
        description="Which clusters; nothing given: every one.",
    )
    resources: list[ObjectSelector] = Field(
        default_factory=list, description="Which manifests, any of these; none given: all."
    )


class Weight(base_sections.Section):
    """The share of some clusters."""

    targets: wave_sections.ClusterSelector = Field(description="Which clusters.")
    weight: Annotated[int, Field(ge=1, strict=True)] = Field(
        description="Their share; of several that fit, the heaviest counts."
    )


class ReplicaDivision(base_sections.Section):
    """How replicas are spread over the clusters."""

    division: overrides.Division = Field(
        default=overrides.Division.DUPLICATED,
        description="`Duplicated`: every cluster runs all of them; `Divided`: they share them.",
    )
    preference: overrides.Preference = Field(
        default=overrides.Preference.WEIGHTED,
        description="By what they are divided. `Weighted`: `weights`; `AvailableReplicas`: so many "
        "as fit into what is free; `Aggregated`: on as few clusters as hold them. With the latter "
        "two, what runs stays where it is: only the difference is placed.",
    )
    weights: list[Weight] = Field(
        default_factory=list,
        description="Shares, with `preference: Weighted`; none given: all clusters weigh the same.",
    )
    autoscaled: overrides.Autoscaled = Field(
        default=overrides.Autoscaled.LEAVE,
        description="Workloads with a HorizontalPodAutoscaler or KEDA's ScaledObject. `leave`: "
        "both stay as they are, the same on every cluster; `divideBounds`: the autoscaler's least "
        "and most replicas are divided, at least one of each for every cluster.",
    )


class Placement(base_sections.Section):
    """What an application has different on its clusters."""

    overrides: list[Override] = Field(
        default_factory=list,
        description="Changes of manifests for some clusters, one after another. Texts may hold "
        "`${cluster.name}`, `${cluster.region}`, `${cluster.provider}`, `${cluster.zone}` and "
        "`${cluster.labels.KEY}`.",
    )
    replicas: ReplicaDivision = Field(
        default_factory=ReplicaDivision, description="How replicas are spread over the clusters."
    )
    tolerations: list[cluster_taints.Toleration] = Field(
        default_factory=list,
        description="Marks of clusters (taints) that do not keep the application away.",
    )
    spread: list[spread_and_failover.SpreadConstraint] = Field(
        default_factory=list,
        description="Over how many clusters, regions or the like; none: every target. At most one "
        "by `cluster`, and one by something else.",
    )
    failover: spread_and_failover.Failover | None = Field(
        default=None,
        description="When it is moved away from a cluster; not given: never by itself.",
    )
