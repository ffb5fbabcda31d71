"""Moving traffic on one cluster: read the live routes, change them, read them back.

`routing` decides, purely; this module talks to the cluster. Routes are written by a field
manager of their own, and only the fields that carry them.

Stages that move traffic call `divide`, and `observe` for what is live::

    observed = await routes.divide(work, source, division.Division(80, canary=20))
    observed = await routes.observe(work, source)

Promises: no variant gets more traffic while none of its pods is ready, or while the Service
that the route names has no endpoint of it; applying manifests moves no traffic (`hold`);
whatever is written is read back, gateways and meshes have accepted it, and for a Service its
endpoints are seen to have followed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from volary.clusters import endpoints, glances, steps, watching
from volary.clusters import errors as cluster_errors
from volary.manifests import made_routes, objects
from volary.model import application as applications
from volary.model import errors, json, manifest, stage, variant
from volary.stages import carrying, receivers, rendering
from volary.stages import work as works
from volary.stages.routing import division, interface, ports, weights

#: Gateways of clouds take minutes to answer.
_ACCEPTANCE = timedelta(minutes=5)
#: So often a route is looked at again that somebody else is changing.
_TRIES = 5


async def give_back(
    work: works.Work, carriers: Sequence[carrying.Carrier], source: Sequence[manifest.Manifest]
) -> None:
    """Give primary all the traffic that other variants get, as soon as it can take it."""
    application = work.context.application
    router = interface.choose(application)
    for each in carrying.leading_away(carriers, application):
        await move(
            work,
            each,
            lambda now: router.routed(_given_back(now), division.PRIMARY, application),
            source,
        )


def _given_back(carrier: carrying.Carrier) -> manifest.Manifest:
    """Return the object with the routes that are given back: Git's, where Git has some."""
    return _as_live(carrier) if made_routes.is_made(carrier.item) else carrier.item


def _as_live(carrier: carrying.Carrier) -> manifest.Manifest:
    live = carrier.live
    return carrier.item if live is None else manifest.Manifest(live, carrier.item.origin)


async def divide(
    work: works.Work,
    source: Sequence[manifest.Manifest],
    wanted: division.Division,
    *,
    known: carrying.Carrier | None = None,
    glance: glances.Glance | None = None,
) -> division.Observed:
    """Divide the application's traffic on this cluster, and return what was read back.

    The live route is changed, so what others wrote into it stays. A route that is not there
    yet is made as it is in Git. Safe to call again with the same wish.

    Args:
        work: The stage that is being carried out.
        source: The manifests of the new commit, as loaded.
        wanted: How the traffic is wanted.
        known: What `look` returned a moment ago. Whoever changed the object since then is not
            overwritten: the cluster refuses, and it is read again.
        glance: What is known of pods and endpoints at this moment.

    Raises:
        UserError: when the router cannot divide traffic like this, or the manifests lack
            what it needs.
        StageFailedError: when a variant cannot take its traffic, or what was read back is not
            what was written, or is not accepted in time.
    """
    application = work.context.application
    router = interface.choose(application)
    if wanted.affinity is not None and not wanted.token:
        wanted = replace(wanted, token=division.token(application.name, work.context.commit))
    router.check(wanted, application)
    item = interface.find(source, application)
    carrier = known or (await carrying.look(work, [item]))[0]
    router.routed(carrier.item, wanted, application)
    carrying.check_owner(work, carrier)
    if carrier.live is None:
        found = await _bring(work, carrier, source, wanted)
        if found is None:
            return division.Observed(primary=division.ALL)
        carrier = found
    glance = glance or glances.Glance(work.context.client)
    change, after = await move(
        work, carrier, lambda now: _change(router, now, wanted, application), source, glance
    )
    if carrier.item.kind == "Service":
        glance.forget()  # its endpoints are others by now
    # Also of variants that had their share before: it may lead to nobody by now. Those that got
    # more have just been looked at.
    rising = _rising(router, carrier, change, application)
    left = [each for each in wanted.needed if each not in rising]
    await receivers.require_services(work, carrier, source, change.item.body, left, glance)
    return weights.observed(after)


