"""Success is observed for every kind that can be waited for, and failure is early."""

import copy
import re
from datetime import timedelta

from stage_world import KEY, NEW, OLD, Clock, config, deployment, made, service, world
from volary.clusters.client import client_pool
from volary.model import json
from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.runtime import contexts

SYNC = rollout_stages.SyncOptions()


def stateful(image: str) -> json.JsonObject:
    body = deployment(image)
    del body["spec"]["replicas"]
    return {
        **body,
        "kind": "StatefulSet",
        "spec": {**body["spec"], "replicas": 2, "serviceName": "shop"},
    }


def job(image: str) -> json.JsonObject:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "migrate"},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "migrate", "image": image}],
                }
            },
        },
    }


def daemon(image: str) -> json.JsonObject:
    body = deployment(image, name="agent")
    del body["spec"]["replicas"]
    return {**body, "kind": "DaemonSet"}


async def test_workloads_of_every_kind_are_waited_for() -> None:
    async with world("us") as given:
        given.sources[NEW] = [
            made(stateful("shop:v2")),
            made(daemon("agent:1")),
            made(job("migrate:1")),
            made(service()),
        ]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.get("us", "StatefulSet", "shop")["status"]["readyReplicas"] == 2
        assert given.get("us", "DaemonSet", "agent")["status"]["numberAvailable"] == 3
        assert given.get("us", "Job", "migrate")["status"]["succeeded"] == 1
        said = [each.sentence for each in given.reports["us"].progress_said]
        assert any("shop: " in sentence for sentence in said)


async def test_a_statefulset_can_have_a_canary() -> None:
    async with world("us") as given:
        given.sources = {
            OLD: [made(stateful("shop:v1")), made(service()), made(config())],
            NEW: [made(stateful("shop:v2")), made(service()), made(config())],
        }
        await given.deployed(OLD)

        outcomes = await given.run(
            rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions()
        )

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.get("us", "StatefulSet", "shop-canary")["status"]["readyReplicas"] == 1
        assert given.traffic("us").by_label(KEY) == {"primary": 1.0}


async def test_a_job_that_failed_is_not_waited_for_any_longer() -> None:
    async with world("us") as given:
        given.sources[NEW] = [made(job("migrate:crash"))]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "failed"
        assert outcomes["us"].reason.startswith("migrate: ")


async def test_a_passed_progress_deadline_ends_the_wait() -> None:
    body = deployment("shop:never-ready")
    body["spec"]["progressDeadlineSeconds"] = 5
    async with world("us") as given:
        given.running.clusters["us"].faults.images.add("shop:never-ready", "never-ready")
        given.sources[NEW] = [made(body), made(service())]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "failed"
        assert "shop: " in outcomes["us"].reason
        assert "timed out progressing" in outcomes["us"].reason


async def test_a_crash_loop_of_the_new_revision_ends_the_wait() -> None:
    async with world("us") as given:
        given.sources[NEW] = [made(deployment("shop:crash")), made(service())]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "failed"
        assert re.search(
            r"shop: 0 of 2 pods available; pod shop-\S+: container \w+ crashes: started again 3"
            r" times, last with exit code 1",
            outcomes["us"].reason,
        )


async def test_a_crash_loop_of_the_old_revision_is_mended_by_the_new_one() -> None:
    """Nothing but a variable differs; the old pods crash all the while."""
    body = deployment("shop:v1")
    (container,) = body["spec"]["template"]["spec"]["containers"]
    broken = {"kube-sandbox/crash-after": "1s", "kube-sandbox/never-ready": "true"}
    body["spec"]["template"]["metadata"]["annotations"] = broken
    slow = copy.deepcopy(body)
    slow["spec"]["template"]["metadata"]["annotations"] = {"kube-sandbox/ready-delay": "100s"}
    (changed,) = slow["spec"]["template"]["spec"]["containers"]
    changed["env"] = [*container.get("env", []), {"name": "MENDED", "value": "1"}]
    async with world("us") as given:
        given.sources = {OLD: [made(body), made(service())], NEW: [made(slow), made(service())]}
        before = await given.run(rollout_stages.SYNC.name, SYNC, running="", commit=OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert "crashes" in before["us"].reason
        assert outcomes["us"].status == "succeeded", outcomes["us"]


async def test_time_that_is_up_is_said_with_what_is_missing() -> None:
    async with world("us") as given:
        given.running.clusters["us"].faults.images.add("shop:v2", "never-ready")

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="", limit=1)

        assert outcomes["us"].status == "failed"
        assert outcomes["us"].reason.startswith("not ready after ")
        assert "of 2 pods" in outcomes["us"].reason


async def test_a_cut_watch_is_taken_up_again() -> None:
    async with world("us") as given:
        given.running.clusters["us"].faults.change({"cutWatches": "50ms", "expireWatches": True})

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "succeeded", outcomes["us"]


async def test_a_cluster_without_credentials_fails_alone_and_untouched() -> None:
    async with world("us") as given:
        members = fleets.Fleet(
            (
                *given.clients.fleet.clusters,
                fleets.Cluster("eu", kubeconfig=("/nowhere/config",)),
            )
        )
        async with client_pool.open_pool(members, clock=Clock()) as clients:
            given.clients = clients
            given.options = contexts.Options(image_grace=timedelta(seconds=0.3))

            outcomes = await given.run(
                rollout_stages.SYNC.name, SYNC, targets=("us", "eu"), running=""
            )

        assert outcomes["us"].status == "succeeded"
        assert outcomes["eu"].status == "failed"
        assert "/nowhere/config" in outcomes["eu"].reason
        assert not outcomes["eu"].touched
