"""A task of the engine becomes a stage on one cluster, with everything it may use."""

import asyncio
import types
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

import memory_client
import stage_contexts
from memory_world import LoopClock, now
from volary.clusters.client import client_pool
from volary.clusters.inventory import inventory, snapshot_store
from volary.engine import executor as engine_executor
from volary.engine.runs import run_builder, state
from volary.model import analysis, applications, errors, statuses
from volary.model.fleet import fleets
from volary.model.objects import manifest, object_health
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.stages import executor
from volary.stages.runtime import adoptions, contexts, task_states

pytestmark = pytest.mark.looptime
SECOND = timedelta(seconds=1)
WAIT = pipelines.Stage(waiting_stages.WAIT.name, waiting_stages.WaitOptions(30 * SECOND))
RULE = object_health.Rule("example.com", "Shop")


class Pool:
    """Clients of the clusters us and eu."""

    def __init__(self, *health: object_health.Rule, **problems: client_pool.Unavailable) -> None:
        self.fleet = fleets.Fleet(
            (fleets.Cluster("us", kubeconfig=("x",), namespaces=("shop",)),), health=health
        )
        self.problems = problems

    async def client(self, name: str) -> Any:
        return self.problems.get(name) or types.SimpleNamespace(namespace="default", name=name)

    def member(self, name: str) -> fleets.Cluster | None:
        return next((each for each in self.fleet.clusters if each.name == name), None)


def made(pool: Pool | None = None, **given: Any) -> executor.ClusterExecutor:
    async def render(commit: str, target: str) -> list[manifest.Manifest]:
        return []

    known: dict[str, Any] = {"render": render, **given}
    return executor.ClusterExecutor(
        applications.Application(name="shop"),
        cast("client_pool.ClientPool", pool or Pool()),
        clock=LoopClock(),
        **known,
    )


def task(stage: pipelines.Stage = WAIT, **given: Any) -> engine_executor.TaskContext:
    known: dict[str, Any] = {
        "run_id": "run",
        "application": "shop",
        "commit": "new",
        "running_commit": "old",
        "stage_id": "1-WAIT",
        "stage": stage,
        "target": "us",
        "attempt": 1,
        "deadline": stage_contexts.START + 60 * SECOND,
    }
    return engine_executor.TaskContext(**{**known, **given})


async def test_a_stage_is_carried_out_within_its_deadline() -> None:
    ended = await made().execute(task(), stage_contexts.Report())
    assert (ended.status, ended.reason) == (statuses.TaskStatus.SUCCEEDED, "waited for 30s")
    assert now() == 30

    late = task(deadline=stage_contexts.START + 59 * SECOND)
    ended = await made().execute(late, stage_contexts.Report())
    assert ended.status is statuses.TaskStatus.FAILED
    assert "does not fit into what is left of the stage" in ended.reason


async def test_one_whose_time_is_over_still_says_so() -> None:
    past = task(deadline=stage_contexts.START - SECOND)
    ended = await made().execute(past, stage_contexts.Report())
    assert ended.status is statuses.TaskStatus.FAILED


async def test_a_stage_can_be_stopped() -> None:
    stop = engine_executor.StopFlag()
    asyncio.get_running_loop().call_later(5, stop.raise_flag, "by ana")
    ended = await made().execute(task(stop=stop), stage_contexts.Report())
    assert ended.status is statuses.TaskStatus.CANCELLED
    assert now() == 5


async def test_who_has_not_carried_out_the_stage_before_knows_nothing_of_the_routes() -> None:
    carrying, known, late = made(), [], stage_contexts.START + 1000 * SECOND
    for begun, attempt in ((0, 1), (1, 1), (3, 1), (4, 1), (4, 2), (5, 1)):
        await asyncio.sleep(10)
        given = task(begun=(WAIT,) * begun, attempt=attempt, deadline=late)
        await carrying.execute(given, stage_contexts.Report())
        routes = carrying._settling["us"]
        routes.note_earlier()
        assert routes.since is not None
        known.append((routes.since - 30 * SECOND).total_seconds())

    # Seconds from the last stage before which somebody else may have been there, to this one.
    assert known == [0, 40, 0, 40, 0, 40]


