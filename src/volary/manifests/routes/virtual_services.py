"""Weights of an Istio VirtualService: set for the variants, and read back.

Routes without destinations (redirects) are left alone instead of being broken. Two destination
hosts may be written differently and mean the same Service.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.services import backends
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant as variant_words
from volary.model.pipeline.stage_kinds import traffic_stages

_CLUSTER_DOMAIN = "cluster.local"


@functools.lru_cache(maxsize=4096)
def is_same_host(one: str, other: str, namespace: str) -> bool:
    """Say whether both hosts name one Service, seen from `namespace`.

    An empty namespace was left to the cluster's context: then a short name fits any
    full name that starts with it.
    """
    if one == other:
        return True
    first, second = _split_host(one), _split_host(other)
    if first is None or second is None or first[0] != second[0]:
        return False
    places = {first[1] or namespace, second[1] or namespace}
    return len(places - {""}) <= 1


def _split_host(host: str) -> tuple[str, str] | None:
    """Return name and namespace of a Service's host; None for any other host."""
    parts = host.lower().removesuffix(".").removesuffix(f".{_CLUSTER_DOMAIN}").split(".")
    match parts:
        case [name]:
            return name, ""
        case [name, namespace] | [name, namespace, "svc"]:
            return name, namespace
        case _:
            return None


Variant = variant_words.Variant

GROUP = "networking.istio.io"
KIND = "VirtualService"
#: Newest first; any version of the group is read.
VERSIONS = ("v1", "v1beta1", "v1alpha3")

_WHOLE = 100
#: Fields that make an HTTP route something else than a way to destinations.
_NO_DESTINATIONS = ("redirect", "directResponse", "delegate")


@dataclass(frozen=True, slots=True)
class Routing:
    """What is routed: whose host, which subsets, and which routes may be changed."""

    host: str
    label: variant_words.VariantLabel
    #: Names of routes; empty: all.
    editable_routes: Sequence[str] = ()
    #: Of the VirtualService; short hosts are completed with it.
    namespace: str = ""
    #: Where each variant is a Service of its own: their hosts take the place of subsets.
    services: backends.Backends | None = None

    def variant(self, entry: json.JsonObject) -> Variant | None:
        """Return the variant an entry of a route leads to.

        None for other hosts, and for one that leads to every pod of the Service.
        """
        host = objects.text(entry, "destination", "host")
        if self.services is not None:
            names = ((variant, self.services.name(variant)) for variant in Variant)
            fitting = (variant for variant, name in names if name and self._is_same(host, name))
        else:
            subset = objects.text(entry, "destination", "subset")
            fitting = (
                variant
                for variant in Variant
                if self.label.value(variant) == subset and self._is_same(host, self.host)
            )
        return next(fitting, None)

    def is_ours(self, entry: json.JsonObject) -> bool:
        """Say whether an entry of a route leads to the application."""
        host = objects.text(entry, "destination", "host")
        return self._is_same(host, self.host) or self.variant(entry) is not None

    def _is_same(self, host: str, other: str) -> bool:
        return is_same_host(host, other, self.namespace)

    def leading(self, entry: json.JsonObject, variant: Variant, weight: int) -> json.JsonObject:
        """Return an entry of ours that leads to a variant."""
        destination = {"host": self.host, **objects.mapping(entry, "destination")}
        if self.services is not None:
            destination.pop("subset", None)
            destination["host"] = self.services.name(variant)
        else:
            destination["subset"] = self.label.value(variant)
        return {**entry, "destination": destination, "weight": weight}

    def single(
        self, route: json.JsonObject, variant: Variant, weight: int = _WHOLE
    ) -> json.JsonObject:
        """Return an entry like the variant's own in a route, else like our first one."""
        ours = [entry for entry in objects.mappings(route, "route") if self.is_ours(entry)]
        own = (entry for entry in ours if self.variant(entry) is variant)
        return self.leading(next(own, ours[0] if ours else {}), variant, weight)


@dataclass(frozen=True, slots=True)
class Routed:
    """The new object and what happened to each of its HTTP routes, a line each."""

    manifest: manifest.Manifest
    lines: tuple[str, ...]
    #: How many routes carry the weights now.
    updated: int


