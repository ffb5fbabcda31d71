"""Stages that apply and remove the objects of a variant."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import stage_kind


@dataclass(frozen=True, slots=True)
class Replicas:
    """An absolute number of pods or a percentage of the primary's (PipeCD: Calculate)."""

    number: int
    is_percentage: bool = False

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_percentage else str(self.number)


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """Replace the node at `path` by `value` (PipeCD: ``yaml-replace``)."""

    path: str
    value: str


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations on one manifest, or on a YAML document in one of its strings."""

    kind: str
    name: str
    operations: tuple[PatchOperation, ...] = ()
    #: Path of the string that holds the document to patch; empty: the manifest itself.
    document_root: str = ""


@dataclass(frozen=True, slots=True)
class SyncOptions(stage_kind.StageOptions):
    """Options of ``K8S_SYNC`` and of a quick sync."""

    add_variant_label_to_selector: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class PrimaryRolloutOptions(stage_kind.StageOptions):
    """Options of ``K8S_PRIMARY_ROLLOUT``."""

    #: Of the generated Service; empty: the primary variant's value.
    suffix: str = ""
    create_service: bool = False
    add_variant_label_to_selector: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class VariantRolloutOptions(stage_kind.StageOptions):
    """Options of ``K8S_CANARY_ROLLOUT`` and ``K8S_BASELINE_ROLLOUT``."""

    #: None: one pod.
    replicas: Replicas | None = None
    #: Empty: the variant's label value.
    suffix: str = ""
    create_service: bool = False
    #: Canary only.
    patches: tuple[Patch, ...] = ()
    #: `FLEET`: `replicas` are of all clusters together, and `batch` says who gets how many.
    of: stage_kind.Scope = stage_kind.Scope.CLUSTER
    #: Of the fleet's share, at most so many on one cluster; None: as many as it comes to.
    at_most: Replicas | None = None
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
    options=SyncOptions,
    description="Sync by applying all manifests",
    applies=variant.Variant.PRIMARY,
    promotes=True,
)
PRIMARY_ROLLOUT = stage_kind.StageKind(
    name="K8S_PRIMARY_ROLLOUT",
    options=PrimaryRolloutOptions,
    description="Rollout the new version as PRIMARY to all targets",
    applies=variant.Variant.PRIMARY,
    promotes=True,
)
CANARY_ROLLOUT = stage_kind.StageKind(
    name="K8S_CANARY_ROLLOUT",
    options=VariantRolloutOptions,
    description="Rollout the new version as CANARY to all targets",
    applies=variant.Variant.CANARY,
)
CANARY_CLEAN = stage_kind.StageKind(
    name="K8S_CANARY_CLEAN",
    options=stage_kind.NoOptions,
    description="Remove all canary resources",
    removes=variant.Variant.CANARY,
)
BASELINE_ROLLOUT = stage_kind.StageKind(
    name="K8S_BASELINE_ROLLOUT",
    options=VariantRolloutOptions,
    description="Rollout the current version as BASELINE to all targets",
    applies=variant.Variant.BASELINE,
)
BASELINE_CLEAN = stage_kind.StageKind(
    name="K8S_BASELINE_CLEAN",
    options=stage_kind.NoOptions,
    description="Remove all baseline resources",
    removes=variant.Variant.BASELINE,
)
