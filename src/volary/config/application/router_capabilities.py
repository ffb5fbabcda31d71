"""What each router can do, and why it refuses the rest: known before anything starts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from volary.model import routing_options
from volary.model.pipeline import traffic

_Method = routing_options.RoutingMethod
_Kind = traffic.MatchKind


@dataclass(frozen=True, slots=True)
class RequestedFeatures:
    """What a stage needs of a router."""

    canary: int = 0
    baseline: int = 0
    match: Sequence[traffic.RequestMatch] = ()
    mirror: int = 0
    has_affinity: bool = False


@dataclass(frozen=True, slots=True)
class UnsupportedFeature:
    """Something a router cannot do."""

    #: The option as it is written in the stage.
    option: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class _Capabilities:
    title: str
    divides: bool = True
    baseline: bool = True
    headers: bool = False
    cookies: bool = False
    query: bool = False
    mirror: bool = False
    affinity: bool = False


_CAPABILITIES = {
    _Method.POD_SELECTOR: _Capabilities("podselector", divides=False, baseline=False),
    _Method.ISTIO: _Capabilities("istio", True, True, True, True, True, True, True),
    _Method.GATEWAY_API: _Capabilities("gatewayapi", True, True, True, True, True, True, True),
    _Method.SMI: _Capabilities("smi"),
    _Method.NGINX: _Capabilities("nginx", baseline=False, headers=True, cookies=True),
    _Method.TRAEFIK: _Capabilities("traefik"),
}
#: gRPC has no query, and its clients keep no cookies.
_GRPC = _Capabilities("gatewayapi with a GRPCRoute", headers=True, mirror=True)
_ELSEWHERE = "use trafficRouting.method istio or gatewayapi"


def unsupported_features(
    routing: routing_options.TrafficRouting, wish: RequestedFeatures
) -> list[UnsupportedFeature]:
    """Return everything in `wish` that the application's router cannot do.

    That ``podselector`` moves all traffic or none is said where the percentages are read.
    """
    able = _capabilities_of(routing)
    features = list(_unsupported(able, wish))
    for condition in wish.match:
        features += _match(able, condition)
    if routing.method is _Method.NGINX:
        features += _nginx(wish.match)
    if routing.method in (_Method.GATEWAY_API, _Method.ISTIO):
        features += _one_cookie(able.title, wish.match)
    return list(dict.fromkeys(features))


def _capabilities_of(routing: routing_options.TrafficRouting) -> _Capabilities:
    if routing.method is _Method.GATEWAY_API and routing.gateway_api.route.kind == "GRPCRoute":
        return _GRPC
    return _CAPABILITIES[routing.method]


def _unsupported(able: _Capabilities, wish: RequestedFeatures) -> Iterator[UnsupportedFeature]:
    if able.divides and wish.baseline and not able.baseline:
        yield UnsupportedFeature(
            "baseline",
            f"{able.title} divides traffic between primary and canary only: an Ingress has one"
            " canary beside it",
            "leave baseline out, or use trafficRouting.method istio, gatewayapi, smi or traefik",
        )
    if wish.mirror and not able.mirror:
        yield UnsupportedFeature("mirror", f"{able.title} cannot mirror requests", _ELSEWHERE)
    if wish.has_affinity and not able.affinity:
        message = f"{able.title} cannot keep users with their variant by cookie"
        yield UnsupportedFeature("sessionAffinity", message, _ELSEWHERE)


def _match(able: _Capabilities, match: traffic.RequestMatch) -> Iterator[UnsupportedFeature]:
    for wanted, can, title in (
        (match.headers, able.headers, "headers"),
        (match.cookies, able.cookies, "cookies"),
        (match.query_parameters, able.query, "the query"),
    ):
        if wanted and not can:
            yield UnsupportedFeature(
                "match", f"{able.title} cannot choose requests by {title}", _ELSEWHERE
            )


def _one_cookie(
    title: str, matches: Sequence[traffic.RequestMatch]
) -> Iterator[UnsupportedFeature]:
    """All cookies are in one header, and a header can be looked at once."""
    for match in matches:
        in_header = any(name.lower() == "cookie" for name in match.headers)
        if len(match.cookies) + in_header > 1:
            message = f"{title} can look at one cookie in each match"
            yield UnsupportedFeature(
                "match", message, "write them as several matches, or as one header"
            )


def _nginx(matches: Sequence[traffic.RequestMatch]) -> Iterator[UnsupportedFeature]:
    """An Ingress has one annotation for a header and one for a cookie, either suffices."""
    headers = [item for match in matches for item in match.headers.items()]
    cookies = [item for match in matches for item in match.cookies.items()]
    if any(len(match.headers) + len(match.cookies) > 1 for match in matches):
        message = "nginx cannot ask for two things at once in a match"
        yield UnsupportedFeature("match", message, "one header or one cookie in each match")
    if len(headers) > 1 or len(cookies) > 1:
        yield UnsupportedFeature(
            "match", "nginx can look at one header and at one cookie", _ELSEWHERE
        )
    if any((cookie.value, cookie.kind) != ("always", _Kind.EXACT) for _, cookie in cookies):
        message = "nginx sends requests to canary whose cookie is exactly `always`"
        yield UnsupportedFeature("match", message, "write exact: always")
