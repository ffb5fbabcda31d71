"""``K8S_ROLLBACK``: one touched cluster goes back to the running source.

Routes first, so that users see the running version at once; only when primary has no
ready pod (its rollout is what failed) do they stay until it has. Then the running
source is applied and waited for, the variants are removed, and what this run brought and
the running source does not have is deleted.

On a first deployment there is nothing to go back to: what the run brought is deleted, unless
another field manager co-owns it. What was there before is never deleted, whoever wrote to it
since: it is restored as it was kept (`rollouts.restoring`).

Of a cluster that a task may have written to, without anybody who knows, it reads so itself: where
nothing differs it writes nothing, and says that there is nothing to take back.

The stage succeeds only after comparing what is live with what was to be restored and applied;
whatever was left out is named. That is also what the application's project does not permit any
more: the rest goes back, and the stage fails of it only where that is not as it was.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from volary.clusters.api import api_errors
from volary.clusters.apply import apply_errors, deletions, live_objects, steps
from volary.clusters.client import resource_mapping
from volary.clusters.inventory import pruning
from volary.concurrency import work_threads
from volary.manifests.ownership import field_managers, tracking
from volary.manifests.workloads import workloads
from volary.model import applications, errors, json
from volary.model.objects import apply_results, manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages, stage_kind
from volary.stages.kinds import clean
from volary.stages.rollouts import rendering, restoring, service_changes, service_rollouts
from volary.stages.runtime import (
    applied_waits,
    cluster_changes,
    execution,
    project_rules,
    stage_runners,
)
from volary.stages.traffic import backend_readiness, live_routes, routes

#: Why objects stay that are no business of the run's.
NOT_BROUGHT = "this run did not bring it"
#: Why objects stay that were to be as they were, and nobody knows how.
THERE_BEFORE = "it was there before, and is not known as it was"
#: Somebody wants these to stay.
_WANTED = ("it is gone already", f"it says {pruning.PRUNE}: disabled")
#: How long a cluster may take no credentials until its rollback has failed, and between tries.
_LONGEST_LOGIN = timedelta(minutes=10)
_AGAIN_AFTER = timedelta(seconds=5)
_VARIANTS = (variant.Variant.CANARY, variant.Variant.BASELINE)
#: Controllers of the cluster itself write to every object; that does not make them its owners.
_CLUSTER = ("kube-controller-manager", "kube-scheduler", "kubelet", "kube-apiserver")


def running_options(
    application: applications.Application, live: Sequence[json.JsonObject]
) -> rollout_stages.SyncOptions:
    """Return how the running source is applied.

    Selectors are immutable, so the variant label is put into them as the live workloads
    have it; without any, as the application asks for anywhere (PipeCD looks at the quick
    sync only).
    """
    key = application.variant_label.key
    selectors = [body.get("spec", {}).get("selector", {}).get("matchLabels", {}) for body in live]
    if selectors:
        return rollout_stages.SyncOptions(any(key in selector for selector in selectors))
    asked = [application.quick_sync, *(stage.options for stage in application.pipeline)]
    return rollout_stages.SyncOptions(
        any(getattr(options, "add_variant_label_to_selector", False) for options in asked)
    )


def only_created_by(
    commit: str, adopted: Collection[manifest.ResourceKey] = ()
) -> deletions.KeepCheck:
    """Return the check that keeps every object which the run of `commit` did not bring.

    Nor does anything go that was `adopted`, whatever its annotations say.
    """

    def stays(body: json.JsonObject) -> str:
        if manifest.Manifest(body).key in adopted:
            return THERE_BEFORE
        if tracking.commit_of(body) != commit:
            return NOT_BROUGHT
        others = sorted(
            {
                str(entry.get("manager"))
                for entry in field_managers.entries(body)
                if entry.get("manager") not in field_managers.OURS
                and not entry.get("subresource")
                and not str(entry.get("manager")).startswith(_CLUSTER)
            }
        )
        return f"co-owned by field manager {others[0]}" if others else ""

    return stays


async def run(work: execution.Work, options: stage_kind.NoOptions) -> str:
    """Carry out the stage on one cluster.

    While the cluster takes no credentials it is tried again: what was brought must not stay there
    because nobody could log in for a moment.
    """
    del options
    loop = asyncio.get_running_loop()
    until = loop.time() + min(_LONGEST_LOGIN, work.remaining).total_seconds()
    while True:
        try:
            return await _go_back(work)
        except errors.VolaryError as error:
            left = until - loop.time()
            if not apply_errors.is_without_credentials(error):
                raise
            if left <= 0:
                # Nobody can tell what is there, as of a cluster that is silent.
                raise api_errors.Unreachable(str(error)) from error
            work.context.progress(f"{error}; trying again")
            await work.pause(min(_AGAIN_AFTER, timedelta(seconds=left)))


async def _go_back(work: execution.Work) -> str:
    context = work.context
    # Whoever has changed what the run touched: it has to be as it was.
    work.force = True
    if context.running_source is None:
        return await _undo_first_deployment(work)
    source = await work.load(context.running_source)
    live = await live_workloads(work, source)
    rendered = await work_threads.run_many(
        source,
        "making primary's manifests",
        rendering.primary,
        source,
        context.application,
        running_options(context.application, live),
        commit=context.task.running_commit,
    )
    whole, refused = rendered, await project_rules.refusals(work, rendered)
    rendered = _permitted(work, whole, refused)
    route_objects = await live_routes.of(work, rendered)
    services: list[manifest.Manifest] = []
    if context.application.rolls_out_service:
        # Primary has to be what ran before it gets anything back.
        services = await service_rollouts.switch_back(work, rendered)
    if services:
        waiting = live_routes.diverted(route_objects)
    else:
        waiting = await _return_now(work, route_objects, rendered)
    held = live_routes.keep_live(rendered, waiting)
    now = [item for item in held if item not in services]
    followers = service_changes.ServiceChanges(work, is_strict=False)
    changes = await cluster_changes.apply(work, now, followers.hold)
    seen = await applied_waits.wait(work, followers.others(now))
    if followers.waiting:
        await followers.finish()
    if services:
        await service_rollouts.switch(work, services)
    adopted = await restoring.begin(work, rendered)
    restored = await adopted.restore()
    await routes.return_to_primary(work, waiting, rendered)
    gone = [await clean.remove(work, which) for which in _VARIANTS]
    stays = only_created_by(context.task.commit, adopted.adopted)
    pruned = await cluster_changes.prune_away(
        work, whole, cluster_changes.scope(work, allow_mass_deletion=True), stays
    )
    left = [
        *_left(pruned.changes, ignored=(NOT_BROUGHT, *pruning.PROTECTIONS)),
        *await adopted.verify(),
        *await _differing(work, rendered),
        *await _left_alone(work, whole, refused),
    ]
    _require_nothing(left)
    await adopted.finish()
    short = context.task.running_commit[:8]
    if not work.touched:
        return f"nothing to take back: it is at {short}, and nothing differs"
    done = [f"{changes.summary}", seen, restored, *gone]
    return f"back at {short}: {'; '.join(filter(None, done))}"


async def _undo_first_deployment(work: execution.Work) -> str:
    context = work.context
    work.note("there is no running version to go back to: this was the first deployment")
    source = await work.load(context.target_source)
    # Primary takes the traffic where it can; everything goes in the end.
    await _return_now(work, await live_routes.of(work, source), source)
    adopted = await restoring.begin(work, ())
    restored = await adopted.restore()
    gone = [await clean.remove(work, which) for which in _VARIANTS]
    stays = only_created_by(context.task.commit, adopted.adopted)
    result = await cluster_changes.remove_brought(work, stays)
    gone.append(clean.removed("primary", result.deleted))
    # Where nothing of this release was, an earlier one's is as it was before.
    ignored = () if work.touched else (NOT_BROUGHT,)
    _require_nothing([*_left(result.changes, ignored=ignored), *await adopted.verify()])
    await adopted.finish()
    if not work.touched:
        return "nothing to take back: nothing of this first deployment is here"
    return f"first deployment undone: {'; '.join(filter(None, [restored, *gone]))}"


def _left(changes: Sequence[apply_results.Change], *, ignored: Sequence[str] = ()) -> list[str]:
    """Return what was not deleted and should have been, with the reason."""
    return [
        f"{change.key.title} stays: {change.reason}"
        for change in changes
        if change.action is apply_results.Action.SKIPPED
        and change.reason not in (*_WANTED, *ignored)
    ]


async def _differing(work: execution.Work, rendered: Sequence[manifest.Manifest]) -> list[str]:
    """Return what is not what was applied, as the cluster says: nothing is left to be written.

    Routes were read back when they were returned; what is deleted and created anew each time
    is never the same.
    """
    held = live_routes.keep_live(rendered, await live_routes.of(work, rendered))
    comparable = [item for item in held if steps.method_of(item) is not steps.Method.RECREATE]
    changes = await cluster_changes.preview(work, comparable)
    return [
        f"{change.key.title} is not what was applied"
        for change in changes.changes
        if change.action is not apply_results.Action.UNCHANGED
    ]


def _permitted(
    work: execution.Work,
    rendered: Sequence[manifest.Manifest],
    refused: Mapping[manifest.ResourceKey, str],
) -> list[manifest.Manifest]:
    """Return what may be written, after saying what may not.

    Raises:
        StageFailedError: when nothing may be.
    """
    for key, refusal in refused.items():
        work.caution(f"{key.title} stays as it is: {refusal}")
    permitted = [item for item in rendered if item.key not in refused]
    if not permitted:
        raise execution.StageFailedError(next(iter(refused.values())))
    return permitted


async def _left_alone(
    work: execution.Work,
    rendered: Sequence[manifest.Manifest],
    refused: Mapping[manifest.ResourceKey, str],
) -> list[str]:
    """Return what was left out and is not as it is to be, or nobody knows, each with the reason."""
    left: list[str] = []
    for item in rendered:
        refusal = refused.get(item.key)
        if refusal is None:
            continue
        try:
            changes = (await cluster_changes.preview(work, [item])).changes
            is_same = all(change.action is apply_results.Action.UNCHANGED for change in changes)
        except errors.VolaryError as error:
            if apply_errors.unreachable(error) is not None:
                raise
            is_same = False
        if not is_same:
            left.append(f"{item.key.title} stays: {refusal}")
    return left


def _require_nothing(left: Sequence[str]) -> None:
    """End the stage without success where something is not as before.

    Raises:
        StageFailedError: naming it.
    """
    if left:
        raise execution.StageFailedError(f"not as before: {'; '.join(left)}")


async def _return_now(
    work: execution.Work,
    route_objects: Sequence[live_routes.RouteObject],
    source: Sequence[manifest.Manifest],
) -> list[live_routes.RouteObject]:
    """Give routes back to a primary that has ready pods; return those that have to wait."""
    waiting: list[live_routes.RouteObject] = []
    for route_object in live_routes.diverted(route_objects):
        behind = backend_readiness.Backends(work, route_object, source)
        if await behind.has_pods(variant.Variant.PRIMARY):
            await routes.return_to_primary(work, [route_object], source)
        else:
            work.caution(
                f"{route_object.item.key.title} stays as it is for now: primary has no ready pod"
            )
            waiting.append(route_object)
    return waiting


async def live_workloads(
    work: execution.Work, source: Sequence[manifest.Manifest]
) -> list[json.JsonObject]:
    """Return the live counterparts of the application's workloads."""
    matching_workloads = workloads.find(source, work.context.application.workloads)
    placement = await resource_mapping.map_manifests(
        work.context.client, matching_workloads, defining=source
    )
    return list((await live_objects.read(work.context.client, placement.mapped)).values())


RUNNER = stage_runners.StageRunner(kind=added_stages.ROLLBACK, run=run)
