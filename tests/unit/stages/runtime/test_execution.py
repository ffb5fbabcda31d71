"""A stage on one cluster: what it did, how it waits, and how it ends."""

import asyncio
import types
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

import memory_client
import memory_cluster
import memory_world
import stage_contexts
from volary.clusters.api import api_errors
from volary.clusters.apply import applier
from volary.clusters.client import clients
from volary.clusters.inventory import inventory, inventory_store, pruning
from volary.engine import executor
from volary.model import applications, errors, statuses
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering
from volary.stages.runtime import contexts, execution, rendezvouses

A = apply_results.Action
KEY = manifest.ResourceKey("", "ConfigMap", "default", "settings")
WHERE = errors.Location("shop.yaml", 3)


def work(seconds: float = 100, **given: Any) -> execution.Work:
    context = stage_contexts.context(**given)
    return execution.Work(context, asyncio.get_running_loop().time() + seconds)


def said(made: execution.Work) -> stage_contexts.Report:
    return cast("stage_contexts.Report", made.context.report)


def raised(reason: str = "cancelled by ana") -> executor.StopFlag:
    stop = executor.StopFlag()
    stop.raise_flag(reason)
    return stop


async def end_of(
    body: Callable[[execution.Work], Awaitable[str]], **given: Any
) -> statuses.Outcome:
    return await execution.carry_out(stage_contexts.context(**given), body)


async def test_a_stage_that_returns_has_succeeded_with_its_lines() -> None:
    async def body(work: execution.Work) -> str:
        work.note("created ConfigMap")
        work.caution("look at this")
        work.touched = True
        return "done"

    report = stage_contexts.Report()

    ended = await end_of(body, report=report)

    assert ended == statuses.Outcome(
        statuses.TaskStatus.SUCCEEDED, "done", ("created ConfigMap", "look at this"), True
    )
    assert (report.lines, report.warnings) == (["created ConfigMap"], ["look at this"])


@pytest.mark.parametrize(
    ("error", "status", "reason", "details", "refused"),
    [
        (execution.StoppedError("by ana"), "cancelled", "by ana", (), False),
        (execution.StageFailedError("too late"), "failed", "too late", (), False),
        (execution.RefusedError("the gate said no"), "failed", "the gate said no", (), True),
        (
            errors.user_error("no Service", hint="add one", where=WHERE),
            "failed",
            "no Service",
            (f"at {WHERE}", "hint: add one"),
            False,
        ),
        (errors.user_error("no Service"), "failed", "no Service", (), False),
        (
            errors.UserError(
                errors.Problem("no Service", WHERE), errors.Problem("no port", hint="add one")
            ),
            "failed",
            "no Service; and 1 more problem",
            (f"{WHERE}: no Service", "no port", "hint: add one"),
            False,
        ),
        (
            errors.UserError(*(errors.Problem(text) for text in ("a", "b", "c"))),
            "failed",
            "a; and 2 more problems",
            ("a", "b", "c"),
            False,
        ),
        (
            applier.ApplyError([errors.Problem("ConfigMap settings: denied")]),
            "failed",
            "ConfigMap settings: denied",
            (),
            False,
        ),
        (api_errors.Unreachable("no answer"), "unreachable", None, (), False),
        (
            applier.ApplyError(
                [errors.Problem("no answer")], causes=[api_errors.Unreachable("no answer")]
            ),
            "unreachable",
            None,
            (),
            False,
        ),
    ],
)
async def test_what_goes_wrong_is_an_outcome(
    error: errors.VolaryError,
    status: str,
    reason: str | None,
    details: tuple[str, ...],
    refused: bool,
) -> None:
    async def body(work: execution.Work) -> str:
        raise error

    ended = await end_of(body)

    assert (ended.status, ended.details, ended.refused) == (status, details, refused)
    assert ended.reason == (reason or "no answer")
    assert not ended.touched