async def look(work: works.Work, source: Sequence[manifest.Manifest]) -> carrying.Carrier:
    """Read the live object that carries the application's routes.

    Raises:
        UserError: when the manifests have no object that could carry routes.
    """
    application = work.context.application
    item = interface.choose(application).find(source, application)
    (carrier,) = await carrying.look(work, [item])
    return carrier


def observed(work: works.Work, carrier: carrying.Carrier) -> division.Observed | None:
    """Return what the live routes of a carrier do; None when there are none."""
    if carrier.live is None:
        return None
    application = work.context.application
    return weights.observed(interface.choose(application).read(carrier.live, application))


async def observe(
    work: works.Work, source: Sequence[manifest.Manifest]
) -> division.Observed | None:
    """Return what the live routes of the application do; None when there are none.

    Raises:
        UserError: when the manifests have no object that could carry routes.
    """
    return observed(work, await look(work, source))


def _change(
    router: interface.Router,
    carrier: carrying.Carrier,
    wanted: division.Division,
    application: applications.Application,
) -> weights.Change:
    """Return the live object with the routes that are wanted.

    Where the live object has no route for them, as when only the new commit brings it, it is
    Git's that is written.
    """
    base = _as_live(carrier)
    try:
        router.routed(base, division.PRIMARY, application)
    except errors.UserError:
        base = carrier.item
    change = router.routed(base, wanted, application)
    # The entries of a new canary are made like primary's, which runs the old version.
    item = ports.follow(change.item, carrier.item, variant.Variant.CANARY, application)
    return replace(change, item=item)


async def _bring(
    work: works.Work,
    carrier: carrying.Carrier,
    source: Sequence[manifest.Manifest],
    wanted: division.Division,
) -> carrying.Carrier | None:
    """Make an object that is not there yet; None when nothing has to be moved by it."""
    context = work.context
    router = interface.choose(context.application)
    if router.maker() is variant.Variant.CANARY:
        if wanted.needed == (variant.Variant.PRIMARY,):
            work.note(f"{carrier.item.key.title} is not there, so primary gets all traffic")
            return None
        raise works.StageFailedError(
            f"{carrier.item.key.title} is not there: K8S_CANARY_ROLLOUT makes it"
        )
    # It is Git's object, so it is made by the manager of Git's objects.
    await receivers.require_all(work, carrier, source, wanted.needed)
    change = router.routed(carrier.item, wanted, context.application)
    await receivers.require_services(work, carrier, source, change.item.body, wanted.needed)
    whole = router.routed(carrier.item, division.PRIMARY, context.application)
    marked = rendering.primary(
        [whole.item], context.application, stage.SyncOptions(), commit=context.commit
    )
    await work.apply(marked)
    (found,) = await carrying.look(work, [carrier.item])
    return found


#: Says how a route is to look, given the object as it is live.
Plan = Callable[[carrying.Carrier], weights.Change]


async def move(
    work: works.Work,
    carrier: carrying.Carrier,
    plan: Plan,
    source: Sequence[manifest.Manifest],
    glance: glances.Glance | None = None,
) -> tuple[weights.Change, tuple[weights.RouteWeights, ...]]:
    """Write the routes that `plan` wants; return them, and the weights that were read back.

    Whoever edits the routes meanwhile is not overwritten: then `plan` is asked again.

    Raises:
        StageFailedError: when a variant has no ready pod for the traffic it would get,
            or what was read back is not what was written.
    """
    application = work.context.application
    router = interface.choose(application)
    carrying.check_owner(work, carrier)
    # What was read before is written to at once: the cluster refuses when it has changed since.
    live = carrier.live
    glance = glance or glances.Glance(work.context.client)
    for _ in range(_TRIES):
        change = plan(carrier)
        wanted = router.read(change.item.body, application)
        rising = _rising(router, carrier, change, application)
        await receivers.require_all(work, carrier, source, rising, glance)
        await receivers.require_services(work, carrier, source, change.item.body, rising, glance)
        work.check_stop()
        if live is None:
            live = await _read(work, carrier)
        if live is not None and router.fields(live) == router.fields(carrier.live or {}):
            version = objects.text(live, "metadata", "resourceVersion")
            if await _write(work, carrier, router.fields(change.item.body), version):
                return change, await _observed(work, carrier, change, wanted)
            live = await _read(work, carrier)
        carrier = replace(carrier, live=live)
        glance.forget()
    raise works.StageFailedError(f"{carrier.item.key.title} kept changing while it was looked at")


