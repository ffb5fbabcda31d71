"""One object: how it is written, whose fields are taken over, and what is said to have happened."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from memory_client import CONFIG_MAPS, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.apply import dry_runs, step_writes, steps
from volary.clusters.client import resource_mapping
from volary.manifests.ownership import field_managers, tracking
from volary.model import errors, json
from volary.model.objects import apply_results, manifest

pytestmark = pytest.mark.looptime

Action, Method = apply_results.Action, steps.Method
REPLACE = {"pipecd.dev/sync-by-replace": "enabled"}
RECREATE = {"pipecd.dev/force-sync-by-replace": "enabled"}
COMMIT = tracking.COMMIT


def config(value: str = "1", **annotations: str) -> json.JsonObject:
    metadata: dict[str, Any] = {"name": "a", "namespace": "default"}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": value}}


def tools(cluster: MemoryCluster, **more: Any) -> steps.Tools:
    options: dict[str, Any] = {"force": False, "timeout": timedelta(seconds=5), **more}
    return steps.Tools(cluster.client, options.pop("manager", field_managers.MANAGER), **options)


def step_of(
    cluster: MemoryCluster, body: json.JsonObject, *, seen: bool = True, **more: Any
) -> steps.Step:
    """The step of an object that a list has shown, if it is there."""
    placed = resource_mapping.MappedManifest(manifest.Manifest(body), CONFIG_MAPS)
    live = cluster.find(CONFIG_MAPS, "a") if seen else None
    return steps.assess(placed, live, tools(cluster, **more))


async def write(cluster: MemoryCluster, body: json.JsonObject, **more: Any) -> apply_results.Change:
    return await step_writes.write(step_of(cluster, body, **more), tools(cluster))


def data(cluster: MemoryCluster) -> Any:
    live = cluster.find(CONFIG_MAPS, "a")
    return None if live is None else live["data"]


@pytest.mark.parametrize(
    ("annotations", "method"),
    [
        ({}, Method.APPLY),
        (REPLACE, Method.REPLACE),
        (RECREATE, Method.RECREATE),
        ({**REPLACE, **RECREATE}, Method.RECREATE),
        ({"pipecd.dev/sync-by-replace": "true"}, Method.APPLY),
        ({"pipecd.dev/force-sync-by-replace": "Enabled"}, Method.APPLY),
        ({"pipecd.dev/server-side-apply": "disabled"}, Method.APPLY),
    ],
)
def test_annotations_choose_the_method(annotations: dict[str, str], method: Method) -> None:
    assert steps.method_of(manifest.Manifest(config(**annotations))) is method


async def test_what_is_new_is_created() -> None:
    cluster = MemoryCluster()
    change = await write(cluster, config())

    assert (change.action, change.written) == (Action.CREATED, True)
    assert data(cluster) == {"k": "1"}


async def test_what_differs_is_configured_and_what_is_alike_left_alone() -> None:
    cluster = MemoryCluster()
    await write(cluster, config())
    same = step_of(cluster, config())
    cluster.asked.clear()

    assert same.is_unchanged
    assert (await step_writes.write(same, tools(cluster))).action is Action.UNCHANGED
    assert cluster.asked == []
    assert (await write(cluster, config("2"))).action is Action.CONFIGURED


@pytest.mark.parametrize("annotations", [REPLACE, RECREATE])
async def test_only_what_is_applied_is_proven_unchanged(annotations: dict[str, str]) -> None:
    cluster = MemoryCluster()
    await write(cluster, config(**annotations))

    assert not step_of(cluster, config(**annotations)).is_unchanged


async def test_another_manager_proves_nothing() -> None:
    cluster = MemoryCluster()
    await write(cluster, config())

    assert not step_of(cluster, config(), manager="other").is_unchanged


async def test_a_new_commit_alone_is_not_written() -> None:
    """Neither where the live object proves it, nor where a dry run has to show it."""
    cluster = MemoryCluster()
    await write(cluster, config(**{COMMIT: "c1"}))
    step = step_of(cluster, config(**{COMMIT: "c2"}))

    assert (step.is_unchanged, step.is_commit_only) == (True, False)
    assert (await dry_runs.attempt(step, tools(cluster))).is_unchanged
    change = await step_writes.write(step, tools(cluster))

    assert (change.action, change.written) == (Action.UNCHANGED, False)
    live = cluster.find(CONFIG_MAPS, "a")
    assert live is not None
    assert live["metadata"]["annotations"][COMMIT] == "c1"


@pytest.mark.parametrize(
    ("commit", "marks"), [("c1", False), ("", True)], ids=["gone back from", "no inventory"]
)
async def test_a_commit_that_objects_have_to_say_is_a_write_and_no_change(
    commit: str, *, marks: bool
) -> None:
    cluster = MemoryCluster()
    await write(cluster, config(**{COMMIT: "c1"}))
    shared = tools(cluster, commit=commit, marks_commit=marks)
    step = step_of(cluster, config(**{COMMIT: "c2"}), commit=commit, marks_commit=marks)

    assert (step.is_unchanged, step.is_commit_only) == (False, True)
    assert not (await dry_runs.attempt(step, shared)).is_unchanged
    assert dry_runs.preview(step).action is Action.UNCHANGED
    change = await step_writes.write(step, shared)

    assert (change.action, change.written) == (Action.UNCHANGED, True)
    live = cluster.find(CONFIG_MAPS, "a")
    assert live is not None
    assert live["metadata"]["annotations"][COMMIT] == "c2"


async def test_a_trial_writes_nothing_and_knows_whether_something_would_change() -> None:
    cluster = MemoryCluster()
    await write(cluster, config())
    before = dict(cluster.objects)

    same = await dry_runs.attempt(step_of(cluster, config(), seen=True), tools(cluster))
    other = await dry_runs.attempt(step_of(cluster, config("2")), tools(cluster))
    unseen = await dry_runs.attempt(step_of(cluster, config("2"), seen=False), tools(cluster))
    empty = MemoryCluster()
    new = await dry_runs.attempt(step_of(empty, config()), tools(empty))

    assert cluster.objects == before
    assert (same.is_unchanged, other.is_unchanged, new.is_unchanged) == (True, False, False)
    assert unseen.live == other.live
    assert dry_runs.preview(unseen).action is Action.CONFIGURED
    assert other.tried is not None
    assert other.tried["data"] == {"k": "2"}
    assert set(new.tried or {}) == {"metadata"}
    assert dry_runs.preview(other).action is Action.CONFIGURED
    assert dry_runs.preview(same).action is Action.UNCHANGED


async def test_taking_over_the_fields_alone_is_no_unchanged_object() -> None:
    """Somebody else applied the same values: an apply would still make us an owner."""
    cluster = MemoryCluster()
    await cluster.apply(CONFIG_MAPS, config(), field_manager="other")

    tried = await dry_runs.attempt(step_of(cluster, config()), tools(cluster))

    assert not tried.is_unchanged


async def test_an_object_that_no_list_showed_is_configured_if_its_uid_stays() -> None:
    cluster = MemoryCluster()
    await write(cluster, config())
    tried = await dry_runs.attempt(step_of(cluster, config("2"), seen=False), tools(cluster))

    change = await step_writes.write(tried, tools(cluster))

    assert change.action is Action.CONFIGURED


@pytest.mark.parametrize(
    ("others", "annotations", "taken"),
    [
        (("other",), {}, False),
        (("other",), {"volary.dev/force-conflicts": "enabled"}, True),
        (("other",), {"volary.dev/force-conflicts": "disabled"}, False),
        (("volary-traffic",), {}, True),
        (("volary-scale", "volary-traffic"), {}, True),
        (("volary-scale", "other"), {}, False),
        (("kubectl-client-side-apply",), {}, True),
        (("helm", "k9s"), {}, True),
        (("kubectl", "other"), {}, False),
    ],
)
@pytest.mark.parametrize("seen", [True, False])
async def test_whose_fields_are_taken_over(
    others: tuple[str, ...], annotations: dict[str, str], taken: bool, seen: bool
) -> None:
    cluster = MemoryCluster()
    for manager in others:
        await cluster.apply(CONFIG_MAPS, config("theirs"), field_manager=manager)
    step = step_of(cluster, config("ours", **annotations), seen=seen)

    if taken:
        assert (await step_writes.write(step, tools(cluster))).written
    else:
        with pytest.raises(api_errors.ApplyConflict):
            await step_writes.write(step, tools(cluster))

    assert data(cluster) == {"k": "ours" if taken else "theirs"}


async def test_a_replaced_object_loses_what_others_added() -> None:
    cluster = MemoryCluster()
    cluster.put(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "1", "extra": "2"}})

    change = await write(cluster, config(**REPLACE))

    assert (change.action, change.written) == (Action.CONFIGURED, True)
    assert data(cluster) == {"k": "1"}
    assert "update configmaps/a" in cluster.asked


@pytest.mark.parametrize("seen", [True, False])
async def test_a_replaced_object_that_is_missing_is_created(seen: bool) -> None:
    cluster = MemoryCluster()
    change = await write(cluster, config(**REPLACE), seen=seen)

    assert change.action is Action.CREATED
    assert "create configmaps/a" in cluster.asked


async def test_a_recreated_object_is_another_one() -> None:
    cluster = MemoryCluster()
    before = cluster.put(CONFIG_MAPS, config("0"))

    change = await write(cluster, config(**RECREATE))

    live = cluster.find(CONFIG_MAPS, "a")
    assert live is not None
    assert live["metadata"]["uid"] != before["metadata"]["uid"]
    assert (change.action, change.reason) == (Action.CONFIGURED, "deleted and created anew")
    assert change.written
    assert "propagation Foreground" in cluster.asked


async def test_a_recreated_object_that_is_missing_is_created() -> None:
    cluster = MemoryCluster()
    change = await write(cluster, config(**RECREATE))

    assert (change.action, change.reason) == (Action.CREATED, "")
    assert "propagation Foreground" not in cluster.asked


async def test_the_trial_of_a_recreation_takes_another_name() -> None:
    cluster = MemoryCluster()
    cluster.put(CONFIG_MAPS, config())

    tried = await dry_runs.attempt(step_of(cluster, config(**RECREATE)), tools(cluster))

    assert not tried.is_unchanged
    assert "dry create configmaps/volary-try-x" in cluster.asked
    assert data(cluster) == {"k": "1"}


async def test_an_old_object_that_does_not_go_fails_the_recreation() -> None:
    cluster = MemoryCluster()
    body = config()
    body["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.put(CONFIG_MAPS, body)

    with pytest.raises(errors.PermanentError) as caught:
        await write(cluster, config(**RECREATE))

    assert str(caught.value).startswith("it was deleted to be created anew: still there after 5 s")


async def test_what_is_being_deleted_is_waited_for_and_made_anew() -> None:
    cluster = MemoryCluster()
    body = config()
    body["metadata"]["deletionTimestamp"] = "now"
    before = cluster.put(CONFIG_MAPS, body)
    loop = asyncio.get_running_loop()
    loop.call_later(3, lambda: cluster.remove(CONFIG_MAPS, "a"))

    change = await write(cluster, config())

    live = cluster.find(CONFIG_MAPS, "a")
    assert live is not None
    assert live["metadata"]["uid"] != before["metadata"]["uid"]
    assert change.action is Action.CREATED


async def test_what_is_alike_and_being_deleted_is_made_anew() -> None:
    cluster = MemoryCluster()
    await write(cluster, config())
    body = cluster.find(CONFIG_MAPS, "a") or {}
    cluster.put(CONFIG_MAPS, {**body, "metadata": {**body["metadata"], "deletionTimestamp": "now"}})
    step = step_of(cluster, config())
    asyncio.get_running_loop().call_later(3, lambda: cluster.remove(CONFIG_MAPS, "a"))

    change = await step_writes.write(step, tools(cluster))

    assert change.action is Action.CREATED
    assert data(cluster) == {"k": "1"}


async def test_what_is_being_deleted_for_ever_is_an_error() -> None:
    cluster = MemoryCluster()
    body = config()
    body["metadata"]["deletionTimestamp"] = "now"
    cluster.put(CONFIG_MAPS, body)

    with pytest.raises(errors.PermanentError, match=r"^it is being deleted: still there after 5 s"):
        await write(cluster, config())


async def test_who_is_forced_takes_over_at_once() -> None:
    cluster = MemoryCluster()
    await cluster.apply(CONFIG_MAPS, config("theirs"), field_manager="other")
    step = step_of(cluster, config("ours"), force=True)
    cluster.asked.clear()

    await step_writes.write(step, tools(cluster, force=True))

    assert data(cluster) == {"k": "ours"}
    assert cluster.asked == ["patch configmaps/a"]


def test_one_object_speaks_for_others_whose_commit_alone_changes() -> None:
    cluster = MemoryCluster()

    def step(name: str, namespace: str, *, commit_only: bool) -> steps.Step:
        body = config()
        body["metadata"].update({"name": name, "namespace": namespace})
        placed = resource_mapping.MappedManifest(manifest.Manifest(body), CONFIG_MAPS)
        return steps.Step(placed, Method.APPLY, None, is_commit_only=commit_only)

    every = [
        step("a", "one", commit_only=True),
        step("b", "one", commit_only=True),
        step("c", "two", commit_only=False),
        step("d", "two", commit_only=True),
    ]

    assert [tried.key.name for tried in steps.to_try(every)] == ["c", "a"]
    assert cluster.asked == []


async def test_both_sides_of_a_change() -> None:
    cluster = MemoryCluster()
    await write(cluster, config())
    shared = tools(cluster)

    tried = await dry_runs.attempt(step_of(cluster, config("2")), shared)
    look = await dry_runs.preview_with_bodies(tried, shared)
    unseen = await dry_runs.attempt(step_of(cluster, config("2"), seen=False), shared)
    asked = await dry_runs.preview_with_bodies(unseen, shared)

    for one in (look, asked):
        assert one.change.action is Action.CONFIGURED
        assert one.before is not None
        assert one.after is not None
        assert (one.before["data"], one.after["data"]) == ({"k": "1"}, {"k": "2"})


async def test_both_sides_of_what_stays() -> None:
    cluster = MemoryCluster()
    await write(cluster, config())
    look = await dry_runs.preview_with_bodies(step_of(cluster, config()), tools(cluster))

    assert look.change.action is Action.UNCHANGED
    assert look.before == look.after == cluster.find(CONFIG_MAPS, "a")


async def test_both_sides_of_a_recreation() -> None:
    cluster = MemoryCluster()
    cluster.put(CONFIG_MAPS, config("0"))
    tried = await dry_runs.attempt(step_of(cluster, config(**RECREATE)), tools(cluster))
    look = await dry_runs.preview_with_bodies(tried, tools(cluster))

    assert (look.change.action, look.change.reason) == (
        Action.CONFIGURED,
        "deleted and created anew",
    )
    assert look.before == cluster.find(CONFIG_MAPS, "a")


async def test_an_object_that_may_not_be_read_may_be_there() -> None:
    cluster = MemoryCluster(refusals={"get configmaps/a": api_errors.Forbidden("no", status=403)})
    look = await dry_runs.preview_with_bodies(step_of(cluster, config()), tools(cluster))

    assert look.change.reason == "it may be there already: it may not be read"
    assert (look.before, look.after) == (None, config())


async def test_a_new_object_has_no_other_side() -> None:
    cluster = MemoryCluster()
    look = await dry_runs.preview_with_bodies(step_of(cluster, config()), tools(cluster))

    assert look.change.action is Action.CREATED
    assert (look.before, look.after) == (None, config())


@pytest.mark.parametrize("annotations", [{}, REPLACE, RECREATE])
@pytest.mark.parametrize("there", [True, False])
async def test_every_write_is_in_the_name_of_the_manager(
    annotations: dict[str, str], there: bool
) -> None:
    cluster = MemoryCluster()
    if there:
        cluster.put(CONFIG_MAPS, config("0"))

    step = step_of(cluster, config(**annotations))
    await step_writes.write(step, tools(cluster, manager="somebody"))

    live = cluster.find(CONFIG_MAPS, "a")
    assert live is not None
    assert {entry["manager"] for entry in live["metadata"]["managedFields"]} == {"somebody"}
