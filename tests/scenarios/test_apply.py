"""Applying a set: all or nothing where it can be, and words for what went wrong."""

import asyncio
import copy

import pytest

from kube_sandbox.apiserver.storage import storage, verbs
from stage_world import NEW, OLD, config, deployment, made, service, shop, world
from volary.clusters.apply import applier
from volary.clusters.client import clients
from volary.model import applications, json
from volary.model.objects import apply_results
from volary.model.pipeline.stage_kinds import rollout_stages

SYNC = rollout_stages.SyncOptions()
USER = verbs.Options(manager="kubectl-edit", agent="kubectl")


def widget(size: int = 3) -> dict[str, object]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "gear"},
        "spec": {"size": size},
    }


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {
            "plural": "widgets",
            "singular": "widget",
            "kind": "Widget",
            "listKind": "WidgetList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "minimum": 1}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


async def test_nothing_is_touched_when_one_object_is_bad_and_all_problems_are_told() -> None:
    wrong = deployment("shop:v2")
    wrong["spec"]["replicas"] = -1
    async with world("us") as given:
        given.sources[NEW] = [
            made(config(greeting="new")),
            made(wrong),
            made({**service(), "spec": {"selector": {"a": "b"}}}, "service.yaml"),
        ]
        await given.deployed(OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "failed"
        assert not outcomes["us"].touched
        text = "\n".join(outcomes["us"].details)
        assert "spec.replicas" in text
        assert "spec.ports" in text
        assert given.get("us", "ConfigMap", "settings")["data"] == {"greeting": "hello"}


async def test_an_immutable_field_is_named_with_the_way_out() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        given.sources[NEW] = [made(deployment("shop:v2", app="renamed")), made(service())]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "failed"
        assert "spec.selector cannot be changed on a live object" in outcomes["us"].reason
        assert any("force-sync-by-replace" in line for line in outcomes["us"].details)
        assert not outcomes["us"].touched


async def test_force_replace_deletes_and_creates_anew() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        before = given.get("us", "Deployment", "shop")["metadata"]["uid"]
        body = deployment("shop:v2", app="shop", tier="web")
        body["metadata"]["annotations"] = {"pipecd.dev/force-sync-by-replace": "enabled"}
        given.sources[NEW] = [made(body), made(config())]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.get("us", "Deployment", "shop")["metadata"]["uid"] != before
        assert given.images("us") == "shop:v2 2/2"


async def test_replace_takes_away_what_others_added_and_creates_what_is_missing() -> None:
    body = config()
    body["metadata"]["annotations"] = {"pipecd.dev/sync-by-replace": "enabled"}
    async with world("us") as given:
        given.sources[OLD] = [made(body)]
        await given.deployed(OLD)
        registry = given.running.clusters["us"].registry
        registry.patch(
            registry.kind("v1", "ConfigMap"),
            "default",
            "settings",
            {"data": {"extra": "1"}},
            verbs.PatchType.MERGE,
            USER,
        )

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, commit=OLD)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.get("us", "ConfigMap", "settings")["data"] == {"greeting": "hello"}


async def test_a_conflict_says_who_owns_which_field() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        registry = given.running.clusters["us"].registry
        kind = registry.kind("v1", "ConfigMap")
        registry.patch(
            kind,
            "default",
            "settings",
            {"data": {"greeting": "theirs"}},
            verbs.PatchType.MERGE,
            verbs.Options(manager="shop-operator", agent="operator"),
        )

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, commit=NEW)

        assert outcomes["us"].status == "failed"
        assert "shop-operator owns .data.greeting" in outcomes["us"].reason
        assert not outcomes["us"].touched
        assert given.get("us", "ConfigMap", "settings")["data"] == {"greeting": "theirs"}

        taken = config()
        taken["metadata"]["annotations"] = {"volary.dev/force-conflicts": "enabled"}
        given.sources[NEW] = [made(taken)]
        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)
        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.get("us", "ConfigMap", "settings")["data"] == {"greeting": "hello"}


async def test_drift_is_mended_and_what_is_unchanged_is_not_written() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        before = given.get("us", "Deployment", "shop")["metadata"]["resourceVersion"]
        registry = given.running.clusters["us"].registry
        live = given.get("us", "ConfigMap", "settings")
        labels = {
            key: value for key, value in live["metadata"]["labels"].items() if "volary" in key
        }
        assert labels
        registry.delete(registry.kind("v1", "ConfigMap"), "default", "settings", verbs.Deletion())

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, commit=OLD)

        assert outcomes["us"].reason.startswith("primary: 1 created, 2 unchanged")
        assert given.get("us", "Deployment", "shop")["metadata"]["resourceVersion"] == before


