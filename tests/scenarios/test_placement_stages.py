"""An application moves between clusters: only what is its own goes, and routes stay as they are."""

from kube_sandbox.apiserver.storage import verbs
from stage_world import NEW, OLD, config, deployment, made, service, world
from volary.model.pipeline.stage_kinds import added_stages, stage_kind

MOVE = stage_kind.NoOptions()
USER = verbs.Options(manager="kubectl", agent="kubectl")
BASE = [made(deployment("shop:v1")), made(service()), made(config())]


async def test_what_leaves_a_cluster_is_its_own_and_what_holds_data_stays() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "orders"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    kept = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kept", "annotations": {"volary.dev/prune": "disabled"}},
    }
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "foreign"}}
    async with world("us") as given:
        given.sources = {OLD: [*BASE, made(claim), made(kept)], NEW: BASE}
        await given.deployed(OLD)
        registry = given.running.clusters["us"].registry
        registry.create(registry.kind("v1", "ConfigMap"), "default", foreign, USER)

        outcomes = await given.run(added_stages.PLACEMENT_REMOVE.name, MOVE)
        again = await given.run(added_stages.PLACEMENT_REMOVE.name, MOVE)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert outcomes["us"].reason == "shop removed, 3 objects"
        for kind, name in (("Deployment", "shop"), ("Service", "shop"), ("ConfigMap", "settings")):
            assert given.find("us", kind, name) is None
        for kind, name in (("PersistentVolumeClaim", "orders"), ("ConfigMap", "kept")):
            assert given.find("us", kind, name) is not None
        assert given.find("us", "ConfigMap", "foreign") is not None
        assert again["us"].reason == "no shop to remove"


async def test_nothing_is_removed_where_nobody_answers() -> None:
    async with world("us") as given:
        given.sources = {OLD: BASE, NEW: BASE}
        await given.deployed(OLD)
        given.running.clusters["us"].faults.change({"lost": "refuse"})

        outcomes = await given.run(added_stages.PLACEMENT_REMOVE.name, MOVE)

        given.running.clusters["us"].faults.change({"lost": ""})
        assert outcomes["us"].status == "unreachable"
        assert given.find("us", "Deployment", "shop") is not None


async def test_each_cluster_gets_its_part_at_the_release_that_it_runs() -> None:
    """Not the commit of the run: nothing new comes with a move."""
    async with world("us", "eu") as given:
        given.sources = {
            OLD: [made(deployment("shop:v1", replicas=3)), made(service())],
            NEW: [made(deployment("shop:v2", replicas=3)), made(service())],
        }
        outcomes = await given.run(added_stages.PLACEMENT_SYNC.name, MOVE, running=OLD)

        for name in ("us", "eu"):
            assert outcomes[name].status == "succeeded", outcomes[name]
            assert outcomes[name].reason.startswith(f"at {OLD[:7]}: ")
            body = given.get(name, "Deployment", "shop")
            assert body["spec"]["template"]["spec"]["containers"][0]["image"] == "shop:v1"
            assert body["status"]["readyReplicas"] == 3
