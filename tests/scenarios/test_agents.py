"""A cluster that only its agent reaches: read through the tunnel, and never written."""

import json
import signal
from pathlib import Path

import agent_world
import command_world
import server_processes

HEALTH = {"interval": "1s", "timeout": "5s", "failureThreshold": "1s", "successThreshold": "1s"}


async def test_a_cluster_is_read_through_its_agent(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/volary.db"
    async with command_world.world(tmp_path, "us", "eu") as world:
        await world.deployed()
        fleet = agent_world.write_fleet(world, tmp_path, "us")
        async with server_processes.started(
            world, tmp_path, store, fleet=str(fleet), clusterHealth=HEALTH
        ) as server:
            await agent_world.cluster_is(server, "us", "unreachable", "none is connected")
            joined = await agent_world.join(world, server, "us")
            files = agent_world.AgentFiles(tmp_path / "agent", "us")
            files.write(joined.token)
            async with agent_world.agent(world, server.url, files) as agent:
                await agent.until("connected to http")
                await agent_world.cluster_is(server, "us", "ready")
                await server.synced()
                listed = await world.volary("get", "agents", "--server", server.url, "-o", "json")
                _, drift = await server.get("/api/v1/applications/simple/drift")
                print(json.dumps(drift)[:600])
                tree = await world.volary(
                    "get", "app", "simple", "--tree", "--cluster", "us", "--server", server.url
                )
                print(listed, tree)
                plan = await server.post("/api/v1/applications/simple/plan", {})
                print(json.dumps(plan)[:1500])
                agent.process.send_signal(signal.SIGKILL)
                await agent_world.cluster_is(server, "us", "unreachable", "none is connected")
            print(server.process.said)
