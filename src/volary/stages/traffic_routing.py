"""``K8S_TRAFFIC_ROUTING``: how much traffic goes to which variant.

Nothing is sent to a variant without a ready pod, and what was written is read back.
"""

from collections.abc import Sequence

from volary.model import application as applications
from volary.model import manifest, outcome, stage
from volary.stages import context as contexts
from volary.stages import routes, work
from volary.stages.routing import division, interface, pods, weights


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: stage.TrafficOptions,
) -> weights.Change:
    """Return the object that carries the routes, as it should be, with a line per route.

    Raises:
        UserError: when the router cannot divide traffic like this, or the manifests lack
            what it needs.
    """
    router, wanted = interface.choose(application), division.of(options)
    router.check(wanted, application)
    for which in wanted.needed:
        pods.labels(source, application, which)
    return router.routed(interface.find(source, application), wanted, application)


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage on one cluster."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    context = doing.context
    wanted = division.of(_options(context))
    source = await doing.load(context.target_source)
    context.weights("moving traffic", wanted.shares, {})
    observed = await routes.divide(doing, source, wanted)
    context.weights("traffic moved", wanted.shares, observed.shares)
    return _said(observed)


def _said(observed: division.Observed) -> str:
    parts = [f"traffic: {weights.title(observed.shares)}"]
    if observed.is_matched:
        parts.append("requests that match to canary")
    if observed.mirror:
        parts.append(f"copies of {observed.mirror} % to canary")
    return ", ".join(parts)


def _options(context: contexts.StageContext) -> stage.TrafficOptions:
    found = context.stage.options
    if isinstance(found, stage.TrafficOptions):
        return found.on(context.target)
    raise TypeError(f"{context.stage.name} has {type(found).__name__}")
