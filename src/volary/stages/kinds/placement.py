"""``PLACEMENT_SYNC`` and ``PLACEMENT_REMOVE``: an application moves between clusters.

No new version comes with it: every cluster gets its part of the placement at the release it runs,
and one that is new the last completed release. Routes stay as they are, so what a run under
way had divided between variants stays divided.

What leaves a cluster goes by inventory and ownership, each object read again right before
its delete; volumes, namespaces and what says ``volary.dev/prune: disabled`` stay.
"""

from volary.clusters.inventory import pruning
from volary.concurrency import work_threads
from volary.model.pipeline.stage_kinds import added_stages, stage_kind
from volary.stages.kinds import clean, rollback
from volary.stages.rollouts import rendering
from volary.stages.runtime import applied_waits, cluster_changes, execution, stage_runners
from volary.stages.traffic import live_routes


async def sync(work: execution.Work, options: stage_kind.NoOptions) -> str:
    """Bring one cluster what it is to run, and wait until it does."""
    del options
    context = work.context
    commit, loader = context.task.commit, context.target_source
    if context.running_source is not None:
        commit, loader = context.task.running_commit, context.running_source
    source = await work.load(loader)
    live = await rollback.live_workloads(work, source)
    applied = rollback.running_options(context.application, live)
    rendered = await work_threads.run_many(
        source,
        "making primary's manifests",
        rendering.primary,
        source,
        context.application,
        applied,
        commit=commit,
    )
    route_objects = await live_routes.of(work, rendered)
    held = live_routes.keep_live(rendered, route_objects)
    now, late = live_routes.split_new(held, route_objects)
    changes = await cluster_changes.apply(work, now)
    seen = await applied_waits.wait(work, now)
    if late:
        await cluster_changes.apply(work, late)
    return f"at {commit[:7]}: {changes.summary}; {seen}"


async def remove(work: execution.Work, options: stage_kind.NoOptions) -> str:
    """Take the application away from one cluster."""
    del options
    context = work.context
    # What it consists of here tells where to look; nothing of it is applied.
    await work.load(context.running_source or context.target_source)
    work.check_stop()
    context.progress("removing the application")
    result = await cluster_changes.remove_brought(work, pruning.keep_nothing)
    return clean.removed(context.application.name, result.deleted)


SYNC = stage_runners.StageRunner(kind=added_stages.PLACEMENT_SYNC, run=sync)
REMOVE = stage_runners.StageRunner(kind=added_stages.PLACEMENT_REMOVE, run=remove)
