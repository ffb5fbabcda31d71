"""Moving traffic on one cluster: read the live routes, change them, read them back.

`routers` decide, purely; this module reads and writes the cluster. Routes are written by a field
manager of their own, and only the fields that carry them.

Stages that move traffic call `divide`, and `observe` for what is live::

    observed = await routes.divide(work, source, division.Division(80, canary=20))
    observed = await routes.observe(work, source)

Promises: no variant gets more traffic while none of its pods is ready, or while the Service
that the route names has no endpoint of it; applying manifests moves no traffic
(`live_routes.keep_live`); whatever is written is read back, gateways and meshes have accepted it,
and for a Service its endpoints are seen to have followed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from volary.clusters.api import api_errors
from volary.clusters.apply import interferences, live_objects, managed_fields
from volary.clusters.watching import collection_watch, list_snapshot
from volary.manifests import objects
from volary.manifests.ownership import field_managers
from volary.manifests.routes import generated_routes
from volary.model import errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering, service_rollouts
from volary.stages.runtime import cluster_changes, execution, inventory_records
from volary.stages.traffic import (
    backend_readiness,
    division,
    live_routes,
    route_ports,
    silent_parents,
    weights,
)
from volary.stages.traffic.routers import registry

#: Gateways of clouds take minutes to answer.
_ACCEPTANCE = timedelta(minutes=5)
#: So often a route is looked at again that somebody else is changing.
_TRIES = 5


async def return_to_primary(
    work: execution.Work,
    route_objects: Sequence[live_routes.RouteObject],
    source: Sequence[manifest.Manifest],
) -> None:
    """Give primary all the traffic that other variants get, as soon as it can take it."""
    for route_object in live_routes.diverted(route_objects):
        await move(work, route_object, _return, source)


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
    snapshot: list_snapshot.ListSnapshot | None = None,
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
        snapshot: What is known of pods and endpoints at this moment.

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
    router.routed(route_object.item, wanted)
    if route_object.live is None:
        created = await _create(work, route_object, source, wanted)
        if created is None:
            return division.Observed(primary=division.ALL)
        route_object = created
    snapshot = snapshot or list_snapshot.ListSnapshot(work.context.client)
    change, after = await move(
        work, route_object, lambda now: _change(now, wanted), source, snapshot
    )
    # Also of variants that had their share before: it may lead to nobody by now. Those that got
    # more have just been looked at.
    rising = _rising(route_object, change)
    left = [variant_role for variant_role in wanted.needed if variant_role not in rising]
    behind = backend_readiness.Backends(work, route_object, source, snapshot)
    await behind.require_services(change.item.body, left)
    return weights.observed(after)


async def give_back(work: execution.Work, source: Sequence[manifest.Manifest]) -> bool:
    """Give primary at once what others get by now; say whether that was anything.

    That it cannot be done is no failure: it is cautioned of, and the rollback tries again.
    """
    try:
        route_object = await read(work, source)
        if not weights.is_diverted(route_object.weights):
            return False
        await divide(work, source, division.PRIMARY, known=route_object)
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
        router.routed(base, division.PRIMARY)
    except errors.UserError:
        base = route_object.item
    if route_object.item.kind == "Service" and wanted.canary:
        # Canary's pods are of the new commit, whose selector may be another one.
        selector = objects.mapping(route_object.item.body, "spec", "selector")
        base = base.with_spec({"selector": selector})
    change = router.routed(base, wanted)
    if wanted == division.PRIMARY and not weights.is_diverted(router.read(base.body)):
        # It does that already, and is left without a weight where it has none.
        change = replace(change, item=base)
    # The entries of a new canary are made like primary's, which runs the old version.
    item = route_ports.follow(
        change.item, route_object.item, variant.Variant.CANARY, router.application
    )
    return replace(change, item=item)


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


#: Says how a route is to look, given the object as it is live.
Plan = Callable[[live_routes.RouteObject], weights.Change]


async def move(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    plan: Plan,
    source: Sequence[manifest.Manifest],
    snapshot: list_snapshot.ListSnapshot | None = None,
) -> tuple[weights.Change, tuple[weights.RouteWeights, ...]]:
    """Write the routes of `plan`; return them, and the weights that were read back.

    Whoever edits the routes meanwhile is not overwritten: then `plan` is asked again.

    Raises:
        StageFailedError: when a variant has no ready pod for the traffic it would get,
            or what was read back is not what was written.
    """
    router = route_object.router
    live_routes.check_owner(work, route_object)
    snapshot = snapshot or list_snapshot.ListSnapshot(work.context.client)
    for _ in range(_TRIES):
        change = plan(route_object)
        wanted = router.read(change.item.body)
        rising = _rising(route_object, change)
        behind = backend_readiness.Backends(work, route_object, source, snapshot)
        await behind.require_pods(rising)
        await behind.require_services(change.item.body, rising)
        work.check_stop()
        # Written to at once: the cluster refuses when the object has changed since it was read.
        version = objects.text(route_object.live, "metadata", "resourceVersion")
        if version and await _write(work, route_object, router.fields(change.item.body), version):
            return change, await _observed(work, route_object, change, wanted)
        live = await live_objects.get(work.context.client, route_object.placed)
        route_object = replace(route_object, live=live)
        snapshot.forget()
    raise execution.StageFailedError(
        f"{route_object.item.key.title} kept changing while it was read"
    )


def _rising(
    route_object: live_routes.RouteObject, change: weights.Change
) -> Sequence[variant.Variant]:
    """Return the variants that a change gives more traffic than they have."""
    return weights.rising(route_object.weights, route_object.router.read(change.item.body))


async def _observed(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    change: weights.Change,
    wanted: tuple[weights.RouteWeights, ...],
) -> tuple[weights.RouteWeights, ...]:
    """Read back what was written, and see that it is in effect."""
    work.context.propagation.note()
    for line in change.lines:
        work.note(line)
    after = await live_objects.get(work.context.client, route_object.placed)
    router, observed = route_object.router, replace(route_object, live=after).weights
    if after is None or observed != wanted:
        raise execution.StageFailedError(
            f"{route_object.item.key.title} was written, but reads back as"
            f" {weights.title(_first(observed))} instead of {weights.title(_first(wanted))}"
        )
    if route_object.item.kind == "Service":
        selector = objects.mapping(after, "spec", "selector")
        timeout = min(backend_readiness.READY_TIMEOUT, work.remaining)
        await service_rollouts.follow(work, route_object.item, selector, timeout)
    given_back = weights.is_diverted(route_object.weights) and not weights.is_diverted(observed)
    if given_back and router.is_unanswered(route_object.live or {}):
        # Nobody carried out the routes before either: waiting would keep the old version waiting.
        if left := router.waiting(after):
            work.caution(f"{route_object.item.key.title}: {left}; this is not waited for")
        return observed
    await _accepted(work, route_object, after)
    return observed


async def _accepted(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    written: json.JsonObject,
) -> None:
    """Wait until gateways and meshes say that they carry out the routes."""
    router = route_object.router
    if not router.waiting(written):
        return
    name = route_object.item.name
    seen: dict[str, json.JsonObject] = {}

    def left() -> str:
        return router.waiting(seen[name]) if name in seen else "it is gone"

    title = route_object.item.key.title
    reason = await _why_not_accepted(work, route_object, written)
    work.context.progress(f"waiting until {title} is accepted: {reason}")
    source = collection_watch.Source(
        route_object.placed.resource,
        route_object.item.namespace,
        collection_watch.store_by_name(seen),
        field_selector=f"metadata.name={name}",
    )
    await collection_watch.watch_until(
        work.context.client,
        [source],
        lambda: not left(),
        timeout=min(_ACCEPTANCE, work.remaining),
        stop=work.context.task.stop.wait,
    )
    if left():
        work.check_stop()
        last = seen.get(name)
        reason = await _why_not_accepted(work, route_object, last) if last else left()
        raise execution.StageFailedError(f"{title} was written, but {reason}")


async def _why_not_accepted(
    work: execution.Work, route_object: live_routes.RouteObject, body: json.JsonObject
) -> str:
    """Return why routes are not carried out; where nobody answers, also who is missing."""
    left = route_object.router.waiting(body)
    if not left or not route_object.router.is_unanswered(body):
        return left
    missing = await silent_parents.explain(work.context.client, body)
    return f"{left}; {missing}" if missing else left


async def _write(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    fields: json.JsonObject,
    version: str,
) -> bool:
    """Write the fields that carry the routes; say whether the object still was that version."""
    if route_object.live is not None:
        await inventory_records.keep_adopted(work, [route_object.live])
    item = route_object.item
    own = {"name": item.name, "namespace": item.namespace, "resourceVersion": version}
    body = {
        **fields,
        "apiVersion": item.api_version,
        "kind": item.kind,
        "metadata": {**objects.mapping(fields, "metadata"), **own},
    }
    _say_who_changed(work, route_object, body)
    before, work.touched = work.touched, True
    try:
        # Forced: whoever set these fields before, the running stage decides them now.
        await work.context.client.apply(
            route_object.placed.resource,
            body,
            field_manager=field_managers.TRAFFIC_MANAGER,
            force=True,
        )
    except api_errors.Conflict:
        work.touched = before
        return False
    return True


def _say_who_changed(
    work: execution.Work, route_object: live_routes.RouteObject, wanted: json.JsonObject
) -> None:
    """Say which person changed routes since a stage moved them, before they are written over."""
    live = route_object.live or {}
    names = [entry.get("manager") for entry in managed_fields.managers(live)]
    if field_managers.TRAFFIC_MANAGER not in names:
        return
    for change in interferences.find(wanted, live):
        if change.is_by_person:
            work.caution(
                f"{change.key.title}: somebody ({change.manager}) changed {change.path} since"
                " traffic was moved; it is taken back"
            )


def _first(routes: Sequence[weights.RouteWeights]) -> dict[variant.Variant, int]:
    """Return the shares of the first route that may be changed, for sentences."""
    return weights.observed(routes).shares
