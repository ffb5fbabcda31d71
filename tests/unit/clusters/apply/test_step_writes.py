"""An object that changes while it is written is looked at again; what was decided is not."""

import contextlib
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest

from memory_client import CONFIG_MAPS, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.apply import preconditions, refusals, step_writes, steps
from volary.clusters.client import resource_mapping
from volary.manifests.ownership import claims, field_managers, tracking
from volary.model import errors, json
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant

Action = apply_results.Action
SHOP = ownership.Owner("shop", "0123456789abcdef")
OTHER = ownership.Owner("theirs-alone", "fedcba9876543210")


def config(value: str, owner: ownership.Owner | None = None, **annotations: str) -> Any:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "default", "annotations": annotations},
        "data": {"k": value},
    }
    if owner is None:
        return body
    return tracking.track(
        manifest.Manifest(body),
        owner=owner,
        commit="c",
        variant=variant.Variant.PRIMARY,
        label=variant.VariantLabel(),
    ).body


def status(body: json.JsonObject | None) -> json.JsonObject:
    """The same object, as a controller has written its status."""
    assert body is not None
    return {**body, "status": {"seen": body["metadata"]["resourceVersion"]}}


def tools(cluster: MemoryCluster, **more: Any) -> steps.Tools:
    given = {"force": False, "timeout": timedelta(seconds=5), "owner": SHOP, **more}
    return steps.Tools(cluster.client, "volary", **given)


def step(body: json.JsonObject, live: json.JsonObject | None, with_tools: steps.Tools) -> Any:
    mapped = resource_mapping.MappedManifest(manifest.Manifest(body), CONFIG_MAPS)
    return steps.assess(mapped, live, with_tools)


def at_once(request: Coroutine[Any, Any, json.JsonObject]) -> None:
    """Have a request carried out in the middle of another one: a cluster in memory never waits."""
    with contextlib.suppress(StopIteration):
        request.send(None)


def value(cluster: MemoryCluster) -> str:
    body = cluster.find(CONFIG_MAPS, "c")
    return body["data"]["k"] if body else ""


@pytest.fixture
def cluster() -> MemoryCluster:
    return MemoryCluster()


@pytest.mark.parametrize("way", ["", steps.REPLACE])
async def test_a_status_that_changes_costs_two_requests_more(
    cluster: MemoryCluster, way: str
) -> None:
    annotations = {way: steps.ENABLED} if way else {}
    given = tools(cluster)
    first = await cluster.apply(CONFIG_MAPS, config("1", SHOP, **annotations))
    cluster.put(CONFIG_MAPS, status(first))
    cluster.asked.clear()

    change = await step_writes.write(step(config("2", SHOP, **annotations), first, given), given)

    verb = "update" if way else "patch"
    assert cluster.asked == [f"{verb} configmaps/c", "get configmaps/c", f"{verb} configmaps/c"]
    assert (value(cluster), change.action, change.written) == ("2", Action.CONFIGURED, True)


async def test_an_object_as_it_was_seen_costs_one_request(cluster: MemoryCluster) -> None:
    given = tools(cluster)
    first = await cluster.apply(CONFIG_MAPS, config("1", SHOP))
    cluster.asked.clear()

    await step_writes.write(step(config("2", SHOP), first, given), given)

    assert cluster.asked == ["patch configmaps/c"]


async def test_what_somebody_claims_meanwhile_is_left_to_them(cluster: MemoryCluster) -> None:
    given = tools(cluster)
    first = await cluster.apply(CONFIG_MAPS, config("1", SHOP))
    cluster.put(CONFIG_MAPS, config("theirs", OTHER))

    with pytest.raises(refusals.ClaimedError):
        await step_writes.write(step(config("2", SHOP), first, given), given)

    assert value(cluster) == "theirs"


def test_where_teams_are_apart_nothing_is_taken_from_another_application_nor_is_it_named(
    cluster: MemoryCluster,
) -> None:
    wanted = config("2", SHOP, **{claims.TAKE_OVER: f"volary:{OTHER.id}"})
    live = cluster.put(CONFIG_MAPS, config("theirs", OTHER))

    def refusal(body: json.JsonObject, *, names_others: bool) -> str:
        given = tools(cluster, names_others=names_others)
        with pytest.raises(refusals.ClaimedError) as refused:
            steps.refuse_claimed(step(body, live, given), given)
        problem = refusals.problem_of(manifest.Manifest(body), refused.value, cluster="us")
        return f"{problem.message} {problem.hint}"

    alone = tools(cluster)
    assert OTHER.id in steps.refuse_claimed(step(wanted, live, alone), alone)
    assert OTHER.name in refusal(config("2", SHOP), names_others=True)
    for body in (config("2", SHOP), wanted):
        said = refusal(body, names_others=False)
        assert "it belongs to another application, and is not written" in said
        assert OTHER.id not in said
        assert OTHER.name not in said


