"""Traffic by weight, in the HTTP routes of an Istio VirtualService.

The arithmetic is `manifests.virtual_services`'; here are the questions that stages ask:
what is live, how a variant is drained, how live routes are held during a promotion.
"""

from collections.abc import Sequence

from volary.manifests import istio_hosts, objects, virtual_services
from volary.model import application as applications
from volary.model import errors, json, manifest, stage, variant
from volary.stages.routing import weights as shares

_ALL = 100


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the VirtualService that carries the routes.

    Raises:
        UserError: when there is none, or no host is known.
    """
    item, _ = virtual_services.find(manifests, application)
    virtual_services.routing(application, item)
    return item


def check(options: stage.TrafficOptions) -> None:
    """Refuse weights that are no division.

    Raises:
        UserError: when one is negative or they do not add up to 100.
    """
    parts = (options.primary, options.canary, options.baseline)
    if min(parts) < 0 or sum(parts) != _ALL:
        raise errors.user_error(
            f"the weights add up to {sum(parts)}, not 100",
            hint="primary, canary and baseline together make 100",
        )


def routed(
    item: manifest.Manifest,
    options: stage.TrafficOptions,
    application: applications.Application,
) -> shares.Change:
    """Return `item` with the weights of `options` on every editable route.

    Raises:
        UserError: when the routes do not allow it, or none of them may be changed.
    """
    how = virtual_services.routing(application, item)
    result = virtual_services.route(item, how, options)
    if not result.updated:
        raise errors.user_error(
            f"VirtualService {item.name} has no HTTP route that may be given weights",
            hint="add one to spec.http, or name it in trafficRouting.istio.editableRoutes",
            where=item.origin,
        )
    return shares.Change(result.manifest, result.lines)


def fields(body: json.JsonObject) -> json.JsonObject:
    """Return the part of the object that carries the routes, for a manager of its own."""
    return {"http": objects.sequence(body, "spec", "http")}


def read(
    body: json.JsonObject, application: applications.Application
) -> tuple[shares.RouteWeights, ...]:
    """Return what each HTTP route of `body` sends to the variants."""
    how = virtual_services.routing(application, manifest.Manifest(body))
    return tuple(
        shares.RouteWeights(
            each.name,
            each.editable,
            {which: weight for which, weight in each.weights.items() if weight},
        )
        for each in virtual_services.observed(body, how)
    )


def drained(
    live: manifest.Manifest,
    leaving: variant.Variant,
    application: applications.Application,
) -> shares.Change:
    """Return `live` with the share of `leaving` given to primary on every editable route.

    Raises:
        UserError: when a route that may not be edited still sends traffic there.
    """
    label = application.variant_label
    lines: list[str] = []
    routes: list[json.JsonObject] = []
    for route in objects.mappings(live.body, "spec", "http"):
        weight = _weight(route, label.value(leaving), live, application)
        if not weight:
            routes.append(route)
            continue
        title = f'route "{objects.text(route, "name") or len(routes) + 1}"'
        editable = application.traffic_routing.istio.editable_routes
        if editable and objects.text(route, "name") not in editable:
            raise errors.user_error(
                f"{title} still sends {weight} % to {leaving.value} and may not be edited",
                hint="add it to trafficRouting.istio.editableRoutes, or change it in the cluster",
            )
        routes.append(_moved(route, leaving, live, application))
        lines.append(f"{title}: {weight} % moved from {leaving.value} to primary")
    return shares.Change(_with_routes(live, routes), tuple(lines))


def held(
    item: manifest.Manifest, live: json.JsonObject, application: applications.Application
) -> manifest.Manifest:
    """Return `item` with the live routes while a variant gets traffic by them."""
    variants = shares.receiving(read(live, application)) - {variant.Variant.PRIMARY}
    routes = list(objects.mappings(live, "spec", "http"))
    return _with_routes(item, routes) if variants else item


def _with_routes(item: manifest.Manifest, routes: list[json.JsonObject]) -> manifest.Manifest:
    return item.with_body(
        {**item.body, "spec": {**objects.mapping(item.body, "spec"), "http": routes}}
    )


def _moved(
    route: json.JsonObject,
    leaving: variant.Variant,
    live: manifest.Manifest,
    application: applications.Application,
) -> json.JsonObject:
    """Return the route with the leaving variant's entries merged into primary's, which is first."""
    label = application.variant_label
    gone, primary = label.value(leaving), label.primary_value
    entries = list(objects.mappings(route, "route"))
    taken = [each for each in entries if _subset(each, live, application) in (gone, primary)]
    model = next((each for each in taken if _subset(each, live, application) == primary), taken[0])
    weight = sum(_weight_of(each, entries) for each in taken)
    destination = {**objects.mapping(model, "destination"), "subset": primary}
    first = {**model, "destination": destination, "weight": weight}
    return {**route, "route": [first, *(each for each in entries if each not in taken)]}


def _weight(
    route: json.JsonObject,
    subset: str,
    live: manifest.Manifest,
    application: applications.Application,
) -> int:
    entries = list(objects.mappings(route, "route"))
    return sum(
        _weight_of(each, entries) for each in entries if _subset(each, live, application) == subset
    )


def _weight_of(entry: json.JsonObject, entries: Sequence[json.JsonObject]) -> int:
    """Return a weight; a route's only destination gets everything without one."""
    return objects.number(entry, "weight") or (_ALL if len(entries) == 1 else 0)


def _subset(
    entry: json.JsonObject, live: manifest.Manifest, application: applications.Application
) -> str:
    """Return the subset an entry of our host leads to; empty for other hosts."""
    how = virtual_services.routing(application, live)
    found = objects.text(entry, "destination", "host")
    if not istio_hosts.same(found, how.host, live.namespace):
        return ""
    return objects.text(entry, "destination", "subset")
