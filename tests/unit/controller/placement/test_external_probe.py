"""What comes of asking an external probe, and what of that is logged."""

import asyncio
from datetime import timedelta

import pytest
from aiohttp import test_utils, web

import process_time
import scripted_server
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


@pytest.mark.parametrize(
    ("status", "served"), [(200, True), (302, True), (399, True), (404, False), (503, False)]
)
async def test_any_answer_but_an_error_serves_users(status: int, served: bool) -> None:
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, request.headers["User-Agent"]))
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    site = web.Application()
    site.router.add_route("*", "/{path:.*}", answer)
    async with test_utils.TestServer(site, host="127.0.0.1") as server:
        probe = failover_rules.ExternalProbe(f"{server.make_url('/')}${{cluster.name}}")
        found = await external_probe.ask(probe, US, webhooks.Reach())

    assert found == external_probe.ProbeAnswer(served)
    assert asked == [("/us", "volary")], "a redirect is an answer, and is not followed"


async def test_a_witness_that_is_silent_is_given_up_after_its_time() -> None:
    async def silence(_: scripted_server.Asked) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with scripted_server.serve() as server, asyncio.timeout(process_time.HANG / 2):
        server.say(silence)
        witness = failover_rules.ExternalProbe(server.url, timeout=timedelta(milliseconds=50))
        answer = await external_probe.ask(witness, US, webhooks.Reach())

    assert answer == external_probe.ProbeAnswer(served=None)
    assert len(server.seen) == 1
