"""What a run is going to do: strategy, the sentence that says why, stages, targets, versions."""

from dataclasses import dataclass
from enum import StrEnum

from volary.model.pipeline import pipelines


class Strategy(StrEnum):
    """Apply everything at once, or take the pipeline's steps."""

    QUICK_SYNC = "quick_sync"
    PIPELINE = "pipeline"


@dataclass(frozen=True, slots=True)
class Version:
    """An image that the new manifests use."""

    #: Last part of the image's path, ``shop``.
    name: str
    #: Tag or shortened digest; empty when the image names none.
    version: str
    #: The reference as written.
    image: str
    #: Targets that use it, in the plan's order.
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedStage:
    """A stage that is left out for this commit."""

    name: str
    #: Position in the pipeline, counted from 0.
    index: int
    #: Why, one sentence.
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A decided plan. Rollback is not among the stages; the engine adds it when needed."""

    strategy: Strategy
    #: Why this strategy, one sentence (PipeCD: summary).
    summary: str
    stages: tuple[pipelines.Stage, ...]
    #: Names of clusters in the order of the fleet.
    targets: tuple[str, ...]
    versions: tuple[Version, ...] = ()
    #: Stages of the pipeline that are left out for this commit (PipeCD: ``skipOn``).
    skipped: tuple[SkippedStage, ...] = ()
