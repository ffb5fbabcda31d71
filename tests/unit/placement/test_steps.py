"""The steps of a run in waves, where a wave has no cluster."""

import pytest

from volary.model import errors, placement, stage, webhook
from volary.placement import steps, waves

SYNC = stage.Stage(stage.StageName.SYNC, stage.SyncOptions())
ASKED = stage.WebhookGateOptions(webhook.Webhook("https://gate.example.org", "gate"))
GATE = stage.StageName.WEBHOOK_GATE


def planned(name: str, *targets: str, asks: bool = False) -> waves.PlannedWave:
    gate = placement.Gate(webhook=ASKED if asks else None)
    return waves.PlannedWave(placement.Wave(name, gate=gate), targets)


def sequence(*found: waves.PlannedWave, over: placement.WavesOver) -> list[steps.Step]:
    return list(steps.sequence((SYNC,), waves.Division(found), over))


@pytest.mark.parametrize("over", list(placement.WavesOver))
def test_the_webhook_of_an_empty_wave_is_asked_by_the_wave_before_it(
    over: placement.WavesOver,
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
            planned("moon", asks=True), planned("last", "eu"), over=placement.WavesOver.PIPELINE
        )