@pytest.mark.parametrize("create", [False, True])
async def test_a_missing_namespace(create: bool) -> None:
    described = applications.Application(
        name="shop", input=applications.Input(auto_create_namespace=create)
    )
    async with world("us", application=described) as given:
        for each in given.sources[NEW]:
            each.body["metadata"]["namespace"] = "web"

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        if create:
            assert outcomes["us"].status == "succeeded", outcomes["us"]
            assert given.find("us", "Deployment", "shop", "web") is not None
        else:
            assert outcomes["us"].status == "failed"
            assert outcomes["us"].reason == "namespace web does not exist on cluster us"
            assert not outcomes["us"].touched


async def test_a_namespace_in_the_set_comes_first() -> None:
    async with world("us") as given:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
        for each in given.sources[NEW]:
            each.body["metadata"]["namespace"] = "web"
        given.sources[NEW].append(made(namespace))

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.find("us", "Deployment", "shop", "web") is not None


async def test_a_missing_definition_names_the_kind() -> None:
    async with world("us") as given:
        given.sources[NEW] = [made(widget()), *shop("shop:v2")]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "failed"
        assert "does not know the kind Widget (example.com/v1)" in outcomes["us"].reason
        assert given.find("us", "Deployment", "shop") is None


async def test_a_definition_in_the_set_is_waited_for() -> None:
    async with world("us") as given:
        given.sources[NEW] = [made(widget()), made(DEFINITION)]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.find("us", "Widget.example.com", "gear") is not None


async def test_a_bad_object_of_a_new_kind_leaves_only_its_definition() -> None:
    async with world("us") as given:
        given.sources[NEW] = [made(widget(0)), made(DEFINITION), made(config())]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "failed"
        assert outcomes["us"].touched
        assert "spec.size" in outcomes["us"].reason
        assert given.find("us", "ConfigMap", "settings") is None


def _with_colour(body: json.JsonObject) -> json.JsonObject:
    """The definition with one more field."""
    changed = copy.deepcopy(body)
    schema = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["colour"] = {"type": "string"}
    return changed


async def test_a_new_field_comes_with_the_changed_definition_in_one_commit() -> None:
    coloured = {**widget(), "spec": {"size": 3, "colour": "blue"}}
    async with world("us") as given:
        given.sources[OLD] = [made(widget()), made(DEFINITION)]
        await given.deployed(OLD)
        given.sources[NEW] = [made(coloured), made(_with_colour(DEFINITION)), made(config())]
        client = await given.clients.client("us")
        assert isinstance(client, clients.Client)

        planned = await applier.SetApply(client).inspect(given.sources[NEW])
        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        actions = {seen.change.key.name: seen.change.action for seen in planned}
        assert actions["gear"] is apply_results.Action.CONFIGURED
        assert actions["widgets.example.com"] is apply_results.Action.CONFIGURED
        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.get("us", "Widget.example.com", "gear")["spec"]["colour"] == "blue"
        back = await given.run(rollout_stages.SYNC.name, SYNC, commit=OLD, running=NEW)
        assert back["us"].status == "succeeded", back["us"]
        assert given.get("us", "Widget.example.com", "gear")["spec"] == {"size": 3}


async def test_what_is_wrong_by_a_changed_definition_too_is_told() -> None:
    wrong = {**widget(), "spec": {"size": 3, "weight": 7}}
    async with world("us") as given:
        given.sources[OLD] = [made(widget()), made(DEFINITION)]
        await given.deployed(OLD)
        given.sources[NEW] = [made(wrong), made(_with_colour(DEFINITION)), made(config())]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "failed"
        assert "spec.weight" in outcomes["us"].reason
        assert given.find("us", "ConfigMap", "settings") is None


async def test_what_api_servers_warn_of_is_said_once_in_a_run() -> None:
    old = copy.deepcopy(DEFINITION)
    old["spec"]["versions"][0] |= {"deprecated": True, "deprecationWarning": 'use "v2" instead'}
    both = [made({**widget(), "metadata": {"name": name}}) for name in ("gear", "lever")]
    async with world("us", "eu") as given:
        given.sources[NEW] = [*both, made(old)]

        def told() -> list[str]:
            lines = (line for report in given.reports.values() for line in report.lines)
            return [line for line in lines if "warning of cluster" in line]

        given.sources[OLD] = [made(widget(7)), made(old)]
        async with given.one_run():
            outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")
            (line,) = told()
            again = await given.run(rollout_stages.SYNC.name, SYNC, commit=OLD, running=NEW)

        assert {outcome.status for outcome in outcomes.values()} == {"succeeded"}
        assert line.endswith(': use "v2" instead')
        assert again["us"].touched
        assert told() == []