def find(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> manifest.Manifest:
    """Return the application's VirtualService.

    The reference in the configuration decides; without one a VirtualService that is named
    like the Service, else the first (PipeCD: VirtualService reference).

    Raises:
        UserError: When there is none, or the reference is to another kind.
    """
    reference = app.traffic_routing.istio.virtual_service
    if reference.kind not in ("", KIND):
        raise errors.user_error(
            f'support only "{KIND}" kind for VirtualService reference, not "{reference.kind}"'
        )
    candidates = [
        item
        for item in manifests
        if item.group == GROUP and item.kind == KIND and reference.name in ("", item.name)
    ]
    if not candidates:
        named = f" named {reference.name}" if reference.name else ""
        raise errors.user_error(
            f"unable to find any VirtualService manifest{named}",
            hint="the istio method changes a VirtualService among the application's manifests",
        )
    named_alike = (item for item in candidates if item.name == app.service.name)
    return next(named_alike, candidates[0])


def routing(app: applications.Application, item: manifest.Manifest) -> Routing:
    """Return what is routed: ``trafficRouting.istio.host``, else ``service.name``.

    Raises:
        UserError: When neither is set.
    """
    host = app.traffic_routing.istio.host or app.service.name
    if not host:
        raise errors.user_error(
            "the host whose traffic is to be divided is not known",
            hint="set trafficRouting.istio.host or service.name",
        )
    editable = app.traffic_routing.istio.editable_routes
    services = backends.of(app) if app.rolls_out_service else None
    return Routing(host, app.variant_label, editable, item.namespace, services)


def route(item: manifest.Manifest, how: Routing, weights: traffic_stages.TrafficOptions) -> Routed:
    """Return the VirtualService with the weights on every route that may be changed.

    Weights share what other hosts leave over; fractions are cut and go to the primary,
    which is always listed, first, even with weight 0.

    Raises:
        UserError: When other hosts take more than 100 percent, or `editable_routes` names a
            route that does not exist.
    """
    lines: list[str] = []
    routes: list[object] = []
    updated = 0
    _check_editable(item, how)
    for position, entry in enumerate(objects.sequence(item.body, "spec", "http")):
        title = _title(entry, position)
        if not isinstance(entry, dict) or not is_editable(entry, how):
            lines.append(f"Skipping route {title} (not in editableRoutes)")
            routes.append(entry)
        elif other := _without_destinations(entry):
            lines.append(f"Skipping route {title} ({other} has no destinations)")
            routes.append(entry)
        else:
            shares = _shares(entry, how, weights, item, title)
            routes.append({**entry, "route": list(_entries(entry, how, shares))})
            shown = ", ".join(f"{variant.value}={share}%" for variant, share in shares.items())
            lines.append(f"Updated route {title}: {shown}")
            updated += 1
    return Routed(item.with_spec({"http": routes}), tuple(lines), updated)


def observed_shares(route: json.JsonObject, how: Routing) -> dict[Variant, int]:
    """Return what an HTTP route sends to the variants, in percent of all of its requests."""
    shares: dict[Variant, int] = {}
    for entry, weight in weighted(route):
        variant = how.variant(entry)
        if variant is not None and weight:
            shares[variant] = shares.get(variant, 0) + weight
    return shares


def routes_with_destinations(body: json.JsonObject) -> Iterator[json.JsonObject]:
    """Yield the HTTP routes that may have destinations."""
    for entry in objects.mappings(body, "spec", "http"):
        if not _without_destinations(entry):
            yield entry


def may_change(entry: json.JsonObject, how: Routing) -> bool:
    """Say whether `route` gives the HTTP route weights."""
    return is_editable(entry, how) and not _without_destinations(entry)


def _check_editable(item: manifest.Manifest, how: Routing) -> None:
    names = [objects.text(entry, "name") for entry in objects.mappings(item.body, "spec", "http")]
    if unknown := [name for name in how.editable_routes if name not in names]:
        listed = ", ".join(filter(None, names))
        raise errors.user_error(
            f"editableRoutes names {', '.join(unknown)}, which VirtualService {item.name} "
            "does not have",
            hint=f"its HTTP routes are: {listed or 'all without names'}",
            where=item.origin,
        )


def is_editable(entry: json.JsonObject, how: Routing) -> bool:
    """Say whether the application may change an HTTP route."""
    return not how.editable_routes or objects.text(entry, "name") in how.editable_routes


def _without_destinations(entry: json.JsonObject) -> str:
    if objects.sequence(entry, "route"):
        return ""
    return next((field for field in _NO_DESTINATIONS if field in entry), "")


def _shares(
    entry: json.JsonObject,
    how: Routing,
    weights: traffic_stages.TrafficOptions,
    item: manifest.Manifest,
    title: str,
) -> dict[Variant, int]:
    others = sum(weight for destination, weight in weighted(entry) if not how.is_ours(destination))
    if others > _WHOLE:
        raise errors.user_error(
            f"other hosts of route {title} in VirtualService {item.name} have {others} percent",
            hint="weights of a route add up to 100",
            where=item.origin,
        )
    whole = _WHOLE - others
    canary = weights.canary * whole // _WHOLE
    baseline = weights.baseline * whole // _WHOLE
    return {
        Variant.PRIMARY: whole - canary - baseline,
        Variant.CANARY: canary,
        Variant.BASELINE: baseline,
    }


def _entries(
    entry: json.JsonObject, how: Routing, shares: Mapping[Variant, int]
) -> Iterator[json.JsonObject]:
    for variant, weight in shares.items():
        if weight or variant is Variant.PRIMARY:
            yield how.single(entry, variant, weight)
    destinations = weighted(entry)
    for destination, weight in destinations:
        if not how.is_ours(destination):
            is_only = len(destinations) == 1
            yield {**destination, "weight": weight} if is_only else destination


def weighted(entry: json.JsonObject) -> list[tuple[json.JsonObject, int]]:
    """Return the destinations of a route with their weights.

    Istio gives a single destination everything, and one of several without weight nothing.
    """
    destinations = list(objects.mappings(entry, "route"))
    if len(destinations) == 1 and not destinations[0].get("weight"):
        return [(destinations[0], _WHOLE)]
    return [(destination, objects.number(destination, "weight")) for destination in destinations]


def _title(entry: object, position: int) -> str:
    """Return the name in quotes; routes without one are counted from 1."""
    name = objects.text(entry, "name")
    return f'"{name}"' if name else f'"#{position + 1}"'
