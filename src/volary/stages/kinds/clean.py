"""``K8S_CANARY_CLEAN`` and ``K8S_BASELINE_CLEAN``: a variant's objects go.

The live routes are read first: a variant that still gets traffic is drained to
primary, and seen to be, before its pods go; proxies get a moment to follow, and requests under way
to end, where somebody tells of them. Then
Services, workloads and the rest are deleted, each checked to be the variant's right before
its delete.
"""

from collections.abc import Sequence

from volary.clusters.inventory import pruning
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.stages.judgement import in_flight
from volary.stages.runtime import cluster_changes, execution, project_rules, stage_runners
from volary.stages.traffic import live_routes, route_writes, weights


async def run(work: execution.Work, options: stage_kind.NoOptions) -> str:
    """Carry out the stage on one cluster."""
    del options
    which = work.context.task.stage.kind.removes
    assert which is not None
    source = await work.load(work.context.target_source)
    await drain(work, which, source)
    await work.settle()
    await in_flight.wait(work, which, source)
    return await remove(work, which)


async def drain(
    work: execution.Work, which: variant.Variant, source: Sequence[manifest.Manifest]
) -> None:
    """Give the traffic that a variant still gets to primary.

    Raises:
        StageFailedError: when primary cannot take it; then nothing was changed.
        UserError: when a route that may not be edited still leads there.
    """
    for route_object in await live_routes.of(work, source):
        if route_object.live is not None and _drained(route_object, which).lines:
            await route_writes.move(work, route_object, lambda now: _drained(now, which), source)


def _drained(route_object: live_routes.RouteObject, which: variant.Variant) -> weights.Change:
    return route_object.router.drained(route_object.as_live(), which)


async def remove(work: execution.Work, which: variant.Variant) -> str:
    """Delete a variant's objects and wait until they are gone.

    Not sooner after a change of routes than proxies may take to follow.
    """
    await work.settle()
    work.check_stop()
    work.context.progress(f"removing {which.value}")
    result = await pruning.delete_variant(
        work.context.client,
        which,
        cluster_changes.scope(work),
        timeout=work.remaining,
        check=project_rules.keep_check(work),
        waiting=work.context.progress,
        deleting=work.begin_writing,
    )
    cluster_changes.record_removal(work, result)
    return removed(which.value, result.deleted)


def removed(title: str, count: int) -> str:
    """Return the sentence that says how many objects of `title` went."""
    if not count:
        return f"no {title} to remove"
    return f"{title} removed, {count} object{'s' if count > 1 else ''}"


CANARY = stage_runners.StageRunner(kind=rollout_stages.CANARY_CLEAN, run=run)
BASELINE = stage_runners.StageRunner(kind=rollout_stages.BASELINE_CLEAN, run=run)