async def test_a_missing_permission_names_verb_and_resource() -> None:
    async with world("us", "eu") as given:
        await given.deployed(OLD)
        given.running.clusters["us"].faults.change({"denied": "patch deployments"})

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "failed"
        assert "patch deployments.apps" in outcomes["us"].reason
        assert not outcomes["us"].touched
        assert outcomes["eu"].status == "succeeded"


async def test_a_namespace_that_is_going_and_a_full_quota_are_no_missing_permission() -> None:
    held = {**config(), "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"configmaps": "1"}},
    }
    async with world("going", "full") as given:
        for name in ("going", "full"):
            registry = given.running.clusters[name].registry
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
            registry.create(registry.kind("v1", "Namespace"), "", namespace, USER)
        going = given.running.clusters["going"].registry
        going.create(going.kind("v1", "ConfigMap"), "web", held, USER)
        going.delete(going.kind("v1", "Namespace"), "", "web")
        full = given.running.clusters["full"].registry
        full.create(full.kind("v1", "ResourceQuota"), "web", quota, USER)
        given.sources[NEW] = []
        for number in range(3):
            body = config()
            body["metadata"] = {"name": f"c{number}", "namespace": "web"}
            given.sources[NEW].append(made(body))

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert {outcome.status for outcome in outcomes.values()} == {"failed"}
        told = {name: "\n".join(outcome.details) for name, outcome in outcomes.items()}
        assert "hint: wait until namespace web is gone" in told["going"]
        assert "hint: raise the ResourceQuota" in told["full"]
        assert "RoleBinding" not in str(told)


async def test_a_namespace_outside_the_fleets_limits_is_refused() -> None:
    async with world("us", "eu", namespaces={"us": ("web",)}) as given:
        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "failed"
        assert "only web may be used" in outcomes["us"].reason
        assert given.find("us", "Deployment", "shop") is None
        assert outcomes["eu"].status == "succeeded"


AUTOSCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "shop"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"},
        "minReplicas": 1,
        "maxReplicas": 9,
    },
}


async def test_a_workload_keeps_its_pods_when_git_leaves_them_to_a_new_autoscaler() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        assert given.images("us") == "shop:v1 2/2"
        bare = [
            each.with_body({**each.body, "spec": _without_replicas(each.body["spec"])})
            for each in given.sources[NEW]
            if each.kind == "Deployment"
        ]
        others = [each for each in given.sources[NEW] if each.kind != "Deployment"]
        given.sources[NEW] = [*bare, *others, made(AUTOSCALER)]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.images("us") == "shop:v2 2/2"


def _without_replicas(spec: json.JsonObject) -> json.JsonObject:
    return {key: value for key, value in spec.items() if key != "replicas"}


async def test_an_autoscalers_replicas_are_left_to_it() -> None:
    async with world("us") as given:
        for commit in (OLD, NEW):
            given.sources[commit].append(made(AUTOSCALER))
        await given.deployed(OLD)
        registry = given.running.clusters["us"].registry
        registry.patch(
            registry.kind("apps/v1", "Deployment"),
            "default",
            "shop",
            {"spec": {"replicas": 5}},
            verbs.PatchType.MERGE,
            verbs.Options(manager="kube-controller-manager", agent="kube-controller-manager"),
        )

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.images("us") == "shop:v2 5/5"
        again = await given.run(rollout_stages.SYNC.name, SYNC)
        assert not again["us"].touched


async def test_no_manifests_is_an_error() -> None:
    async with world("us") as given:
        given.sources[NEW] = []

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].status == "failed"
        assert "no Kubernetes manifests" in outcomes["us"].reason


async def test_a_cluster_lost_in_the_middle_says_what_was_done() -> None:
    """The write after the Service gets no answer: unreachable, touched, and told how far."""
    async with world("us") as given:
        cluster = given.running.clusters["us"]
        kept = []

        def lose(change: storage.Change) -> None:
            if change.item.body.get("kind") == "Service":
                cluster.faults.change({"lost": "refuse"})

        kept.append(cluster.registry.subscribe(lose))

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "unreachable"
        assert outcomes["us"].touched
        assert "created ConfigMap default/settings" in outcomes["us"].details
        assert given.find("us", "Deployment", "shop") is None


