"""The stages of a pipeline and their options."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum


class StageName(StrEnum):
    """Names as users write them; PipeCD's ``K8S_MULTI_*`` are read as the same."""

    SYNC = "K8S_SYNC"
    CANARY_ROLLOUT = "K8S_CANARY_ROLLOUT"
    CANARY_CLEAN = "K8S_CANARY_CLEAN"
    BASELINE_ROLLOUT = "K8S_BASELINE_ROLLOUT"
    BASELINE_CLEAN = "K8S_BASELINE_CLEAN"
    PRIMARY_ROLLOUT = "K8S_PRIMARY_ROLLOUT"
    TRAFFIC_ROUTING = "K8S_TRAFFIC_ROUTING"
    ROLLBACK = "K8S_ROLLBACK"
    WAIT = "WAIT"
    WAIT_APPROVAL = "WAIT_APPROVAL"


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
class SyncOptions:
    """Options of ``K8S_SYNC`` and of a quick sync."""

    add_variant_label_to_selector: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class PrimaryRolloutOptions:
    """Options of ``K8S_PRIMARY_ROLLOUT``."""

    #: Of the generated Service; empty: the primary variant's value.
    suffix: str = ""
    create_service: bool = False
    add_variant_label_to_selector: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class VariantRolloutOptions:
    """Options of ``K8S_CANARY_ROLLOUT`` and ``K8S_BASELINE_ROLLOUT``."""

    #: None: one pod.
    replicas: Replicas | None = None
    #: Empty: the variant's label value.
    suffix: str = ""
    create_service: bool = False
    #: Canary only.
    patches: tuple[Patch, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanOptions:
    """``K8S_CANARY_CLEAN`` and ``K8S_BASELINE_CLEAN`` have no options."""


@dataclass(frozen=True, slots=True)
class TrafficOptions:
    """Options of ``K8S_TRAFFIC_ROUTING``: percentages that add up to 100."""

    primary: int
    canary: int = 0
    baseline: int = 0


@dataclass(frozen=True, slots=True)
class RollbackOptions:
    """``K8S_ROLLBACK`` has no options; users do not list it."""


@dataclass(frozen=True, slots=True)
class WaitOptions:
    """Options of ``WAIT``."""

    duration: timedelta


@dataclass(frozen=True, slots=True)
class ApprovalOptions:
    """Options of ``WAIT_APPROVAL``."""

    #: Who may approve.
    approvers: tuple[str, ...]
    #: How many of them have to.
    count: int = 1


StageOptions = (
    SyncOptions
    | PrimaryRolloutOptions
    | VariantRolloutOptions
    | CleanOptions
    | TrafficOptions
    | RollbackOptions
    | WaitOptions
    | ApprovalOptions
)


@dataclass(frozen=True, slots=True)
class SkipOn:
    """When a stage is left out (PipeCD: ``skipOn``); any hit skips."""

    commit_message_prefixes: tuple[str, ...] = ()
    #: Globs relative to the root of the repository.
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the pipeline."""

    name: StageName
    options: StageOptions
    #: Position in the pipeline, counted from 0.
    index: int = 0
    description: str = ""
    timeout: timedelta = timedelta(hours=6)
    #: Clusters the stage is limited to; empty: all (PipeCD: ``multiTargets``).
    targets: tuple[str, ...] = ()
    skip_on: SkipOn = field(default_factory=SkipOn)
