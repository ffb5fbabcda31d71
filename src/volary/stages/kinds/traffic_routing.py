"""``K8S_TRAFFIC_ROUTING``: how much traffic goes to which variant.

Nothing is sent to a variant without a ready pod, and what was written is read back.
"""

from collections.abc import Sequence

from volary.model import applications, statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.stages.runtime import contexts, execution
from volary.stages.traffic import division, routes, variant_pods, weights
from volary.stages.traffic.routers import interface


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: pipelines.TrafficOptions,
) -> weights.Change:
    """Return the object that carries the routes, as it should be, with a line per route.

    Raises:
        UserError: when the router cannot divide traffic like this, or the manifests lack
            what it needs.
    """
    router, wanted = interface.choose(application), division.of(options)
    router.check(wanted, application)
    for which in wanted.needed:
        variant_pods.labels(source, application, which)
    return router.routed(interface.find(source, application), wanted, application)


async def run(context: contexts.StageContext) -> statuses.Outcome:
    """Carry out the stage on one cluster."""
    return await execution.carry_out(context, _run)


async def _run(work: execution.Work) -> str:
    context = work.context
    wanted = division.of(_options(context))
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


def _options(context: contexts.StageContext) -> pipelines.TrafficOptions:
    found = context.stage.options
    if isinstance(found, pipelines.TrafficOptions):
        return found.on(context.target)
    raise TypeError(f"{context.stage.name} has {type(found).__name__}")
