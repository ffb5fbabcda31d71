"""Traffic by weight, header or cookie, in the annotations of a canary Ingress (ingress-nginx).

The canary Ingress comes with the canary's other objects and goes with them; without a
weight it gets no requests. The Ingress that leads to primary is never written to.
"""

from collections.abc import Mapping, Sequence

from volary.manifests import objects
from volary.manifests.routes import ingresses
from volary.manifests.services import backends
from volary.model import applications, json
from volary.model.objects import manifest
from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import cookies, selection

_ALL = division.ALL
_CANARY, _PRIMARY = variant.Variant.CANARY, variant.Variant.PRIMARY
_WEIGHT, _HEADER, _COOKIE = "canary-weight", "canary-by-header", "canary-by-cookie"
_VALUE, _PATTERN = "canary-by-header-value", "canary-by-header-pattern"
_OURS = (_WEIGHT, _HEADER, _VALUE, _PATTERN, _COOKIE)


def maker() -> variant.Variant:
    """Return the variant with whose manifests the canary Ingress comes and goes."""
    return _CANARY


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the canary Ingress beside the application's Ingress.

    Raises:
        UserError: when there is no Ingress that leads to the application, or more than one.
    """
    main = ingresses.find(manifests, application)
    if main is None:
        known = backends.of(application)
        return selection.only(
            [], application.traffic_routing.nginx.ingress, f"Ingress that leads to {known.primary}"
        )
    return ingresses.canary(main, application)


def check(wanted: division.Division, application: applications.Application) -> None:
    """Refuse what annotations cannot say."""
    selection.refuse(wanted, application)


def routed(
    item: manifest.Manifest,
    wanted: division.Division,
    application: applications.Application,
) -> weights.Change:
    """Return the canary Ingress with the annotations for `wanted`."""
    prefix = application.traffic_routing.nginx.annotation_prefix
    said = {_WEIGHT: str(wanted.canary)}
    for request_match in wanted.match:
        for name, match in request_match.headers.items():
            said |= _header(name, match)
        for name in request_match.cookies:
            said[_COOKIE] = name
    kept = {
        key: value
        for key, value in objects.mapping(item.metadata, "annotations").items()
        if key not in [f"{prefix}/{annotation}" for annotation in _OURS]
    }
    annotations = {**kept, **{f"{prefix}/{key}": value for key, value in said.items()}}
    metadata = {**item.metadata, "annotations": annotations}
    words = [
        weights.title(wanted.shares),
        *(["requests that match to canary"] * bool(wanted.match)),
    ]
    line = f"Ingress {item.name}: {', '.join(words)}"
    return weights.Change(item.with_body({**item.body, "metadata": metadata}), (line,))


def _header(name: str, match: traffic.TextMatch) -> dict[str, str]:
    """Return the annotations for a header; a pattern fits any part of it unless it says so."""
    match match.kind:
        case traffic.MatchKind.EXACT:
            return {_HEADER: name, _VALUE: match.value}
        case traffic.MatchKind.PREFIX:
            return {_HEADER: name, _PATTERN: f"^{cookies.escape(match.value)}"}
        case traffic.MatchKind.SUFFIX:
            return {_HEADER: name, _PATTERN: f"{cookies.escape(match.value)}$"}
        case traffic.MatchKind.REGEX:
            return {_HEADER: name, _PATTERN: match.value}


def drained(
    live: manifest.Manifest,
    leaving: variant.Variant,
    application: applications.Application,
) -> weights.Change:
    """Return the canary Ingress without any traffic; only canary ever has some."""
    if leaving is not _CANARY or _CANARY not in weights.receiving(read(live.body, application)):
        return weights.Change(live, ())
    return routed(live, division.PRIMARY, application)


def held(
    item: manifest.Manifest, _live: json.JsonObject, _application: applications.Application
) -> manifest.Manifest:
    """Return the Ingress as it is in Git: it has none of the annotations that move traffic."""
    return item


def fields(body: json.JsonObject) -> json.JsonObject:
    """Return the annotations that move traffic."""
    annotations = {
        key: value
        for key, value in objects.mapping(body, "metadata", "annotations").items()
        if key.rpartition("/")[2] in _OURS
    }
    return {"metadata": {"annotations": annotations}}


def read(
    body: json.JsonObject, application: applications.Application
) -> tuple[weights.RouteWeights, ...]:
    """Return what the canary Ingress takes from its Ingress."""
    prefix = application.traffic_routing.nginx.annotation_prefix
    annotations = objects.mapping(body, "metadata", "annotations")
    is_on = ingresses.is_canary(body, application)
    weight = _percent(annotations, prefix) if is_on else 0
    shares = {_PRIMARY: _ALL - weight, _CANARY: weight}
    route_weights = [
        weights.RouteWeights(
            "", True, {variant_role: share for variant_role, share in shares.items() if share}
        )
    ]
    for name in (_HEADER, _COOKIE):
        if is_on and annotations.get(f"{prefix}/{name}"):
            route_weights.append(weights.RouteWeights(name, True, {_CANARY: _ALL}, is_made=True))
    return tuple(route_weights)


def _percent(annotations: json.JsonObject, prefix: str) -> int:
    """Return the weight as a percentage; anything that is no number gets nothing."""
    try:
        weight = int(str(annotations.get(f"{prefix}/{_WEIGHT}", 0)))
        total = int(str(annotations.get(f"{prefix}/canary-weight-total", _ALL)))
    except ValueError:
        return 0
    return min(_ALL, round(weight * _ALL / total)) if total > 0 and weight > 0 else 0


def services(
    body: json.JsonObject, application: applications.Application
) -> Mapping[variant.Variant, str]:
    """Return the canary's Service; primary's is the business of the other Ingress."""
    return ingresses.services(body, application)


def waiting(_body: json.JsonObject) -> str:
    """Return nothing: the status of an Ingress does not say whether it is carried out."""
    return ""
