"""Which pods a variant's traffic ends at: pure, from the manifests."""

from collections.abc import Sequence

from volary.manifests import objects
from volary.manifests.routes import virtual_services
from volary.manifests.services import services
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant

_GROUP = "networking.istio.io"


def labels(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    which: variant.Variant,
) -> dict[str, str]:
    """Return labels that every pod behind `which` carries.

    Of a Service that is rolled out, those that `manifests` say: what runs may be others.

    The Service's selector narrows; the variant label, or with Istio the DestinationRule's
    subset, chooses.

    Raises:
        UserError: when the Service can never lead to the subset's pods.
    """
    selector = _selector(manifests, application)
    if application.rolls_out_service:
        return selector
    subset = _subset(manifests, application, which)
    wrong = [key for key in subset if selector.get(key, subset[key]) != subset[key]]
    if wrong and application.traffic_routing.method is routing_options.RoutingMethod.ISTIO:
        key = wrong[0]
        raise errors.user_error(
            f"the Service selects {key}={selector[key]} only, so the subset of {which.value}"
            f" ({key}={subset[key]}) has no pods",
            hint=f"take {key} out of the Service's selector; with Istio the subsets choose",
        )
    return {**selector, **subset}


def _selector(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> dict[str, str]:
    matching_services = services.find(manifests, application.service)
    return (
        dict(objects.mapping(matching_services[0].body, "spec", "selector"))
        if len(matching_services) == 1
        else {}
    )


def _subset(
    manifests: Sequence[manifest.Manifest],
    application: applications.Application,
    which: variant.Variant,
) -> dict[str, str]:
    """Return the labels that tell the variant's pods from the others'."""
    value = application.variant_label.value(which)
    host = application.traffic_routing.istio.host or application.service.name
    for item in manifests:
        if item.group != _GROUP or item.kind != "DestinationRule":
            continue
        if not virtual_services.is_same_host(
            objects.text(item.body, "spec", "host"), host, item.namespace
        ):
            continue
        for subset in objects.mappings(item.body, "spec", "subsets"):
            if objects.text(subset, "name") == value:
                return dict(objects.mapping(subset, "labels"))
    return {application.variant_label.key: value}
