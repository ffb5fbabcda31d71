"""Services and the pods behind them change in one commit; users notice nothing.

What runs was applied by people with kubectl, or by an earlier release.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import command_world
import stage_world
import traffic_world
from kube_sandbox.apiserver.storage import verbs
from stage_world import KEY, NEW, OLD, made
from volary.model import applications, json, routing_options
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)

SYNC, ROLLBACK = rollout_stages.SYNC.name, added_stages.ROLLBACK.name
PRUNED = rollout_stages.SyncOptions(prune=True)
PEOPLE = verbs.Options(manager="kubectl-client-side-apply", agent="kubectl")
POD_SELECTOR = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    traffic_routing=routing_options.TrafficRouting(
        method=routing_options.RoutingMethod.POD_SELECTOR
    ),
)
Labels = Mapping[str, str]
PLAIN, LABELLED = {"app": "shop"}, {"app": "shop", KEY: "primary"}
#: The pods go from `before` to `after`; so does the Service.
A, B = {"id": "shop", "app": "old"}, {"id": "shop", "app": "new"}


def workload(
    image: str, pods: Labels, *, name: str = "shop", selector: Labels | None = None, **spec: Any
) -> json.JsonObject:
    """A Deployment whose pods carry `pods`."""
    body = stage_world.deployment(image, name=name, **(selector or pods))
    body["spec"]["template"]["metadata"]["labels"] = dict(pods)
    body["spec"].update(spec)
    body["metadata"]["annotations"] = {"volary.dev/force-conflicts": "enabled"}
    return body


def service(**selector: str) -> json.JsonObject:
    body = stage_world.service(**selector)
    body["metadata"]["annotations"] = {"volary.dev/force-conflicts": "enabled"}
    return body


@contextlib.asynccontextmanager
async def given(
    before: tuple[json.JsonObject, ...],
    after: tuple[json.JsonObject, ...],
    *,
    by_people: bool = True,
) -> AsyncIterator[tuple[stage_world.World, traffic_world.Users]]:
    """Something runs in two clusters and has users, who lose nothing in the end."""
    settings = traffic_world.settings(drain=1.0)
    async with stage_world.world("us", "eu", application=POD_SELECTOR, settings=settings) as world:
        world.sources = {OLD: [*map(made, before)], NEW: [*map(made, after)]}
        if by_people:
            for cluster in world.running.clusters.values():
                for body in before:
                    kind = cluster.registry.kind(body["apiVersion"], body["kind"])
                    cluster.registry.create(kind, "default", body, PEOPLE)
        else:
            await world.deployed()
        async with traffic_world.users(world) as users:
            yield world, users
            await asyncio.sleep(0.3)
        users.assert_nothing_lost(at_least=10)


def selectors(world: stage_world.World) -> list[Any]:
    return [world.get(name, "Service", "shop")["spec"]["selector"] for name in world.names]


def statuses(outcomes: Mapping[str, Any]) -> set[str]:
    return {str(outcome.status) for outcome in outcomes.values()}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        pytest.param(
            (workload("shop:v1", PLAIN), service(**PLAIN)),
            (workload("shop:v2", LABELLED, selector=PLAIN), service(**LABELLED)),
            "stays as it is until pods with app=shop,pipecd.dev/variant=primary are ready",
            id="a label is added",
        ),
        pytest.param(
            (workload("shop:v1", PLAIN), service(**PLAIN)),
            (workload("shop:v2", LABELLED), service(**LABELLED)),
            "stays as it is until pods with app=shop,pipecd.dev/variant=primary are ready",
            id="a label is added, also to the workload's selector, which cannot change",
        ),
        pytest.param(
            (workload("shop:v1", LABELLED, selector=PLAIN), service(**LABELLED)),
            (workload("shop:v2", PLAIN), service(**PLAIN)),
            "is changed first: the pods that run fit it",
            id="a label is removed",
        ),
        pytest.param(
            (workload("shop:v1", A, selector={"id": "shop"}), service(app="old")),
            (workload("shop:v2", B, selector={"id": "shop"}), service(app="new")),
            "selects id=shop, which old and new pods share, until pods with app=new are ready",
            id="a label gets another value",
        ),
    ],
)
async def test_what_people_applied_is_adopted(
    before: tuple[json.JsonObject, ...], after: tuple[json.JsonObject, ...], said: str
) -> None:
    async with given(before, after) as (world, _):
        outcomes = await world.run(SYNC, PRUNED, running="", limit=30)

        assert statuses(outcomes) == {"succeeded"}, outcomes
        assert selectors(world) == [after[1]["spec"]["selector"]] * 2
        assert world.images("us") == "shop:v2 2/2"
        assert any(said in line for line in outcomes["us"].details), outcomes["us"].details


async def test_many_adopted_workloads_keep_their_selectors() -> None:
    """They are listed by our labels, which they do not have yet."""
    names = ("a", "b", "c", "d")
    async with stage_world.world("us", application=POD_SELECTOR) as world:
        registry = world.running.clusters["us"].registry
        kind = registry.kind("apps/v1", "Deployment")
        for name in names:
            registry.create(kind, "default", workload("shop:v1", {"app": name}, name=name), PEOPLE)
        wanted = [workload("shop:v2", {"app": name, KEY: "primary"}, name=name) for name in names]
        world.sources[NEW] = [*map(made, wanted)]

        outcomes = await world.run(SYNC, PRUNED, running="")

        assert statuses(outcomes) == {"succeeded"}, outcomes
        for name in names:
            live = world.get("us", "Deployment", name)
            assert live["spec"]["selector"]["matchLabels"] == {"app": name}
            assert live["spec"]["template"]["metadata"]["labels"][KEY] == "primary"


async def test_a_renamed_workload_takes_the_service_over_before_the_old_one_is_pruned() -> None:
    before = (workload("shop:v1", {"app": "web"}, name="web"), service(app="web"))
    after = (workload("shop:v2", {"app": "web2"}, name="web2"), service(app="web2"))
    async with given(before, after, by_people=False) as (world, _):
        outcomes = await world.run(SYNC, PRUNED, limit=30)

        assert statuses(outcomes) == {"succeeded"}, outcomes
        assert selectors(world) == [{"app": "web2"}] * 2
        assert world.find("us", "Deployment", "web") is None
        assert world.images("us", "web2") == "shop:v2 2/2"


@pytest.mark.parametrize("by_people", [False, True])
@pytest.mark.parametrize("new", ["web", "web2"])
async def test_a_bad_image_leaves_the_service_where_it_was(new: str, by_people: bool) -> None:
    labels = {"app": new, KEY: "primary"}
    bad = workload("bad:v2", labels, name=new, selector={"app": new})
    before = (workload("shop:v1", {"app": "web"}, name="web"), service(app="web"))
    running = "" if by_people else OLD
    async with given(before, (bad, service(**labels)), by_people=by_people) as (world, _):
        failed = await world.run(SYNC, PRUNED, running=running)
        meanwhile = selectors(world)
        back = await world.run(ROLLBACK, stage_kind.NoOptions(), running=running)

        assert statuses(failed) == {"failed"}, failed
        assert meanwhile == [{"app": "web"}] * 2
        assert statuses(back) == {"succeeded"}, back
        assert selectors(world) == [{"app": "web"}] * 2
        assert world.images("us", "web").endswith(" 2/2")
        assert world.count("us", "Deployment") == 1


@pytest.mark.parametrize("by_people", [False, True])
async def test_a_rollback_changes_services_by_the_same_rules(by_people: bool) -> None:
    before = (workload("shop:v1", A, selector={"id": "shop"}), service(app="old"))
    after = (workload("shop:v2", B, selector={"id": "shop"}), service(app="new"))
    async with given(before, after, by_people=by_people) as (world, _):
        running = "" if by_people else OLD
        await world.run(SYNC, PRUNED, running=running, limit=30)
        assert selectors(world) == [{"app": "new"}] * 2

        back = await world.run(ROLLBACK, stage_kind.NoOptions(), running=running, limit=30)

        assert statuses(back) == {"succeeded"}, back
        assert selectors(world) == [{"app": "old"}] * 2
        assert world.images("us") == "shop:v1 2/2"


C, D = {**A, KEY: "primary"}, {**B, KEY: "primary"}


@pytest.mark.parametrize(
    ("before", "after", "by_people"),
    [
        pytest.param(
            (workload("shop:v1", PLAIN), service(**PLAIN)),
            (workload("shop:v2", LABELLED), service(**LABELLED)),
            True,
            id="applied by people, without the label",
        ),
        pytest.param(
            (
                workload("shop:v1", C, selector={"id": "shop"}),
                service(app="old", **{KEY: "primary"}),
            ),
            (
                workload("shop:v2", D, selector={"id": "shop"}),
                service(app="new", **{KEY: "primary"}),
            ),
            False,
            id="a label gets another value",
        ),
    ],
)
async def test_a_pipeline_moves_users_to_canary_and_to_the_new_primary(
    before: tuple[json.JsonObject, ...], after: tuple[json.JsonObject, ...], by_people: bool
) -> None:
    canary = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(2))
    async with given(before, after, by_people=by_people) as (world, users):
        for name, options in (
            (rollout_stages.CANARY_ROLLOUT.name, canary),
            (traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(0, canary=100)),
            (rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()),
            (rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
        ):
            running = "" if by_people else OLD
            outcomes = await world.run(name, options, running=running, limit=30)
            assert statuses(outcomes) == {"succeeded"}, (name, outcomes)

        assert selectors(world) == [after[1]["spec"]["selector"]] * 2
        assert world.images("us") == "shop:v2 2/2"
        assert world.count("us", "Deployment") == 1
        assert users.tally("us").by_version().keys() == {"v1", "v2"}


REFUSED = [
    pytest.param(
        workload("shop:v2", LABELLED, selector=PLAIN),
        service(app="shpo"),
        "would lead to nobody: no workload of the application has pods with app=shpo",
        id="a typo",
    ),
    pytest.param(
        workload("shop:v2", {**PLAIN, "color": "b"}, selector=PLAIN),
        service(color="b"),
        "would lead to nobody for a while: pods with color=a go while those with color=b come",
        id="what is shared fits others",
    ),
    pytest.param(
        workload("shop:v2", {**PLAIN, "color": "a"}, selector=PLAIN),
        {
            **service(color="a"),
            "spec": {"selector": {"color": "a"}, "ports": [{"port": 80, "targetPort": 9090}]},
        },
        "would lead to closed ports for a while: the pods that run do not listen at 9090",
        id="another port",
    ),
]


@pytest.mark.parametrize(("pods", "leading", "said"), REFUSED)
async def test_what_cannot_be_done_without_a_gap_is_refused_untouched(
    pods: json.JsonObject, leading: json.JsonObject, said: str
) -> None:
    if "closed" in said:
        container = pods["spec"]["template"]["spec"]["containers"][0]
        container["ports"] = [{"containerPort": 9090}]
    other = workload("shop:v1", {**PLAIN, "tier": "jobs"}, name="jobs", selector={"tier": "jobs"})
    color = {**PLAIN, "color": "a"}
    before = (workload("shop:v1", color, selector=PLAIN), service(color="a"), other)
    async with given(before, (pods, leading)) as (world, _):
        outcomes = await world.run(SYNC, PRUNED, running="")

        assert statuses(outcomes) == {"failed"}, outcomes
        assert said in outcomes["us"].reason
        assert any("hint: " in line for line in outcomes["us"].details)
        assert not outcomes["us"].touched
        assert world.images("us") == "shop:v1 2/2"


async def test_the_hint_of_two_commits_leads_there() -> None:
    """New labels beside the old ones first, then the Service."""
    other = workload("shop:v1", {**PLAIN, "tier": "jobs"}, name="jobs", selector={"tier": "jobs"})
    before = (
        workload("shop:v1", {**PLAIN, "color": "a"}, selector=PLAIN),
        service(color="a"),
        other,
    )
    both = workload("shop:v2", {**PLAIN, "color": "a", "next": "b"}, selector=PLAIN)
    async with given(before, (both, service(color="a"))) as (world, _):
        first = await world.run(SYNC, PRUNED, running="", limit=30)
        world.sources["3" * 40] = [made(both), made(service(next="b"))]
        second = await world.run(SYNC, PRUNED, commit="3" * 40, running=NEW, limit=30)

        assert statuses(first) == statuses(second) == {"succeeded"}, (first, second)
        assert selectors(world) == [{"next": "b"}] * 2


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "ExternalName", "externalName": "shop.example.com"},
        {"ports": [{"port": 80, "targetPort": 8080}]},
    ],
    ids=["ExternalName", "without selector"],
)
async def test_a_service_without_pods_of_its_own_is_not_waited_for(spec: json.JsonObject) -> None:
    async with stage_world.world("us", application=POD_SELECTOR) as world:
        world.application = applications.Application(name="shop")
        await world.deployed()
        world.sources[NEW][1] = made({**stage_world.service(), "spec": spec})

        outcomes = await world.run(SYNC, PRUNED)

        assert statuses(outcomes) == {"succeeded"}, outcomes
        assert "selector" not in world.get("us", "Service", "shop")["spec"]


@pytest.mark.parametrize("drift", [{"app": "nobody"}, {"app": "other"}])
async def test_a_sync_repairs_a_selector_that_somebody_edited(drift: dict[str, str]) -> None:
    """Whether it leads to nobody by now, or to other pods, which users keep until it is done."""
    shop = (workload("shop:v1", PLAIN), service(**PLAIN))
    other = workload("shop:v9", {"app": "other"}, name="other")
    async with stage_world.world("us") as world:
        world.sources[OLD] = [*map(made, (*shop, other))]
        await world.deployed()
        registry = world.running.clusters["us"].registry
        kind = registry.kind("v1", "Service")
        live = world.get("us", "Service", "shop")
        edited = {**live, "spec": {**live["spec"], "selector": drift}}
        registry.update(
            kind, "default", "shop", edited, verbs.Options(manager="kubectl-edit", agent="kubectl")
        )

        outcomes = await world.run(SYNC, PRUNED, commit=OLD, limit=30)

        assert statuses(outcomes) == {"succeeded"}, outcomes
        assert world.get("us", "Service", "shop")["spec"]["selector"] == PLAIN
        assert world.traffic("us").by_image() == {"shop:v1": 1.0}


async def test_plan_and_run_refuse_before_anything_is_written(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as world:
        await world.deployed()
        world.edit("service.yaml", "    app: simple", "    app: simpel", message="A typo")
        before = await world.settled()

        planned = await world.volary("plan", ".", "--fleet", world.fleet)
        ended = await world.run("--strategy", "quick")

        assert (planned.code, ended.code) == (1, 2), (planned, ended)
        for said in (planned.out + planned.err, ended.err):
            assert "Service default/simple would lead to nobody" in " ".join(said.split())
            assert "correct its selector or the labels of the pods" in " ".join(said.split())
        assert await world.settled() == before