async def test_a_cluster_without_a_client_is_an_outcome() -> None:
    problem = errors.Problem("no such context", hint="name another")
    pool = Pool(us=client_pool.Unavailable("us", "us cannot be reached", (problem,)))

    ended = await made(pool).execute(task(), stage_contexts.Report())

    assert ended.status is statuses.TaskStatus.FAILED
    assert ended.reason == "us cannot be reached"
    assert ended.details == tuple(str(problem).splitlines())


class Seen:
    """A stage's analysis sees what the stage was given; this meter keeps it."""

    def __init__(self) -> None:
        self.questions: list[Any] = []

    async def measure(self, question: Any) -> analysis.Measurement:
        self.questions.append(question)
        measured: analysis.Measurement = question.answer("q", (0.01,))
        return measured


async def test_everything_a_task_knows_reaches_its_stage() -> None:
    keeper, meter = task_states.InProcessStore(), Seen()
    rule = analysis.Rule(
        "errors", "p", "q", interval=SECOND, strategy=analysis.Strategy.NOT_UPDATED
    )
    options = waiting_stages.AnalysisOptions(10 * SECOND, (rule,))
    stage = pipelines.Stage(waiting_stages.ANALYSIS.name, options)
    report = stage_contexts.Report()

    await made(keeper=keeper, meter=meter).execute(
        task(stage, not_updated=("eu",), attempt=2), report
    )

    assert {each.target for each in meter.questions} == {"us", "eu"}
    place = task_states.TaskAttempt("run", "1-WAIT", "us", 2)
    assert await keeper.load(place) == {"started": stage_contexts.START.isoformat()}
    assert report.findings


async def test_the_clusters_of_a_stage_meet() -> None:
    carrying, meter = made(meter=Seen()), Seen()
    rule = analysis.Rule(
        "errors",
        "p",
        "q",
        interval=SECOND,
        expected=analysis.Range(maximum=1),
        decider=analysis.Decider.POOLED,
    )
    options = waiting_stages.AnalysisOptions(3 * SECOND, (rule,))
    stage = pipelines.Stage(waiting_stages.ANALYSIS.name, options)

    ended = await asyncio.gather(
        *(
            carrying.execute(task(stage, target=target), stage_contexts.Report())
            for target in ("us", "eu")
        )
    )

    assert meter.questions == []
    assert {each.status for each in ended} == {statuses.TaskStatus.SUCCEEDED}
    (rendezvous,) = carrying._rendezvous.values()
    assert rendezvous.members == (), "who has ended is waited for no more"
    assert all("over 2 clusters" in line for each in ended for line in each.details)


async def test_a_source_is_rendered_once_for_all_stages_of_a_run() -> None:
    rendered: list[tuple[str, str]] = []

    async def render(commit: str, target: str) -> list[manifest.Manifest]:
        rendered.append((commit, target))
        await asyncio.sleep(1)
        return []

    carrying = made(render=render)
    loaders = [carrying._loader("new", "us"), carrying._loader("new", "us")]
    await asyncio.gather(*(load() for load in loaders))
    await carrying._loader("new", "eu")()
    await carrying._loader("old", "us")()
    await carrying._loader("old", "us", before=True)()

    assert rendered == [("new", "us"), ("new", "eu"), ("old", "us")]
    assert now() == 3


async def test_what_runs_may_be_rendered_in_another_way() -> None:
    def renderer(name: str) -> executor.Render:
        async def render(commit: str, target: str) -> list[manifest.Manifest]:
            return [manifest.Manifest({"metadata": {"name": name}})]

        return render

    carrying = made(render=renderer("target"), render_before=renderer("before"))

    async def name(*, before: bool) -> str:
        (item,) = await carrying._loader("old", "us", before=before)()
        return item.name

    assert [await name(before=each) for each in (False, True, False)] == [
        "target",
        "before",
        "target",
    ]


