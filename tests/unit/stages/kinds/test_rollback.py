"""What a rollback may take for granted, and what it may delete."""

import asyncio
import copy

import pytest

import memory_client
import stage_contexts
from volary.manifests.ownership import tracking
from volary.model import applications, json
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.stages.kinds import rollback
from volary.stages.rollouts import rendering
from volary.stages.runtime import cluster_changes, contexts, execution

KEY = "pipecd.dev/variant"


def workload(**labels: str) -> json.JsonObject:
    return {"spec": {"selector": {"matchLabels": labels}}}


def brought_object(commit: str, *managers: json.JsonObject) -> json.JsonObject:
    return {
        "metadata": {
            "name": "shop",
            "annotations": {"volary.dev/commit": commit},
            "managedFields": list(managers),
        }
    }


OURS = {"manager": "volary", "operation": "Apply"}
CONTROLLER = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}


def test_selectors_stay_as_they_are_live() -> None:
    """They are immutable, whatever the application file says."""
    app = applications.Application(
        name="shop", quick_sync=rollout_stages.SyncOptions(add_variant_label_to_selector=True)
    )

    plain = rollback.running_options(app, [workload(app="shop")])
    labelled = rollback.running_options(
        applications.Application(name="shop"), [workload(**{"app": "shop", KEY: "primary"})]
    )

    assert not plain.add_variant_label_to_selector
    assert labelled.add_variant_label_to_selector


def test_without_live_workloads_any_stage_that_asks_for_it_counts() -> None:
    options = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True)
    app = applications.Application(
        name="shop", pipeline=(pipelines.Stage(rollout_stages.PRIMARY_ROLLOUT.name, options),)
    )

    assert rollback.running_options(app, []).add_variant_label_to_selector


def test_only_what_the_run_brought_may_go() -> None:
    stays = rollback.only_created_by("new")

    assert stays(brought_object("new", OURS, CONTROLLER)) == ""
    assert stays(brought_object("old", OURS)) == "this run did not bring it"


def test_what_somebody_else_has_a_hand_in_stays() -> None:
    stays = rollback.only_created_by("new")
    theirs = {"manager": "kubectl-client-side-apply", "operation": "Update"}

    assert stays(brought_object("new", OURS, theirs)) == (
        "co-owned by field manager kubectl-client-side-apply"
    )


def config(name: str) -> manifest.Manifest:
    return manifest.Manifest(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}
    )


@pytest.mark.parametrize(
    ("running", "left", "reason"),
    [
        (["a"], {"a": "old"}, "back at old: "),
        (None, {}, "first deployment undone: "),
    ],
)
async def test_all_that_the_run_brought_goes_however_much_it_is(
    running: list[str] | None, left: dict[str, str], reason: str
) -> None:
    """A prune would not take away most of an application unless it is told to."""
    cluster = memory_client.MemoryCluster()
    brought = [config(name) for name in "abcdefghijkl"]

    context = stage_contexts.context(
        client=cluster.client,
        running_commit="old" if running else "",
        target_source=source(brought),
        running_source=source(list(map(config, running))) if running else None,
    )
    work = new_work(context)
    options = rollout_stages.SyncOptions()
    await cluster_changes.apply(
        work, rendering.primary(brought, context.application, options, commit="new")
    )

    said = await rollback.run(work, stage_kind.NoOptions())

    assert said.startswith(reason)
    commits = {
        body["metadata"]["name"]: tracking.commit_of(body)
        for body in cluster.objects.values()
        if body.get("data") == {"a": "b"}
    }
    assert commits == left


@pytest.mark.parametrize(
    ("running", "reason"),
    [
        ("old", "nothing to take back: it is at old, and nothing differs"),
        ("", "nothing to take back: nothing of this first deployment is here"),
    ],
)
async def test_where_nothing_was_written_there_is_nothing_to_take_back(
    running: str, reason: str
) -> None:
    """A task was lost before it wrote: what was there before stays, whoever brought it."""
    cluster = memory_client.MemoryCluster()
    before = [config(name) for name in "abc"]
    context = stage_contexts.context(
        client=cluster.client,
        running_commit=running,
        target_source=source([config(name) for name in "abcd"]),
        running_source=source(before) if running else None,
    )
    earlier = stage_contexts.context(client=cluster.client, running_commit="old")
    options = rollout_stages.SyncOptions()
    await cluster_changes.apply(
        new_work(earlier), rendering.primary(before, earlier.application, options, commit="old")
    )
    there = copy.deepcopy(dict(cluster.objects))
    work = new_work(context)

    said = await rollback.run(work, stage_kind.NoOptions())

    assert (said, work.touched) == (reason, False)
    assert dict(cluster.objects) == there, "nothing was written at all"


def new_work(context: contexts.StageContext) -> execution.Work:
    return execution.Work(context, asyncio.get_running_loop().time() + 100)


def source(items: list[manifest.Manifest]) -> contexts.Loader:
    async def load() -> list[manifest.Manifest]:
        return items

    return load
