"""The sequence of a run that moves in waves: which stage of which wave comes when.

Over the pipeline, a wave goes through all stages before the next one begins. Over a stage,
every wave does one stage before any does the next; then gates hold at the stages that change
what users get, because that is what a wave shall prove.

After its last such stage, a wave proves itself: first its clusters are seen to run this
release, healthy for the whole soak, then they are measured and judged, then its webhook is asked,
then people. An empty wave has its gates all the same: there is nothing in it to see or measure, its
people are asked, and its webhook is asked by the clusters of the wave before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.model import errors
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, external_stages, waiting_stages
from volary.model.placement import rollouts
from volary.placement.waves import planned_waves

#: What the check of a wave may take besides the soak, and its analysis besides measuring.
_MARGIN = timedelta(hours=1)
#: Stages at the end of a wave: its proof, analysis, webhook and approval.
_MOST_GATES = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of one wave."""

    stage: pipelines.Stage
    wave: planned_waves.PlannedWave
    #: It is part of the wave's end, where all its clusters stand together.
    is_gate: bool = False


def sequence(
    stages: Sequence[pipelines.Stage],
    division: planned_waves.Division,
    over: rollouts.WavesOver,
) -> tuple[Step, ...]:
    """Return the steps of a run in order; gates come after the pipeline's stages in number."""
    match over:
        case rollouts.WavesOver.PIPELINE:
            return tuple(_by_wave(stages, division.waves))
        case rollouts.WavesOver.STAGE:
            return tuple(_by_stage(stages, division.waves))


def _by_wave(
    stages: Sequence[pipelines.Stage], planned: Sequence[planned_waves.PlannedWave]
) -> Iterator[Step]:
    for place, wave in enumerate(planned):
        for stage in stages:
            yield Step(stage, wave)
        yield from _gates(planned, place, len(stages))


def _by_stage(
    stages: Sequence[pipelines.Stage], planned: Sequence[planned_waves.PlannedWave]
) -> Iterator[Step]:
    promoting = [stage.index for stage in stages if stage.kind.promotes]
    last = promoting[-1] if promoting else stages[-1].index
    for pipeline_stage in stages:
        for place, wave in enumerate(planned):
            yield Step(pipeline_stage, wave)
            if pipeline_stage.index == last:
                yield from _gates(planned, place, len(stages))


def _gates(planned: Sequence[planned_waves.PlannedWave], wave: int, first: int) -> Iterator[Step]:
    for place, stage in enumerate(_gate_stages(planned[wave].wave)):
        at = first + place
        by = (
            wave if stage.kind is not external_stages.WEBHOOK_GATE else _webhook_wave(planned, wave)
        )
        if by != wave:
            # Behind the gates that the wave which asks has of its own.
            at = first + _MOST_GATES + wave
        yield Step(replace(stage, index=at), planned[by], is_gate=True)


def _webhook_wave(planned: Sequence[planned_waves.PlannedWave], wave: int) -> int:
    """Return the wave whose clusters ask the webhook of a wave: the last that has some.

    Raises:
        UserError: There is none, and what nobody asks would be passed over in silence.
    """
    last_place = next((place for place in range(wave, -1, -1) if planned[place].targets), None)
    if last_place is None:
        raise errors.user_error(
            f"wave {planned[wave].wave.name} has no cluster, and no wave before it has one: nobody"
            " would ask its webhook",
            hint="give it a cluster, or take the webhook away",
        )
    return last_place


def _gate_stages(wave: rollouts.Wave) -> Iterator[pipelines.Stage]:
    seen = f"See wave {wave.name} healthy on this release"
    yield pipelines.Stage(
        added_stages.WAVE_GATE.name,
        added_stages.WaveGateOptions(wave.soak),
        description=f"{seen} for {wave.soak}" if wave.soak else seen,
        timeout=wave.soak + _MARGIN,
    )
    if wave.gate.analysis is not None:
        analysis = wave.gate.analysis
        yield pipelines.Stage(
            waiting_stages.ANALYSIS.name,
            analysis,
            description=f"Judge wave {wave.name} for {analysis.duration}",
            timeout=analysis.duration + analysis.hold_for + _MARGIN,
        )
    if wave.gate.webhook is not None:
        yield pipelines.Stage(
            external_stages.WEBHOOK_GATE.name,
            wave.gate.webhook,
            description=f"Wait until a webhook agrees with wave {wave.name}",
        )
    if wave.gate.approval is not None:
        yield pipelines.Stage(
            waiting_stages.WAIT_APPROVAL.name,
            wave.gate.approval,
            description=f"Wait until people agree with wave {wave.name}",
            timeout=wave.gate.approval_timeout,
        )
