"""Istio where each variant is a Service of its own: destinations are hosts, without subsets.

The questions are `istio`'s. It knows variants as subsets of one host, so bodies are folded into
that form on the way in, and unfolded on the way out.
"""

from collections.abc import Callable, Mapping

from volary.manifests import objects
from volary.manifests.routes import virtual_services
from volary.manifests.services import backends
from volary.model import applications, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division
from volary.stages.traffic import weights as shares
from volary.stages.traffic.routers import istio

_Change = Callable[[json.JsonObject], json.JsonObject]

maker = istio.maker
find = istio.find
check = istio.check
fields = istio.fields
waiting = istio.waiting


def routed(
    item: manifest.Manifest,
    wanted: division.Division,
    application: applications.Application,
) -> shares.Change:
    """Return `item` with `wanted` on every editable route.

    Raises:
        UserError: when the routes do not allow it, or none of them may be changed.
    """
    folded = item.with_body(_folded(item.body, application))
    return _given(istio.routed(folded, wanted, application), application)


def drained(
    live: manifest.Manifest,
    leaving: variant.Variant,
    application: applications.Application,
) -> shares.Change:
    """Return `live` with the share of `leaving` given to primary on every editable route.

    Raises:
        UserError: when a route that may not be edited still sends traffic there.
    """
    folded = live.with_body(_folded(live.body, application))
    return _given(istio.drained(folded, leaving, application), application)


def held(
    item: manifest.Manifest, live: json.JsonObject, application: applications.Application
) -> manifest.Manifest:
    """Return `item` with the live routes while a variant gets traffic by them."""
    folded = item.with_body(_folded(item.body, application))
    held_manifest = istio.held(folded, _folded(live, application), application)
    return held_manifest.with_body(_unfolded(held_manifest.body, application))


def read(
    body: json.JsonObject, application: applications.Application
) -> tuple[shares.RouteWeights, ...]:
    """Return what each HTTP route of `body` sends to the variants."""
    return istio.read(_folded(body, application), application)


def services(
    _body: json.JsonObject, application: applications.Application
) -> Mapping[variant.Variant, str]:
    """Return the Services by which the routes reach the variants."""
    known = backends.of(application)
    return {which: known.name(which) for which in variant.Variant if known.name(which)}


def _given(change: shares.Change, application: applications.Application) -> shares.Change:
    item = change.item.with_body(_unfolded(change.item.body, application))
    return shares.Change(item, change.lines)


def _folded(body: json.JsonObject, application: applications.Application) -> json.JsonObject:
    """Return `body` with a subset of our host in place of each variant's Service."""
    how = virtual_services.routing(application, manifest.Manifest(body))
    known = backends.of(application)

    def fold(destination: json.JsonObject) -> json.JsonObject:
        host = objects.text(destination, "host")
        for which in variant.Variant:
            if known.name(which) and virtual_services.is_same_host(
                host, known.name(which), how.namespace
            ):
                return {**destination, "host": how.host, "subset": how.label.value(which)}
        return destination

    return _changed(body, fold)


def _unfolded(body: json.JsonObject, application: applications.Application) -> json.JsonObject:
    how = virtual_services.routing(application, manifest.Manifest(body))
    known = backends.of(application)
    names = {how.label.value(which): known.name(which) for which in variant.Variant}

    def unfold(destination: json.JsonObject) -> json.JsonObject:
        subset = objects.text(destination, "subset")
        if subset not in names or objects.text(destination, "host") != how.host:
            return destination
        rest = {key: value for key, value in destination.items() if key != "subset"}
        return {**rest, "host": names[subset]}

    return _changed(body, unfold)


def _changed(body: json.JsonObject, change: _Change) -> json.JsonObject:
    """Return `body` with every destination of its HTTP routes changed."""
    spec = objects.mapping(body, "spec")
    if "http" not in spec:
        return body
    routes = [_route(route, change) for route in objects.mappings(spec, "http")]
    return {**body, "spec": {**spec, "http": routes}}


def _route(route: json.JsonObject, change: _Change) -> json.JsonObject:
    result = dict(route)
    if "route" in route:
        result["route"] = [
            {**destination, "destination": change(objects.mapping(destination, "destination"))}
            for destination in objects.mappings(route, "route")
        ]
    if "mirror" in route:
        result["mirror"] = change(objects.mapping(route, "mirror"))
    return result
