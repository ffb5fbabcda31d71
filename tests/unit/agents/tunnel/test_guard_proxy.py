"""From a client of the centre through a tunnel and the guard proxy to an API server."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import test_utils, web

import process_time
from volary.agents.tunnel import guard_proxy, tunnels
from volary.clusters.kubeconfig import connections
from volary.controller import system_clock
from volary.controller.agents import tunnel_hub
from volary.model import agent_policies

READ = agent_policies.AgentPolicy(
    agent_policies.ReadAccess(),
    impersonate=("system:serviceaccount:team-a:*", "group:team-a"),
    file="policy.yaml",
)
PODS = "/api/v1/namespaces/shop/pods"
WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
MEGABYTE = b"x" * (1 << 20)


class Channel:
    """One end of a connection in memory."""

    def __init__(self, sent: asyncio.Queue[bytes], come: asyncio.Queue[bytes]) -> None:
        self._sent, self._come = sent, come

    async def send(self, message: bytes) -> None:
        await self._sent.put(message)

    async def receive(self) -> bytes | None:
        return await self._come.get()


@dataclass
class World:
    """A client on one side, and on the other an API server that notes what it is asked."""

    session: aiohttp.ClientSession
    hub: tunnel_hub.TunnelHub
    asked: list[web.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    #: Pieces of an answer without end that were taken.
    sent: int = 0
    watched: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    policy: agent_policies.AgentPolicy = READ

    async def ask(
        self, method: str, target: str, *, body: bytes | None = None, **headers: str
    ) -> tuple[int, str]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.request(
            method,
            "http://agent" + target,
            data=None if body is None else io.BytesIO(body),
            headers=named,
            skip_auto_headers=("content-type",),
        ) as answer:
            return answer.status, await answer.text()


Handler = Callable[[World, web.Request], Awaitable[web.StreamResponse]]


async def note(world: World, request: web.Request) -> web.StreamResponse:
    world.asked.append(request)
    world.bodies.append(await request.read())
    return web.json_response({"kind": "PodList"}, headers={"x-secret-of-cluster": "1"})


@contextlib.asynccontextmanager
async def opened(tmp_path: Path, handler: Handler = note) -> AsyncIterator[World]:
    there, back = asyncio.Queue[bytes](100), asyncio.Queue[bytes](100)
    hub = tunnel_hub.TunnelHub(tmp_path)
    world: World

    async def handle(request: web.Request) -> web.StreamResponse:
        return await handler(world, request)

    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", handle)
    async with (
        test_utils.TestServer(app) as server,
        aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(hub.socket_of("us")),
            headers={"Authorization": "Bearer centre", "X-Forwarded-For": "1.2.3.4"},
        ) as session,
    ):
        world = World(session, hub)
        connection = connections.Connection(
            "us", str(server.make_url("")).rstrip("/"), credentials=connections.Token("own")
        )
        async with (
            guard_proxy.open_proxy(
                connection, lambda: world.policy, clock=system_clock.SystemClock()
            ) as proxy,
            asyncio.TaskGroup() as group,
        ):
            agent = tunnels.Tunnel(Channel(back, there), on_stream=proxy.take)
            carrying = group.create_task(hub.carry("us", "us", Channel(there, back), digest="a"))
            running = group.create_task(agent.run())
            await process_time.until(lambda: Path(hub.socket_of("us")).exists())
            try:
                yield world
            finally:
                await session.close()
                hub.disconnect("us", "the test ends")
                assert await carrying == "the test ends"
                await running


async def test_nothing_of_the_centre_is_passed_on_but_the_question(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        status, text = await world.ask(
            "GET", f"{PODS}?limit=5", Cookie="a=b", Accept="application/json", X_Remote_User="root"
        )

        [asked] = world.asked
        assert (status, text) == (200, '{"kind": "PodList"}')
        assert asked.path_qs == f"{PODS}?limit=5"
        assert asked.headers.getall("Authorization") == ["Bearer own"]
        assert asked.headers["User-Agent"].startswith("volary-agent/")
        known = {"host", "authorization", "accept", "accept-encoding", "user-agent"}
        assert {name.lower() for name in asked.headers} <= known


async def test_of_an_answer_only_what_is_needed_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as world, world.session.get(f"http://agent{PODS}") as answer:
        await answer.read()

        assert "x-secret-of-cluster" not in answer.headers
        assert answer.content_type == "application/json"


@pytest.mark.parametrize(
    ("method", "target", "why"),
    [
        ("PATCH", WEB, "writes are tasks"),
        ("POST", PODS, "writes are tasks"),
        ("DELETE", WEB, "writes, and writes are tasks"),
        ("GET", f"{PODS}/web/exec", "pods/exec is not passed on"),
        ("GET", "/api/v1/namespaces/shop/secrets", "read.secrets is false (policy.yaml)"),
    ],
)
async def test_what_is_refused_never_reaches_the_cluster(
    tmp_path: Path, method: str, target: str, why: str
) -> None:
    async with opened(tmp_path) as world:
        status, text = await world.ask(method, target)

        assert status == 403
        assert why in text
        assert '"kind":"Status"' in text
        assert world.asked == []


async def test_a_dry_run_is_tried_with_its_body(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        status, _ = await world.ask(
            "PATCH",
            f"{WEB}?dryRun=All&fieldManager=volary",
            body=b"{}",
            Content_Type="application/apply-patch+yaml",
        )

        [asked] = world.asked
        assert status == 200
        assert (asked.method, world.bodies) == ("PATCH", [b"{}"])
        assert asked.query == {"dryRun": "All", "fieldManager": "volary"}
        assert asked.content_type == "application/apply-patch+yaml"


async def test_it_is_asked_for_whom_the_policy_says(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        permitted = {"Impersonate-User": "system:serviceaccount:team-a:deployer"}
        answers = [
            await world.ask("GET", PODS, **headers)
            for headers in (
                permitted,
                {**permitted, "Impersonate-Group": "team-a"},
                {"Impersonate-User": "admin"},
                {**permitted, "Impersonate-Group": "system:masters"},
                {**permitted, "Impersonate-Uid": "1"},
                {**permitted, "Impersonate-Extra-scopes": "all"},
                {"Impersonate-Group": "team-a"},
            )
        ]

        assert [status for status, _ in answers] == [200, 200, 403, 403, 403, 403, 403]
        assert [each.headers.get("Impersonate-User") for each in world.asked] == (
            [permitted["Impersonate-User"]] * 2
        )


async def test_headers_that_could_be_read_in_two_ways_are_refused(tmp_path: Path) -> None:
    """As whoever has the server's end of the tunnel could write them."""
    heads = (
        "GET {path} HTTP/1.1\r\nHost: a\r\nImpersonate-User: x\r\nImpersonate-User: "
        "system:serviceaccount:team-a:y\r\n\r\n",
        "GET {path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "GET {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        "GET {path}/../../../secrets HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://other{path} HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT other:443 HTTP/1.1\r\nHost: other\r\n\r\n",
        "GET {path}\r\n\r\n",
        "\x16\x03\x01\x02\r\n\r\n",
    )
    async with opened(tmp_path) as world:
        for head in heads:
            reader, writer = await asyncio.open_unix_connection(world.hub.socket_of("us"))
            writer.write(head.format(path=PODS).encode())
            answer = await reader.readline()
            writer.close()
            await writer.wait_closed()

            assert b" 40" in answer, (head, answer)
        assert world.asked == []


async def test_a_body_is_as_large_as_api_servers_take(tmp_path: Path) -> None:
    async with opened(tmp_path) as world:
        with contextlib.suppress(aiohttp.ClientError):
            status, _ = await world.ask("PATCH", f"{WEB}?dryRun=All", body=MEGABYTE * 4)
            assert status == 403

        assert world.asked == []
        assert (await world.ask("GET", PODS))[0] == 200, "others go on"


async def endless(world: World, request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while world.sent < 512:
        await response.write(MEGABYTE)
        world.sent += 1
    return response


async def test_an_answer_comes_no_faster_than_it_is_taken(tmp_path: Path) -> None:
    async with (
        opened(tmp_path, endless) as world,
        world.session.get(f"http://agent{PODS}") as answer,
    ):
        await answer.content.readexactly(1 << 20)
        before = -1
        while before != world.sent:
            before = world.sent
            await asyncio.sleep(0.2)

        assert world.sent < 64, "what nobody takes waits where it is"


async def silent(world: World, request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"{}\n")
    world.watched.set()
    try:
        await asyncio.Event().wait()
    finally:
        world.left.set()
    return response


async def test_a_watch_ends_in_the_cluster_when_the_centre_ends_it(tmp_path: Path) -> None:
    async with opened(tmp_path, silent) as world:
        async with world.session.get(f"http://agent{PODS}?watch=1") as answer:
            line = await answer.content.readline()
            await world.watched.wait()
            assert line == b"{}\n", "what is said is heard at once"

        async with asyncio.timeout(process_time.HANG):
            await world.left.wait()


async def test_without_a_tunnel_nobody_is_reached(tmp_path: Path) -> None:
    hub = tunnel_hub.TunnelHub(tmp_path)
    async with aiohttp.ClientSession(
        connector=aiohttp.UnixConnector(hub.socket_of("us"))
    ) as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get("http://agent/readyz")


async def test_an_api_server_that_is_away_is_no_answer_of_it(tmp_path: Path) -> None:
    async def away(_: World, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with opened(tmp_path, away) as world:
        assert await world.ask("GET", PODS) == (502, "the connection broke")


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    async def elsewhere(world: World, request: web.Request) -> web.StreamResponse:
        world.asked.append(request)
        return web.Response(status=307, headers={"location": "http://evil.example/"})

    async with opened(tmp_path, elsewhere) as world:
        status, _ = await world.ask("GET", PODS)

        assert (status, len(world.asked)) == (502, 1)
