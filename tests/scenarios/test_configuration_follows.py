"""ConfigMaps and Secrets belong to a version: they come with it and go back with it."""

import base64
from typing import Any

from stage_world import NEW, OLD, World, deployment, made, service, world
from volary.model import json
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages, stage_kind

ONE_POD = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
#: What every way of reading says in the old version, and in the new one.
BEFORE = {"greeting": "hello", "color": "blue", "token": "one", "flags": "off"}
AFTER = {"greeting": "good day", "color": "green", "token": "two", "flags": "on"}


async def test_a_canary_reads_its_own_configuration_and_primary_goes_on_with_its() -> None:
    async with world("us") as given:
        versions(given)
        await given.deployed(OLD)
        before = pods(given, "shop")
        assert reads(given, "shop") == [BEFORE, BEFORE]

        outcomes = await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)

        assert outcomes["us"].status == "succeeded", outcomes
        assert reads(given, "shop-canary") == [AFTER]
        assert reads(given, "shop") == [BEFORE, BEFORE]
        assert pods(given, "shop") == before, "primary's pods were replaced"

        await given.run(rollout_stages.BASELINE_ROLLOUT.name, ONE_POD)
        assert reads(given, "shop-baseline") == [BEFORE]


async def test_promotion_brings_it_to_new_pods_and_a_rollback_brings_the_old_one_back() -> None:
    """The image is the same in both versions: the configuration alone replaces the pods."""
    async with world("us") as given:
        versions(given, image="shop:v1")
        await given.deployed(OLD)
        first = pods(given, "shop")
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)

        promoted = await given.run(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()
        )

        assert promoted["us"].status == "succeeded", promoted
        assert reads(given, "shop") == [AFTER, AFTER]
        second = pods(given, "shop")
        assert not second & first

        back = await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions())

        assert back["us"].status == "succeeded", back
        assert reads(given, "shop") == [BEFORE, BEFORE]
        assert not pods(given, "shop") & second
        for kind in ("ConfigMap", "Secret"):
            names = {each["metadata"]["name"] for each in owned(given, kind)}
            assert not any(name.endswith("-canary") for name in names), names


async def test_a_rollback_of_the_canary_alone_touches_no_pod_of_primary() -> None:
    async with world("us") as given:
        versions(given)
        await given.deployed(OLD)
        before = pods(given, "shop")
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)

        await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions())

        assert reads(given, "shop") == [BEFORE, BEFORE]
        assert pods(given, "shop") == before
        assert given.find("us", "ConfigMap", "settings-canary") is None
        assert given.find("us", "Secret", "access-canary") is None


async def test_a_failed_promotion_ends_with_the_configuration_of_before() -> None:
    """The new pods never start; what the old ones read is put back with their version."""
    async with world("us") as given:
        versions(given, image="shop:bad")
        await given.deployed(OLD)
        broken = await given.run(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()
        )
        assert broken["us"].status == "failed"

        back = await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions())

        assert back["us"].status == "succeeded", back
        assert reads(given, "shop") == [BEFORE, BEFORE]


async def test_what_a_version_reads_for_the_first_time_goes_away_with_it() -> None:
    async with world("us") as given:
        versions(given)
        given.sources[NEW].append(made(config("extra", {"more": "yes"})))
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await given.run(rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions())
        assert given.find("us", "ConfigMap", "extra") is not None

        await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions())

        assert given.find("us", "ConfigMap", "extra") is None


def versions(given: World, *, image: str = "shop:v2") -> None:
    """Given: two versions that differ in all that they read, and in the image."""
    for commit, tag, values in ((OLD, "shop:v1", BEFORE), (NEW, image, AFTER)):
        given.sources[commit] = application(tag, values)


def application(image: str, values: dict[str, str]) -> list[manifest.Manifest]:
    body = deployment(image)
    pod = body["spec"]["template"]["spec"]
    pod["containers"][0].update(
        env=[
            {
                "name": "GREETING",
                "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "greeting"}},
            }
        ],
        envFrom=[{"secretRef": {"name": "access"}}],
        volumeMounts=[{"name": "look", "mountPath": "/look"}],
    )
    pod["initContainers"] = [
        {**pod["containers"][0], "name": "prepare", "volumeMounts": [], "env": []}
    ]
    pod["volumes"] = [
        {"name": "look", "configMap": {"name": "look"}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "flags"}}]}},
    ]
    token = base64.b64encode(values["token"].encode()).decode()
    secret: json.JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "access"},
        "data": {"token": token},
    }
    return [
        made(body),
        made(service()),
        made(config("settings", {"greeting": values["greeting"]})),
        made(config("look", {"color": values["color"]})),
        made(config("flags", {"flags": values["flags"]})),
        made(secret),
    ]


def config(name: str, data: dict[str, str]) -> json.JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def owned(given: World, kind: str) -> list[json.JsonObject]:
    return given.running.clusters["us"].view.list(kind, "default")


def running(given: World, name: str) -> list[json.JsonObject]:
    """Return the pods of a Deployment that are not on their way out."""
    replica_sets = {
        each["metadata"]["uid"]
        for each in owned(given, "ReplicaSet")
        if each["metadata"]["ownerReferences"][0]["name"] == name
    }
    return [
        each
        for each in owned(given, "Pod")
        if each["metadata"]["ownerReferences"][0]["uid"] in replica_sets
        and "deletionTimestamp" not in each["metadata"]
    ]


def pods(given: World, name: str) -> set[str]:
    return {each["metadata"]["uid"] for each in running(given, name)}


def reads(given: World, name: str) -> list[dict[str, str]]:
    """Then: all that each pod of a Deployment reads, by the references in its own spec."""
    return [_read(given, each["spec"]) for each in running(given, name)]


def _read(given: World, spec: json.JsonObject) -> dict[str, str]:
    found: dict[str, str] = {}
    for container in (*spec["initContainers"], *spec["containers"]):
        for variable in container.get("env", []):
            _take(given, "ConfigMap", variable["valueFrom"]["configMapKeyRef"]["name"], found)
        for each in container.get("envFrom", []):
            _take(given, "Secret", each["secretRef"]["name"], found)
    for volume in spec["volumes"]:
        if "configMap" in volume:
            _take(given, "ConfigMap", volume["configMap"]["name"], found)
        if "projected" in volume:
            for each in volume["projected"]["sources"]:
                if "configMap" in each:
                    _take(given, "ConfigMap", each["configMap"]["name"], found)
    return found


def _take(given: World, kind: str, name: str, into: dict[str, str]) -> None:
    data: dict[str, Any] = given.get("us", kind, name)["data"]
    for key, value in data.items():
        into[key] = base64.b64decode(value).decode() if kind == "Secret" else value
