"""What a router has to answer; the modules beside this one are of this shape."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from volary.manifests.routes import ingresses
from volary.manifests.services import service_targets
from volary.model import applications, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import (
    gateway_api,
    istio,
    istio_services,
    nginx,
    podselector,
    selection,
    smi,
    traefik,
)


class Router(Protocol):
    """Pure questions about the object that carries the routes."""

    def maker(self) -> variant.Variant:
        """Return the variant with whose manifests the object comes and goes."""
        ...

    def find(
        self, manifests: Sequence[manifest.Manifest], application: applications.Application
    ) -> manifest.Manifest:
        """Return the object that carries the routes, as written in Git; UserError otherwise."""
        ...

    def check(self, wanted: division.Division, application: applications.Application) -> None:
        """Raise UserError when the router cannot divide traffic like this."""
        ...

    def routed(
        self,
        item: manifest.Manifest,
        wanted: division.Division,
        application: applications.Application,
    ) -> weights.Change:
        """Return the object with the traffic divided as asked for.

        What is not the application's stays as it is in `item`: other backends in their
        proportion, rules, filters. What an earlier division had added is taken out.
        """
        ...

    def drained(
        self,
        live: manifest.Manifest,
        leaving: variant.Variant,
        application: applications.Application,
    ) -> weights.Change:
        """Return the live object with the traffic of one variant given to primary.

        Without lines when there is nothing to give.
        """
        ...

    def held(
        self,
        item: manifest.Manifest,
        live: json.JsonObject,
        application: applications.Application,
    ) -> manifest.Manifest:
        """Return the object of Git with the live routes, so that applying moves no traffic."""
        ...

    def fields(self, body: json.JsonObject) -> json.JsonObject:
        """Return the part of the object that the routing's field manager owns."""
        ...

    def read(
        self, body: json.JsonObject, application: applications.Application
    ) -> tuple[weights.RouteWeights, ...]:
        """Return what each route of the object sends to the variants."""
        ...

    def services(
        self, body: json.JsonObject, application: applications.Application
    ) -> Mapping[variant.Variant, str]:
        """Return the Services by which the routes of the object reach the variants."""
        ...

    def waiting(self, body: json.JsonObject) -> str:
        """Return why the cluster does not carry out the routes yet; empty when it does."""
        ...


def choose(application: applications.Application) -> Router:
    """Return the router that the application asks for."""
    method = application.traffic_routing.method
    if method is _Method.ISTIO and service_targets.is_target(application):
        return istio_services
    return _ROUTERS[method]


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the object that carries the routes; what it calls primary is primary alone.

    Raises:
        UserError: when there is none or more than one, or when the Service that stands for
            primary leads to the pods of other variants too.
    """
    router = choose(application)
    item = router.find(manifests, application)
    method = application.traffic_routing.method
    if method in (_Method.POD_SELECTOR, _Method.ISTIO):
        return item
    if service_targets.is_target(application):
        # Its variants are told apart by their Services alone.
        return item
    main = ingresses.find(manifests, application) if method is _Method.NGINX else None
    names_by_variant = (
        ingresses.variant_services(main.body, application)
        if main is not None
        else router.services(item.body, application)
    )
    if variant.Variant.PRIMARY in names_by_variant:
        selection.check_primary(manifests, application, names_by_variant[variant.Variant.PRIMARY])
    return item


_Method = applications.RoutingMethod
_ROUTERS: Mapping[applications.RoutingMethod, Router] = {
    _Method.POD_SELECTOR: podselector,
    _Method.ISTIO: istio,
    _Method.GATEWAY_API: gateway_api,
    _Method.SMI: smi.ROUTER,
    _Method.NGINX: nginx,
    _Method.TRAEFIK: traefik.ROUTER,
}
