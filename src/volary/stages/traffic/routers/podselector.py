"""All traffic to one variant, by the variant label in a Service's selector."""

from collections.abc import Mapping, Sequence

from volary.manifests import objects
from volary.manifests.services import services
from volary.model import errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import router, selection

_ALL = division.ALL


class PodSelector(router.Router):
    """The Service's endpoints are looked at after the switch, so it names no other Service."""

    path = ("spec", "selector")

    def find(self, manifests: Sequence[manifest.Manifest]) -> manifest.Manifest:
        """Return the Service; its selector has to say primary in Git (PipeCD does the same)."""
        wanted = routing_options.ObjectReference(name=self.application.service.name)
        service = selection.only(
            services.find(manifests, wanted),
            wanted,
            "Service",
            option="service.name",
            otherwise="name the right one under service.name",
        )
        _check(service, self.application.variant_label)
        return service

    def check(self, wanted: division.Division) -> None:
        """Refuse a division that a selector cannot make: one variant gets everything."""
        if wanted.baseline > 0:
            raise errors.user_error(
                "the podselector method cannot send traffic to baseline",
                hint="leave baseline out, or use trafficRouting.method: istio",
            )
        if {wanted.primary, wanted.canary} != {_ALL, 0}:
            raise errors.user_error(
                "the podselector method sends all traffic to either primary or canary, not"
                f" primary {wanted.primary} % and canary {wanted.canary} %",
                hint="write `all: primary` or `all: canary`, or use trafficRouting.method: istio",
            )
        super().check(wanted)

    def routed(self, item: manifest.Manifest, wanted: division.Division) -> weights.Change:
        """Return the Service with its selector on the variant that gets all traffic."""
        label = self.application.variant_label
        chosen = variant.Variant.CANARY if wanted.canary == _ALL else variant.Variant.PRIMARY
        line = f"Service {item.name}: all traffic to {chosen.value}"
        return weights.Change(services.select(item, label.key, label.value(chosen)), (line,))

    def drained(self, live: manifest.Manifest, leaving: variant.Variant) -> weights.Change:
        """Return the Service with all traffic on primary when `leaving` had it."""
        if not any(route.shares.get(leaving) for route in self.read(live.body)):
            return weights.Change(live, ())
        return self.routed(live, division.PRIMARY)

    def held(self, item: manifest.Manifest, live: json.JsonObject) -> manifest.Manifest:
        """Return the Service of Git with the live selector's variant."""
        key = self.application.variant_label.key
        value = objects.mapping(live, *self.path).get(key)
        if value is None or key not in objects.mapping(item.body, *self.path):
            return item
        return services.select(item, key, value)

    def fields(self, body: json.JsonObject) -> json.JsonObject:
        """Return the selector."""
        return {"spec": {"selector": objects.mapping(body, *self.path)}}

    def read(self, body: json.JsonObject) -> tuple[weights.RouteWeights, ...]:
        """Return which variant the Service selects; a selector without one reaches all."""
        label = self.application.variant_label
        value = objects.mapping(body, *self.path).get(label.key)
        chosen = {which: _ALL for which in variant.Variant if label.value(which) == value}
        return (weights.RouteWeights("", True, chosen),)

    def services(self, body: json.JsonObject) -> Mapping[variant.Variant, str]:
        """Return nothing."""
        del body
        return {}


def _check(service: manifest.Manifest, label: variant.VariantLabel) -> None:
    selector = objects.mapping(service.body, "spec", "selector")
    written = f"{label.key}: {label.primary_value}"
    if not selector:
        problem = f"Service {service.name} has no selector"
    elif label.key not in selector:
        problem = f"the selector of Service {service.name} lacks {label.key}"
    elif selector[label.key] != label.primary_value:
        problem = (
            f"the selector of Service {service.name} says {label.key}: {selector[label.key]}"
            f" instead of {label.primary_value}"
        )
    else:
        return
    raise errors.user_error(
        problem,
        hint=f"write `{written}` into spec.selector, and into the labels of the primary's pods",
        where=service.origin,
    )
