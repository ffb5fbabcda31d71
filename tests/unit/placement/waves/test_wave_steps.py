"""The steps of a run in waves, where a wave has no cluster."""

from datetime import timedelta

import pytest

from volary.model import errors
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import (
    added_stages,
    external_stages,
    rollout_stages,
    waiting_stages,
)
from volary.model.placement import rollouts
from volary.placement.waves import planned_waves, wave_steps

SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
ASKED = external_stages.WebhookGateOptions(
    webhook.Webhook(url="https://gate.example.org", name="gate")
)
GATE = external_stages.WEBHOOK_GATE.name


def planned(name: str, *targets: str, asks: bool = False) -> planned_waves.PlannedWave:
    gate = rollouts.Gate(webhook=ASKED if asks else None)
    return planned_waves.PlannedWave(rollouts.Wave(name, gate=gate), targets)


def sequence(*found: planned_waves.PlannedWave, over: rollouts.WavesOver) -> list[wave_steps.Step]:
    return list(wave_steps.sequence((SYNC,), planned_waves.Division(found), over))


@pytest.mark.parametrize("over", list(rollouts.WavesOver))
def test_the_webhook_of_an_empty_wave_is_asked_by_the_wave_before_it(
    over: rollouts.WavesOver,
) -> None:
    found = sequence(
        planned("first", "us", asks=True),
        planned("moon", asks=True),
        planned("mars", asks=True),
        planned("last", "eu"),
        over=over,
    )

    asking = [(each.wave.wave.name, each.stage.description) for each in found if each.is_gate]
    assert [each for each in asking if "webhook" in each[1]] == [
        ("first", "Wait until a webhook agrees with wave first"),
        ("first", "Wait until a webhook agrees with wave moon"),
        ("first", "Wait until a webhook agrees with wave mars"),
    ]
    # Before the wave after it proves itself, and each of them a stage of its own.
    assert asking[-1] == ("last", "See wave last healthy on this release")
    keys = [(each.wave.wave.name, each.stage.index, each.stage.name) for each in found]
    assert len(set(keys)) == len(keys)


def test_a_webhook_that_nobody_would_ask_refuses_the_run() -> None:
    with pytest.raises(errors.UserError, match=r"wave moon has no cluster.* nobody would ask"):
        sequence(
            planned("moon", asks=True), planned("last", "eu"), over=rollouts.WavesOver.PIPELINE
        )


def test_stage_by_stage_the_gates_come_after_the_last_stage_that_promotes() -> None:
    stages = (
        SYNC,
        pipelines.Stage(
            waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(minutes=1)), index=1
        ),
    )
    waves = planned_waves.Division((planned("first", "us"), planned("last", "eu")))

    def steps(*stages: pipelines.Stage) -> list[tuple[str, str]]:
        found = wave_steps.sequence(stages, waves, rollouts.WavesOver.STAGE)
        return [(step.wave.wave.name, step.stage.name) for step in found]

    gate = added_stages.WAVE_GATE.name
    assert steps(*stages) == [
        ("first", SYNC.name),
        ("first", gate),
        ("last", SYNC.name),
        ("last", gate),
        ("first", "WAIT"),
        ("last", "WAIT"),
    ]
    # Where nothing is promoted, they come last.
    assert steps(*stages[1:]) == [
        ("first", "WAIT"),
        ("first", gate),
        ("last", "WAIT"),
        ("last", gate),
    ]
