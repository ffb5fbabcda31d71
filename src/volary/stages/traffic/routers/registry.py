"""Which router an application asks for."""

from collections.abc import Mapping, Sequence

from volary.manifests.routes import ingresses
from volary.model import applications, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic.routers import (
    gateway_api,
    istio,
    listed,
    nginx,
    podselector,
    router,
    selection,
)

_Method = routing_options.RoutingMethod
_ROUTERS: Mapping[routing_options.RoutingMethod, type[router.Router]] = {
    _Method.POD_SELECTOR: podselector.PodSelector,
    _Method.ISTIO: istio.Istio,
    _Method.GATEWAY_API: gateway_api.GatewayApi,
    _Method.SMI: listed.Smi,
    _Method.NGINX: nginx.Nginx,
    _Method.TRAEFIK: listed.Traefik,
}


def choose(application: applications.Application) -> router.Router:
    """Return the router that the application asks for."""
    return _ROUTERS[application.traffic_routing.method](application)


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the object that carries the routes; what it calls primary is primary alone.

    Raises:
        UserError: when there is none or more than one, or when the Service that stands for
            primary leads to the pods of other variants too.
    """
    chosen = choose(application)
    item = chosen.find(manifests)
    method = application.traffic_routing.method
    if method in (_Method.POD_SELECTOR, _Method.ISTIO):
        return item
    if application.rolls_out_service:
        # Its variants are told apart by their Services alone.
        return item
    main = ingresses.find(manifests, application) if method is _Method.NGINX else None
    names_by_variant = (
        ingresses.variant_services(main.body, application)
        if main is not None
        else chosen.services(item.body)
    )
    if variant.Variant.PRIMARY in names_by_variant:
        selection.check_primary(manifests, application, names_by_variant[variant.Variant.PRIMARY])
    return item
