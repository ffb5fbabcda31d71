"""Services of a set that wait for their pods, or go before them; in memory."""

from collections.abc import Sequence
from typing import Any

import pytest

from memory_cluster import KEY, RESOURCES, deployment, pod, service
from memory_world import SELECTING, World, now
from volary.clusters.api import discovery
from volary.clusters.apply import steps
from volary.clusters.client import resource_mapping
from volary.model import errors, json
from volary.model.objects import manifest
from volary.stages.rollouts import service_changes

pytestmark = pytest.mark.looptime
JOBS = discovery.Resource("batch", "v1", "Job", "jobs", namespaced=True)
PLAIN, PRIMARY, NEXT = (
    {"app": "shop"},
    {"app": "shop", KEY: "primary"},
    {"app": "shop", KEY: "next"},
)


def world() -> World:
    """The Service leads to one pod of primary; nobody else runs."""
    given = World(application=SELECTING)
    given.cluster.remove("Pod", "new")
    given.cluster.remove("Service", "shop-canary")
    return given


def leading(selector: dict[str, str]) -> json.JsonObject:
    return {**service(), "spec": {"selector": selector, "ports": [{"port": 80}]}}


def workload(labels: dict[str, str], kind: str = "Deployment", **more: Any) -> json.JsonObject:
    body = deployment("primary")
    spec = {
        **body["spec"],
        "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
    }
    metadata = {**body["metadata"], "name": f"shop-{kind.lower()}"}
    api_version = "batch/v1" if kind == "Job" else "apps/v1"
    said = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
    return {**body, **said, **more}


def step(body: json.JsonObject, live: json.JsonObject | None = None, **more: Any) -> steps.Step:
    """One object that is about to be written, mapped to its namespace."""
    item = manifest.Manifest(body).with_metadata({"namespace": "default"})
    resource = RESOURCES.get(item.kind, JOBS)
    mapped = resource_mapping.MappedManifest(item, resource)
    return steps.Step(mapped, steps.Method.APPLY, live, **more)


def replaced(before: dict[str, str], after: dict[str, str], kind: str = "Deployment") -> steps.Step:
    return step(workload(after, kind), workload(before, kind))


def selector(given: World) -> dict[str, str]:
    live = given.cluster.find("Service", "shop")
    assert live is not None
    return dict(live["spec"]["selector"])


async def held(
    given: World, pending: Sequence[steps.Step], *, is_strict: bool = True
) -> tuple[service_changes.ServiceChanges, list[str]]:
    changes = service_changes.ServiceChanges(given.work(60), is_strict)
    return changes, [key.name for key in await changes.hold(pending)]


async def test_a_service_stays_until_the_pods_that_it_will_lead_to_are_ready() -> None:
    given = world()
    given.cluster.put(pod("late", "next", ready=False))
    given.later(20, lambda: given.cluster.put(pod("late", "next")))
    wanted = step(leading(NEXT))

    changes, kept = await held(given, [wanted, step(workload(NEXT))])

    assert (kept, changes.waiting, changes.is_switched) == (["shop"], [wanted.mapped.item], True)
    assert selector(given) == PRIMARY
    said = f"Service default/shop stays as it is until pods with app=shop,{KEY}=next are ready"
    assert said in given.report.lines
    others = [manifest.Manifest(service()), manifest.Manifest(workload(NEXT))]
    assert changes.others(others) == others[1:]

    assert await changes.finish() == "shop switched"
    assert (selector(given), now()) == (NEXT, 20)


async def test_a_service_that_fits_the_pods_that_run_goes_first() -> None:
    given = world()

    changes, kept = await held(given, [step(leading(PLAIN)), replaced(PRIMARY, PLAIN)])

    assert (kept, changes.waiting, selector(given)) == (["shop"], [], PLAIN)
    assert "Service default/shop is changed first: the pods that run fit it" in given.report.lines


async def test_old_and_new_pods_are_led_to_in_between() -> None:
    given = world()

    changes, kept = await held(given, [step(leading(NEXT)), replaced(PRIMARY, NEXT)])
    assert (kept, selector(given)) == (["shop"], PLAIN)
    given.cluster.put(pod("late", "next"))
    await changes.finish()

    assert selector(given) == NEXT
    assert any("selects app=shop, which old and new pods share" in it for it in given.report.lines)


async def test_what_leaves_a_gap_is_refused_but_by_a_rollback() -> None:
    """The pod of somebody else has the labels that old and new ones share."""
    given = world()
    given.cluster.put(pod("theirs", "other"))
    pending = [step(leading(NEXT)), replaced(PRIMARY, NEXT)]

    for refused in (
        held(given, pending),
        service_changes.foreseen(given.work().context.client)(pending),
    ):
        with pytest.raises(errors.UserError, match="would lead to nobody for a while"):
            await refused
    changes, kept = await held(given, pending, is_strict=False)

    assert (kept, len(changes.waiting), selector(given)) == (["shop"], 1, PRIMARY)
    assert any("would lead to nobody for a while" in it for it in given.report.warnings)


@pytest.mark.parametrize(
    ("pending", "kept"),
    [
        ([step(leading(PRIMARY))], []),
        ([step(leading(NEXT), is_unchanged=True)], []),
        ([step({**leading(NEXT), "apiVersion": "serving.knative.dev/v1"})], []),
        ([step({**leading(NEXT), "metadata": {"name": "another"}})], []),
        ([step({**workload(NEXT), "metadata": {"name": "shop"}})], []),
        # Pods of a job are no pods that a Service loses.
        ([step(leading(NEXT)), step(workload(NEXT)), replaced(PRIMARY, NEXT, "Job")], ["shop"]),
    ],
)
async def test_only_live_services_that_would_lead_elsewhere_wait(
    pending: list[steps.Step], kept: list[str]
) -> None:
    given = world()

    changes, now_held = await held(given, pending)

    assert (now_held, selector(given)) == (kept, PRIMARY)
    assert changes.is_switched is bool(kept)
    foreseen = await service_changes.foreseen(given.work().context.client)(pending)
    assert [key.name for key in foreseen] == kept


async def test_a_service_that_leads_to_nobody_has_nothing_to_lose() -> None:
    given = world()
    given.cluster.put(pod("old", "primary", ready=False))

    assert (await held(given, [step(leading(NEXT)), replaced(PRIMARY, NEXT)]))[1] == []


async def test_what_goes_back_is_bridged_where_nothing_else_will_do() -> None:
    for after, bridged in ((NEXT, PLAIN), (PRIMARY, PRIMARY)):
        given = world()
        given.cluster.put(workload(PRIMARY))
        restored = [step(leading(after)).mapped, step(workload(after)).mapped]

        await service_changes.bridge(given.work(60), restored)

        assert selector(given) == bridged