async def test_a_stage_is_at_its_rendezvous_for_as_long_as_it_lasts() -> None:
    meeting = rendezvouses.Rendezvous()
    seen: list[tuple[str, ...]] = []

    async def body(work: execution.Work) -> str:
        seen.append(meeting.members)
        raise execution.StageFailedError("no")

    await end_of(body, rendezvous=meeting)

    assert (seen, meeting.members) == ([("us",)], ())


@pytest.mark.looptime
async def test_its_time_is_that_of_its_context() -> None:
    async def body(work: execution.Work) -> str:
        before = work.remaining
        await asyncio.sleep(7)
        between = work.remaining
        await asyncio.sleep(70)
        return f"{before.seconds} {between.seconds} {work.remaining.total_seconds()}"

    assert (await end_of(body, timeout=timedelta(seconds=60))).reason == "60 53 0.0"


def change(action: apply_results.Action, reason: str = "", *, written: bool = False) -> Any:
    return apply_results.Change(KEY, action, reason, written)


async def test_changes_are_noted_where_there_is_something_to_say() -> None:
    made = work()

    made.record(
        [
            change(A.CREATED),
            change(A.CONFIGURED, "spec"),
            change(A.UNCHANGED),
            change(A.DELETED),
            change(A.SKIPPED),
            change(A.SKIPPED, "it is another's"),
        ]
    )

    title = "ConfigMap default/settings"
    assert made.lines == [
        f"created {title}",
        f"configured {title} (spec)",
        f"deleted {title}",
        f"skipped {title} (it is another's)",
    ]
    assert not made.touched


@pytest.mark.parametrize(("count", "lines"), [(25, 25), (26, 1)])
async def test_many_changes_are_counted(count: int, lines: int) -> None:
    made = work()

    made.record([change(A.CREATED)] * count)

    assert len(made.lines) == lines
    assert made.lines[-1] == ("26 created" if lines == 1 else "created ConfigMap default/settings")


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("written", [False, True])
async def test_a_cluster_is_touched_once_something_was_written(before: bool, written: bool) -> None:
    made = work()
    made.touched = before

    made.record([change(A.UNCHANGED), change(A.UNCHANGED, written=written)])

    assert made.touched == (before or written)


async def test_what_was_not_deleted_fails_the_stage() -> None:
    made = work()
    result = pruning.PruneResult(
        (change(A.DELETED, written=True),), "", ("Secrets cannot be read",), ("a stays", "b stays")
    )

    with pytest.raises(execution.StageFailedError, match=r"^a stays$"):
        made.record_removal(result)

    assert made.touched
    assert said(made).lines == ["deleted ConfigMap default/settings"]
    assert said(made).warnings == ["Secrets cannot be read", "a stays", "b stays"]


async def test_a_refusal_to_prune_is_a_warning() -> None:
    made = work()

    made.record_removal(pruning.PruneResult(refusal="most of it would go"))

    assert said(made).warnings == ["most of it would go"]
    assert not made.touched


async def test_a_clean_removal_says_nothing_more() -> None:
    made = work()

    made.record_removal(pruning.PruneResult())

    assert made.lines == []


@pytest.mark.looptime
async def test_a_pause_lasts_as_long_as_it_says() -> None:
    loop = asyncio.get_running_loop()
    made, begun = work(), loop.time()

    await made.pause(timedelta(seconds=30))

    assert loop.time() - begun == 30


@pytest.mark.looptime
async def test_a_pause_ends_when_somebody_stops_the_stage() -> None:
    stop = executor.StopFlag()
    made = work(stop=stop)
    asyncio.get_running_loop().call_later(3, stop.raise_flag, "cancelled by ana")

    with pytest.raises(execution.StoppedError, match=r"^cancelled by ana; no longer waiting$"):
        await made.pause(timedelta(seconds=30))

    assert asyncio.get_running_loop().time() == 3


