"""Traffic by weight, in the HTTP routes of an Istio VirtualService.

Every editable route gets one destination per variant that has a share, told apart
by subset; what the route sends to other hosts stays. Weights and their order are
PipeCD's. Different from PipeCD: ports and headers of a destination are kept, hosts
match in their short and long forms, and routes that redirect are left alone.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from volary.manifests import objects
from volary.model import application as applications
from volary.model import errors, json, manifest, stage, variant
from volary.stages.routing import weights as shares

GROUP = "networking.istio.io"
KIND = "VirtualService"
_ALL = 100
_NOT_ROUTING = ("redirect", "directResponse", "delegate")


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the VirtualService that carries the routes.

    Raises:
        UserError: when there is none or more than one, or no host is known.
    """
    name = application.traffic_routing.istio.virtual_service.name
    found = [
        item
        for item in manifests
        if item.group == GROUP and item.kind == KIND and name in ("", item.name)
    ]
    if not found:
        wanted = f"{KIND} {name}" if name else KIND
        raise errors.user_error(
            f"there is no {wanted} among the manifests to route traffic with",
            hint="add one, or name the right one under trafficRouting.istio.virtualService.name",
        )
    if len(found) > 1:
        names = ", ".join(item.name for item in found)
        raise errors.user_error(
            f"{len(found)} {KIND}s could route the traffic: {names}",
            hint="name one of them under trafficRouting.istio.virtualService.name",
        )
    if not host(application):
        raise errors.user_error(
            "it is not known which destination host carries the variants",
            hint="write trafficRouting.istio.host or service.name",
        )
    return found[0]


def host(application: applications.Application) -> str:
    """Return the destination host that carries the variants; empty when not configured."""
    return application.traffic_routing.istio.host or application.service.name


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
    """Return `item` with the weights of `options` on every editable route."""
    label = application.variant_label
    name = host(application)
    lines: list[str] = []
    routes: list[json.JsonObject] = []
    for route in objects.mappings(item.body, "spec", "http"):
        title = _title(route, len(routes))
        reason = _skipped(route, application)
        if reason:
            lines.append(f"{title}: skipped, {reason}")
            routes.append(route)
            continue
        changed, given = _divide(route, options, name, label)
        lines.append(f"{title}: updated to {shares.title(given)}")
        routes.append(changed)
    return shares.Change(_with_routes(item, routes), tuple(lines))


def fields(body: json.JsonObject) -> json.JsonObject:
    """Return the part of the object that carries the routes, for a manager of its own."""
    return {"http": objects.sequence(body, "spec", "http")}


def read(
    body: json.JsonObject, application: applications.Application
) -> tuple[shares.RouteWeights, ...]:
    """Return what each HTTP route of `body` sends to the variants."""
    return tuple(
        shares.RouteWeights(
            objects.text(route, "name"),
            not _skipped(route, application),
            _shares(route, application),
        )
        for route in objects.mappings(body, "spec", "http")
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
    lines: list[str] = []
    routes: list[json.JsonObject] = []
    for route in objects.mappings(live.body, "spec", "http"):
        given = _shares(route, application)
        if not given.get(leaving):
            routes.append(route)
            continue
        title = _title(route, len(routes))
        if _skipped(route, application):
            raise errors.user_error(
                f"{title} still sends {given[leaving]} % to {leaving.value} and may not be edited",
                hint="add it to trafficRouting.istio.editableRoutes, or change it in the cluster",
            )
        routes.append(_moved(route, leaving, application))
        lines.append(f"{title}: {given[leaving]} % moved from {leaving.value} to primary")
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


def _title(route: json.JsonObject, position: int) -> str:
    return f'route "{objects.text(route, "name") or position}"'


def _skipped(route: json.JsonObject, application: applications.Application) -> str:
    """Return why a route is left alone; empty when it may be changed."""
    editable = application.traffic_routing.istio.editable_routes
    if editable and objects.text(route, "name") not in editable:
        return "not in editableRoutes"
    for part in _NOT_ROUTING:
        if part in route:
            return f"it has a {part} instead of destinations"
    return ""


def _divide(
    route: json.JsonObject, options: stage.TrafficOptions, name: str, label: variant.VariantLabel
) -> tuple[json.JsonObject, dict[variant.Variant, int]]:
    """Divide what a route does not send to other hosts (PipeCD: VirtualService weights)."""
    entries = objects.sequence(route, "route")
    ours = [entry for entry in entries if _is_host(entry, name)]
    others = [entry for entry in entries if not _is_host(entry, name)]
    available = _ALL - sum(_weight(entry, entries) for entry in others)
    canary = options.canary * available // _ALL
    baseline = options.baseline * available // _ALL
    given = {
        variant.Variant.PRIMARY: available - canary - baseline,
        variant.Variant.CANARY: canary,
        variant.Variant.BASELINE: baseline,
    }
    divided = [
        _entry(ours, name, label.value(each), weight)
        for each, weight in given.items()
        if weight > 0 or each is variant.Variant.PRIMARY
    ]
    return {**route, "route": [*divided, *others]}, given


def _entry(ours: Iterable[json.JsonObject], name: str, subset: str, weight: int) -> json.JsonObject:
    """Return a destination; port, headers and the host's spelling come from the present ones."""
    present = list(ours)
    same = [each for each in present if objects.text(each, "destination", "subset") == subset]
    model = next(iter(same or present), {"destination": {"host": name}})
    destination = {**objects.mapping(model, "destination"), "subset": subset}
    return {**model, "destination": destination, "weight": weight}


def _moved(
    route: json.JsonObject, leaving: variant.Variant, application: applications.Application
) -> json.JsonObject:
    label, name = application.variant_label, host(application)
    gone, primary = label.value(leaving), label.primary_value
    entries = objects.sequence(route, "route")
    ours = [entry for entry in entries if _is_host(entry, name)]

    def weight_of(subset: str) -> int:
        return sum(
            _weight(entry, entries)
            for entry in ours
            if objects.text(entry, "destination", "subset") == subset
        )

    first = _entry(ours, name, primary, weight_of(primary) + weight_of(gone))
    kept = [
        entry
        for entry in entries
        if not _is_host(entry, name)
        or objects.text(entry, "destination", "subset") not in (gone, primary)
    ]
    return {**route, "route": [first, *kept]}


def _shares(
    route: json.JsonObject, application: applications.Application
) -> dict[variant.Variant, int]:
    label, name = application.variant_label, host(application)
    entries = objects.sequence(route, "route")
    found: dict[variant.Variant, int] = {}
    for entry in entries:
        if not _is_host(entry, name):
            continue
        subset = objects.text(entry, "destination", "subset")
        for each in variant.Variant:
            if label.value(each) == subset and _weight(entry, entries):
                found[each] = found.get(each, 0) + _weight(entry, entries)
    return found


def _weight(entry: json.JsonObject, entries: Sequence[Any]) -> int:
    """Return a destination's weight; a route's only destination gets everything without one."""
    return objects.number(entry, "weight", default=_ALL if len(entries) == 1 else 0)


def _is_host(entry: json.JsonObject, name: str) -> bool:
    """Whether a destination is `name`: exactly, or one is the other's short form."""
    found = objects.text(entry, "destination", "host")
    short, long = sorted((found, name), key=len)
    return found == name or (bool(short) and long.startswith(f"{short}.") and ".svc" in long)
