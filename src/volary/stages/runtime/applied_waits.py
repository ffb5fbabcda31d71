"""Waiting until what was applied is ready, and still is what was applied.

Somebody may change an object while a stage waits for it, and what becomes ready then is
theirs. So what the wait has seen is compared when it ends; what people changed is applied again.
"""

from collections.abc import Collection, Container, Sequence

from volary.clusters.apply import applier, interferences
from volary.clusters.watching import waits
from volary.manifests.workloads import secret_data
from volary.model.objects import apply_results, manifest, ownership
from volary.stages.runtime import cluster_changes, execution

#: So often what somebody changes is taken back.
_TIMES = 2


async def wait(work: execution.Work, manifests: Sequence[manifest.Manifest]) -> str:
    """Wait until what was applied is ready, and return what was seen.

    What people changed meanwhile is taken back, a few times at most.

    Raises:
        StageFailedError: when it is not in time or cannot become it, or when it is not what was
            applied any more.
        StoppedError: when asked to stop.
    """
    conflicts = work.context.application.conflicts
    left: set[str] = set()
    taken_back = 0
    while True:
        result = await work.watch_ready(manifests)
        found = _changed(manifests, result, left, conflicts)
        changed = [one for one in found if not one.is_left(conflicts)]
        if not changed or result.end is waits.End.STOPPED:
            return work.settled(result)
        for interference in changed:
            work.caution(interference.sentence)
        is_over = taken_back == _TIMES or result.end is waits.End.TIMED_OUT
        wins = work.force or all(one.is_taken_back(conflicts) for one in changed)
        if is_over or not wins:
            raise execution.StageFailedError(interferences.sentences(changed))
        left |= await _take_back(work, manifests, changed)
        taken_back += 1


async def _take_back(
    work: execution.Work,
    manifests: Sequence[manifest.Manifest],
    changed: Sequence[interferences.Interference],
) -> set[str]:
    """Apply what somebody changed again; return the sentences of what was left as it is.

    Who decides over a field, as an autoscaler does over replicas, keeps it.
    """
    work.check_stop()
    keys = {interference.key for interference in changed}
    items = [item for item in manifests if _key_of(item, keys) is not None]
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
    manifests: Sequence[manifest.Manifest],
    result: waits.WaitResult,
    left: Container[str],
    conflicts: ownership.Conflicts,
) -> list[interferences.Interference]:
    """Return what somebody changed of what was applied, but for what is left to them."""
    return [
        interference
        for item in manifests
        if (key := _key_of(item, result.observed)) is not None
        for interference in interferences.find(
            secret_data.stored(item).body, result.observed[key], conflicts
        )
        if interference.sentence not in left
    ]


def _key_of(
    item: manifest.Manifest, keys: Collection[manifest.ResourceKey]
) -> manifest.ResourceKey | None:
    """Return the key of a manifest among those that have their namespaces; None: it is none."""
    if item.key in keys:
        return item.key
    named = (item.group, item.kind, item.name)
    return next(
        (key for key in keys if (key.group, key.kind, key.name) == named and not item.namespace),
        None,
    )
