"""The steps of a run in waves, where a wave has no cluster."""

import pytest

from volary.model import errors
from volary.model.pipeline import pipelines, webhook
from volary.model.pipeline.stage_kinds import external_stages, rollout_stages
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