@pytest.mark.parametrize(
    ("running", "rendered", "reason"),
    [
        ("old", [("before", "old")], "this application has no Kubernetes manifests to handle"),
        ("", [], "there is no running version to make a baseline of: this is the first deployment"),
    ],
)
async def test_what_runs_reaches_its_stage_as_it_was_rendered(
    running: str, rendered: list[tuple[str, str]], reason: str
) -> None:
    seen: list[tuple[str, str]] = []

    def renderer(name: str) -> executor.Render:
        async def render(commit: str, target: str) -> list[manifest.Manifest]:
            seen.append((name, commit))
            return []

        return render

    carrying = made(render=renderer("target"), render_before=renderer("before"))
    baseline = pipelines.Stage(
        rollout_stages.BASELINE_ROLLOUT.name, rollout_stages.VariantRolloutOptions()
    )

    ended = await carrying.execute(task(baseline, running_commit=running), stage_contexts.Report())

    assert (ended.status, ended.reason) == (statuses.TaskStatus.FAILED, reason)
    assert seen == rendered


@pytest.mark.parametrize("own", [(), (replace(RULE, kind="Cart"),)])
def test_the_fleets_rules_of_health_come_after_the_applications(
    own: tuple[object_health.Rule, ...],
) -> None:
    application = applications.Application(name="shop", health=own)

    assert executor.with_rules(application, Pool().fleet) is application
    assert executor.with_rules(application, Pool(RULE).fleet).health == (*own, RULE)


def test_a_run_may_do_little_unless_it_is_said() -> None:
    options = contexts.Options()
    given: Mapping[str, object] = {
        "allow_mass_deletion": options.allow_mass_deletion,
        "image_grace": options.image_grace,
        "drain_delay": options.drain_delay,
    }
    assert given == {
        "allow_mass_deletion": False,
        "image_grace": 20 * SECOND,
        "drain_delay": None,
    }


@pytest.mark.parametrize(
    ("ended", "left_out", "kept"),
    [
        (statuses.RunStatus.SUCCEEDED, "", False),
        (statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS, "", False),
        (statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS, "ana skipped it", True),
        (statuses.RunStatus.FAILED, "", True),
        (statuses.RunStatus.CANCELLED, "", True),
    ],
)
async def test_adopted_objects_are_kept_as_they_were_until_their_cluster_has_the_release(
    ended: statuses.RunStatus, left_out: str, kept: bool
) -> None:
    cluster = memory_client.MemoryCluster()
    carrying = made()
    shop = carrying.application.owner
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    known = adoptions.Adoption()
    await known.keep(cluster.client, inventory.Inventory(shop, "default"), [body], "run-1")
    carrying._adoptions["us"] = known
    spec = run_builder.RunSpec("shop", "new", run_builder.one_group(["us"]), (WAIT,))
    run = run_builder.new_run("run-1", spec, LoopClock().now())
    clusters = (state.ClusterState("us", touched=True, left_out=left_out),)

    await carrying.conclude(replace(run, status=ended, clusters=clusters))

    left = await snapshot_store.load(cluster.client, shop, namespaces=["default"])
    assert [snapshot.body for snapshot in left] == ([body] if kept else [])


async def test_another_process_than_the_one_that_kept_adopted_objects_lets_go_of_them() -> None:
    cluster = memory_client.MemoryCluster()

    class OneCluster(Pool):
        async def client(self, name: str) -> Any:
            return cluster.client

    carrying = made(OneCluster())
    shop = carrying.application.owner
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    kept = adoptions.Adoption()
    await kept.keep(cluster.client, inventory.Inventory(shop, "default"), [body], "run-1")

    await carrying.conclude_on("us")

    assert await snapshot_store.load(cluster.client, shop, namespaces=["default"]) == []


async def test_a_cluster_without_a_client_keeps_what_it_has() -> None:
    away = client_pool.Unavailable("us", "it is away")

    with pytest.raises(errors.TemporaryError, match="it is away"):
        await made(Pool(us=away)).conclude_on("us")
