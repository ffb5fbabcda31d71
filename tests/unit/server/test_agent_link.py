"""The doors of agents: what they say first, their tunnels, and what becomes of connections."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

import process_time
import server_world
from volary.agents import hellos
from volary.agents.orders import keys
from volary.agents.tunnel import frames
from volary.controller.agents import tunnel_hub
from volary.controller.api import worker_service
from volary.model import errors
from volary.model.fleet import fleets
from volary.server.connections import bounds

FLEET = fleets.Fleet((fleets.Cluster("us", agent=True), fleets.Cluster("eu")))
HELLO = hellos.Hello("0.1.0", (1, 1), "us", "uid-us")
HALF_A_BODY = (
    b"POST /api/v1/clusters/us/cordon HTTP/1.1\r\nHost: localhost\r\ncontent-length: 20\r\n\r\n{"
)


@dataclass
class Known:
    """A server with a registered agent."""

    world: server_world.Served
    headers: dict[str, str]

    async def hello(self, said: Any, **headers: str) -> tuple[int, Any]:
        body = said if isinstance(said, bytes) else msgspec.json.encode(said)
        return await self.world.ask(
            "POST", hellos.HELLO_PATH, data=body, headers={**self.headers, **headers}
        )

    def tunnel(self, uid: str = "uid-us", cluster: str = "us") -> Any:
        address = f"{self.world.url}{hellos.TUNNEL_PATH}?cluster={cluster}&uid={uid}"
        return self.world.session.ws_connect(address, headers=self.headers)

    async def refused(self, **more: str) -> int:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with self.tunnel(**more):
                pass
        return refused.value.status


async def joined(world: server_world.Served) -> Known:
    status, made = await world.ask(
        "POST", "/api/v1/clusters/us/agent", json={"sealingKey": public_key()}
    )
    assert status == 200, made
    return Known(world, {"authorization": f"Bearer {made['token']}"})


async def test_hello_is_answered_and_then_the_tunnel_is_open(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        agent = await joined(world)
        before = await agent.refused()
        status, welcome = await agent.hello(HELLO)
        others = [await agent.refused(uid="uid-eu"), await agent.refused(cluster="eu")]
        hub = world.service.agents.hub
        async with agent.tunnel() as tunnel:
            await process_time.until(lambda: hub.count("us") == 1)
            async with world.session.get(
                world.url + hellos.TUNNEL_PATH, headers=agent.headers
            ) as plain:
                assert plain.status == 404, "nothing is there but a WebSocket"
            await tunnel.send_bytes(b"no frame")
            # Before, it opened streams to ask how the cluster is.
            while (closed := await tunnel.receive()).type is aiohttp.WSMsgType.BINARY:
                assert frames.decode(closed.data).kind in (frames.Kind.OPEN, frames.Kind.DATA)
            assert closed.type is aiohttp.WSMsgType.CLOSE
        await process_time.until(lambda: not hub.count("us"))
        _, listed = await world.ask("GET", "/api/v1/agents")
        _, clusters = await world.ask("GET", "/api/v1/clusters")

    assert (before, others) == (409, [409, 409])
    assert (status, welcome["protocol"], welcome["agent"]) == (200, 1, "us")
    assert closed.extra == "a frame of the unknown kind 110"
    [shown] = listed["items"]
    assert (shown["status"], shown["reason"]) == ("disconnected", "its connection ended")
    assert [(each["name"], each["agent"]) for each in clusters["items"]] == [
        ("us", True),
        ("eu", False),
    ]


async def test_a_tunnel_is_no_request_whose_body_is_waited_for(tmp_path: Path) -> None:
    seconds = bounds.Seconds(body=5.0)
    allowance = bounds.Bounds(100, each=50, each_here=50, seconds=seconds)
    async with server_world.served(tmp_path, members=FLEET, allowance=allowance) as world:
        agent = await joined(world)
        await agent.hello(HELLO)
        async with agent.tunnel() as tunnel:
            # Of a request that came later, the rest is not waited for any more.
            port = int(world.url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HALF_A_BODY)
            async with asyncio.timeout(process_time.HANG):
                with contextlib.suppress(ConnectionError):
                    await reader.read()
            writer.close()
            await tunnel.send_bytes(frames.encode(frames.Frame(frames.Kind.PING, 0, b"are you?")))
            while (said := await tunnel.receive()).type is aiohttp.WSMsgType.BINARY:
                if frames.decode(said.data).kind is frames.Kind.PONG:
                    break

            assert said.type is aiohttp.WSMsgType.BINARY, said


async def test_who_takes_tasks_is_said_and_whether_servers_leave_them(tmp_path: Path) -> None:
    seen = datetime(2026, 3, 1, tzinfo=UTC)
    others = (fleets.Cluster("asia", agent=True), fleets.Cluster("africa"))
    members, asked = fleets.Fleet((*FLEET.clusters, *others)), list[list[str]]()

    async def takers(queues: Sequence[str]) -> dict[str, tuple[worker_service.Taker, ...]]:
        agent = worker_service.Taker("agent us 7@agent-0", seen)
        asked.append(list(queues))
        return {queue: (agent,) if queue.endswith("us") else () for queue in queues}

    async with server_world.served(tmp_path, members=members) as world:
        _, before = await world.ask("GET", "/api/v1/task-queues")
        workers = world.service.workers
        workers.temporal = hellos.Temporal("127.0.0.1:7233", "volary", hellos.QUEUE_PREFIX, 30)
        workers.takers = takers
        _, listed = await world.ask("GET", "/api/v1/task-queues")

    assert [(each["cluster"], each["apart"], each["takers"]) for each in before["items"]] == [
        ("africa", False, []),
        ("asia", True, []),
        ("eu", False, []),
        ("us", True, []),
    ]
    assert "no engine.temporal" in before["items"][1]["reason"]
    assert before["items"][2]["reason"] == "the leading server carries runs out by itself"
    assert asked == [["volary-central", "volary-cluster-asia", "volary-cluster-us"]]
    assert [
        (each["cluster"], each["apart"], [one["name"] for one in each["takers"]], each["reason"])
        for each in listed["items"]
    ] == [
        ("africa", False, [], "no server takes them: none leads"),
        ("asia", True, [], "nobody takes tasks of asia"),
        ("eu", False, [], "no server takes them: none leads"),
        ("us", True, ["agent us 7@agent-0"], ""),
    ]


async def test_who_is_not_let_in_is_told_why(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        agent = await joined(world)
        await agent.hello(HELLO)
        old = msgspec.structs.replace(HELLO, protocols=(7, 9))
        elsewhere = msgspec.structs.replace(HELLO, cluster_uid="uid-eu")
        answers = [await agent.hello(said) for said in (old, elsewhere, b"{")]
        _, listed = await world.ask("GET", "/api/v1/agents")
        stranger = await world.ask("POST", hellos.HELLO_PATH, data=b"{}")

    assert [status for status, _ in answers] == [409, 409, 400]
    assert "speaks protocol 7 to 9" in answers[0][1]["detail"]
    assert "comes from another cluster" in answers[1][1]["detail"]
    assert listed["items"][0]["status"] == "refused"
    assert stranger[0] == 401


async def test_an_agent_has_so_many_tunnels_and_their_connections_are_given_back(
    tmp_path: Path,
) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        agent = await joined(world)
        await agent.hello(HELLO)
        hub = world.service.agents.hub
        most = tunnel_hub.MOST_TUNNELS
        async with asyncio.TaskGroup() as group:
            opened = [group.create_task(agent.tunnel().__aenter__()) for _ in range(most)]
        tunnels = [each.result() for each in opened]
        await process_time.until(lambda: hub.count("us") == most)
        async with agent.tunnel() as one_more:
            refused = await one_more.receive()  # nothing was asked through it
        for tunnel in tunnels:
            await tunnel.close()
        await process_time.until(lambda: hub.count("us") == 0)
        gauge = world.application.state.server_state.metrics.connections
        # That of the session itself may be open still.
        await process_time.until(lambda: gauge._value.get() <= 1)

    assert (refused.type, refused.data) == (aiohttp.WSMsgType.CLOSE, 1008)


async def test_a_message_that_is_too_large_ends_the_tunnel(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        agent = await joined(world)
        await agent.hello(HELLO)
        async with agent.tunnel() as tunnel:
            await tunnel.send_bytes(b"x" * (frames.LARGEST + 1))
            while (closed := await tunnel.receive()).type is aiohttp.WSMsgType.BINARY:
                pass

    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1009)


async def test_a_server_that_stops_ends_its_tunnels(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        agent = await joined(world)
        await agent.hello(HELLO)
        tunnel = await agent.tunnel()
        await process_time.until(lambda: world.service.agents.hub.count("us") == 1)

    assert tunnel.closed or (await tunnel.receive()).type in (
        aiohttp.WSMsgType.CLOSE,
        aiohttp.WSMsgType.CLOSED,
        aiohttp.WSMsgType.CLOSING,
        aiohttp.WSMsgType.ERROR,
    )


async def test_a_worker_is_for_clusters_without_an_agent(tmp_path: Path) -> None:
    async with server_world.served(tmp_path, members=FLEET) as world:
        refused = await joining(world, "us", "eu")
        made = await joining(world, "eu")

    assert refused[0] == 400
    assert "the agent of cluster us carries out its tasks" in refused[1]["detail"]
    assert (made[0], made[1]["clusters"]) == (200, ["eu"])


async def test_workers_have_a_list_and_keys_of_their_own(tmp_path: Path) -> None:
    """Whether they take tasks is what Temporal says; where it is away, nobody knows."""
    seen, taken = datetime(2026, 3, 1, tzinfo=UTC), ["worker hands 7@a", "worker hands2 7@a"]

    async def takers(queues: Sequence[str]) -> dict[str, tuple[worker_service.Taker, ...]]:
        if not taken:
            raise errors.TemporaryError("Temporal does not answer")
        found = tuple(worker_service.Taker(name, seen) for name in taken)
        return {queue: found if queue.endswith("eu") else () for queue in queues}

    async with server_world.served(tmp_path, members=FLEET) as world:
        _, made = await joining(world, "eu")
        world.service.workers.takers = takers
        shown = [await one_worker(world)]
        status, again = await world.ask(
            "POST", "/api/v1/workers/hands/rotate", json={"sealingKey": public_key()}
        )
        del taken[0]
        shown.append(await one_worker(world))
        taken.clear()
        shown.append(await one_worker(world))
        others = [
            (await world.ask("POST", f"/api/v1/{path}", json={"sealingKey": public_key()}))[0]
            for path in ("clusters/hands/agent/rotate", "clusters/hands/agent/remove")
        ]
        _, agents = await world.ask("GET", "/api/v1/agents")
        removed, _ = await world.ask("POST", "/api/v1/workers/hands/remove", json={})
        gone, _ = await world.ask("POST", "/api/v1/workers/hands/remove", json={})
        _, left = await world.ask("GET", "/api/v1/workers")
        _, audit = await world.ask("GET", "/api/v1/audit")

    assert [(one["status"], one["reason"]) for one in shown] == [
        ("taking", ""),
        ("idle", "no process of it takes tasks"),
        ("unknown", "Temporal does not answer"),
    ]
    assert [each["name"] for each in shown[0]["processes"]] == ["worker hands 7@a"]
    assert [one["rotating"] for one in shown] == [False, True, True]
    assert (status, again["clusters"]) == (200, ["eu"])
    assert again["token"] != made["token"]
    assert (others, agents["items"]) == ([404, 404], []), "they are no agents"
    assert (removed, gone, left["items"]) == (200, 404, [])
    actions = [entry["action"] for entry in audit["items"]]
    assert {"worker.join", "worker.rotate", "worker.remove"} <= set(actions)
    assert made["token"] not in str(audit)


def public_key() -> str:
    return keys.public(keys.read_opening(keys.generate_opening()))


async def joining(world: server_world.Served, *clusters: str) -> tuple[int, Any]:
    """Have the server leave tasks to workers, and register one."""
    workers = world.service.workers
    workers.temporal = hellos.Temporal("127.0.0.1:7233", "volary", hellos.QUEUE_PREFIX, 30)
    workers.apart.everywhere = True
    body = {"clusters": clusters, "sealingKey": public_key()}
    return await world.ask("POST", "/api/v1/workers/hands", json=body)


async def one_worker(world: server_world.Served) -> Any:
    _, listed = await world.ask("GET", "/api/v1/workers")
    [worker] = listed["items"]
    return worker
