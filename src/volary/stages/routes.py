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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.clusters import endpoints, placing, steps, wait, watching
from volary.clusters import pods as cluster_pods
from volary.manifests import made_routes, objects, services, tracking
from volary.model import application as applications
from volary.model import errors, json, manifest, stage, variant
from volary.stages import rendering
from volary.stages import work as works
from volary.stages.routing import division, interface, pods, weights

#: How long pods of a variant may take to be ready when traffic is about to come: they
#: were waited for before, so this only bridges a short absence.
_PATIENCE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Carrier:
    """An object that carries routes, as Git wants it and as it is."""

    #: With its namespace filled in.
    placed: placing.Placed
    live: json.JsonObject | None

    @property
    def item(self) -> manifest.Manifest:
        """The object as Git wants it."""
        return self.placed.item


def candidates(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> list[manifest.Manifest]:
    """Return the manifests that may carry routes; there may be none.

    A Service that selects another variant in Git, such as a preview of the canary, is
    meant to stay like that.
    """
    label = application.variant_label
    if application.traffic_routing.method is applications.RoutingMethod.POD_SELECTOR:
        return [
            item
            for item in services.find(manifests, application.service)
            if objects.text(item.body, "spec", "selector", label.key) == label.primary_value
        ]
    try:
        return [interface.choose(application).find(manifests, application)]
    except errors.UserError:
        return []


async def look(work: works.Work, items: Sequence[manifest.Manifest]) -> list[Carrier]:
    """Read the live counterparts of objects that carry routes.

    Raises:
        StageFailedError: when one of them is another application's.
    """
    client = work.context.client
    placement = await placing.place(client, items, defining=items)
    found = []
    for each in placement.placed:
        live = await client.get(each.resource, each.item.name, namespace=each.item.namespace)
        _check_owner(work, each.item, live)
        found.append(Carrier(each, live))
    return found


def _check_owner(work: works.Work, item: manifest.Manifest, live: json.JsonObject | None) -> None:
    """Refuse a route that another application manages: each would undo the other's weights."""
    owner = objects.text(live, "metadata", "annotations", tracking.APPLICATION)
    if owner and owner != work.context.application.name:
        raise works.StageFailedError(
            f"{item.key.title} is the application {owner}'s: a route can be shared, but only one"
            f" application can move its traffic, not {work.context.application.name} too"
        )


def leading_away(
    carriers: Sequence[Carrier], application: applications.Application
) -> list[Carrier]:
    """Return the carriers whose live routes send traffic to another variant than primary."""
    router = interface.choose(application)
    return [
        each
        for each in carriers
        if each.live is not None and _leads_away(router.read(each.live, application))
    ]


def _leads_away(routes: Sequence[weights.RouteWeights]) -> bool:
    away = weights.receiving(routes) - {variant.Variant.PRIMARY}
    return bool(away) or any(each.is_made for each in routes)


def hold(
    manifests: Sequence[manifest.Manifest],
    carriers: Sequence[Carrier],
    application: applications.Application,
) -> list[manifest.Manifest]:
    """Return `manifests` with the live routes in place of Git's, so that no traffic moves."""
    router = interface.choose(application)
    held = {
        (each.item.kind, each.item.name): each.live for each in carriers if each.live is not None
    }
    return [
        _held(router, item, live, application)
        if (live := held.get((item.kind, item.name))) is not None
        else item
        for item in manifests
    ]


def _held(
    router: interface.Router,
    item: manifest.Manifest,
    live: json.JsonObject,
    application: applications.Application,
) -> manifest.Manifest:
    """Return an item with the live routes; with all of them where Git does not know any."""
    if not made_routes.is_made(item):
        return router.held(item, live, application)
    spec = {
        **objects.mapping(item.body, "spec"),
        **objects.mapping(router.fields(live), "spec"),
    }
    return item.with_body({**item.body, "spec": spec})


def apart(
    manifests: Sequence[manifest.Manifest], carriers: Sequence[Carrier]
) -> tuple[list[manifest.Manifest], list[manifest.Manifest]]:
    """Return what is applied at once, and the routes that follow when pods are ready.

    A route that is made by us and not there yet would lead to pods that are not ready.
    """
    new = {
        (each.item.kind, each.item.name)
        for each in carriers
        if each.live is None and made_routes.is_made(each.item)
    }
    late = [item for item in manifests if (item.kind, item.name) in new]
    return [item for item in manifests if (item.kind, item.name) not in new], late


async def give_back(
    work: works.Work, carriers: Sequence[Carrier], source: Sequence[manifest.Manifest]
) -> None:
    """Give primary all the traffic that other variants get, as soon as it can take it."""
    application = work.context.application
    router = interface.choose(application)
    for each in leading_away(carriers, application):
        change = router.routed(_given_back(each), division.PRIMARY, application)
        await move(work, each, change, source)


def _given_back(carrier: Carrier) -> manifest.Manifest:
    """Return the object with the routes that are given back: Git's, where Git has some."""
    return _as_live(carrier) if made_routes.is_made(carrier.item) else carrier.item


def _as_live(carrier: Carrier) -> manifest.Manifest:
    live = carrier.live
    return carrier.item if live is None else manifest.Manifest(live, carrier.item.origin)


async def divide(
    work: works.Work, source: Sequence[manifest.Manifest], wanted: division.Division
) -> division.Observed:
    """Divide the application's traffic on this cluster, and return what was read back.

    The live route is changed, so what others wrote into it stays. A route that is not there
    yet is made as it is in Git. Safe to call again with the same wish.

    Args:
        work: The stage that is being carried out.
        source: The manifests of the new commit, as loaded.
        wanted: How the traffic is wanted.

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
    (carrier,) = await look(work, [router.find(source, application)])
    router.routed(carrier.item, wanted, application)
    if carrier.live is None:
        found = await _bring(work, carrier, source, wanted)
        if found is None:
            return division.Observed(primary=division.ALL)
        carrier = found
    change = _change(router, carrier, wanted, application)
    observed = await move(work, carrier, change, source)
    return weights.observed(observed)


async def observe(
    work: works.Work, source: Sequence[manifest.Manifest]
) -> division.Observed | None:
    """Return what the live routes of the application do; None when there are none.

    Raises:
        UserError: when the manifests have no object that could carry routes.
    """
    application = work.context.application
    router = interface.choose(application)
    (carrier,) = await look(work, [router.find(source, application)])
    if carrier.live is None:
        return None
    return weights.observed(router.read(carrier.live, application))


def _change(
    router: interface.Router,
    carrier: Carrier,
    wanted: division.Division,
    application: applications.Application,
) -> weights.Change:
    """Return the live object with the routes that are wanted.

    Where the live object has no route for them, as when only the new commit brings it, it is
    Git's that is written.
    """
    try:
        return router.routed(_as_live(carrier), wanted, application)
    except errors.UserError:
        return router.routed(carrier.item, wanted, application)


async def _bring(
    work: works.Work,
    carrier: Carrier,
    source: Sequence[manifest.Manifest],
    wanted: division.Division,
) -> Carrier | None:
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
    await require_all(work, carrier, source, wanted.needed)
    change = router.routed(carrier.item, wanted, context.application)
    await require_services(work, carrier, source, change.item.body, wanted.needed)
    whole = router.routed(carrier.item, division.PRIMARY, context.application)
    marked = rendering.primary(
        [whole.item], context.application, stage.SyncOptions(), commit=context.commit
    )
    await work.apply(marked)
    (found,) = await look(work, [carrier.item])
    return found


async def move(
    work: works.Work,
    carrier: Carrier,
    change: weights.Change,
    source: Sequence[manifest.Manifest],
) -> tuple[weights.RouteWeights, ...]:
    """Write the routes of `change` and return the weights that were read back.

    Raises:
        StageFailedError: when a variant has no ready pod for the traffic it would get,
            or what was read back is not what was written.
    """
    application = work.context.application
    router = interface.choose(application)
    before = router.read(carrier.live, application) if carrier.live is not None else ()
    wanted = router.read(change.item.body, application)
    rising = weights.rising(before, wanted)
    await require_all(work, carrier, source, rising)
    await require_services(work, carrier, source, change.item.body, rising)
    work.check_stop()
    work.touched = True
    await _write(work, carrier, router.fields(change.item.body))
    for line in change.lines:
        work.note(line)
    client = work.context.client
    after = await client.get(
        carrier.placed.resource, carrier.item.name, namespace=carrier.item.namespace
    )
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


async def require_services(
    work: works.Work,
    carrier: Carrier,
    source: Sequence[manifest.Manifest],
    body: json.JsonObject,
    wanted: Iterable[variant.Variant],
) -> None:
    """Make sure that the Services which a route names lead to ready pods of their variants.

    Raises:
        StageFailedError: when one is missing, or has no such endpoint in time.
    """
    application = work.context.application
    names = interface.choose(application).services(body, application)
    for which in wanted:
        if which not in names:
            continue
        work.context.progress(f"waiting for the endpoints of {names[which]}")
        missing = await endpoints.wait_serving(
            work.context.client,
            carrier.item.namespace,
            names[which],
            pods.labels(source, application, which),
            timeout=min(_PATIENCE, work.remaining),
        )
        if missing:
            raise works.StageFailedError(f"no traffic is sent to {which.value}: {missing}")


async def _accepted(
    work: works.Work, carrier: Carrier, router: interface.Router, written: json.JsonObject
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
        timeout=min(_PATIENCE, work.remaining),
        stop=wait.never,
    )
    if left():
        raise works.StageFailedError(f"{carrier.item.key.title} was written, but {left()}")


async def require_pods(
    work: works.Work,
    carrier: Carrier,
    source: Sequence[manifest.Manifest],
    which: variant.Variant,
) -> None:
    """Make sure that a variant can take traffic.

    Raises:
        StageFailedError: when none of its pods is ready in time.
    """
    labels = pods.labels(source, work.context.application, which)
    ready = await cluster_pods.wait_ready(
        work.context.client,
        carrier.item.namespace,
        labels,
        timeout=min(_PATIENCE, work.remaining),
        stop=work.context.stop.wait,
    )
    work.check_stop()
    if not ready:
        title = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        raise works.StageFailedError(
            f"no traffic is sent to {which.value}: none of its pods is ready ({title})"
        )


async def require_all(
    work: works.Work,
    carrier: Carrier,
    source: Sequence[manifest.Manifest],
    wanted: Iterable[variant.Variant],
) -> None:
    """Make sure that every variant in `wanted` can take traffic."""
    for which in wanted:
        await require_pods(work, carrier, source, which)


async def has_pods(
    work: works.Work,
    carrier: Carrier,
    source: Sequence[manifest.Manifest],
    which: variant.Variant,
) -> bool:
    """Whether a variant has a ready pod now."""
    labels = pods.labels(source, work.context.application, which)
    return await cluster_pods.ready(work.context.client, carrier.item.namespace, labels) > 0


async def _write(work: works.Work, carrier: Carrier, fields: json.JsonObject) -> None:
    item = carrier.item
    names = {"name": item.name, "namespace": item.namespace}
    body = {
        **fields,
        "apiVersion": item.api_version,
        "kind": item.kind,
        "metadata": {**objects.mapping(fields, "metadata"), **names},
    }
    # Forced: whoever set these fields before, the running stage decides them now.
    await work.context.client.apply(
        carrier.placed.resource, body, field_manager=steps.TRAFFIC_MANAGER, force=True
    )


async def _follow(work: works.Work, carrier: Carrier, selector: dict[str, str]) -> None:
    """Wait until a Service's endpoints are pods of its new selector."""
    work.context.progress(f"waiting for the endpoints of {carrier.item.name}")
    left = await endpoints.wait_followed(
        work.context.client,
        carrier.item.namespace,
        carrier.item.name,
        selector,
        timeout=min(_PATIENCE, work.remaining),
    )
    if left:
        raise works.StageFailedError(f"{carrier.item.key.title} was changed, but {left}")


def _first(routes: Sequence[weights.RouteWeights]) -> dict[variant.Variant, int]:
    """Return the shares of the first route that may be changed, for sentences."""
    return weights.observed(routes).shares
