"""What comes of asking an external probe, and what of that is logged."""

import pytest

from volary.controller.placement import external_probe
from volary.model.fleet import fleets
from volary.model.placement import failover_rules
from volary.stages import webhooks

US = fleets.Cluster("us")
SERVER = webhooks.Reach(loopback=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_witness_on_the_servers_machine_is_not_asked_and_the_setting_is_named(
    host: str,
) -> None:
    answer = await external_probe.ask(
        failover_rules.ExternalProbe(f"http://{host}:9/health"), US, SERVER
    )

    assert answer.served is None
    assert answer.refusal == (
        "it leads to this machine itself, which needs the setting `localWebhooks: allow`"
    )


async def test_a_witness_that_cannot_be_reached_was_asked() -> None:
    answer = await external_probe.ask(
        failover_rules.ExternalProbe("http://127.0.0.1:9/health"), US, webhooks.Reach()
    )

    assert answer == external_probe.ProbeAnswer(served=None)


def test_a_refusal_is_logged_when_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    refusals = external_probe.RefusalLog()

    for why in ("one", "one", "another"):
        refusals.tell("shop", {"us": why})
    refusals.tell("shop", {})
    refusals.tell("shop", {"us": "another"})

    assert [each.getMessage().rpartition(": ")[2] for each in caplog.records] == [
        "one",
        "another",
        "another",
    ]
