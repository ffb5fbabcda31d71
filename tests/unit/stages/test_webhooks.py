"""Calling a webhook: what it may reach, what it is sent, and what its answer means."""

import asyncio
import ipaddress
import socket
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from hypothesis import assume, given
from hypothesis import strategies as some

import scripted_server
from volary.model.pipeline import webhook
from volary.stages import webhooks

ANYWHERE, SERVER = webhooks.Reach(), webhooks.Reach(loopback=False)
OURSELVES = "it leads to this machine itself, which needs the setting `localWebhooks: allow`"
LINK_LOCAL = "it leads to a metadata service or another link-local address"
NOWHERE = "it leads to no single machine"
ALONE = ipaddress.IPv6Address("::1")
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
        ("168.63.129.16", LINK_LOCAL, LINK_LOCAL),
        ("fd20:ce::254", LINK_LOCAL, LINK_LOCAL),
        ("64:ff9b::169.254.169.254", LINK_LOCAL, LINK_LOCAL),
        ("64:ff9b::7f00:1%eth0", "", OURSELVES),
        ("64:ff9b::8.8.8.8", "", ""),
        ("2002:7f00:1::1", "", OURSELVES),
        ("::127.0.0.1", "", OURSELVES),
        ("0.0.0.0", NOWHERE, NOWHERE),
        ("0.0.0.1", NOWHERE, NOWHERE),
        ("255.255.255.255", NOWHERE, NOWHERE),
        ("::", NOWHERE, NOWHERE),
        ("224.0.0.1", NOWHERE, NOWHERE),
        ("10.0.0.1", "", ""),
        ("8.8.8.8", "", ""),
        ("fd00:ec2::253", "", ""),
    ],
)
def test_what_may_be_reached(address: str, person: str, server: str) -> None:
    assert (ANYWHERE.problem(address), SERVER.problem(address)) == (person, server)


#: How networks write an IPv4 address into an IPv6 one.
EMBEDDINGS = {
    "mapped": "::ffff:{0:02x}{1:02x}:{2:02x}{3:02x}",
    "translated": "::ffff:0:{0:02x}{1:02x}:{2:02x}{3:02x}",
    "compatible": "::{0:02x}{1:02x}:{2:02x}{3:02x}",
    "NAT64": "64:ff9b::{0:02x}{1:02x}:{2:02x}{3:02x}",
    "local NAT64, /48": "64:ff9b:1:{0:02x}{1:02x}:{2:02x}:{3:02x}00::",
    "local NAT64, /56": "64:ff9b:1:07{0:02x}:{1:02x}:{2:02x}{3:02x}::",
    "local NAT64, /64": "64:ff9b:1:7:{0:02x}:{1:02x}{2:02x}:{3:02x}00:0",
    "local NAT64, /96": "64:ff9b:1:7:8:9:{0:02x}{1:02x}:{2:02x}{3:02x}",
    "6to4": "2002:{0:02x}{1:02x}:{2:02x}{3:02x}:7::8",
    "Teredo's server": "2001:0:{0:02x}{1:02x}:{2:02x}{3:02x}:8000:1:f7f7:f7f7",
    "Teredo's client": "2001:0:808:808:8000:1:{4:02x}{5:02x}:{6:02x}{7:02x}",
    "ISATAP": "2001:db8::200:5efe:{0:02x}{1:02x}:{2:02x}{3:02x}",
}
NUMBERS = some.ip_addresses(v=4) | some.sampled_from(
    [
        *(
            some_network[0] + offset
            for some_network in map(
                ipaddress.IPv4Network,
                ["127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "0.0.0.0/8", "240.0.0.0/4"],
            )
            for offset in (0, 1, 77, some_network.num_addresses - 1)
        ),
        *map(ipaddress.IPv4Address, ["100.100.100.200", "168.63.129.16", "192.0.0.192"]),
    ]
)


@given(NUMBERS, some.sampled_from(sorted(EMBEDDINGS)), some.sampled_from([ANYWHERE, SERVER]))
def test_what_is_refused_in_ipv4_is_refused_in_every_embedding(
    number: ipaddress.IPv4Address, embedding: str, reach: webhooks.Reach
) -> None:
    """And an address that may be asked stays one, however it is written."""
    octets = number.packed
    written = EMBEDDINGS[embedding].format(*octets, *(octet ^ 0xFF for octet in octets))
    assume(ipaddress.IPv6Address(written) not in {ipaddress.IPv6Address(0), ALONE})
    # What stands beside it in these two is read as an address too.
    assume(embedding[:11] != "local NAT64" or reach.problem(str(number)))

    assert bool(reach.problem(written)) == bool(reach.problem(str(number)))


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.1", "2130706433", "0x7f.1", "１２７.0.0.1", "127。0。0。1", "[::127.0.0.1]"],
)
async def test_however_this_machine_is_written_it_is_not_asked(host: str) -> None:
    """The address of the connection counts, not what a reader of addresses makes of the text."""
    async with scripted_server.serve() as gate:
        url = gate.url.replace("127.0.0.1", host)
        answer = await webhooks.call(hook(url), SUBJECT, SERVER)

    # Some forms the HTTP client itself takes for no address.
    assert answer in (
        webhooks.Answer(False, f"is not called: {OURSELVES}"),
        webhooks.Answer(False, "has no address that can be called"),
    )
    assert gate.seen == []


async def test_a_name_is_resolved_once_and_connected_to_as_it_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name whose answers change between two questions (rebinding) gets one question."""
    asked: list[str] = []
    answers = iter(["203.0.113.1", "127.0.0.1", "127.0.0.1"])
    loop = asyncio.get_running_loop()

    async def lookup(host: str, port: int, **_: object) -> list[object]:
        asked.append(host)
        address = (next(answers), port)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)]

    connected: list[object] = []

    async def connect(opened: socket.socket, address: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(loop, "getaddrinfo", lookup)
    monkeypatch.setattr(loop, "sock_connect", connect)
    await webhooks.call(hook("http://rebound.example:80/"), SUBJECT, SERVER)

    assert asked == ["rebound.example"]
    assert connected == [("203.0.113.1", 80)]


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