async def test_what_is_made_meanwhile_is_shown_before_it_is_written(
    cluster: MemoryCluster,
) -> None:
    shown: list[Any] = []

    async def keep(live: Any) -> None:
        shown.extend(live)

    given = tools(cluster, before_writing=keep)
    theirs = cluster.put(CONFIG_MAPS, config("0"))

    await step_writes.write(step(config("1", SHOP), None, given), given)

    assert shown == [theirs]
    assert value(cluster) == "1"

    async def refuse(_: Any) -> None:
        raise errors.user_error("it cannot be kept", hint="make room")

    cluster.put(CONFIG_MAPS, config("0"))
    refusing = tools(cluster, before_writing=refuse)
    with pytest.raises(errors.UserError, match="it cannot be kept"):
        await step_writes.write(step(config("1", SHOP), None, refusing), refusing)
    assert value(cluster) == "0"


async def test_fields_that_a_controller_takes_meanwhile_are_left_to_it(
    cluster: MemoryCluster,
) -> None:
    """Taking them from somebody else was decided on another state of the object."""
    given = tools(cluster)
    first = await cluster.apply(CONFIG_MAPS, config("1", SHOP))
    # So it is ours to take until somebody else wants the same.
    await cluster.apply(CONFIG_MAPS, config("1"), field_manager=field_managers.TRAFFIC_MANAGER)
    seen = cluster.find(CONFIG_MAPS, "c")
    cluster.asked.clear()

    def take(_: str) -> None:
        if len(cluster.asked) == 2:
            at_once(cluster.apply(CONFIG_MAPS, config("1"), field_manager="keda"))

    cluster.before = take
    with pytest.raises(api_errors.ApplyConflict) as caught:
        await step_writes.write(step(config("2", SHOP), seen, given), given)

    assert {cause.manager for cause in caught.value.causes} == {"keda"}
    assert cluster.find(CONFIG_MAPS, "c") != first
    assert value(cluster) == "1"


async def test_a_write_whose_answer_was_lost_counts_as_written(cluster: MemoryCluster) -> None:
    """Its repetition finds the object as it is to be."""
    given = tools(cluster)
    first = await cluster.apply(CONFIG_MAPS, config("1", SHOP))
    await cluster.apply(CONFIG_MAPS, config("2", SHOP))

    change = await step_writes.write(step(config("2", SHOP), first, given), given)

    assert (change.action, change.written) == (Action.CONFIGURED, True)


@pytest.mark.looptime
async def test_what_never_rests_is_given_up(cluster: MemoryCluster) -> None:
    given = tools(cluster)
    first = await cluster.apply(CONFIG_MAPS, config("1", SHOP))

    def report(asked: str) -> None:
        if asked.startswith("patch"):
            cluster.put(CONFIG_MAPS, status(cluster.find(CONFIG_MAPS, "c")))

    cluster.before = report
    cluster.asked.clear()

    with pytest.raises(errors.TemporaryError, match="kept changing"):
        await step_writes.write(step(config("2", SHOP), first, given), given)

    assert cluster.asked.count("patch configmaps/c") == preconditions.TRIES
    assert value(cluster) == "1"


async def test_a_delete_that_arrives_late_deletes_nothing(cluster: MemoryCluster) -> None:
    """Of an object that is deleted and created anew each time, and since then is applied."""
    again = {steps.FORCE_REPLACE: steps.ENABLED}
    given = tools(cluster)
    first = await cluster.apply(CONFIG_MAPS, config("1", SHOP, **again))
    cluster.refusals["get configmaps/c"] = api_errors.Unreachable("it stands still")
    newer = await cluster.apply(CONFIG_MAPS, config("3", SHOP))

    with pytest.raises(api_errors.Unreachable):
        await step_writes.write(step(config("2", SHOP, **again), first, given), given)

    assert cluster.find(CONFIG_MAPS, "c") == newer
