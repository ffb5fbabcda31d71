"""Traffic by weight, header or cookie, in the annotations of a canary Ingress (ingress-nginx).

The canary Ingress comes with the canary's other objects and goes with them; without a
weight it gets no requests. The Ingress that leads to primary is never written to.
"""

from collections.abc import Mapping, Sequence

from volary.manifests import objects
from volary.manifests.routes import ingresses
from volary.manifests.services import backends
from volary.model import json
from volary.model.objects import manifest
from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import chosen_requests, router, selection

_ALL = division.ALL
_CANARY, _PRIMARY = variant.Variant.CANARY, variant.Variant.PRIMARY
_WEIGHT, _HEADER, _COOKIE = "canary-weight", "canary-by-header", "canary-by-cookie"
_VALUE, _PATTERN = "canary-by-header-value", "canary-by-header-pattern"
_OURS = (_WEIGHT, _HEADER, _VALUE, _PATTERN, _COOKIE)


class Nginx(router.Router):
    """The status of an Ingress does not say whether it is carried out."""

    maker = _CANARY

    def find(self, manifests: Sequence[manifest.Manifest]) -> manifest.Manifest:
        """Return the canary Ingress beside the Ingress that leads to the application."""
        main = ingresses.find(manifests, self.application)
        if main is None:
            title = f"Ingress that leads to {backends.of(self.application).primary}"
            return selection.only([], self.application.traffic_routing.nginx.ingress, title)
        return ingresses.canary(main, self.application)

    def routed(self, item: manifest.Manifest, wanted: division.Division) -> weights.Change:
        """Return the canary Ingress with the annotations for `wanted`."""
        made = {_WEIGHT: str(wanted.canary)}
        for request_match in wanted.match:
            for name, match in request_match.headers.items():
                made |= _header(name, match)
            for name in request_match.cookies:
                made[_COOKIE] = name
        kept = {
            key: value
            for key, value in objects.mapping(item.metadata, "annotations").items()
            if key not in [self._key(annotation) for annotation in _OURS]
        }
        annotations = {**kept, **{self._key(key): value for key, value in made.items()}}
        said = weights.summary(wanted.shares, is_matched=bool(wanted.match), mirror=0)
        line = f"Ingress {item.name}: {said}"
        return weights.Change(item.with_metadata({"annotations": annotations}), (line,))

    def drained(self, live: manifest.Manifest, leaving: variant.Variant) -> weights.Change:
        """Return the canary Ingress without any traffic; only canary ever has some."""
        if leaving is not _CANARY or _CANARY not in weights.receiving(self.read(live.body)):
            return weights.Change(live, ())
        return self.routed(live, division.PRIMARY)

    def held(self, item: manifest.Manifest, live: json.JsonObject) -> manifest.Manifest:
        """Return the Ingress as it is in Git: it has none of the annotations that move traffic."""
        del live
        return item

    def fields(self, body: json.JsonObject) -> json.JsonObject:
        """Return the annotations that move traffic."""
        annotations = {
            key: value
            for key, value in objects.mapping(body, "metadata", "annotations").items()
            if key.rpartition("/")[2] in _OURS
        }
        return {"metadata": {"annotations": annotations}}

    def read(self, body: json.JsonObject) -> tuple[weights.RouteWeights, ...]:
        """Return what the canary Ingress takes from its Ingress."""
        if not ingresses.is_canary(body, self.application):
            return (weights.RouteWeights("", True, {_PRIMARY: _ALL}),)
        annotations = objects.mapping(body, "metadata", "annotations")
        weight = self._percent(annotations)
        shares = {_PRIMARY: _ALL - weight, _CANARY: weight}
        plain = {which: share for which, share in shares.items() if share}
        made = (
            weights.RouteWeights(name, True, {_CANARY: _ALL}, is_made=True)
            for name in (_HEADER, _COOKIE)
            if annotations.get(self._key(name))
        )
        return (weights.RouteWeights("", True, plain), *made)

    def services(self, body: json.JsonObject) -> Mapping[variant.Variant, str]:
        """Return the canary's Service; primary's is the business of the other Ingress."""
        return ingresses.variant_services(body, self.application)

    def _percent(self, annotations: json.JsonObject) -> int:
        """Return the weight as a percentage; anything that is no number gets nothing."""
        try:
            weight = int(str(annotations.get(self._key(_WEIGHT), 0)))
            total = int(str(annotations.get(self._key("canary-weight-total"), _ALL)))
        except ValueError:
            return 0
        return max(0, min(_ALL, round(weight * _ALL / total))) if total > 0 else 0

    def _key(self, annotation: str) -> str:
        return f"{self.application.traffic_routing.nginx.annotation_prefix}/{annotation}"


def _header(name: str, match: traffic.TextMatch) -> dict[str, str]:
    """Return the annotations for a header; a pattern fits any part of it unless it says so."""
    match match.kind:
        case traffic.MatchKind.EXACT:
            return {_HEADER: name, _VALUE: match.value}
        case traffic.MatchKind.PREFIX:
            return {_HEADER: name, _PATTERN: f"^{chosen_requests.escape(match.value)}"}
        case traffic.MatchKind.SUFFIX:
            return {_HEADER: name, _PATTERN: f"{chosen_requests.escape(match.value)}$"}
        case traffic.MatchKind.REGEX:
            return {_HEADER: name, _PATTERN: match.value}
