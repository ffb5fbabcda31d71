"""Moving traffic on one cluster: read the live routes, change them, read them back.

`routing` decides, purely; this module talks to the cluster. Routes are written by a field
manager of their own, and only the fields that carry them.

Three promises: no variant gets more traffic while none of its pods is ready; applying
manifests moves no traffic (`hold`); whatever is written is read back, and for a
Service its endpoints are seen to have followed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters import endpoints, placing, steps
from volary.clusters import pods as cluster_pods
from volary.manifests import objects, services, virtual_services
from volary.model import application as applications
from volary.model import errors, json, manifest, stage, variant
from volary.stages import work as works
from volary.stages.routing import interface, pods, weights

#: How long pods of a variant may take to be ready when traffic is about to come: they
#: were waited for before, so this only bridges a short absence.
_PATIENCE = timedelta(seconds=60)
_ALL_PRIMARY = stage.TrafficOptions(primary=100)


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
        return [virtual_services.find(manifests, application)[0]]
    except errors.UserError:
        return []


async def look(work: works.Work, items: Sequence[manifest.Manifest]) -> list[Carrier]:
    """Read the live counterparts of objects that carry routes."""
    client = work.context.client
    placement = await placing.place(client, items, defining=items)
    found = []
    for each in placement.placed:
        live = await client.get(each.resource, each.item.name, namespace=each.item.namespace)
        found.append(Carrier(each, live))
    return found


def leading_away(
    carriers: Sequence[Carrier], application: applications.Application
) -> list[Carrier]:
    """Return the carriers whose live routes send traffic to another variant than primary."""
    router = interface.choose(application)
    return [
        each
        for each in carriers
        if each.live is not None
        and weights.receiving(router.read(each.live, application)) - {variant.Variant.PRIMARY}
    ]


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
        router.held(item, live, application)
        if (live := held.get((item.kind, item.name))) is not None
        else item
        for item in manifests
    ]


async def give_back(
    work: works.Work, carriers: Sequence[Carrier], source: Sequence[manifest.Manifest]
) -> None:
    """Give primary all the traffic that other variants get, as soon as it can take it."""
    application = work.context.application
    router = interface.choose(application)
    for each in leading_away(carriers, application):
        change = router.routed(each.item, _ALL_PRIMARY, application)
        await move(work, each, change, source)


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
    for which in weights.rising(before, wanted):
        await require_pods(work, carrier, source, which)
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
        await _follow(work, carrier, router.fields(after)["selector"])
    return observed


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
    metadata = {"name": item.name, "namespace": item.namespace}
    body = {
        "apiVersion": item.api_version,
        "kind": item.kind,
        "metadata": metadata,
        "spec": fields,
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
    return next((dict(each.shares) for each in routes if each.is_editable), {})


def shares(routes: Sequence[weights.RouteWeights]) -> dict[variant.Variant, int]:
    """Return the shares of the first route that may be changed."""
    return _first(routes)
