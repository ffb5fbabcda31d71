"""The settings change while a run is under way, and the server restarts."""

import signal
from pathlib import Path
from typing import Any

import pytest

import command_world
import metrics_server
import process_time
import server_processes
import waiting_world
from controller_world import ANA
from waiting_world import V1, V2, V3

#: By its file it is for eu; the settings say otherwise.
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  targets: {names: [eu]}
  service: {kind: Service, name: simple}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: WAIT_APPROVAL, with: {approvers: [local]}}
    - name: ANALYSIS
      with:
        duration: 1s
        metrics: [{name: errors, provider: prom, interval: 1s, query: errors, expected: {max: 1}}]
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
  placement:
    overrides:
    - targets: {names: [us]}
      resources: [{kind: Deployment}]
      patches: [{path: /spec/replicas, operator: replace, value: 3}]
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: correct-horse-battery}
"""
REPOSITORY = {"name": "shop", "interval": "1s", "paths": ["elsewhere"]}
LISTED = {"repository": "shop", "path": "volary.yaml"}
REMOVED = "/api/v1/applications?removed=true"


def settings(cluster: str, outside: metrics_server.MetricsServer) -> dict[str, Any]:
    """The application is for a cluster; one server is asked, and told."""
    return {
        "applications": [{**LISTED, "targets": {"names": [cluster]}}],
        "analysisProviders": [
            {"name": "prom", "type": "prometheus", "config": {"address": outside.url}}
        ],
        "notifications": {
            "routes": [{"name": "all", "receiver": "team"}],
            "receivers": [{"name": "team", "webhook": {"url": f"{outside.url}/told"}}],
        },
    }


def is_removed(application: dict[str, Any]) -> bool:
    return application["status"] == "removed" and application["removed"] is not None


def told(outside: metrics_server.MetricsServer) -> list[str]:
    return [str(asked.json) for asked in outside.server.seen if asked.path == "/told"]


async def stop(server: server_processes.ServerProcess, way: signal.Signals) -> None:
    server.process.interrupt(way)
    await server.process.ended()


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL], ids=["politely", "killed"])
async def test_a_run_keeps_its_plan_and_takes_the_rest_of_the_settings_as_they_are(
    tmp_path: Path, way: signal.Signals
) -> None:
    store = f"sqlite:{tmp_path / 'volary.db'}"
    async with (
        metrics_server.serve() as before,
        metrics_server.serve() as after,
        command_world.world(tmp_path, "us", "eu", speed=60.0) as world,
    ):
        first = waiting_world.describe(world, APPLICATION, {"secret.yaml": SECRET})
        async with server_processes.started(
            world, tmp_path, store, **settings("us", before)
        ) as server:
            await server.synced(first)
            run = await server.asks(world.edit("deployment.yaml", V1, V2))
            await process_time.until(lambda: told(before))
            await stop(server, way)
        told_before = told(before)
        unreadable = server_processes.write_settings(world, tmp_path, store, repositories=[])
        refused = await world.volary("server", "--config", str(unreadable))
        waits = world.images("us")

        async with server_processes.started(
            world, tmp_path, store, **settings("eu", after)
        ) as server:
            await server.process.until("acquired leader lease")
            await server.approve(run)
            ended = await server.ended(run)
            done = world.images("us")
            third = world.edit("deployment.yaml", V2, V3)
            runs = await server.until(
                "/api/v1/runs?limit=1", lambda body: body["items"][0]["commit"] == third
            )
            await process_time.until(lambda: told(after))

        assert refused.code == 2
        assert "no repository is watched" in refused.err
        assert (ended["status"], ended["targets"]) == ("succeeded", ["us"]), ended["reason"]
        assert (waits, done) == (f"{V1} 3/3", f"{V2} 3/3")
        assert before.queries == []
        assert after.queries
        assert told(before) == told_before
        assert runs["items"][0]["targets"] == ["eu"]


async def test_a_run_goes_on_where_its_application_is_no_longer_in_the_settings(
    tmp_path: Path,
) -> None:
    store = f"sqlite:{tmp_path / 'volary.db'}"
    async with command_world.world(tmp_path, "us", speed=60.0) as world:
        first = waiting_world.describe(world)
        watched = [{**REPOSITORY, "url": str(world.directory)}]
        async with server_processes.started(
            world, tmp_path, store, repositories=watched, applications=[LISTED]
        ) as server:
            await server.synced(first)
            run = await server.asks(world.edit("deployment.yaml", V1, V2))
            await stop(server, signal.SIGTERM)
        async with server_processes.started(world, tmp_path, store, repositories=watched) as server:
            await server.until(REMOVED, lambda body: is_removed(body["items"][0]))
            await server.approve(run)
            ended = await server.ended(run)
            _, after = await server.get(REMOVED)

        assert ended["status"] == "succeeded", ended["reason"]
        assert world.images("us") == f"{V2} 2/2"
        assert is_removed(after["items"][0])


async def test_a_script_that_the_settings_do_not_allow_any_more_is_not_run(
    tmp_path: Path,
) -> None:
    script = "    - {name: SCRIPT_RUN, with: {run: 'true'}}\n    - {name: K8S_PRIMARY"
    async with command_world.world(tmp_path, "us", speed=60.0) as world:
        text = waiting_world.APPLICATION.replace("    - {name: K8S_PRIMARY", script)
        first = waiting_world.describe(world, text)
        async with waiting_world.life(world, scripts=True) as given:
            await given.synced(first)
            run = await given.asks(given.push(V1, V2))
        async with waiting_world.life(world) as given:
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)

        assert ended.status == "rolled_back"
        assert "scripts are not allowed here" in ended.reason
        assert world.images("us") == f"{V1} 2/2"
