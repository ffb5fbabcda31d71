"""``K8S_TRAFFIC_ROUTING``: how much traffic goes to which variant.

Nothing is sent to a variant without a ready pod, and what was written is read back.
"""

from collections.abc import Sequence

from volary.model import application as applications
from volary.model import manifest, outcome, stage
from volary.stages import context as contexts
from volary.stages import rendering, routes, work
from volary.stages.routing import interface, weights


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
    router = interface.choose(application)
    router.check(options)
    return router.routed(router.find(source, application), options, application)


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage on one cluster."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    context = doing.context
    options = _options(context)
    source = await doing.load(context.target_source)
    change = plan(source, context.application, options)
    wanted = weights.wanted(options)
    (carrier,) = await routes.look(doing, [change.item])
    if carrier.live is None:
        # It is Git's object, so it is made by the manager of Git's objects.
        await routes.require_all(doing, carrier, source, wanted)
        await doing.apply(_marked(change.item, context))
        (carrier,) = await routes.look(doing, [change.item])
    context.weights("moving traffic", wanted, {})
    observed = await routes.move(doing, carrier, change, source)
    shares = routes.shares(observed)
    context.weights("traffic moved", wanted, shares)
    return f"traffic: {weights.title(shares)}"


def _marked(item: manifest.Manifest, context: contexts.StageContext) -> list[manifest.Manifest]:
    return rendering.primary(
        [item], context.application, stage.SyncOptions(), commit=context.commit
    )


def _options(context: contexts.StageContext) -> stage.TrafficOptions:
    found = context.stage.options
    if isinstance(found, stage.TrafficOptions):
        return found
    raise TypeError(f"{context.stage.name} has {type(found).__name__}")