async def test_a_stage_that_was_asked_to_stop_goes_no_further() -> None:
    work().check_stop()
    with pytest.raises(execution.StoppedError, match=r"^cancelled by ana$"):
        work(stop=raised()).check_stop()
    with pytest.raises(execution.StoppedError, match=r"^asked to stop$"):
        work(stop=raised("")).check_stop()
    with pytest.raises(execution.StoppedError, match=r"^cancelled by ana$"):
        await work(stop=raised()).apply([])


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("changed", "patience", "limit", "passed"),
    [(True, 3, 100, 3), (True, 3, 2, 2), (False, 3, 100, 0), (True, 0, 100, 0)],
)
async def test_proxies_get_time_to_follow_a_change_of_routes(
    changed: bool, patience: float, limit: float, passed: float
) -> None:
    propagation = contexts.RoutePropagation(timedelta(seconds=patience))
    if changed:
        propagation.note()
    made = work(limit, propagation=propagation)

    await made.settle()

    assert asyncio.get_running_loop().time() == pytest.approx(passed)
    assert bool(said(made).progress_said) == bool(passed)


@pytest.mark.looptime
async def test_what_has_passed_since_the_change_counts() -> None:
    propagation = contexts.RoutePropagation(timedelta(seconds=3))
    assert propagation.left == timedelta(0)
    propagation.note()
    assert propagation.left == timedelta(seconds=3)
    await asyncio.sleep(1)
    assert propagation.left == timedelta(seconds=2)
    await asyncio.sleep(10)
    assert propagation.left == timedelta(0)


@pytest.mark.looptime
async def test_settling_ends_when_somebody_stops_the_stage() -> None:
    stop = executor.StopFlag()
    propagation = contexts.RoutePropagation(timedelta(seconds=30))
    propagation.note()
    asyncio.get_running_loop().call_later(2, stop.raise_flag, "by ana")

    await work(stop=stop, propagation=propagation).settle()

    assert asyncio.get_running_loop().time() == 2


@pytest.mark.looptime
async def test_waiting_for_pods_says_how_far_they_are_and_ends_when_the_stage_is_stopped() -> None:
    given = memory_world.World()
    given.cluster.put(memory_cluster.deployment("primary", ready=1))
    given.later(5, lambda: given.stop.raise_flag("by ana"))

    with pytest.raises(execution.StoppedError, match=r"^by ana; no longer waiting: .*1 of 2"):
        await given.work().wait_ready(given.source[1:2])

    assert memory_world.now() == 5
    assert [(step.ready, step.total) for step in given.report.progress_said] == [(1, 2)]


@pytest.mark.looptime
async def test_a_question_is_broken_off_when_the_stage_is_stopped() -> None:
    stop = executor.StopFlag()
    asyncio.get_running_loop().call_later(2, stop.raise_flag, "by ana")

    assert await work(stop=stop).unless_stopped(asyncio.sleep(1, "yes")) == "yes"
    with pytest.raises(execution.StoppedError, match=r"^by ana; no longer waiting$"):
        await work(stop=stop).unless_stopped(asyncio.sleep(10, "yes"))


@pytest.mark.looptime
async def test_clusters_wait_for_each_other_as_long_as_the_stage_may_take() -> None:
    meeting = rendezvouses.Rendezvous()
    meeting.join("us")
    meeting.join("eu")
    meeting.post("us", "healthy", 1)
    asyncio.get_running_loop().call_later(5, meeting.post, "eu", "healthy", 2)

    assert await work(rendezvous=meeting).gather("healthy", "late") == {"us": 1, "eu": 2}
    with pytest.raises(execution.StageFailedError, match=r"^they were late$"):
        await work(30, rendezvous=meeting).gather("other", "they were late")
    assert asyncio.get_running_loop().time() == 35
    with pytest.raises(execution.StoppedError, match=r"^by ana; no longer waiting$"):
        await work(rendezvous=meeting, stop=raised("by ana")).gather("other", "late")


