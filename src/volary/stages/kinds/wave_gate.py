"""``WAVE_GATE``: the clusters of a wave are seen to run this release, healthy for some time.

The gate opens for this release alone: the workloads carry the commit of the run, or are what it
says without having been changed by it, in their newest generation, and are ready, before the soak
and after it. Success on an older release, seen
too early, does not count (argo-cd#29410), and neither does what somebody else brought. The soak
is measured from the moment the last cluster of the wave was healthy. For a cluster that does not
stay so it begins again, as Kubernetes counts `minReadySeconds`, until the time of the stage is
over; how often it did is said. A process that takes over sees from the cluster's own records
whether it broke while nobody looked.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from volary.clusters.apply import applier, apply_errors, live_objects
from volary.clusters.client import resource_mapping
from volary.clusters.watching import waits
from volary.concurrency import work_threads
from volary.manifests.ownership import tracking
from volary.manifests.workloads import workloads
from volary.model import json, phrases
from volary.model.objects import apply_results, manifest
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages
from volary.stages.kinds import rollback
from volary.stages.rollouts import rendering
from volary.stages.runtime import execution, stage_runners

#: Topic of the rendezvous: when each cluster was first healthy.
_HEALTHY = "healthy"


async def run(work: execution.Work, options: added_stages.WaveGateOptions) -> str:
    """Carry out the stage on one cluster; it writes nothing there."""
    context = work.context
    source = await work.load(context.target_source)
    manifests = await work_threads.run_many(
        source,
        "labelling the manifests",
        rendering.primary,
        source,
        context.application,
        rollout_stages.SyncOptions(),
        commit=context.task.commit,
    )
    await _require_release(work, manifests)
    since = await _healthy_since(work, manifests)
    breaks = await _soak(work, manifests, options.soak, since)
    await _require_release(work, manifests)
    return _sentence(options.soak, breaks)


def _sentence(soak: timedelta, breaks: int) -> str:
    lasting = f" for {phrases.duration(soak)}" if soak else ""
    times = f"; the soak began again {breaks} time{'s' * (breaks > 1)}" if breaks else ""
    return f"healthy on this release{lasting}{times}"


async def _soak(
    work: execution.Work,
    manifests: Sequence[manifest.Manifest],
    soak: timedelta,
    since: datetime,
) -> int:
    """Watch the cluster stay healthy for the whole soak, from the beginning after each break.

    Returns:
        How many breaks there were.

    Raises:
        StageFailedError: when there is no time left for it.
        StoppedError: when asked to stop.
    """
    context, breaks = work.context, 0
    while (left := soak - (_now(work) - since)) > timedelta():
        work.check_stop()
        if left > work.remaining:
            broken = f"; it was not {breaks} time{'s' * (breaks > 1)}" if breaks else ""
            raise execution.StageFailedError(
                f"there is no time left to be healthy for {phrases.duration(soak)}{broken}"
            )
        context.progress(
            f"healthy on this release; {phrases.duration(left)} of {phrases.duration(soak)} to go"
        )
        seen = await waits.stay_ready(
            context.client,
            manifests,
            duration=left,
            rules=context.application.health,
            stop=context.task.stop.wait,
        )
        if seen.end is waits.End.STOPPED:
            raise execution.StoppedError(f"{work.stop_reason}; no longer soaking")
        if seen.end is waits.End.FAILED:
            breaks += 1
            work.caution(f"did not stay healthy: {seen.sentence}; the soak begins again")
            await work.wait_ready(manifests)
            since = _now(work)
            await _remember(work, since)
    return breaks


async def _require_release(
    work: execution.Work, manifests: Sequence[manifest.Manifest]
) -> list[json.JsonObject]:
    """Make sure that the workloads are those of the run's commit, and return them.

    Raises:
        StageFailedError: when one is missing, or of another commit that differs.
    """
    context, seen = work.context, []
    others: list[manifest.Manifest] = []
    matching_workloads = workloads.find(manifests, context.application.workloads)
    placement = await resource_mapping.map_manifests(context.client, matching_workloads)
    for mapped_manifest in placement.mapped:
        title = mapped_manifest.item.key.title
        live = await live_objects.get(context.client, mapped_manifest)
        if live is None:
            raise execution.StageFailedError(f"{title} is not there")
        if tracking.commit_of(live) != context.task.commit:
            others.append(mapped_manifest.item)
        seen.append(live)
    if others:
        await _require_same(work, others, seen)
    return seen


async def _require_same(
    work: execution.Work, items: Sequence[manifest.Manifest], live: Sequence[json.JsonObject]
) -> None:
    """Make sure that this release would not change workloads of another commit.

    Raises:
        StageFailedError: when it would.
    """
    context, keys = work.context, {item.key for item in items}
    source = await work.load(context.target_source)
    options = rollback.running_options(context.application, live)
    rendered = await work_threads.run_many(
        source,
        "labelling the manifests",
        rendering.primary,
        source,
        context.application,
        options,
        commit=context.task.commit,
    )
    placement = await resource_mapping.map_manifests(context.client, rendered)
    wanted = [placed.item for placed in placement.mapped if placed.item.key in keys]
    asked = applier.Options(
        namespaces=context.namespaces,
        owner=context.application.owner,
        names_others=context.application.names_others,
        label=context.application.variant_label,
    )
    commits = {manifest.Manifest(body).key: tracking.commit_of(body) for body in live}

    def other(key: manifest.ResourceKey, why: str = "") -> execution.StageFailedError:
        return execution.StageFailedError(
            f"{key.title} is of {commits[key][:7] or 'an unknown commit'},"
            f" not of this release ({context.task.commit[:7]}){why}"
        )

    for item in wanted:
        try:
            previewed = await applier.SetApply(context.client, asked).preview([item])
        except apply_errors.ApplyError as error:
            if apply_errors.unreachable(error) is not None:
                raise
            # Somebody else has written it, who does not let go.
            raise other(item.key, f": {error.problems[0].message}") from error
        for change in previewed.changes:
            if change.action is not apply_results.Action.UNCHANGED:
                raise other(change.key)


async def _healthy_since(work: execution.Work, manifests: Sequence[manifest.Manifest]) -> datetime:
    """Wait until the cluster is healthy, and all others of its wave; return since when."""
    context = work.context
    known = (await context.task_state.load()).get("since")
    await work.wait_ready(manifests)
    if isinstance(known, str):
        return await _still_since(work, manifests, datetime.fromisoformat(known))
    context.rendezvous.post(context.target, _HEALTHY, _now(work))
    context.progress("healthy; waiting for the other clusters of the wave")
    healthy = await work.gather(_HEALTHY, "the other clusters of the wave were not healthy in time")
    since = max(moment for moment in healthy.values() if isinstance(moment, datetime))
    await _remember(work, since)
    return since


async def _still_since(
    work: execution.Work, manifests: Sequence[manifest.Manifest], known: datetime
) -> datetime:
    """Return since when the cluster is healthy: later than known, if it broke in between."""
    seen = await _require_release(work, manifests)
    since = max([known, *filter(None, map(_available_since, seen))])
    # By a clock that was set back, or by the cluster's, it may be later than now.
    since = min(since, _now(work))
    if since > known:
        work.caution("did not stay healthy while the server was stopped; the soak begins again")
    if since != known:
        await _remember(work, since)
    return since


def _available_since(live: json.JsonObject) -> datetime | None:
    """Return since when a workload says that it is available; None when it does not say."""
    times = (
        str(condition.get("lastTransitionTime", ""))
        for condition in live.get("status", {}).get("conditions", ())
        if condition.get("type") == "Available" and condition.get("status") == "True"
    )
    text = next(times, "")
    return datetime.fromisoformat(text) if text else None


async def _remember(work: execution.Work, since: datetime) -> None:
    """Keep since when the soak counts; a new process goes on from there."""
    await work.context.task_state.save({"since": since.isoformat()})


def _now(work: execution.Work) -> datetime:
    return work.context.clock.now()


RUNNER = stage_runners.StageRunner(kind=added_stages.WAVE_GATE, run=run)
