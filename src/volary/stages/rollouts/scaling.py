"""Rolling out canary and baseline, and how many pods they get where load decides primary's number.

Git says no number of pods for a workload with an autoscaler, so a percentage is taken of
what primary has at the moment. The autoscaler itself goes on scaling primary and is not
touched. Canary's number is written by a field manager of its own.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace

from volary.clusters.apply import live_objects, preconditions
from volary.clusters.client import resource_mapping
from volary.manifests import objects
from volary.manifests.ownership import field_managers
from volary.manifests.workloads import autoscalers, workloads
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.stages.rollouts import rendering
from volary.stages.runtime import applied_waits, cluster_changes, execution

_ALL = 100


async def with_live_replicas(
    work: execution.Work, source: Sequence[manifest.Manifest]
) -> list[manifest.Manifest]:
    """Return the source with the live number of pods where Git leaves it to others."""
    chosen = workloads.find(source, work.context.application.workloads)
    open_ones = [
        item
        for item in chosen
        if workloads.has_replicas(item) and is_scaled_by_others(item, source)
    ]
    if not open_ones:
        return list(source)
    return await _with_counts(work, open_ones, source)


async def scale_canary(
    work: execution.Work, source: Sequence[manifest.Manifest], share: int
) -> str:
    """Give canary `share` percent of primary's pods, at least one, and wait until they run.

    It is never made smaller: a step up is no reason to take pods away. Returns what was
    seen; empty when nothing had to change.

    Raises:
        StageFailedError: they are not ready in time.
        StoppedError: asked to stop.
    """
    chosen = workloads.find(source, work.context.application.workloads)
    wanted = _canaries(work, await _with_counts(work, chosen, source), share)
    placement = await resource_mapping.map_manifests(work.context.client, wanted)
    grown: list[manifest.Manifest] = []
    for mapped_manifest in placement.mapped:
        item, title = mapped_manifest.item, mapped_manifest.item.key.title
        now = await live_objects.get(work.context.client, mapped_manifest)
        if now is None:
            raise errors.PermanentError(f"{title} is not there to be scaled")
        count = workloads.replicas(item.body)
        if not _is_smaller(count, now):
            continue
        work.check_stop()
        work.touched = True
        work.context.progress(f"scaling {title} to {count}")
        is_scaled = await preconditions.apply_while(
            work.context.client,
            mapped_manifest.resource,
            _scale(item, count),
            now,
            functools.partial(_is_smaller, count),
            field_manager=field_managers.SCALE_MANAGER,
        )
        if not is_scaled:
            continue
        work.note(f"{title} has {count} pods for {share}% of the traffic")
        grown.append(item)
    return await work.wait_ready(grown) if grown else ""


async def _with_counts(
    work: execution.Work, items: Sequence[manifest.Manifest], source: Sequence[manifest.Manifest]
) -> list[manifest.Manifest]:
    """Return the source with as many pods in `items` as their live counterparts want."""
    placement = await resource_mapping.map_manifests(work.context.client, items, defining=source)
    live = await live_objects.read(work.context.client, placement.mapped)
    counts = {(key.kind, key.name): workloads.replicas(body) for key, body in live.items()}
    keys = {item.key for item in items if (item.kind, item.name) in counts}
    return [
        item.with_spec({"replicas": max(1, counts[item.kind, item.name])})
        if item.key in keys
        else item
        for item in source
    ]


def _canaries(
    work: execution.Work, source: Sequence[manifest.Manifest], share: int
) -> list[manifest.Manifest]:
    """Return canary's workloads with as many pods as `share` asks for."""
    context = work.context
    options = replace(
        _canary_options(context.application, context.task.stage.strategy),
        replicas=rollout_stages.Replicas(max(1, min(_ALL, share)), is_percentage=True),
        of=stage_kind.Scope.CLUSTER,
    )
    rendered = rendering.canary(source, context.application, options, commit=context.task.commit)
    return [item for item in rendered if workloads.has_replicas(item)]


def _canary_options(
    application: applications.Application, strategy: str
) -> rollout_stages.VariantRolloutOptions:
    """Return how canary was rolled out: its name and patches depend on that."""
    for stage in application.pipeline:
        is_rollout = stage.kind.applies is variant.Variant.CANARY and stage.strategy == strategy
        if is_rollout and isinstance(stage.options, rollout_stages.VariantRolloutOptions):
            return stage.options
    return rollout_stages.VariantRolloutOptions()


def is_scaled_by_others(item: manifest.Manifest, source: Sequence[manifest.Manifest]) -> bool:
    """Say whether the number of pods is somebody else's: Git names none, or has a scaler."""
    is_open = "replicas" not in objects.mapping(item.body, "spec")
    return is_open or autoscalers.of(item, source) is not None


def _is_smaller(count: int, live: json.JsonObject) -> bool:
    return workloads.replicas(live) < count


def _scale(item: manifest.Manifest, count: int) -> json.JsonObject:
    metadata: json.JsonObject = {"name": item.name}
    if item.namespace:
        metadata["namespace"] = item.namespace
    return {
        "apiVersion": item.api_version,
        "kind": item.kind,
        "metadata": metadata,
        "spec": {"replicas": count},
    }


async def roll_out(work: execution.Work, title: str, manifests: Sequence[manifest.Manifest]) -> str:
    """Apply a variant's objects and wait until they are ready; traffic is not touched.

    Without any the cluster got none of the fleet's share.
    """
    if not manifests:
        return f"no {title} here: none of the fleet's share is this cluster's"
    changes = await cluster_changes.apply(work, manifests)
    seen = await applied_waits.wait(work, manifests)
    return f"{title}: {changes.summary}; {seen}"


async def with_stage_replicas(
    work: execution.Work,
    source: list[manifest.Manifest],
    options: rollout_stages.VariantRolloutOptions,
) -> list[manifest.Manifest]:
    """Return the source, with the live number of pods where a percentage of it is asked for."""
    is_own_share = options.replicas is not None and options.replicas.is_percentage
    if options.of is stage_kind.Scope.FLEET or not is_own_share:
        return source
    return await with_live_replicas(work, source)
