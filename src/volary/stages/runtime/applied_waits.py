"""Waiting until what was applied is ready, and still is what was applied.

Somebody may change an object while a stage waits, and what becomes ready then is theirs. So
everything that the stage applied is compared when the wait ends; what people changed is applied
again.

What was waited for was watched, and costs nothing more. The rest is read once, many of a kind by
one list, and only where that pays: after a wait of some seconds, in which somebody could have
done something, or one that ended badly, or was repeated. So a commit that changes nothing, or
is rolled out at once, costs no request for that.
"""

import asyncio
from collections.abc import Collection, Container, Mapping, Sequence
from datetime import timedelta

from volary.clusters.apply import applied_objects, applier, interferences, live_objects
from volary.clusters.client import resource_mapping
from volary.clusters.watching import waits
from volary.model import json
from volary.model.objects import apply_results, manifest, ownership
from volary.stages.runtime import cluster_changes, execution

#: So often what somebody changes is taken back.
_TIMES = 2
#: A wait that is over sooner is no reason to read what was not waited for.
_SHORT = timedelta(seconds=5)


async def wait(work: execution.Work, manifests: Sequence[manifest.Manifest]) -> str:
    """Wait until what was applied is ready, and return what was seen.

    What people changed or deleted meanwhile is taken back, a few times at most.

    Raises:
        StageFailedError: when it is not in time or cannot become it, or when it is not what was
            applied any more.
        StoppedError: when asked to stop.
    """
    loop = asyncio.get_running_loop()
    conflicts = work.context.application.conflicts
    left: set[str] = set()
    taken_back = 0
    while True:
        began = loop.time()
        result = await work.watch_ready(manifests)
        if result.end is waits.End.STOPPED:
            return work.settled(result)
        is_short = loop.time() - began < _SHORT.total_seconds()
        reads = not is_short or taken_back > 0 or result.end is not waits.End.READY
        applied = await _applied(work, manifests)
        live = await _look(work, applied, result, reads=reads)
        changed = _changed(applied, live, result.observed, left, conflicts)
        if not changed:
            return work.settled(result)
        for interference in changed:
            work.caution(interference.sentence)
        is_over = taken_back == _TIMES or result.end is waits.End.TIMED_OUT
        wins = work.force or all(one.is_taken_back(conflicts) for one in changed)
        if is_over or not wins:
            failure = "" if result.end is waits.End.READY else result.sentence
            said = (failure, interferences.sentences(changed))
            raise execution.StageFailedError("; ".join(filter(None, said)))
        left |= await _take_back(work, applied, changed)
        taken_back += 1


async def _applied(
    work: execution.Work, manifests: Sequence[manifest.Manifest]
) -> list[applied_objects.AppliedObject]:
    """Return which of `manifests` the stage has applied, as they were then."""
    placement = await resource_mapping.map_manifests(work.context.client, manifests, refresh=False)
    keys = (placed.key for placed in placement.mapped)
    return [work.applied[key] for key in keys if key in work.applied]


async def _look(
    work: execution.Work,
    applied: Sequence[applied_objects.AppliedObject],
    result: waits.WaitResult,
    *,
    reads: bool,
) -> dict[manifest.ResourceKey, json.JsonObject | None]:
    """Return the objects as they are by now, as far as that is known; None: it is gone."""
    live: dict[manifest.ResourceKey, json.JsonObject | None] = {**result.observed}
    unseen = [one.mapped for one in applied if one.key not in live] if reads else []
    return {**live, **await live_objects.look(work.context.client, unseen)}


async def _take_back(
    work: execution.Work,
    applied: Sequence[applied_objects.AppliedObject],
    changed: Sequence[interferences.Interference],
) -> set[str]:
    """Apply what somebody changed again; return the sentences of what was left as it is.

    Who decides over a field, as an autoscaler does over replicas, keeps it.
    """
    work.check_stop()
    keys = {interference.key for interference in changed}
    items = [one.mapped.item for one in applied if one.key in keys]
    changes = await applier.SetApply(
        work.context.client, cluster_changes.apply_options(work)
    ).apply(items)
    work.record(changes.changes)
    written = {
        change.key
        for change in changes.changes
        if change.action is not apply_results.Action.UNCHANGED
    }
    return {interference.sentence for interference in changed if interference.key not in written}


def _changed(
    applied: Sequence[applied_objects.AppliedObject],
    live: Mapping[manifest.ResourceKey, json.JsonObject | None],
    waited: Container[manifest.ResourceKey],
    left: Collection[str],
    conflicts: ownership.Conflicts,
) -> list[interferences.Interference]:
    """Return what somebody did to what was applied, but for what is left to them.

    A controller that writes into a workload makes it another one. Into the rest it writes what
    is its to write, as cert-manager does into webhooks.
    """
    return [
        interference
        for one in applied
        if one.key in live
        for interference in interferences.find_since(one, live[one.key], conflicts)
        if interference.sentence not in left
        and not interference.is_left(conflicts)
        and (
            one.key in waited or interference.is_by_person or interference.is_taken_back(conflicts)
        )
    ]
