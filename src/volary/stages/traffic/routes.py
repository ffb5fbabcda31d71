"""Moving traffic on one cluster: read the live routes, change them, read them back.

`routers` decide, purely; `route_writes` writes, by a field manager of its own, only the fields that
carry routes.

Stages that move traffic call `divide`, and `observe` for what is live::

    observed = await routes.divide(work, source, division.Division(80, canary=20))
    observed = await routes.observe(work, source)

Promises: no variant gets more traffic while none of its pods is ready, or while the Service
that the route names has no endpoint of it; applying manifests moves no traffic
(`live_routes.keep_live`); whatever is written is read back, gateways and meshes have accepted it,
and for a Service its endpoints are seen to have followed.
"""

from collections.abc import Sequence
from dataclasses import replace

from volary.clusters.watching import list_snapshot
from volary.manifests import objects
from volary.manifests.routes import generated_routes
from volary.model import errors
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering
from volary.stages.runtime import cluster_changes, execution
from volary.stages.traffic import (
    backend_readiness,
    division,
    live_routes,
    route_ports,
    route_writes,
    weights,
)
from volary.stages.traffic.routers import registry, router


async def return_to_primary(
    work: execution.Work,
    route_objects: Sequence[live_routes.RouteObject],
    source: Sequence[manifest.Manifest],
) -> None:
    """Give primary all the traffic that other variants get, as soon as it can take it.

    What was read back is told, else canary would be shown with users that it has no more.
    """
    for route_object in live_routes.diverted(route_objects):
        moved = await route_writes.move(work, route_object, _return, source)
        shares = weights.observed(moved.observed).shares
        work.context.weights("traffic is back at primary", division.PRIMARY.shares, shares)


def _return(route_object: live_routes.RouteObject) -> weights.Change:
    """Return the object with all traffic on primary, by Git's routes where Git has some.

    Git's routes that lead to primary alone are written as they are, without a weight.
    """
    is_generated = generated_routes.is_generated(route_object.item)
    base = route_object.as_live() if is_generated else route_object.item
    change = route_object.router.routed(base, division.PRIMARY)
    is_returned = not is_generated and not weights.is_diverted(route_object.router.read(base.body))
    return replace(change, item=base) if is_returned else change


async def divide(
    work: execution.Work,
    source: Sequence[manifest.Manifest],
    wanted: division.Division,
    *,
    known: live_routes.RouteObject | None = None,
) -> division.Observed:
    """Divide the application's traffic on this cluster, and return what was read back.

    The live route is changed, so what others wrote into it stays. A route that is not there
    yet is made as it is in Git. Safe to call again with the same wish.

    Args:
        work: The stage that is being carried out.
        source: The manifests of the new commit, as loaded.
        wanted: How the traffic should be divided.
        known: What `read` returned a moment ago. Whoever changed the object since then is not
            overwritten: the cluster refuses, and it is read again.

    Raises:
        UserError: when the router cannot divide traffic like this, or the manifests lack
            what it needs.
        StageFailedError: when a variant cannot take its traffic, or what was read back is not
            what was written, or is not accepted in time.
    """
    application = work.context.application
    router = registry.choose(application)
    if wanted.affinity is not None and not wanted.token:
        wanted = replace(wanted, token=division.token(application.name, work.context.task.commit))
    router.check(wanted)
    item = registry.find(source, application)
    route_object = known or (await live_routes.read(work, [item]))[0]
    if route_object.live is None:
        created = await _create(work, route_object, source, wanted)
        if created is None:
            return division.Observed(primary=division.ALL)
        route_object = created
    snapshot = list_snapshot.ListSnapshot(work.context.client)
    moved = await route_writes.move(
        work, route_object, lambda now: _change(now, wanted), source, snapshot
    )
    # Also of variants that had their share before: it may lead to nobody by now. Those that got
    # more have just been looked at.
    left = [variant_role for variant_role in wanted.needed if variant_role not in moved.risen]
    behind = backend_readiness.Backends(work, route_object, source, snapshot)
    await behind.require_services(moved.change.item.body, left)
    return weights.observed(moved.observed)


