"""All traffic to one variant, by the variant label in a Service's selector."""

from collections.abc import Mapping, Sequence

from volary.manifests import objects
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division
from volary.stages.traffic import weights as shares
from volary.stages.traffic.routers import selection

ALL = 100


def maker() -> variant.Variant:
    """Return the variant with whose manifests the Service comes."""
    return variant.Variant.PRIMARY


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the Service that carries the routes.

    Raises:
        UserError: when there is none or more than one, or when its selector in Git does
            not say primary (PipeCD: service validation).
    """
    name = application.service.name
    candidates = [
        item
        for item in manifests
        if item.kind == "Service" and not item.group and name in ("", item.name)
    ]
    if not candidates:
        wanted = f"Service {name}" if name else "Service"
        raise errors.user_error(
            f"there is no {wanted} among the manifests to route traffic with",
            hint="add one, or name the right one under service.name",
        )
    if len(candidates) > 1:
        names = ", ".join(item.name for item in candidates)
        raise errors.user_error(
            f"{len(candidates)} Services could route the traffic: {names}",
            hint="name one of them under service.name",
        )
    _check(candidates[0], application.variant_label)
    return candidates[0]


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


def check(wanted: division.Division, application: applications.Application) -> None:
    """Refuse a division that a selector cannot make.

    Raises:
        UserError: when baseline is asked for, or neither primary nor canary gets it all.
    """
    if wanted.baseline > 0:
        raise errors.user_error(
            "the podselector method cannot send traffic to baseline",
            hint="leave baseline out, or use trafficRouting.method: istio",
        )
    if {wanted.primary, wanted.canary} != {ALL, 0}:
        raise errors.user_error(
            "the podselector method sends all traffic to either primary or canary, not"
            f" primary {wanted.primary} % and canary {wanted.canary} %",
            hint="write `all: primary` or `all: canary`, or use trafficRouting.method: istio",
        )
    selection.refuse(wanted, application)


def routed(
    item: manifest.Manifest,
    wanted: division.Division,
    application: applications.Application,
) -> shares.Change:
    """Return `item` with its selector on the variant that gets all traffic."""
    label = application.variant_label
    chosen = variant.Variant.CANARY if wanted.canary == ALL else variant.Variant.PRIMARY
    selector = {**objects.mapping(item.body, "spec", "selector"), label.key: label.value(chosen)}
    body = {**item.body, "spec": {**objects.mapping(item.body, "spec"), "selector": selector}}
    line = f"Service {item.name}: all traffic to {chosen.value}"
    return shares.Change(item.with_body(body), (line,))


def fields(body: json.JsonObject) -> json.JsonObject:
    """Return the selector, for a manager of its own."""
    return {"spec": {"selector": objects.mapping(body, "spec", "selector")}}


def read(
    body: json.JsonObject, application: applications.Application
) -> tuple[shares.RouteWeights, ...]:
    """Return which variant the Service `body` selects; a selector without one reaches all."""
    label = application.variant_label
    value = objects.mapping(body, "spec", "selector").get(label.key)
    chosen = {
        variant_role: ALL for variant_role in variant.Variant if label.value(variant_role) == value
    }
    return (shares.RouteWeights("", True, chosen),)


def drained(
    live: manifest.Manifest,
    leaving: variant.Variant,
    application: applications.Application,
) -> shares.Change:
    """Return `live` with all traffic on primary when `leaving` had it."""
    routes = read(live.body, application)
    if not any(route.shares.get(leaving) for route in routes):
        return shares.Change(live, ())
    return routed(live, division.PRIMARY, application)


def held(
    item: manifest.Manifest, live: json.JsonObject, application: applications.Application
) -> manifest.Manifest:
    """Return `item` with the live selector's variant, so that applying moves no traffic."""
    key = application.variant_label.key
    selector = objects.mapping(item.body, "spec", "selector")
    value = objects.mapping(live, "spec", "selector").get(key)
    if value is None or key not in selector:
        return item
    spec = {**objects.mapping(item.body, "spec"), "selector": {**selector, key: value}}
    return item.with_body({**item.body, "spec": spec})


def services(
    _body: json.JsonObject, _application: applications.Application
) -> Mapping[variant.Variant, str]:
    """Return nothing: the Service's endpoints are looked at after the switch."""
    return {}


def waiting(_body: json.JsonObject) -> str:
    """Return nothing: a Service has no status for its selector."""
    return ""
