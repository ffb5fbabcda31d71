"""Stages that apply and remove the objects of a variant."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, Self

from volary.model import options
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import stage_kind


@dataclass(frozen=True, slots=True)
class Replicas:
    """An absolute number of pods or a percentage of the primary's (PipeCD: Calculate)."""

    number: int
    is_percentage: bool = False

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_percentage else str(self.number)

    def of(self, total: int) -> int:
        """Return the number for a workload with `total` pods; a percentage is rounded up."""
        return -(-self.number * total // 100) if self.is_percentage else self.number


@dataclass(frozen=True, slots=True)
class PatchTarget:
    """The manifest to patch."""

    kind: Annotated[options.Text, options.Option("Kind of the manifest.")]
    name: Annotated[options.Text, options.Option("Name of the manifest.")]
    document_root: str = options.option(
        "Path of a string that holds a YAML document to patch; empty: the manifest.", ""
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchOperation:
    """Replace one node."""

    op: Literal["yaml-replace"] = options.option("What to do.", "yaml-replace")
    path: Annotated[options.Text, options.Option("Path of the node, such as `$.spec.replicas`.")]
    value: str = options.option("The new text of the node.", "")


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations on one manifest."""

    target: Annotated[PatchTarget, options.Option("The manifest to patch.")]
    ops: tuple[PatchOperation, ...] = options.option("Operations in order.", ())


LabelInSelector = Annotated[
    bool, options.Option("Put the primary variant's label into workload selectors.")
]
Prune = Annotated[
    bool, options.Option("Remove what Volary applied earlier and Git no longer contains.")
]


@dataclass(frozen=True, slots=True)
class SyncOptions(stage_kind.StageOptions):
    """Options of ``K8S_SYNC`` and of a quick sync."""

    add_variant_label_to_selector: LabelInSelector = False
    prune: Prune = False


@dataclass(frozen=True, slots=True)
class PrimaryRolloutOptions(stage_kind.StageOptions):
    """Options of ``K8S_PRIMARY_ROLLOUT``."""

    add_variant_label_to_selector: LabelInSelector = False
    prune: Prune = False
    suffix: options.DnsLabel = options.option(
        "Suffix of the generated Service; empty: the primary's label value.", ""
    )
    create_service: bool = options.option("Generate a Service that selects primary only.", False)


@dataclass(frozen=True, slots=True)
class VariantRolloutOptions(stage_kind.StageOptions):
    """Options of ``K8S_CANARY_ROLLOUT`` and ``K8S_BASELINE_ROLLOUT``."""

    replicas: Replicas | None = options.option(
        "Pods: `2`, or a percentage of the workload's replicas, rounded up: `10%`. Default: one "
        "pod. More than 100% is allowed (with a warning), up to 1000%.",
        None,
    )
    suffix: options.DnsLabel = options.option(
        "Suffix of generated names; empty: the variant's label value.", ""
    )
    create_service: bool = options.option(
        "Generate a Service that selects this variant only.", False
    )
    of: stage_kind.Scope = options.option(
        "What `replicas` is a share of. `cluster`: of the workload on each cluster; `fleet`: of "
        "all clusters that carry the stage out together, over which the pods are divided by what "
        "primary has there. A cluster may get none.",
        stage_kind.Scope.CLUSTER,
    )
    at_most: Replicas | None = options.option(
        "With `of: fleet`: at most so many on one cluster, `2` or a percentage of what primary "
        "has there, rounded up. What does not fit goes to the others.",
        None,
    )
    #: Canary only.
    patches: tuple[Patch, ...] = ()
    #: Fixed at the run's start: pods by cluster, then by workload as ``Deployment web``.
    batch: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: The same for one cluster; None: `replicas` counts.
    counts: Mapping[str, int] | None = None

    def on(self, target: str) -> Self:
        """Return the options for one cluster; of the fleet's share, with what it gets."""
        if self.of is stage_kind.Scope.CLUSTER:
            return self
        return replace(self, counts=self.batch.get(target), batch={})


SYNC = stage_kind.StageKind(
    name="K8S_SYNC",
    runner="primary_rollout",
    options=SyncOptions,
    description="Sync by applying all manifests",
    reference="Apply everything at once.",
    applies=variant.Variant.PRIMARY,
    promotes=True,
)
PRIMARY_ROLLOUT = stage_kind.StageKind(
    name="K8S_PRIMARY_ROLLOUT",
    runner="primary_rollout",
    options=PrimaryRolloutOptions,
    description="Rollout the new version as PRIMARY to all targets",
    reference="Bring the new version to primary; traffic returns when it is ready.",
    applies=variant.Variant.PRIMARY,
    promotes=True,
)
CANARY_ROLLOUT = stage_kind.StageKind(
    name="K8S_CANARY_ROLLOUT",
    runner="variant_rollout",
    options=VariantRolloutOptions,
    description="Rollout the new version as CANARY to all targets",
    reference="Run the new version beside primary.",
    applies=variant.Variant.CANARY,
)
CANARY_CLEAN = stage_kind.StageKind(
    name="K8S_CANARY_CLEAN",
    runner="clean",
    options=stage_kind.NoOptions,
    description="Remove all canary resources",
    reference="Remove the variant; traffic it still gets is given back to primary first.",
    removes=variant.Variant.CANARY,
)
BASELINE_ROLLOUT = stage_kind.StageKind(
    name="K8S_BASELINE_ROLLOUT",
    runner="variant_rollout",
    options=VariantRolloutOptions,
    description="Rollout the current version as BASELINE to all targets",
    reference="Run the current version beside primary, for a fair comparison.",
    applies=variant.Variant.BASELINE,
)
BASELINE_CLEAN = stage_kind.StageKind(
    name="K8S_BASELINE_CLEAN",
    runner="clean",
    options=stage_kind.NoOptions,
    description="Remove all baseline resources",
    reference="Remove the variant; traffic it still gets is given back to primary first.",
    removes=variant.Variant.BASELINE,
)
