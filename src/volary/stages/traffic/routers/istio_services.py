"""Istio where each variant is a Service of its own: destinations are hosts, without subsets.

The questions are `istio`'s. It knows variants as subsets of one host, so bodies are folded into
that form on the way in, and unfolded on the way out.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from volary.manifests import objects
from volary.manifests.routes import virtual_services
from volary.manifests.services import backends
from volary.model import applications, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import istio

_Change = Callable[[json.JsonObject], json.JsonObject]


class IstioServices(istio.Istio):
    """Answers as `istio.Istio` does, about hosts in place of subsets."""

    def routed(self, item: manifest.Manifest, wanted: division.Division) -> weights.Change:
        """Return the object with `wanted` on every editable route."""
        return self._unfolded_change(super().routed(self._folded_item(item), wanted))

    def drained(self, live: manifest.Manifest, leaving: variant.Variant) -> weights.Change:
        """Return the object with the share of `leaving` given to primary on editable routes."""
        return self._unfolded_change(super().drained(self._folded_item(live), leaving))

    def read(self, body: json.JsonObject) -> tuple[weights.RouteWeights, ...]:
        """Return what each HTTP route sends to the variants."""
        return super().read(_folded(body, self.application))

    def services(self, body: json.JsonObject) -> Mapping[variant.Variant, str]:
        """Return the variants' own Services."""
        del body
        known = backends.of(self.application)
        return {which: known.name(which) for which in variant.Variant if known.name(which)}

    def _folded_item(self, item: manifest.Manifest) -> manifest.Manifest:
        return item.with_body(_folded(item.body, self.application))

    def _unfolded_change(self, change: weights.Change) -> weights.Change:
        item = change.item.with_body(_unfolded(change.item.body, self.application))
        return replace(change, item=item)


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
