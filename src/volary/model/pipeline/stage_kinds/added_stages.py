"""Stages that Volary adds to a run where they are needed; users do not list them."""

from dataclasses import dataclass
from datetime import timedelta

from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import stage_kind


@dataclass(frozen=True, slots=True)
class WaveGateOptions(stage_kind.StageOptions):
    """What a wave proves before the next one begins."""

    #: How long all its clusters have to be healthy on this release without a break.
    soak: timedelta = timedelta()


ROLLBACK = stage_kind.StageKind(
    name="K8S_ROLLBACK",
    runner="rollback",
    options=stage_kind.NoOptions,
    description="Rollback the deployment",
    is_listed=False,
    applies=variant.Variant.PRIMARY,
)
#: The end of a wave: its clusters run this release, healthy for some time.
WAVE_GATE = stage_kind.StageKind(
    name="WAVE_GATE",
    runner="wave_gate",
    options=WaveGateOptions,
    description="See the wave's clusters healthy on this release",
    is_listed=False,
    changes_cluster=False,
    proves_wave=True,
)
#: What a cluster runs already, with its part of a new placement.
PLACEMENT_SYNC = stage_kind.StageKind(
    name="PLACEMENT_SYNC",
    runner="placement",
    options=stage_kind.NoOptions,
    description="Bring clusters what moves there, at the release they run",
    is_listed=False,
    applies=variant.Variant.PRIMARY,
)
#: The application leaves a cluster.
PLACEMENT_REMOVE = stage_kind.StageKind(
    name="PLACEMENT_REMOVE",
    runner="placement",
    options=stage_kind.NoOptions,
    description="Remove the application from clusters that it leaves",
    is_listed=False,
    removes=variant.Variant.PRIMARY,
)
