"""Nothing is deleted on absence of evidence."""

import copy
from dataclasses import replace

from kube_sandbox.apiserver.storage import verbs
from stage_world import KEY, NEW, OLD, config, deployment, made, service, world
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind

SYNC = rollout_stages.SyncOptions(prune=True)
BASE = [made(deployment("shop:v1")), made(service()), made(config())]
USER = verbs.Options(manager="kubectl", agent="kubectl")


async def test_what_git_no_longer_has_goes() -> None:
    """Also a kind that Git no longer mentions at all: the inventory remembers it."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    claims = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "turn"},
        "spec": {},
    }
    async with world("us") as given:
        given.sources = {OLD: [*BASE, made(account), made(claims)], NEW: BASE}
        await given.deployed(OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.find("us", "ServiceAccount", "robot") is None
        assert given.find("us", "Lease", "turn") is None
        assert "deleted ServiceAccount default/robot" in outcomes["us"].details
        assert given.find("us", "ConfigMap", "settings") is not None


async def test_a_route_goes_some_time_before_the_service_that_it_leads_to() -> None:
    """Proxies follow late: without the Service they would answer requests with an error."""
    route = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "front"},
        "spec": {"defaultBackend": {"service": {"name": "front", "port": {"number": 80}}}},
    }
    front = {**service(), "metadata": {"name": "front"}}
    async with world("us") as given:
        given.sources = {OLD: [*BASE, made(front), made(route)], NEW: BASE}
        await given.deployed(OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        told = [each for each in outcomes["us"].details if each.startswith("deleted")]
        assert told == ["deleted Ingress default/front", "deleted Service default/front"]
        waited = [
            each for each in given.reports["us"].progress_said if "proxies have" in each.sentence
        ]
        assert waited, "the Service went before proxies could follow"


async def test_copies_and_owned_objects_of_others_stay() -> None:
    async with world("us") as given:
        given.sources = {OLD: BASE, NEW: BASE}
        await given.deployed(OLD)
        registry = given.running.clusters["us"].registry
        copied = copy.deepcopy(given.get("us", "ConfigMap", "settings"))
        copied["metadata"] = {
            "name": "copied",
            "labels": copied["metadata"]["labels"],
            "annotations": copied["metadata"]["annotations"],
        }
        registry.create(registry.kind("v1", "ConfigMap"), "default", copied, USER)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded"
        assert given.find("us", "ConfigMap", "copied") is not None
        assert any("it is a copy of" in line for line in outcomes["us"].details)


async def test_a_primary_rollout_prunes_no_canary() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        given.sources[OLD].append(made(config("old")))
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())

        await given.run(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions(prune=True)
        )

        assert given.find("us", "ConfigMap", "old") is None
        assert given.find("us", "Deployment", "shop-canary") is not None


async def test_most_of_an_application_does_not_go_by_accident() -> None:
    many = [made(config(f"c{number}")) for number in range(20)]
    async with world("us") as given:
        given.sources = {OLD: [*BASE, *many], NEW: BASE}
        await given.deployed(OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded"
        refusal = "nothing is pruned: 20 of 23 objects would be deleted, 11 are allowed at once"
        assert any(refusal in line for line in outcomes["us"].details)
        assert refusal in outcomes["us"].reason
        assert outcomes["us"].exception.startswith(refusal)
        assert given.count("us", "ConfigMap", **{KEY: "primary"}) == 21

        given.options = replace(given.options, allow_mass_deletion=True)
        await given.run(rollout_stages.SYNC.name, SYNC)
        assert given.count("us", "ConfigMap", **{KEY: "primary"}) == 1


async def test_a_kind_that_may_not_be_listed_is_left_alone() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    async with world("us") as given:
        given.sources = {OLD: [*BASE, made(account), made(config("old"))], NEW: BASE}
        await given.deployed(OLD)
        given.running.clusters["us"].faults.change({"denied": "list serviceaccounts"})

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.find("us", "ServiceAccount", "robot") is not None
        assert given.find("us", "ConfigMap", "old") is None
        assert any("serviceaccounts were left alone" in line for line in outcomes["us"].details)


async def test_volumes_with_data_are_never_pruned_and_count_for_nothing() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    async with world("us") as given:
        claims = [made({**claim, "metadata": {"name": name}}) for name in ("data", *"abcdefghijkl")]
        given.sources = {OLD: [*BASE, made(config("old")), *claims], NEW: BASE}
        await given.deployed(OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert given.find("us", "PersistentVolumeClaim", "data") is not None
        assert given.find("us", "ConfigMap", "old") is None
        assert any("its data would go with it" in line for line in outcomes["us"].details)
        assert not any("nothing is pruned" in line for line in outcomes["us"].details)


async def test_leftover_variants_go_with_a_sync() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())

        await given.run(rollout_stages.SYNC.name, SYNC)

        assert given.find("us", "Deployment", "shop-canary") is None
        assert given.count("us", "Pod") == 2


async def test_a_clean_up_leaves_what_only_looks_like_the_canary() -> None:
    """Somebody put the labels on an object of their own."""
    async with world("us") as given:
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())
        registry = given.running.clusters["us"].registry
        labels = given.get("us", "ConfigMap", "settings-canary")["metadata"]["labels"]
        theirs = {**config("theirs"), "metadata": {"name": "theirs", "labels": labels}}
        registry.create(registry.kind("v1", "ConfigMap"), "default", theirs, USER)

        outcomes = await given.run(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.find("us", "ConfigMap", "theirs") is not None
        assert given.find("us", "ConfigMap", "settings-canary") is None
        assert given.find("us", "Deployment", "shop-canary") is None
