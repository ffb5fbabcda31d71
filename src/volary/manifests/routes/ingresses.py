"""The Ingress of an application, and the canary beside it as ingress-nginx knows it."""

from collections.abc import Iterator, Sequence

from volary.manifests import objects
from volary.manifests.services import backends, services
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant

GROUP, KIND = "networking.k8s.io", "Ingress"
#: In front of it: the prefix of the controller's annotations.
CANARY = "canary"
_CLASS = "kubernetes.io/ingress.class"


def find(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> manifest.Manifest | None:
    """Return the Ingress that leads to primary; None when there is none.

    Raises:
        UserError: when several do and none is named.
    """
    known, reference = backends.of(app), app.traffic_routing.nginx.ingress
    candidates = [
        item
        for item in manifests
        if item.group == GROUP
        and item.kind == KIND
        and reference.name in ("", item.name)
        and any(known.variant(_service(path)) for path in paths(item.body))
        and not is_canary(item.body, app)
    ]
    if len(candidates) > 1:
        listed = ", ".join(item.name for item in candidates)
        raise errors.user_error(
            f"{len(candidates)} Ingresses lead to the application: {listed}",
            hint="name one of them in trafficRouting.nginx.ingress",
            where=candidates[1].origin,
        )
    return candidates[0] if candidates else None


def canary(item: manifest.Manifest, app: applications.Application) -> manifest.Manifest:
    """Return the canary of an Ingress: its paths to the application, without any traffic yet.

    Everything else ingress-nginx takes from the Ingress itself.
    """
    known, options = backends.of(app), app.traffic_routing.nginx
    suffix = backends.suffix(app, variant.Variant.CANARY)
    copy = services.add_suffix(item, suffix)
    spec = objects.mapping(item.body, "spec")
    annotations = {f"{options.annotation_prefix}/{CANARY}": "true"}
    if by_class := item.annotations.get(_CLASS):
        annotations[_CLASS] = by_class
    made: json.JsonObject = {"rules": list(_rules(spec, known))}
    if "ingressClassName" in spec:
        made["ingressClassName"] = spec["ingressClassName"]
    metadata = {**copy.metadata, "annotations": annotations}
    return copy.with_body(
        {
            "apiVersion": item.api_version,
            "kind": item.kind,
            "metadata": metadata,
            "spec": made,
        }
    )


def is_canary(body: json.JsonObject, app: applications.Application) -> bool:
    """Say whether an Ingress is the canary of another."""
    prefix = app.traffic_routing.nginx.annotation_prefix
    return objects.text(body, "metadata", "annotations", f"{prefix}/{CANARY}") == "true"


def paths(body: json.JsonObject) -> Iterator[json.JsonObject]:
    """Yield the paths of every rule."""
    for rule in objects.mappings(body, "spec", "rules"):
        yield from objects.mappings(rule, "http", "paths")


def variant_services(
    body: json.JsonObject, app: applications.Application
) -> dict[variant.Variant, str]:
    """Return the Services of the application that an Ingress leads to."""
    known = backends.of(app)
    names_by_variant = {known.variant(_service(path)): _service(path) for path in paths(body)}
    return {which: name for which, name in names_by_variant.items() if which is not None}


def _service(path: json.JsonObject) -> str:
    return objects.text(path, "backend", "service", "name")


def _rules(spec: json.JsonObject, known: backends.Backends) -> Iterator[json.JsonObject]:
    for rule in objects.mappings(spec, "rules"):
        ours = [
            _to_canary(path, known)
            for path in objects.mappings(rule, "http", "paths")
            if known.variant(_service(path)) is variant.Variant.PRIMARY
        ]
        if ours:
            yield {**rule, "http": {**objects.mapping(rule, "http"), "paths": ours}}


def _to_canary(path: json.JsonObject, known: backends.Backends) -> json.JsonObject:
    service = {**objects.mapping(path, "backend", "service"), "name": known.canary}
    return {**path, "backend": {**objects.mapping(path, "backend"), "service": service}}
