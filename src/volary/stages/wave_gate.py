"""``WAVE_GATE``: the clusters of a wave are seen to run this release, healthy for some time.

The gate opens for this release alone: the workloads carry the commit of the run, in their
newest generation, and are ready. Success on an older release, seen too early, does not count
(argo-cd#29410). The soak is measured from the moment the last cluster of the wave was healthy, and
begins again for a cluster that does not stay so.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from volary.clusters import placing, wait
from volary.engine import wording
from volary.manifests import tracking, workloads
from volary.model import manifest, outcome, stage
from volary.stages import context as contexts
from volary.stages import rendering, work

#: Topic of the assembly: when each cluster was first healthy.
_HEALTHY = "healthy"


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage on one cluster; it writes nothing there."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    context = doing.context
    options = context.stage.options
    if not isinstance(options, stage.WaveGateOptions):
        raise TypeError(f"{context.stage.name} has {type(options).__name__}")
    source = await doing.load(context.target_source)
    manifests = rendering.primary(
        source, context.application, stage.SyncOptions(), commit=context.commit
    )
    await _require_release(doing, manifests)
    since = await _healthy_since(doing, manifests)
    if not options.soak:
        return "healthy on this release"
    await _soak(doing, manifests, options.soak, since)
    return f"healthy on this release for {wording.span(options.soak)}"


async def _soak(
    doing: work.Work,
    manifests: Sequence[manifest.Manifest],
    soak: timedelta,
    since: datetime,
) -> None:
    """Watch the cluster stay healthy for the whole soak, from the beginning after each break.

    Raises:
        StageFailedError: when there is no time left for it.
        StoppedError: when asked to stop.
    """
    context = doing.context
    while (left := soak - (_now(doing) - since)) > timedelta():
        doing.check_stop()
        if left > doing.remaining:
            raise work.StageFailedError(
                f"there is no time left to be healthy for {wording.span(soak)}"
            )
        context.progress(
            f"healthy on this release; {wording.span(left)} of {wording.span(soak)} to go"
        )
        seen = await wait.stay_ready(
            context.client,
            manifests,
            duration=left,
            rules=context.application.health,
            stop=context.stop.wait,
        )
        if seen.end is wait.End.STOPPED:
            raise work.StoppedError(f"{doing.stop_reason}; no longer soaking")
        if seen.end is wait.End.FAILED:
            doing.caution(f"did not stay healthy: {seen.sentence}; the soak begins again")
            await doing.wait_ready(manifests)
            since = _now(doing)
            await _remember(doing, since)


async def _require_release(doing: work.Work, manifests: Sequence[manifest.Manifest]) -> None:
    """Make sure that the workloads are those of the run's commit.

    Raises:
        StageFailedError: when one is missing, or of another commit.
    """
    context = doing.context
    found = workloads.find(manifests, context.application.workloads)
    placement = await placing.place(context.client, found)
    for each in placement.placed:
        live = await context.client.get(
            each.resource, each.item.name, namespace=each.item.namespace
        )
        if live is None:
            raise work.StageFailedError(f"{each.item.key.title} is not there")
        commit = tracking.commit_of(live)
        if commit != context.commit:
            raise work.StageFailedError(
                f"{each.item.key.title} is of {commit[:7] or 'an unknown commit'}, not of this"
                f" release ({context.commit[:7]})"
            )


async def _healthy_since(doing: work.Work, manifests: Sequence[manifest.Manifest]) -> datetime:
    """Wait until the cluster is healthy, and all others of its wave; return since when."""
    context = doing.context
    known = (await context.memory.load()).get("since")
    await doing.wait_ready(manifests)
    if isinstance(known, str):
        return datetime.fromisoformat(known)
    context.assembly.post(context.target, _HEALTHY, _now(doing))
    context.progress("healthy; waiting for the other clusters of the wave")
    healthy = await _all_healthy(doing)
    since = max(each for each in healthy.values() if isinstance(each, datetime))
    await _remember(doing, since)
    return since


async def _all_healthy(doing: work.Work) -> Mapping[str, object]:
    """Return since when each cluster of the wave is healthy, once all who are at it are.

    Raises:
        StoppedError: when asked to stop first.
        StageFailedError: when the time is over first.
    """
    context = doing.context
    async with asyncio.TaskGroup() as group:
        gathering = group.create_task(_gathered(context))
        stopping = group.create_task(_stopped(context))
        await asyncio.wait(
            (gathering, stopping),
            timeout=doing.remaining.total_seconds(),
            return_when=asyncio.FIRST_COMPLETED,
        )
        found = gathering.result() if gathering.done() else None
        gathering.cancel()
        stopping.cancel()
    if found is not None:
        return found
    doing.check_stop()
    raise work.StageFailedError("the other clusters of the wave were not healthy in time")


async def _gathered(context: contexts.StageContext) -> Mapping[str, object]:
    return await context.assembly.gather(context.target, _HEALTHY)


async def _stopped(context: contexts.StageContext) -> None:
    await context.stop.wait()


async def _remember(doing: work.Work, since: datetime) -> None:
    """Keep since when the soak counts; a new process goes on from there."""
    await doing.context.memory.save({"since": since.isoformat()})


def _now(doing: work.Work) -> datetime:
    clock = doing.context.clock
    if clock is None:
        raise TypeError("a wave gate needs a clock")
    return clock.now()