@pytest.mark.parametrize(
    ("wished", "used", "allowed", "home"),
    [
        ("", [], (), "default"),
        ("", ["b", "a"], (), "b"),
        ("shop", ["a"], (), "shop"),
        ("shop", ["a"], ("shop", "x"), "shop"),
        ("shop", ["a"], ("x", "shop"), "shop"),
        ("shop", ["a"], ("x", "y"), "x"),
        ("", ["a"], ("x", "a"), "a"),
    ],
)
async def test_an_inventory_lies_in_a_namespace_that_may_be_used(
    wished: str, used: list[str], allowed: tuple[str, ...], home: str
) -> None:
    app = applications.Application(name="shop", input=applications.Input(namespace=wished))

    assert work(application=app, namespaces=allowed).inventory_home(used) == home


@pytest.mark.parametrize("allowed", [False, True])
async def test_what_may_be_deleted_is_limited(allowed: bool) -> None:
    made = work(namespaces=("a",), options=contexts.Options(allow_mass_deletion=allowed))
    made.places = {"b", "a"}

    scope = made.scope(variant.Variant.CANARY)

    assert scope.owner == made.context.application.owner
    assert scope.variants == (variant.Variant.CANARY,)
    assert scope.namespaces == ("a",)
    assert scope.likely == ("a", "b")
    assert scope.allow_mass_deletion is allowed
    assert made.scope(allow_mass_deletion=not allowed).allow_mass_deletion is not allowed


SHOP = applications.Application(name="shop", origin=ownership.Origin("git.example.com/a", "shop"))


async def stored(cluster: memory_client.MemoryCluster) -> list[inventory.Inventory]:
    return await inventory_store.find(cluster.client, "shop", namespaces=())


async def test_what_is_applied_is_known_with_where_it_is_described_and_began() -> None:
    cluster = memory_client.MemoryCluster()
    config = manifest.Manifest(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings", "namespace": "default"},
        }
    )
    reference = inventory.reference(config)

    for commit in ("first", "second"):
        made = rendering.primary([config], SHOP, rollout_stages.SyncOptions(), commit=commit)
        await work(application=SHOP, client=cluster, commit=commit).apply(made)

    assert await stored(cluster) == [
        inventory.Inventory(
            SHOP.owner, "default", frozenset({reference}), SHOP.origin, begun="first"
        )
    ]


async def test_an_inventory_says_what_runs_and_keeps_the_rest() -> None:
    cluster = memory_client.MemoryCluster()
    before = inventory.Inventory(
        SHOP.owner,
        "default",
        frozenset({inventory.Reference(KEY, "v1")}),
        SHOP.origin,
        begun="first",
        commit="second",
    )
    other = inventory.Inventory(
        ownership.Owner("shop", "another"), "default", before.references, commit="theirs"
    )
    for known in (before, other):
        await inventory_store.record(
            cluster.client, inventory.Inventory(known.owner, "default"), known
        )

    await work(application=SHOP, client=cluster).record_running("third")
    cluster.asked.clear()
    await work(application=SHOP, client=cluster).record_running("third")

    assert cluster.asked == ["list configmaps"], "what is known already costs no write"
    assert {known.owner.id: known for known in await stored(cluster)} == {
        SHOP.owner.id: replace(before, commit="third"),
        "another": other,
    }


async def test_of_an_application_that_is_gone_nothing_is_said_to_run() -> None:
    cluster = memory_client.MemoryCluster()

    await work(application=SHOP, client=cluster).record_running("third")

    assert cluster.objects == {}


