"""HTTP routes of a VirtualService: what a division adds to them, and taking it out.

Added routes carry a name of ours; the first route that fits a request wins, so they stand
right before the route that they narrow.
"""

from collections.abc import Mapping

from volary.manifests import objects
from volary.manifests.routes import virtual_services
from volary.model import json
from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division
from volary.stages.traffic.routers import cookies

_ADDED = "volary-"
_ALL = division.ALL
_Variant = variant.Variant


def is_added(route: json.JsonObject) -> bool:
    """Say whether a division added the route."""
    return objects.text(route, "name").startswith(_ADDED)


def copies(route: json.JsonObject, how: virtual_services.Routing) -> int:
    """Return the percentage of a route's requests that canary gets a copy of."""
    if not _is_our_mirror(route, how):
        return 0
    told = objects.value(route, "mirrorPercentage", "value")
    return round(told) if isinstance(told, int | float) else _ALL


def stripped(route: json.JsonObject, how: virtual_services.Routing) -> json.JsonObject:
    """Return a route without the mirror and the cookies of an earlier division."""
    result = dict(route)
    if _is_our_mirror(route, how):
        result.pop("mirror", None)
        result.pop("mirrorPercentage", None)
    entries = objects.sequence(route, "route")
    plain = [_without_cookie(entry) for entry in entries]
    return {**result, "route": plain} if plain != entries else result


def added(
    route: json.JsonObject, wanted: division.Division, how: virtual_services.Routing
) -> list[json.JsonObject]:
    """Return the routes to add before a stripped route."""
    name = objects.text(route, "name") or "route"
    added_routes = [
        _narrowed(route, f"{_ADDED}match-{position}-{name}", request_match, how, _Variant.CANARY)
        for position, request_match in enumerate(wanted.match, start=1)
    ]
    affinity = wanted.affinity
    if affinity is None:
        return added_routes
    canary, primary = f"{_ADDED}canary-cookie-{name}", f"{_ADDED}primary-cookie-{name}"
    stays = _cookie(affinity.cookie_name, wanted)
    if not wanted.canary:
        gone = _narrowed(route, canary, stays, how, _Variant.PRIMARY)
        taken = cookies.expired(wanted, affinity)
        return [
            *added_routes,
            {**gone, "route": [_giving(destination, taken) for destination in gone["route"]]},
        ]
    added_routes.append(_narrowed(route, canary, stays, how, _Variant.CANARY))
    if affinity.primary_cookie_name:
        stays = _cookie(affinity.primary_cookie_name, wanted)
        added_routes.append(_narrowed(route, primary, stays, how, _Variant.PRIMARY))
    return added_routes


def besides(
    route: json.JsonObject, wanted: division.Division, how: virtual_services.Routing
) -> json.JsonObject:
    """Return a route with the mirror and the cookies of `wanted`; weights are there already."""
    result = dict(route)
    if wanted.mirror:
        model = _single(route, how, _Variant.CANARY)
        result["mirror"] = objects.mapping(model, "destination")
        result["mirrorPercentage"] = {"value": wanted.mirror}
    affinity = wanted.affinity
    if affinity is None or not wanted.canary:
        return result
    given = {how.label.value(_Variant.CANARY): cookies.for_canary(wanted, affinity)}
    if affinity.primary_cookie_name:
        given[how.label.value(_Variant.PRIMARY)] = cookies.for_primary(wanted, affinity)
    result["route"] = [
        _giving(destination, given[subset_name])
        if (subset_name := subset(destination, how)) in given
        else destination
        for destination in objects.mappings(route, "route")
    ]
    return result


def has_own_mirror(route: json.JsonObject, how: virtual_services.Routing) -> bool:
    """Say whether a route sends copies somewhere by the user's wish."""
    return ("mirror" in route or "mirrors" in route) and not _is_our_mirror(route, how)


def _cookie(name: str, wanted: division.Division) -> traffic.RequestMatch:
    return traffic.RequestMatch(headers={cookies.HEADER: cookies.stays(name, wanted)})


def _narrowed(
    route: json.JsonObject,
    name: str,
    match: traffic.RequestMatch,
    how: virtual_services.Routing,
    which: variant.Variant,
) -> json.JsonObject:
    """Return the route for those of its requests that fit, all to one variant."""
    models = list(objects.mappings(route, "match")) or [{}]
    return {
        **route,
        "name": name,
        "match": [_match(model, match) for model in models],
        "route": [_single(route, how, which)],
    }


def _match(model: json.JsonObject, match: traffic.RequestMatch) -> json.JsonObject:
    """Return a match that asks for both; ours wins where both look at the same header."""
    result = dict(model)
    headers = {name.lower(): _test(text_match) for name, text_match in _headers(match).items()}
    query = {name: _test(text_match) for name, text_match in match.query_parameters.items()}
    for field, wanted in (("headers", headers), ("queryParams", query)):
        if wanted:
            result[field] = {**objects.mapping(model, field), **wanted}
    return result


def _headers(match: traffic.RequestMatch) -> Mapping[str, traffic.TextMatch]:
    return {**match.headers, **cookies.header(match)}


def _test(match: traffic.TextMatch) -> Mapping[str, str]:
    if match.kind is traffic.MatchKind.SUFFIX:
        return {"regex": cookies.regex(match, any_text=".*")}
    return {match.kind.value: match.value}


def _single(
    route: json.JsonObject, how: virtual_services.Routing, which: variant.Variant
) -> json.JsonObject:
    """Return an entry that sends everything to one variant, like those that are there."""
    ours = [
        host_entry for host_entry in objects.mappings(route, "route") if _is_host(host_entry, how)
    ]
    value = how.label.value(which)
    model = next((our for our in ours if subset(our, how) == value), None)
    model = model or (ours[0] if ours else {})
    destination = {"host": how.host, **objects.mapping(model, "destination"), "subset": value}
    return {**model, "destination": destination, "weight": _ALL}


def _giving(entry: json.JsonObject, value: str) -> json.JsonObject:
    """Return the entry with a cookie in its answers."""
    headers = objects.mapping(entry, "headers")
    response = objects.mapping(headers, "response")
    made = {**objects.mapping(response, "add"), cookies.SET: value}
    return {**entry, "headers": {**headers, "response": {**response, "add": made}}}


def _without_cookie(entry: json.JsonObject) -> json.JsonObject:
    told = objects.mapping(entry, "headers", "response", "add")
    if not cookies.is_ours(objects.text(told, cookies.SET)):
        return entry
    rest = {key: value for key, value in told.items() if key != cookies.SET}
    headers = objects.mapping(entry, "headers")
    response = _with(objects.mapping(headers, "response"), "add", rest)
    return _with(entry, "headers", _with(headers, "response", response))


def _with(body: json.JsonObject, field: str, value: json.JsonObject) -> json.JsonObject:
    rest = {key: content for key, content in body.items() if key != field}
    return {**rest, field: value} if value else rest


def _is_our_mirror(route: json.JsonObject, how: virtual_services.Routing) -> bool:
    mirror = objects.mapping(route, "mirror")
    entry = {"destination": mirror}
    return _is_host(entry, how) and subset(entry, how) == how.label.value(_Variant.CANARY)


def _is_host(entry: json.JsonObject, how: virtual_services.Routing) -> bool:
    host = objects.text(entry, "destination", "host")
    return bool(host) and virtual_services.is_same_host(host, how.host, how.namespace)


def subset(entry: json.JsonObject, how: virtual_services.Routing) -> str:
    """Return the subset an entry of our host leads to; empty for other hosts."""
    return objects.text(entry, "destination", "subset") if _is_host(entry, how) else ""
