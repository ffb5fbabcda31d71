"""What each router can do, why it refuses the rest, and ``trafficRouting`` against the pipeline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from volary.config.application import cluster_strategies
from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model import applications, routing_options
from volary.model.pipeline import traffic, variant
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, traffic_stages

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
    able = _CAPABILITIES[routing.method]
    if routing.method is _Method.GATEWAY_API and routing.gateway_api.route.kind == "GRPCRoute":
        able = _GRPC
    features = list(_unsupported(able, wish))
    for condition in wish.match:
        features += _match(able, condition)
    if routing.method is _Method.NGINX:
        features += _nginx(wish.match)
    if routing.method in (_Method.GATEWAY_API, _Method.ISTIO):
        features += _one_cookie(able.title, wish.match)
    return list(dict.fromkeys(features))


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


#: The options of each method, as written and as in the model.
_OPTIONS = {
    _Method.ISTIO: ("istio", "istio"),
    _Method.GATEWAY_API: ("gatewayApi", "gateway_api"),
    _Method.SMI: ("smi", "smi"),
    _Method.NGINX: ("nginx", "nginx"),
    _Method.TRAEFIK: ("traefik", "traefik"),
}
#: Methods whose routes name a Service for each variant.
_BY_SERVICE = (_Method.GATEWAY_API, _Method.SMI, _Method.NGINX, _Method.TRAEFIK)


def check(reading: readings.Reading, app: applications.Application, base: yaml.Path) -> None:
    """Note options without effect, and what the pipeline needs that the router cannot do."""
    path, routing = (*base, "trafficRouting"), app.traffic_routing
    _check_options(reading, routing, path)
    moving = [stage for stage in app.pipeline if stage.kind.routes_traffic]
    if moving:
        _check_host(reading, app, path)
    for moving_stage in moving:
        at = (*cluster_strategies.where(app, moving_stage), "with")
        _check_cookies(reading, moving_stage.options, at)
        # What a selector cannot do in steps is said where the steps are read.
        if routing.method is _Method.POD_SELECTOR and not isinstance(
            moving_stage.options, traffic_stages.TrafficOptions
        ):
            continue
        for refusal in unsupported_features(routing, requested_features(moving_stage.options)):
            reading.error((*at, refusal.option), refusal.message, refusal.hint)
    _check_services(reading, app)


def _check_options(
    reading: readings.Reading, routing: routing_options.TrafficRouting, path: yaml.Path
) -> None:
    plain = routing_options.TrafficRouting()
    for method, (written, name) in _OPTIONS.items():
        is_given = getattr(routing, name) != getattr(plain, name)
        if is_given and routing.method is not method:
            message = f"{written} has no effect without method: {method.value}"
            reading.lenient((*path, written), message)
    if routing.create and routing.method is _Method.POD_SELECTOR:
        reading.lenient((*path, "create"), "podselector needs no routes: create has no effect")
    if routing.services != plain.services and routing.method not in _BY_SERVICE:
        message = f"{routing.method.value} does not choose by Service: services has no effect"
        reading.lenient((*path, "services"), message)


def _check_host(reading: readings.Reading, app: applications.Application, path: yaml.Path) -> None:
    routing, named = app.traffic_routing, app.service.name
    if routing.method is _Method.ISTIO and not (routing.istio.host or named):
        hint = "set trafficRouting.istio.host or service.name"
        reading.error(path, "the host whose traffic is divided is not known", hint)
    given = routing.services.primary and routing.services.canary
    if routing.method in _BY_SERVICE and not named and (routing.create or not given):
        hint = "set service.name" if routing.create else "set service.name, or services"
        reading.error(path, "the Service whose traffic is divided is not known", hint)


def requested_features(options: stage_kind.StageOptions) -> RequestedFeatures:
    """Return what a stage that moves traffic needs of the router."""
    match options:
        case traffic_stages.TrafficOptions():
            return RequestedFeatures(
                options.canary,
                options.baseline,
                options.match,
                options.mirror,
                has_affinity=options.session_affinity is not None,
            )
        case traffic_stages.ProgressiveTrafficOptions():
            return RequestedFeatures(
                match=options.match,
                mirror=options.mirror_weight if options.mirror else 0,
                has_affinity=options.session_affinity is not None,
            )
        case _:
            return RequestedFeatures()


def _check_cookies(
    reading: readings.Reading, options: stage_kind.StageOptions, path: yaml.Path
) -> None:
    """Note cookies that are both the user's, to choose requests by, and Volary's own."""
    if not isinstance(
        options, traffic_stages.TrafficOptions | traffic_stages.ProgressiveTrafficOptions
    ):
        return
    if options.session_affinity is None:
        return
    own = {options.session_affinity.cookie_name, options.session_affinity.primary_cookie_name}
    for name in sorted({name for condition in options.match for name in condition.cookies} & own):
        message = f"match looks at the cookie {name}, which sessionAffinity sets itself"
        reading.error((*path, "sessionAffinity"), message, "choose another cookieName")


def _check_services(reading: readings.Reading, app: applications.Application) -> None:
    """Note variants that get traffic through a Service that nobody makes."""
    routing = app.traffic_routing
    if routing.method not in _BY_SERVICE or routing.create:
        return
    given = {
        variant.Variant.CANARY: routing.services.canary,
        variant.Variant.BASELINE: routing.services.baseline,
    }
    unnamed = [which for which in _used(app) if not given[which]]
    for stage in app.pipeline:
        options, which = stage.options, stage.kind.applies
        if which is None or not isinstance(options, rollout_stages.VariantRolloutOptions):
            continue
        if which in unnamed and not options.create_service:
            reading.error(
                (*cluster_strategies.where(app, stage), "with"),
                f"{routing.method.value} sends traffic to {which.value} through a Service of its"
                " own, which is not made",
                "set createService: true, or name a Service in trafficRouting.services",
            )


def _used(app: applications.Application) -> Iterator[variant.Variant]:
    moving = [stage.options for stage in app.pipeline if stage.kind.routes_traffic]
    if any(
        not isinstance(options, traffic_stages.TrafficOptions)
        or options.canary
        or options.match
        or options.mirror
        for options in moving
    ):
        yield variant.Variant.CANARY
    if any(
        isinstance(options, traffic_stages.TrafficOptions) and options.baseline
        for options in moving
    ):
        yield variant.Variant.BASELINE