async def test_what_runs_is_written_over_the_inventory_that_was_read_and_no_other() -> None:
    """Somebody else may have added to it since."""
    cluster = memory_client.MemoryCluster()
    before = inventory.Inventory(SHOP.owner, "default", frozenset({inventory.Reference(KEY, "v1")}))
    await inventory_store.record(cluster.client, inventory.Inventory(SHOP.owner, "default"), before)
    cluster.asked.clear()

    await work(application=SHOP, client=cluster).record_running("first")

    name = inventory.name(SHOP.owner)
    assert cluster.asked == [f"patch configmaps/{name}"]
    stored = cluster.find(memory_client.CONFIG_MAPS, name)
    assert stored is not None
    more = "v1:other:Kind:default:added"
    theirs = {**stored["data"], "objects": f"{stored['data']['objects']}\n{more}"}
    cluster.put(memory_client.CONFIG_MAPS, {**stored, "data": theirs})

    await work(application=SHOP, client=cluster).record_running("second")

    now = cluster.find(memory_client.CONFIG_MAPS, name)
    assert now is not None
    assert now["metadata"]["annotations"]["volary.dev/commit"] == "second"
    assert more in now["data"]["objects"]


@pytest.mark.looptime
@pytest.mark.parametrize("verb", ["list", "patch"])
async def test_a_stage_succeeds_without_the_permission_to_say_what_runs(verb: str) -> None:
    cluster = memory_client.MemoryCluster()
    before = inventory.Inventory(SHOP.owner, "default", frozenset({inventory.Reference(KEY, "v1")}))
    await inventory_store.record(cluster.client, inventory.Inventory(SHOP.owner, "default"), before)
    refusal = api_errors.Forbidden("not you", status=403)
    places = ("", "/", "/default")
    cluster.refusals.update({f"{verb} configmaps{place}": refusal for place in places})
    made = work(application=SHOP, client=cluster)
    await asyncio.sleep(60)  # What was written is not remembered any more.

    await made.record_running("0123456789")

    assert said(made).warnings == ["the inventory does not say that 0123456 runs: not you"]


async def test_the_namespaces_of_what_was_loaded_are_remembered() -> None:
    async def source() -> list[manifest.Manifest]:
        return [
            manifest.Manifest({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}}),
            manifest.Manifest({"kind": "ConfigMap", "metadata": {"name": "b"}}),
        ]

    client = types.SimpleNamespace(namespace="home")
    made = work(client=cast("clients.Client", client))

    assert len(await made.load(source)) == 2
    assert made.places == {"x", "home"}


async def test_what_goes_on_beside_the_body_ends_with_it() -> None:
    ended = []

    async def background() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async with execution.in_background(background()):
        await asyncio.sleep(0)

    assert ended == [True]


async def test_a_background_that_fails_breaks_the_body_off() -> None:
    async def background() -> None:
        raise execution.StageFailedError("canary is gone")

    with pytest.raises(execution.StageFailedError, match="canary is gone"):
        async with execution.in_background(background()):
            await asyncio.Event().wait()


async def test_a_body_that_fails_says_why_itself() -> None:
    with pytest.raises(execution.StageFailedError, match="too late"):
        async with execution.in_background(asyncio.sleep(0)):
            raise execution.StageFailedError("too late")


async def test_a_mistake_of_ours_is_not_hidden() -> None:
    async def background() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        async with execution.in_background(background()):
            await asyncio.Event().wait()


async def test_what_goes_without_saying_is_not_noted() -> None:
    made = work()

    made.record([change(A.UNCHANGED), change(A.SKIPPED), change(A.UNCHANGED, "as it should be")])

    assert made.lines == ["unchanged ConfigMap default/settings (as it should be)"]


async def test_every_take_over_has_its_line_however_many_changes_there_are() -> None:
    made = work()
    taken = apply_results.Change(KEY, A.CONFIGURED, written=True, taken_from="Argo CD's shop")
    others = [
        apply_results.Change(replace(KEY, name=f"more-{number}"), A.CREATED) for number in range(40)
    ]

    made.record([*others, taken])

    assert made.lines == [
        "takes ConfigMap default/settings over from Argo CD's shop",
        "40 created, 1 configured",
    ]
    assert said(made).taken == [("ConfigMap default/settings", "Argo CD's shop")]