async def give_back(work: execution.Work, source: Sequence[manifest.Manifest]) -> bool:
    """Give primary at once what others get by now; say whether that was anything.

    That it cannot be done is no failure: it is cautioned of, and the rollback tries again.
    """
    try:
        route_object = await read(work, source)
        if not weights.is_diverted(route_object.weights):
            return False
        seen = await divide(work, source, division.PRIMARY, known=route_object)
        work.context.weights("traffic is back at primary", division.PRIMARY.shares, seen.shares)
    except errors.VolaryError as error:
        work.caution(f"canary's traffic could not be given back yet: {error}")
        return False
    return True


async def read(
    work: execution.Work, source: Sequence[manifest.Manifest]
) -> live_routes.RouteObject:
    """Read the live object that carries the application's routes.

    Raises:
        UserError: when the manifests have no object that could carry routes.
    """
    item = registry.choose(work.context.application).find(source)
    (route_object,) = await live_routes.read(work, [item])
    return route_object


def observed(route_object: live_routes.RouteObject) -> division.Observed | None:
    """Return what the live routes of a carrier do; None when there are none."""
    return None if route_object.live is None else weights.observed(route_object.weights)


async def observe(
    work: execution.Work, source: Sequence[manifest.Manifest]
) -> division.Observed | None:
    """Return what the live routes of the application do; None when there are none.

    Raises:
        UserError: when the manifests have no object that could carry routes.
    """
    return observed(await read(work, source))


def _change(route_object: live_routes.RouteObject, wanted: division.Division) -> weights.Change:
    """Return the live object with the desired routes.

    Where the live object has no route for them, as when only the new commit brings it, it is
    Git's that is written.
    """
    base, router = route_object.as_live(), route_object.router
    try:
        change = _divided(route_object, base, wanted)
    except errors.UserError:
        if _has_routes(router, base):
            raise
        base = route_object.item
        change = _divided(route_object, base, wanted)
    if wanted == division.PRIMARY and not weights.is_diverted(router.read(base.body)):
        # It does that already, and is left without a weight where it has none.
        change = replace(change, item=base)
    # The entries of a new canary are made like primary's, which runs the old version.
    item = route_ports.follow(
        change.item, route_object.item, variant.Variant.CANARY, router.application
    )
    return replace(change, item=item)


def _divided(
    route_object: live_routes.RouteObject, base: manifest.Manifest, wanted: division.Division
) -> weights.Change:
    if route_object.item.kind == "Service" and wanted.canary:
        # Canary's pods are of the new commit, whose selector may be another one.
        selector = objects.mapping(route_object.item.body, "spec", "selector")
        base = base.with_spec({"selector": selector})
    return route_object.router.routed(base, wanted)


def _has_routes(router: router.Router, base: manifest.Manifest) -> bool:
    """Say whether an object has routes at all for the application."""
    try:
        router.routed(base, division.PRIMARY)
    except errors.UserError:
        return False
    return True


async def _create(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    source: Sequence[manifest.Manifest],
    wanted: division.Division,
) -> live_routes.RouteObject | None:
    """Make an object that is not there yet; None when nothing has to be moved by it."""
    context, router = work.context, route_object.router
    if router.maker is variant.Variant.CANARY:
        if wanted.needed == (variant.Variant.PRIMARY,):
            work.note(f"{route_object.item.key.title} is not there, so primary gets all traffic")
            return None
        raise execution.StageFailedError(
            f"{route_object.item.key.title} is not there: K8S_CANARY_ROLLOUT makes it"
        )
    # It is Git's object, so it is made by the manager of Git's objects.
    behind = backend_readiness.Backends(work, route_object, source)
    await behind.require_pods(wanted.needed)
    change = router.routed(route_object.item, wanted)
    await behind.require_services(change.item.body, wanted.needed)
    whole = router.routed(route_object.item, division.PRIMARY)
    marked = rendering.primary(
        [whole.item], context.application, rollout_stages.SyncOptions(), commit=context.task.commit
    )
    await cluster_changes.apply(work, marked)
    (created,) = await live_routes.read(work, [route_object.item])
    return created