async def test_what_pipecd_deployed_is_taken_over_without_replacing_it() -> None:
    async with world("us") as given:
        registry = given.running.clusters["us"].registry
        body = deployment("shop:v1")
        marks = {"pipecd.dev/managed-by": "piped", "pipecd.dev/application": "x"}
        body["metadata"] |= {"labels": marks, "annotations": marks}
        kubectl = verbs.Options(manager="kubectl-client-side-apply", agent="kubectl")
        registry.create(registry.kind("apps/v1", "Deployment"), "default", body, kubectl)
        uid = given.get("us", "Deployment", "shop")["metadata"]["uid"]

        refused = await given.run(rollout_stages.SYNC.name, SYNC, running="")
        taking = deployment("shop:v2")
        taking["metadata"]["annotations"] = {"volary.dev/take-over": "pipecd:x"}
        given.sources[NEW] = [made(taking), *given.sources[NEW][1:]]
        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert refused["us"].status == "failed"
        assert "it belongs to PipeCD's application x" in refused["us"].reason
        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.images("us") == "shop:v2 2/2"
        assert given.get("us", "Deployment", "shop")["metadata"]["uid"] == uid


async def test_a_new_commit_without_changes_restarts_nothing() -> None:
    """Nothing is written but what runs: an object says which commit changed it last."""
    async with world("us") as given:
        await given.deployed(OLD)
        given.sources[NEW] = given.sources[OLD]
        view = given.running.clusters["us"].view
        pods = {pod["metadata"]["uid"] for pod in view.list("Pod", "default")}
        before = given.get("us", "Deployment", "shop")["metadata"]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC)

        assert outcomes["us"].reason.startswith("primary: 3 unchanged")
        assert outcomes["us"].touched, "what runs is said in the inventory"
        live = given.get("us", "Deployment", "shop")["metadata"]
        assert live["annotations"]["volary.dev/commit"] == OLD
        assert live["generation"] == before["generation"]
        assert live["resourceVersion"] == before["resourceVersion"]
        assert {pod["metadata"]["uid"] for pod in view.list("Pod", "default")} == pods


async def test_a_cluster_with_hiccups_gets_there_all_the_same() -> None:
    async with world("us") as given:
        given.running.clusters["us"].faults.change(
            {"throttleRate": 0.15, "retryAfter": "20ms", "errorRate": 0.1}
        )

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.images("us") == "shop:v2 2/2"


async def test_a_misspelt_field_is_refused_by_name() -> None:
    body = deployment("shop:v2")
    body["spec"]["replcas"] = 3
    async with world("us") as given:
        given.sources[NEW] = [made(body), made(config())]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "failed"
        assert "replcas" in outcomes["us"].reason
        assert not outcomes["us"].touched
        assert given.find("us", "ConfigMap", "settings") is None


async def test_an_object_that_is_being_deleted_is_created_anew_when_it_has_gone() -> None:
    """What is written to it before would go with it."""
    async with world("us") as given:
        given.sources[OLD] = [made(config())]
        await given.deployed(OLD)
        cluster = given.running.clusters["us"]
        kind = cluster.registry.kind("v1", "ConfigMap")
        hold = {"metadata": {"finalizers": ["example.com/hold"]}}
        merge = verbs.PatchType.MERGE
        cluster.registry.patch(kind, "default", "settings", hold, merge, USER)
        cluster.registry.delete(kind, "default", "settings", verbs.Deletion())
        before = given.get("us", "ConfigMap", "settings")["metadata"]["uid"]

        async def let_go() -> None:
            await asyncio.sleep(0.3)
            free = {"metadata": {"finalizers": None}}
            cluster.registry.patch(kind, "default", "settings", free, merge, USER)

        async with asyncio.TaskGroup() as group:
            group.create_task(let_go())
            running = group.create_task(given.run(rollout_stages.SYNC.name, SYNC, commit=OLD))

        assert running.result()["us"].status == "succeeded", running.result()
        assert given.get("us", "ConfigMap", "settings")["metadata"]["uid"] != before


async def test_an_object_that_cannot_go_is_named_with_what_holds_it() -> None:
    async with world("us") as given:
        body = config()
        body["metadata"] |= {
            "annotations": {"pipecd.dev/force-sync-by-replace": "enabled"},
            "finalizers": ["example.com/hold"],
        }
        given.sources = {OLD: [made(body)], NEW: [made(body)]}
        await given.deployed(OLD)

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, limit=1)

        assert outcomes["us"].status == "failed"
        assert "held by example.com/hold" in outcomes["us"].reason


async def test_an_unmarked_object_can_be_replaced_by_force() -> None:
    """It was made by hand, so no label tells that it is there."""
    async with world("us") as given:
        registry = given.running.clusters["us"].registry
        theirs = config(greeting="by hand")
        registry.create(registry.kind("v1", "ConfigMap"), "default", theirs, USER)
        body = config()
        body["metadata"]["annotations"] = {"pipecd.dev/force-sync-by-replace": "enabled"}
        given.sources[NEW] = [made(body)]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="")

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert given.get("us", "ConfigMap", "settings")["data"] == {"greeting": "hello"}
