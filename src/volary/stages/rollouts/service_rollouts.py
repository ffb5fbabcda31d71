"""A Service that is rolled out: its canary is brought, and primary is switched to what it was.

No request is lost on the way (DESIGN.md: promotion). A Service gets its new selector only when a
pod is ready that fits it, its endpoints are seen to have followed, and the pods that it led to
before stay until proxies have had time to follow too.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from volary.clusters.api import api_errors
from volary.clusters.client import resource_mapping
from volary.clusters.watching import endpoints
from volary.concurrency import work_threads
from volary.manifests import objects
from volary.manifests.services import backends, selector_changes, service_targets
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering
from volary.stages.runtime import applied_waits, cluster_changes, execution


async def roll_out_canary(
    work: execution.Work,
    source: Sequence[manifest.Manifest],
    options: rollout_stages.VariantRolloutOptions,
) -> str:
    """Apply canary's Service and the pods that only it leads to; see that it leads to some.

    Raises:
        UserError: when it has no longer the ports that routes name.
        StageFailedError: when no pod behind it is ready in time.
    """
    context = work.context
    running: list[manifest.Manifest] = []
    if context.running_source is not None:
        running = await work.load(context.running_source)
    service_targets.check_ports(source, running, context.application)
    for item in service_targets.untested_workloads(source, running, context.application):
        work.caution(
            f"{item.key.title} serves the running version too: its change comes with the promotion"
        )
    made = await work_threads.run_many(
        source,
        "making canary's manifests",
        rendering.canary,
        source,
        context.application,
        options,
        commit=context.task.commit,
        running=running,
    )
    changes = await cluster_changes.apply(work, made)
    seen = await applied_waits.wait(work, made)
    for item in made:
        if item.kind == service_targets.KIND:
            await _require_endpoints(work, item)
    return f"canary: {changes.summary}; {seen}"


async def switch(
    work: execution.Work, items: Sequence[manifest.Manifest], *, must_lead: bool = True
) -> str:
    """Let Services lead to their pods, which are ready; return what was seen.

    Args:
        work: The stage that is being carried out.
        items: The Services.
        must_lead: A Service that no pod is ready for is not changed; else it is, and that is said.

    Raises:
        StageFailedError: when none of the pods is ready, or endpoints did not follow in time.
    """
    placement = await resource_mapping.map_manifests(work.context.client, items)
    leading = [mapped.item for mapped in placement.mapped if service_targets.selector(mapped.item)]
    for item in leading:
        await _require_pods(work, item, must_lead=must_lead)
    work.check_stop()
    await cluster_changes.apply(work, items)
    for item in leading if must_lead else ():
        await follow(work, item, service_targets.selector(item), work.remaining)
    work.context.propagation.note()
    return f"{', '.join(item.name for item in items)} switched"


async def switch_back(
    work: execution.Work, rendered: Sequence[manifest.Manifest]
) -> list[manifest.Manifest]:
    """Let the Services lead to the running version at once, where it has ready pods.

    Returns the Services that have to wait for their pods; none when they were switched.
    """
    _, services = service_targets.split_by_readiness(rendered, work.context.application)
    placement = await resource_mapping.map_manifests(work.context.client, services)
    for mapped_manifest in placement.mapped:
        labels = dict(service_targets.selector(mapped_manifest.item))
        if not await endpoints.count_ready_pods(
            work.context.client, mapped_manifest.item.namespace, labels
        ):
            work.caution(
                f"{mapped_manifest.item.key.title} has to wait: what it led to has no ready pod"
            )
            return services
    await switch(work, services)
    return []


async def live_selector(
    work: execution.Work, namespace: str, which: variant.Variant
) -> dict[str, str]:
    """Return what the live Service of a variant selects; empty when it is not there."""
    client = work.context.client
    resource = await resource_mapping.require(client, "", service_targets.KIND)
    name = backends.of(work.context.application).name(which)
    service = await client.get(resource, name, namespace=namespace) if name else None
    return dict(objects.mapping(service, "spec", "selector")) if service else {}


async def _require_pods(work: execution.Work, item: manifest.Manifest, *, must_lead: bool) -> None:
    client, labels = work.context.client, dict(service_targets.selector(item))
    work.context.progress(f"waiting for pods of {item.name}")
    try:
        if must_lead:
            ready = await endpoints.wait_ready_pods(
                client,
                item.namespace,
                labels,
                timeout=work.remaining,
                stop=work.context.task.stop.wait,
            )
        else:
            ready = await endpoints.count_ready_pods(client, item.namespace, labels)
    except api_errors.Forbidden:
        work.caution(f"{item.key.title} is changed unseen: pods may not be listed")
        return
    work.check_stop()
    if ready:
        return
    sentence = f"no pod is ready among {selector_changes.title(labels)}"
    if must_lead:
        raise execution.StageFailedError(f"{item.key.title} is not switched: {sentence}")
    work.caution(f"{item.key.title} leads to nobody: {sentence}")


async def follow(
    work: execution.Work, item: manifest.Manifest, selector: Mapping[str, str], timeout: timedelta
) -> None:
    """Wait until a Service's endpoints are pods of its new selector.

    Raises:
        StageFailedError: when they are not in time.
    """
    work.context.progress(f"waiting for the endpoints of {item.name}")
    left = await endpoints.wait_followed(
        work.context.client,
        item.namespace,
        item.name,
        dict(selector),
        timeout=timeout,
    )
    if left:
        raise execution.StageFailedError(f"{item.key.title} was changed, but {left}")


async def _require_endpoints(work: execution.Work, item: manifest.Manifest) -> None:
    placement = await resource_mapping.map_manifests(work.context.client, [item])
    for mapped_manifest in placement.mapped:
        missing = await endpoints.wait_serving(
            work.context.client,
            mapped_manifest.item.namespace,
            mapped_manifest.item.name,
            dict(service_targets.selector(mapped_manifest.item)),
            timeout=work.remaining,
            stop=work.context.task.stop.wait,
        )
        work.check_stop()
        if missing:
            raise execution.StageFailedError(f"canary leads nowhere: {missing}")
