"""The fields of ``placement``: what an application has different on its clusters."""

from pydantic import Field

from volary.config.decoding import base_sections
from volary.model import options
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
    value: object = options.option("What is added or set.", None)


class FieldOverride(base_sections.Section):
    """A change of a document that is the text of a field."""

    field_path: base_sections.Text = Field(
        description="JSON pointer to the text, such as `/data/app.yaml`."
    )
    json_: list[FieldPatch] = options.option("Changes of a text that is JSON.", [], key="json")
    yaml: list[FieldPatch] = options.option(
        "Changes of a text that is YAML; its comments are lost.", []
    )


class Overriders(base_sections.Section):
    """What is changed, in the order of these fields (Karmada: overriders)."""

    images: list[overrides.ImageOverride] = options.option("Images.", [])
    commands: list[overrides.ArgumentsOverride] = options.option("Commands.", [])
    args: list[overrides.ArgumentsOverride] = options.option("Arguments.", [])
    env: list[overrides.EnvOverride] = options.option("Environment variables.", [])
    labels: list[overrides.MetadataOverride] = options.option("Labels.", [])
    annotations: list[overrides.MetadataOverride] = options.option("Annotations.", [])
    fields: list[FieldOverride] = options.option("Documents inside of texts.", [])
    patches: list[overrides.PatchOverride] = options.option("Anything else, last.", [])


class Override(Overriders):
    """What some clusters have different."""

    targets: rollouts.ClusterSelector = options.option(
        "Which clusters; nothing given: every one.", rollouts.ClusterSelector()
    )
    resources: list[overrides.ObjectSelector] = options.option(
        "Which manifests, any of these; none given: all.", []
    )


class Placement(base_sections.Section):
    """What an application has different on its clusters."""

    overrides: list[Override] = options.option(
        "Changes of manifests for some clusters, one after another. Texts may hold "
        "`${cluster.name}`, `${cluster.region}`, `${cluster.provider}`, `${cluster.zone}` and "
        "`${cluster.labels.KEY}`.",
        [],
    )
    replicas: ReplicaDivision = options.option(
        "How replicas are spread over the clusters.", ReplicaDivision()
    )
    tolerations: list[taints.Toleration] = options.option(
        "Taints of clusters that the application tolerates.", []
    )
    spread: list[spread_constraints.Constraint] = options.option(
        "Over how many clusters, regions or the like; none: every target. At most one by "
        "`cluster`, and one by something else.",
        [],
    )
    failover: failover_rules.Failover | None = options.option(
        "When it is moved away from a cluster; not given: never by itself.", None
    )
