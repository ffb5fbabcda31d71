"""``K8S_TRAFFIC_ROUTING``: how much traffic goes to which variant.

Nothing is sent to a variant without a ready pod, and what was written is read back.
"""

from collections.abc import Sequence

from volary.model import applications
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.runtime import execution, stage_runners
from volary.stages.traffic import division, routes, variant_pods, weights
from volary.stages.traffic.routers import registry


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: traffic_stages.TrafficOptions,
) -> weights.Change:
    """Return the object that carries the routes, as it should be, with a line per route.

    Raises:
        UserError: when the router cannot divide traffic like this, or the manifests lack
            what it needs.
    """
    router, wanted = registry.choose(application), division.of(options)
    router.check(wanted)
    for which in wanted.needed:
        variant_pods.labels(source, application, which)
    return router.routed(registry.find(source, application), wanted)


async def run(work: execution.Work, options: traffic_stages.TrafficOptions) -> str:
    """Carry out the stage on one cluster."""
    context = work.context
    wanted = division.of(options)
    source = await work.load(context.target_source)
    context.weights("moving traffic", wanted.shares, {})
    observed = await routes.divide(work, source, wanted)
    context.weights("traffic moved", wanted.shares, observed.shares)
    return _said(observed)


def _said(observed: division.Observed) -> str:
    parts = [f"traffic: {weights.title(observed.shares)}"]
    if observed.is_matched:
        parts.append("requests that match to canary")
    if observed.mirror:
        parts.append(f"copies of {observed.mirror} % to canary")
    return ", ".join(parts)


def _check(sources: stage_runners.Sources, options: traffic_stages.TrafficOptions) -> None:
    plan(sources.manifests, sources.application, options)


def check_own_routes(sources: stage_runners.Sources) -> None:
    """Refuse a router that cannot even give everything to primary."""
    plan(sources.manifests, sources.application, traffic_stages.TrafficOptions(100))


RUNNER = stage_runners.StageRunner(kind=traffic_stages.TRAFFIC_ROUTING, run=run, check=_check)