def _rising(
    router: interface.Router,
    carrier: carrying.Carrier,
    change: weights.Change,
    application: applications.Application,
) -> Sequence[variant.Variant]:
    """Return the variants that a change gives more traffic than they have."""
    before = router.read(carrier.live, application) if carrier.live is not None else ()
    return weights.rising(before, router.read(change.item.body, application))


async def _observed(
    work: works.Work,
    carrier: carrying.Carrier,
    change: weights.Change,
    wanted: tuple[weights.RouteWeights, ...],
) -> tuple[weights.RouteWeights, ...]:
    """Read back what was written, and see that it is in effect."""
    application = work.context.application
    router = interface.choose(application)
    work.context.settling.note()
    for line in change.lines:
        work.note(line)
    after = await _read(work, carrier)
    observed = router.read(after, application) if after is not None else ()
    if after is None or observed != wanted:
        raise works.StageFailedError(
            f"{carrier.item.key.title} was written, but reads back as"
            f" {weights.title(_first(observed))} instead of {weights.title(_first(wanted))}"
        )
    if carrier.item.kind == "Service":
        await _follow(work, carrier, objects.mapping(after, "spec", "selector"))
    await _accepted(work, carrier, router, after)
    return observed


async def _read(work: works.Work, carrier: carrying.Carrier) -> json.JsonObject | None:
    item = carrier.item
    resource = carrier.placed.resource
    return await work.context.client.get(resource, item.name, namespace=item.namespace)


async def _accepted(
    work: works.Work, carrier: carrying.Carrier, router: interface.Router, written: json.JsonObject
) -> None:
    """Wait until gateways and meshes say that they carry out the routes."""
    if not router.waiting(written):
        return
    name = carrier.item.name
    seen: dict[str, json.JsonObject] = {}

    def left() -> str:
        return router.waiting(seen[name]) if name in seen else "it is gone"

    work.context.progress(f"waiting until {carrier.item.key.title} is accepted")
    source = watching.Source(
        carrier.placed.resource,
        carrier.item.namespace,
        watching.keep_by_name(seen),
        field_selector=f"metadata.name={name}",
    )
    await watching.watch_until(
        work.context.client,
        [source],
        lambda: not left(),
        timeout=min(_ACCEPTANCE, work.remaining),
        stop=work.context.stop.wait,
    )
    if left():
        work.check_stop()
        raise works.StageFailedError(f"{carrier.item.key.title} was written, but {left()}")


async def _write(
    work: works.Work, carrier: carrying.Carrier, fields: json.JsonObject, version: str
) -> bool:
    """Write the fields that carry the routes; say whether the object still was that version."""
    item = carrier.item
    own = {"name": item.name, "namespace": item.namespace, "resourceVersion": version}
    body = {
        **fields,
        "apiVersion": item.api_version,
        "kind": item.kind,
        "metadata": {**objects.mapping(fields, "metadata"), **own},
    }
    before, work.touched = work.touched, True
    try:
        # Forced: whoever set these fields before, the running stage decides them now.
        await work.context.client.apply(
            carrier.placed.resource, body, field_manager=steps.TRAFFIC_MANAGER, force=True
        )
    except cluster_errors.Conflict:
        work.touched = before
        return False
    return True


async def _follow(work: works.Work, carrier: carrying.Carrier, selector: dict[str, str]) -> None:
    """Wait until a Service's endpoints are pods of its new selector."""
    work.context.progress(f"waiting for the endpoints of {carrier.item.name}")
    left = await endpoints.wait_followed(
        work.context.client,
        carrier.item.namespace,
        carrier.item.name,
        selector,
        timeout=min(receivers.PATIENCE, work.remaining),
    )
    if left:
        raise works.StageFailedError(f"{carrier.item.key.title} was changed, but {left}")


def _first(routes: Sequence[weights.RouteWeights]) -> dict[variant.Variant, int]:
    """Return the shares of the first route that may be changed, for sentences."""
    return weights.observed(routes).shares
