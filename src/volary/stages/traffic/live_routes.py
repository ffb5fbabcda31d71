"""The objects that carry an application's routes on one cluster: as Git has them, and live.

Applying manifests moves no traffic: `keep_live` puts the live routes in place of Git's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from volary.clusters.apply import live_objects
from volary.clusters.client import resource_mapping
from volary.manifests import objects
from volary.manifests.ownership import field_managers, tracking
from volary.manifests.routes import generated_routes
from volary.manifests.services import services
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.runtime import execution
from volary.stages.traffic import route_ports, weights
from volary.stages.traffic.routers import registry, router


@dataclass(frozen=True, slots=True)
class RouteObject:
    """An object that carries routes, as Git has it and as it is live."""

    #: With its namespace filled in.
    placed: resource_mapping.MappedManifest
    live: json.JsonObject | None
    router: router.Router

    @property
    def item(self) -> manifest.Manifest:
        """The object as Git has it."""
        return self.placed.item

    @property
    def weights(self) -> tuple[weights.RouteWeights, ...]:
        """What each of its live routes sends to the variants."""
        return () if self.live is None else self.router.read(self.live)

    @property
    def is_new(self) -> bool:
        """It is made by us and not there yet: it would lead to pods that are not ready."""
        return self.live is None and generated_routes.is_generated(self.item)

    @property
    def is_moved_by_runs(self) -> bool:
        """Runs have moved traffic by it, so the last one may have just now."""
        entries = field_managers.entries(self.live or {})
        return any(entry.get("manager") == field_managers.TRAFFIC_MANAGER for entry in entries)

    def as_live(self) -> manifest.Manifest:
        """Return the object as it is live; as Git has it while it is not there."""
        return self.item if self.live is None else manifest.Manifest(self.live, self.item.origin)


def candidates(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> list[manifest.Manifest]:
    """Return the manifests that may carry routes; there may be none.

    A Service that selects another variant in Git, such as a preview of the canary, is
    meant to stay like that.
    """
    label = application.variant_label
    if application.traffic_routing.method is routing_options.RoutingMethod.POD_SELECTOR:
        return [
            item
            for item in services.find(manifests, application.service)
            if objects.text(item.body, "spec", "selector", label.key) == label.primary_value
        ]
    try:
        return [registry.choose(application).find(manifests)]
    except errors.UserError:
        return []


async def of(work: execution.Work, manifests: Sequence[manifest.Manifest]) -> list[RouteObject]:
    """Read the objects that may carry the application's routes; there may be none."""
    return await read(work, candidates(manifests, work.context.application))


async def read(work: execution.Work, items: Sequence[manifest.Manifest]) -> list[RouteObject]:
    """Read the live counterparts of objects that carry routes."""
    client, router = work.context.client, registry.choose(work.context.application)
    placement = await resource_mapping.map_manifests(client, items, defining=items)
    found = [
        RouteObject(mapped, await live_objects.get(client, mapped), router)
        for mapped in placement.mapped
    ]
    if any(route_object.is_moved_by_runs for route_object in found):
        work.context.propagation.note_earlier()
    return found


async def again(work: execution.Work, route_object: RouteObject) -> RouteObject:
    """Return an object that was read before as it is now.

    What a watch tells is as good as an answer here: who changes the object by it writes on
    condition that it still is so.
    """
    client, placed = work.context.client, route_object.placed
    live = client.informers.get(placed.resource, placed.item.name, placed.item.namespace)
    return replace(route_object, live=live or await live_objects.get(client, placed))


async def read_back(work: execution.Work, route_object: RouteObject) -> RouteObject:
    """Return an object as it is after it was written: as a watch tells it, or the cluster."""
    client, placed = work.context.client, route_object.placed
    live = await client.informers.read_back(
        placed.resource, placed.item.name, placed.item.namespace
    )
    return replace(route_object, live=live or await live_objects.get(client, placed))


def check_owner(work: execution.Work, route_object: RouteObject) -> None:
    """Refuse to move traffic by another application's route: each would undo the other's weights.

    Applying it is another matter: an application that was renamed takes its objects over.

    Raises:
        StageFailedError: when the live object is another application's.
    """
    owner = tracking.owner_of(route_object.live) if route_object.live else None
    application = work.context.application
    if owner is not None and owner.id != application.owner.id:
        whose = f"the application {owner.name}'s" if application.names_others else "another's"
        raise execution.StageFailedError(
            f"{route_object.item.key.title} is {whose}: a route can be shared, but only one"
            f" application can move its traffic, not {application.name} too"
        )


def diverted(route_objects: Sequence[RouteObject]) -> list[RouteObject]:
    """Return the carriers whose live routes send traffic to another variant than primary."""
    return [
        route_object for route_object in route_objects if weights.is_diverted(route_object.weights)
    ]


def keep_live(
    manifests: Sequence[manifest.Manifest], route_objects: Sequence[RouteObject]
) -> list[manifest.Manifest]:
    """Return `manifests` with the live routes in place of Git's, so that no traffic moves."""
    by_name = {
        (route_object.item.kind, route_object.item.name): route_object
        for route_object in route_objects
        if route_object.live is not None
    }
    return [
        _with_live_routes(item, by_name[item.kind, item.name])
        if (item.kind, item.name) in by_name
        else item
        for item in manifests
    ]


def _with_live_routes(item: manifest.Manifest, route_object: RouteObject) -> manifest.Manifest:
    """Return an item with the live routes; with all of them where Git does not know any."""
    router, live = route_object.router, route_object.live or {}
    if generated_routes.is_generated(item):
        held = item.with_spec(objects.mapping(router.fields(live), "spec"))
    else:
        held = router.held(item, live)
    return route_ports.follow(held, item, variant.Variant.PRIMARY, router.application)


def split_new(
    manifests: Sequence[manifest.Manifest], route_objects: Sequence[RouteObject]
) -> tuple[list[manifest.Manifest], list[manifest.Manifest]]:
    """Return what is applied at once, and the new routes that follow when pods are ready."""
    new = {
        (route_object.item.kind, route_object.item.name)
        for route_object in route_objects
        if route_object.is_new
    }
    late = [item for item in manifests if (item.kind, item.name) in new]
    return [item for item in manifests if (item.kind, item.name) not in new], late
