"""Calling a webhook: what it may reach, what it is sent, and what its answer means."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

import scripted_server
from volary.model.pipeline import webhook
from volary.stages import webhooks

ANYWHERE, SERVER = webhooks.Reach(), webhooks.Reach(loopback=False)
OURSELVES = "it leads to this machine itself, which needs the setting `localWebhooks: allow`"
LINK_LOCAL = "it leads to a metadata service or another link-local address"
NOWHERE = "it leads to no single machine"
SUBJECT = webhooks.Subject("shop", "default", "us", "abc")


def hook(url: str, **given: Any) -> webhook.Webhook:
    return webhook.Webhook(url=url, name="gate", **given)


@pytest.mark.parametrize(
    ("address", "person", "server"),
    [
        ("127.0.0.1", "", OURSELVES),
        ("::1", "", OURSELVES),
        ("::ffff:127.0.0.1", "", OURSELVES),
        ("169.254.169.254", LINK_LOCAL, LINK_LOCAL),
        ("::ffff:169.254.169.254", LINK_LOCAL, LINK_LOCAL),
        ("fe80::1%eth0", LINK_LOCAL, LINK_LOCAL),
        ("100.100.100.200", LINK_LOCAL, LINK_LOCAL),
        ("fd00:ec2::254", LINK_LOCAL, LINK_LOCAL),
        ("192.0.0.192", LINK_LOCAL, LINK_LOCAL),
        ("0.0.0.0", NOWHERE, NOWHERE),
        ("::", NOWHERE, NOWHERE),
        ("224.0.0.1", NOWHERE, NOWHERE),
        ("10.0.0.1", "", ""),
        ("8.8.8.8", "", ""),
        ("fd00:ec2::253", "", ""),
    ],
)
def test_what_may_be_reached(address: str, person: str, server: str) -> None:
    assert (ANYWHERE.problem(address), SERVER.problem(address)) == (person, server)


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        ("http://127.0.0.1:80/x", OURSELVES),
        ("https://[::1]/x", OURSELVES),
        ("https://gate.example.com/x", ""),
        ("http://localhost/x", ""),
        ("http://[::1", "it is no address"),
        ("/x", ""),
    ],
)
def test_numbers_are_refused_before_anything_is_sent(url: str, refusal: str) -> None:
    assert webhooks.refusal(url, SERVER) == refusal


def test_the_body_is_flaggers_with_a_few_words_more() -> None:
    asked = hook("http://x", metadata={"token": "of ${CLUSTER}", "a": "1"})
    subject = webhooks.Subject("shop", "default", "us", "abc", "Waiting", {"canaryWeight": 10})

    body = webhooks.payload(asked, subject, {"a": "2", "eventMessage": "moved"})

    assert body == {
        "name": "shop",
        "namespace": "default",
        "phase": "Waiting",
        "checksum": "abc",
        "metadata": {"token": "of us", "a": "2", "eventMessage": "moved"},
        "type": "rollout",
        "cluster": "us",
        "canaryWeight": 10,
    }
    assert webhooks.payload(asked, SUBJECT)["metadata"] == {"token": "of us", "a": "1"}


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (200, "", ""),
        (202, "later", ""),
        (203, "", "answered 203"),
        (302, "elsewhere", "answered 302; redirects are not followed"),
        (300, "", "answered 300; redirects are not followed"),
        (399, "", "answered 399; redirects are not followed"),
        (400, " not\n now ", "answered 400: not now"),
        (403, "x" * 200, f"answered 403: {'x' * 200}"),
        (403, "x" * 201, f"answered 403: {'x' * 200} …"),
        (500, "", "answered 500"),
    ],
)
async def test_what_an_answer_means(status: int, text: str, reason: str) -> None:
    async with scripted_server.serve() as gate:
        gate.say(web.Response(status=status, text=text))
        found = await webhooks.call(hook(f"{gate.url}/ask"), SUBJECT, ANYWHERE)

    assert found == webhooks.Answer(not reason, reason)
    (seen,) = gate.seen
    assert (seen.method, seen.path) == ("POST", "/ask")
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["User-Agent"] == "volary"
    assert seen.json == webhooks.payload(hook(""), SUBJECT)


async def test_where_a_redirect_leads_is_not_asked() -> None:
    """It may lead to where nothing may be called, and its agreement would open the gate."""
    async with scripted_server.serve() as gate:
        gate.say(web.Response(status=307, headers={"Location": f"{gate.url}/elsewhere"}))
        found = await webhooks.call(hook(f"{gate.url}/ask"), SUBJECT, ANYWHERE)

    assert found == webhooks.Answer(False, "answered 307; redirects are not followed")
    assert [seen.path for seen in gate.seen] == ["/ask"]


@pytest.mark.parametrize(
    ("statuses", "retries", "asked", "agreed"),
    [
        ((500, 200), 0, 1, False),
        ((500, 200), 1, 2, True),
        ((503, 500, 200), 1, 2, False),
        ((499, 200), 3, 1, False),
        ((200, 200), 3, 1, True),
    ],
)
async def test_errors_of_the_server_are_tried_again(
    monkeypatch: pytest.MonkeyPatch,
    statuses: tuple[int, ...],
    retries: int,
    asked: int,
    agreed: bool,
) -> None:
    monkeypatch.setattr(webhooks, "_FIRST_PAUSE", 0.0)
    async with scripted_server.serve() as gate:
        gate.say(*(web.Response(status=status) for status in statuses))
        found = await webhooks.call(hook(gate.url, retries=retries), SUBJECT, ANYWHERE)

    assert (found.agreed, len(gate.seen)) == (agreed, asked)


async def test_pauses_between_tries_double_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(webhooks.asyncio, "sleep", sleep)
    found = await webhooks.call(hook("http://127.0.0.1:1/", retries=6), SUBJECT, ANYWHERE)

    assert found.reason == "could not be asked (ClientConnectorError)"
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


async def test_an_address_out_of_reach_is_asked_neither_once_nor_again() -> None:
    async with scripted_server.serve() as gate:
        by_number = await webhooks.call(hook(gate.url, retries=9), SUBJECT, SERVER)
        name = gate.url.replace("127.0.0.1", "localhost")
        by_name = await webhooks.call(hook(name, retries=9), SUBJECT, SERVER)

    assert by_number == by_name == webhooks.Answer(False, f"is not called: {OURSELVES}")
    assert gate.seen == []


async def test_no_address_is_not_tried_again() -> None:
    found = await webhooks.call(hook("nonsense", retries=9), SUBJECT, ANYWHERE)
    assert found == webhooks.Answer(False, "has no address that can be called")


async def test_a_slow_answer_is_none() -> None:
    async def silence(_asked: scripted_server.Asked) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with scripted_server.serve() as gate:
        gate.say(silence)
        asked = hook(gate.url, timeout=timedelta(milliseconds=50))
        found = await webhooks.call(asked, SUBJECT, ANYWHERE)

    assert found == webhooks.Answer(False, "gave no answer within 0.05 seconds")


def test_the_reason_is_found_behind_other_errors() -> None:
    inner = webhooks._ReachError("out of reach")
    by_cause, by_context = ValueError(), ValueError()
    by_cause.__cause__, by_context.__context__ = inner, inner

    assert webhooks.unreached(inner) == "out of reach"
    assert webhooks.unreached(by_cause) == "out of reach"
    assert webhooks.unreached(by_context) == "out of reach"
    assert webhooks.unreached(ValueError()) == ""
