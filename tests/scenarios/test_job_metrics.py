"""Releases that a container in the cluster decides about: a Job is run, watched and removed."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

import command_world
import process_time
from controller_process import ControllerProcesses
from measured_world import V1, V2, findings
from volary.concurrency import background_tasks

IMAGE = "example/check:v1"
LABEL = "volary.dev/metric-job"


def measures(given: command_world.World, duration: str = "3s", **job: Any) -> None:
    """Given: an application file whose analysis runs a Job, and a new version."""
    container = {"name": "check", "image": IMAGE, "args": ["$(VOLARY_SERVICE)"]}
    template = {
        "metadata": {"annotations": {"kube-sandbox/run-for": job.pop("run_for", "300ms")}},
        "spec": {"containers": [container]},
    }
    metric = {"name": "smoke-test", "interval": "1s", "job": {"spec": {"template": template}}}
    metrics = [{**metric, **job}]
    options = {"duration": duration, "holdFor": "1s", "judgePods": False, "metrics": metrics}
    stages = [
        {"name": "K8S_CANARY_ROLLOUT", "with": {"replicas": 1}},
        {"name": "ANALYSIS", "with": options},
        {"name": "K8S_PRIMARY_ROLLOUT"},
        {"name": "K8S_CANARY_CLEAN"},
    ]
    application = {
        "apiVersion": "volary.dev/v1",
        "kind": "Application",
        "metadata": {"name": "simple"},
        "spec": {
            "service": {"kind": "Service", "name": "simple"},
            "workloads": [{"kind": "Deployment", "name": "simple"}],
            "pipeline": {"stages": stages},
        },
    }
    (given.directory / "app.pipecd.yaml").unlink(missing_ok=True)
    given.write({"volary.yaml": yaml.safe_dump(application, sort_keys=False)}, message="Measure")
    given.edit("deployment.yaml", V1, V2, message="Release v2")


def jobs(given: command_world.World, cluster: str) -> list[dict[str, Any]]:
    registry = given.running.clusters[cluster].registry
    return list(registry.objects(registry.kind("batch/v1", "Job")))


async def watch(given: command_world.World, seen: dict[str, dict[str, Any]]) -> None:
    """Keep every Job there is at some time, by its uid, until cancelled."""
    while True:
        for cluster in given.running.clusters:
            for job in jobs(given, cluster):
                seen[job["metadata"]["uid"]] = {**job, "cluster": cluster}
        await asyncio.sleep(0.01)


def somebody_elses(given: command_world.World, cluster: str) -> Mapping[str, Any]:
    """Given: a Job of somebody else, which looks much like ours."""
    registry = given.running.clusters[cluster].registry
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "volary-smoke-test-other",
            "namespace": "default",
            "labels": {LABEL: "0123456789abcdef"},
        },
        "spec": {
            "template": {
                "metadata": {"annotations": {"kube-sandbox/run-for": "1h"}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "x", "image": "example/other:v1"}],
                },
            }
        },
    }
    registry.create(registry.kind("batch/v1", "Job"), "default", body)
    return given.find(cluster, "Job", "volary-smoke-test-other")["metadata"]


async def run(given: command_world.World) -> command_world.Ended:
    return await given.run("--strategy", "pipeline", "--output", "json")


async def test_a_job_that_succeeds_lets_a_release_pass_and_is_gone(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as given:
        await given.deployed()
        measures(given)
        other = somebody_elses(given, "us")
        seen: dict[str, dict[str, Any]] = {}
        async with background_tasks.in_background(watch(given, seen)):
            ended = await run(given)
        ours = [job for job in seen.values() if job["metadata"]["uid"] != other["uid"]]

        assert ended.code == 0, ended
        assert {*map(given.images, ("us", "eu"))} == {"example/simple:v2 2/2"}
        assert {tuple(each["document"]["values"]) for each in findings(ended, "measurement")} == {
            (1.0,)
        }
        assert {job["cluster"] for job in ours} == {"us", "eu"}
        for job in ours:
            spec = job["spec"]
            assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 300)
            pod = spec["template"]["spec"]
            told = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
            assert pod["restartPolicy"] == "Never"
            assert told["VOLARY_CLUSTER"] == job["cluster"]
            assert told["VOLARY_VARIANT"] == "canary"
            assert told["VOLARY_SERVICE"] == "simple-canary"
            assert told["VOLARY_RUN"]
        assert len({job["metadata"]["labels"][LABEL] for job in ours}) == 2
        assert [job["metadata"]["uid"] for job in jobs(given, "us")] == [other["uid"]]
        assert jobs(given, "eu") == []


async def test_a_job_that_fails_takes_the_release_back_and_says_why(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as given:
        await given.deployed()
        given.running.clusters["eu"].faults.images.add(IMAGE, "crash-after=200ms")
        measures(given)
        other = somebody_elses(given, "eu")
        ended = await run(given)

        assert ended.code == 1, ended
        last = ended.events[-1]
        assert last["status"] == "rolled_back", last
        assert "smoke-test on eu: " in last["reason"]
        assert "0 is outside the expected ≥ 1: container check exited with 1: " in last["reason"]
        assert "container check writes no log" in last["reason"]
        assert {*map(given.images, ("us", "eu"))} == {"example/simple:v1 2/2"}
        assert [job["metadata"]["uid"] for job in jobs(given, "eu")] == [other["uid"]]
        assert jobs(given, "us") == []


async def test_a_job_that_never_answers_is_no_good_one_and_no_bad_one(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as given:
        await given.deployed()
        given.running.clusters["us"].faults.images.add(IMAGE, "bad")
        measures(given, run_for="1h", timeout="2s")
        ended = await run(given)
        said = {
            each["target"]: each["document"]["message"] for each in findings(ended, "measurement")
        }

        assert ended.code == 1, ended
        assert "until the deadline" in ended.events[-1]["reason"]
        assert {each["document"]["reading"] for each in findings(ended, "measurement")} == {"error"}
        assert all(words.startswith("the Job gave no answer: ") for words in said.values())
        assert "longer than specified deadline" in said["eu"]
        assert given.images("us") == "example/simple:v1 2/2"
        assert jobs(given, "us") == jobs(given, "eu") == []


async def test_a_job_goes_on_while_nobody_is_there_and_is_not_run_twice(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        await given.deployed()
        measures(given, duration="60s", run_for="6s", timeout="50s", interval="2s")
        controllers = ControllerProcesses(tmp_path / "volary.db", given.directory, given.fleet)
        measured = "select document from findings where kind = 'measurement' order by rowid"
        async with controllers.started() as process:
            await until(lambda: jobs(given, "us"))
            os.kill(process, signal.SIGKILL)
        [first] = jobs(given, "us")
        assert controllers.ask(measured) == []
        async with controllers.started():
            await until(lambda: controllers.ask(measured))

        document = json.loads(controllers.ask(measured)[0][0])
        assert document["query"] == f"Job default/{first['metadata']['name']}"
        assert document["values"] == [1.0]


async def test_a_job_of_a_run_that_is_broken_off_goes_with_it(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as given:
        await given.deployed()
        measures(given, run_for="1h", timeout="10m")
        words = ("run", ".", "--fleet", given.fleet, "--strategy", "pipeline")
        async with given.start(*words) as started:
            await until(lambda: jobs(given, "us"))
            started.interrupt()
            await started.ended()

        assert jobs(given, "us") == []


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(process_time.HANG):
        while True:
            if holds():
                return
            await asyncio.sleep(0.02)
