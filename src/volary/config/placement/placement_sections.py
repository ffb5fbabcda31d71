"""The fields of ``placement``: what an application has different on its clusters."""

from pydantic import Field

from volary.config.decoding import base_sections
from volary.model.fleet import taints
from volary.model.placement import failover_rules, overrides, rollouts, spread_constraints

Operator = overrides.Operator
#: The field of `Placement` is called like the module.
ReplicaDivision = overrides.ReplicaDivision
_OPERATOR = "`add`, `remove` or `replace`."


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

    images: list[overrides.ImageOverride] = Field(default_factory=list, description="Images.")
    commands: list[overrides.ArgumentsOverride] = Field(
        default_factory=list, description="Commands."
    )
    args: list[overrides.ArgumentsOverride] = Field(default_factory=list, description="Arguments.")
    env: list[overrides.EnvOverride] = Field(
        default_factory=list, description="Environment variables."
    )
    labels: list[overrides.MetadataOverride] = Field(default_factory=list, description="Labels.")
    annotations: list[overrides.MetadataOverride] = Field(
        default_factory=list, description="Annotations."
    )
    fields: list[FieldOverride] = Field(
        default_factory=list, description="Documents inside of texts."
    )
    patches: list[overrides.PatchOverride] = Field(
        default_factory=list, description="Anything else, last."
    )


class Override(Overriders):
    """What some clusters have different."""

    targets: rollouts.ClusterSelector = Field(
        default_factory=rollouts.ClusterSelector,
        description="Which clusters; nothing given: every one.",
    )
    resources: list[overrides.ObjectSelector] = Field(
        default_factory=list, description="Which manifests, any of these; none given: all."
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
        default_factory=ReplicaDivision,
        description="How replicas are spread over the clusters.",
    )
    tolerations: list[taints.Toleration] = Field(
        default_factory=list,
        description="Taints of clusters that the application tolerates.",
    )
    spread: list[spread_constraints.Constraint] = Field(
        default_factory=list,
        description="Over how many clusters, regions or the like; none: every target. At most one "
        "by `cluster`, and one by something else.",
    )
    failover: failover_rules.Failover | None = Field(
        default=None,
        description="When it is moved away from a cluster; not given: never by itself.",
    )
