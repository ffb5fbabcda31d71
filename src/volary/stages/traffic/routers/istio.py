"""Traffic by weight, in the HTTP routes of an Istio VirtualService.

The arithmetic is `manifests.routes.virtual_services`'; here are the questions that stages ask:
what is live, how a variant is drained, how live routes are held during a promotion.
"""

from collections.abc import Mapping, Sequence

from volary.manifests import objects
from volary.manifests.routes import virtual_services
from volary.model import errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import istio_rules, router

_CANARY = variant.Variant.CANARY


class Istio(router.Router):
    """Istio fills the status only where it is told to, so nothing is waited for."""

    path = ("spec", "http")

    def find(self, manifests: Sequence[manifest.Manifest]) -> manifest.Manifest:
        """Return the VirtualService that carries the routes; its host has to be known."""
        item = virtual_services.find(manifests, self.application)
        virtual_services.routing(self.application, item)
        return item

    def routed(self, item: manifest.Manifest, wanted: division.Division) -> weights.Change:
        """Return the VirtualService with `wanted` on every editable route."""
        how = virtual_services.routing(self.application, item)
        plain = [
            istio_rules.stripped(route, how)
            for route in self._routes(item)
            if not istio_rules.is_added(route)
        ]
        options = traffic_stages.TrafficOptions(wanted.primary, wanted.canary, wanted.baseline)
        result = virtual_services.route(self.with_routes(item, plain), how, options)
        if not result.updated:
            raise errors.user_error(
                f"VirtualService {item.name} has no HTTP route that may be given weights",
                hint="add one to spec.http, or name it in trafficRouting.istio.editableRoutes",
                where=item.origin,
            )
        routes: list[json.JsonObject] = []
        for route in self._routes(result.manifest):
            if not virtual_services.may_change(route, how):
                routes.append(route)
                continue
            if wanted.mirror and istio_rules.has_own_mirror(route, how):
                raise errors.user_error(
                    f'route "{objects.text(route, "name")}" of VirtualService {item.name} has a'
                    " mirror of its own",
                    hint="leave mirror out, or name the routes to change in editableRoutes",
                    where=item.origin,
                )
            routes += istio_rules.added(route, wanted, how)
            routes.append(istio_rules.besides(route, wanted, how))
        return weights.Change(self.with_routes(result.manifest, routes), result.lines)

    def read(self, body: json.JsonObject) -> tuple[weights.RouteWeights, ...]:
        """Return what each HTTP route sends to the variants."""
        how = virtual_services.routing(self.application, manifest.Manifest(body))
        return tuple(
            weights.RouteWeights(
                objects.text(route, "name"),
                virtual_services.is_editable(route, how) or istio_rules.is_added(route),
                virtual_services.observed_shares(route, how),
                istio_rules.copies(route, how),
                istio_rules.is_added(route),
            )
            for route in virtual_services.routes_with_destinations(body)
        )

    def drained(self, live: manifest.Manifest, leaving: variant.Variant) -> weights.Change:
        """Return the VirtualService with the share of `leaving` given to primary."""
        how = virtual_services.routing(self.application, live)
        lines: list[str] = []
        routes: list[json.JsonObject] = []
        for route in self._routes(live):
            name = objects.text(route, "name")
            if istio_rules.is_added(route):
                if leaving is _CANARY:
                    lines.append(f'route "{name}" taken out')
                else:
                    routes.append(route)
                continue
            title = f'route "{name or len(routes) + 1}"'
            changed, said = _left(route, leaving, how)
            if said and how.editable_routes and name not in how.editable_routes:
                weight = _weight(route, leaving, how)
                raise errors.user_error(
                    f"{title} still sends {f'{weight} %' if weight else 'copies of requests'} to"
                    f" {leaving.value} and may not be edited",
                    hint="add it to trafficRouting.istio.editableRoutes, or change it in the"
                    " cluster",
                )
            routes.append(changed)
            lines += [f"{title}: {sentence}" for sentence in said]
        return weights.Change(self.with_routes(live, routes), tuple(lines))

    def services(self, body: json.JsonObject) -> Mapping[variant.Variant, str]:
        """Return the variants' own Services; where subsets choose, the Service of the host.

        Nothing for a host that is no Service here.
        """
        how = virtual_services.routing(self.application, manifest.Manifest(body))
        if how.services is not None:
            names = {which: how.services.name(which) for which in variant.Variant}
            return {which: name for which, name in names.items() if name}
        name, _, rest = how.host.partition(".")
        is_here = rest.split(".")[0] in ("", how.namespace)
        return dict.fromkeys(variant.Variant, name) if is_here else {}

    def _routes(self, item: manifest.Manifest) -> list[json.JsonObject]:
        return list(objects.mappings(item.body, *self.path))


def _left(
    route: json.JsonObject, leaving: variant.Variant, how: virtual_services.Routing
) -> tuple[json.JsonObject, list[str]]:
    """Return a route without the traffic of a variant, and what was done."""
    changed, said = route, []
    if leaving is _CANARY:
        if istio_rules.copies(route, how):
            said.append(f"no more copies of requests to {leaving.value}")
        changed = istio_rules.stripped(route, how)
    weight = _weight(changed, leaving, how)
    if weight:
        changed = _moved(changed, leaving, how)
        said.append(f"{weight} % moved from {leaving.value} to primary")
    elif changed != route and not said:
        said.append("no more cookies")
    return changed, said


def _moved(
    route: json.JsonObject, leaving: variant.Variant, how: virtual_services.Routing
) -> json.JsonObject:
    """Return the route with the leaving variant's entries merged into primary's, which is first."""
    primary = variant.Variant.PRIMARY
    taken = [
        (entry, weight)
        for entry, weight in virtual_services.weighted(route)
        if how.variant(entry) in (leaving, primary)
    ]
    entries = [entry for entry, _ in taken]
    model = next((entry for entry in entries if how.variant(entry) is primary), entries[0])
    first = how.leading(model, primary, sum(weight for _, weight in taken))
    others = [entry for entry in objects.mappings(route, "route") if entry not in entries]
    return {**route, "route": [first, *others]}


def _weight(route: json.JsonObject, which: variant.Variant, how: virtual_services.Routing) -> int:
    return sum(
        weight for entry, weight in virtual_services.weighted(route) if how.variant(entry) is which
    )
