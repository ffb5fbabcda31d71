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
from volary.stages.traffic.routers import chosen_requests

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
    return [
        _narrowed(route, f"{_ADDED}{chosen.name}-{name}", chosen, how)
        for chosen in chosen_requests.of(wanted)
    ]


def besides(
    route: json.JsonObject, wanted: division.Division, how: virtual_services.Routing
) -> json.JsonObject:
    """Return a route with the mirror and the cookies of `wanted`; weights are there already."""
    result = dict(route)
    if wanted.mirror:
        model = how.single(route, _Variant.CANARY)
        result["mirror"] = objects.mapping(model, "destination")
        result["mirrorPercentage"] = {"value": wanted.mirror}
    given = chosen_requests.cookies(wanted)
    if given:
        entries = objects.mappings(route, "route")
        result["route"] = [_giving(entry, given, how) for entry in entries]
    return result


def has_own_mirror(route: json.JsonObject, how: virtual_services.Routing) -> bool:
    """Say whether a route sends copies somewhere by the user's wish."""
    return ("mirror" in route or "mirrors" in route) and not _is_our_mirror(route, how)


def _narrowed(
    route: json.JsonObject,
    name: str,
    chosen: chosen_requests.ChosenRequests,
    how: virtual_services.Routing,
) -> json.JsonObject:
    """Return the route for those of its requests that are chosen, all to one variant."""
    models = list(objects.mappings(route, "match")) or [{}]
    entry = how.single(route, chosen.variant)
    return {
        **route,
        "name": name,
        "match": [_match(model, chosen) for model in models],
        "route": [_giving(entry, {chosen.variant: chosen.cookie}, how)],
    }


def _match(model: json.JsonObject, chosen: chosen_requests.ChosenRequests) -> json.JsonObject:
    """Return a match that asks for both; ours wins where both look at the same header."""
    result = dict(model)
    headers = {name.lower(): _test(text_match) for name, text_match in chosen.headers.items()}
    query = {name: _test(text_match) for name, text_match in chosen.query.items()}
    for field, wanted in (("headers", headers), ("queryParams", query)):
        if wanted:
            result[field] = {**objects.mapping(model, field), **wanted}
    return result


def _test(match: traffic.TextMatch) -> Mapping[str, str]:
    if match.kind is traffic.MatchKind.SUFFIX:
        return {"regex": chosen_requests.regex(match, any_text=".*")}
    return {match.kind.value: match.value}


def _giving(
    entry: json.JsonObject,
    given: Mapping[_Variant, str],
    how: virtual_services.Routing,
) -> json.JsonObject:
    """Return the entry with its variant's cookie in its answers, if there is one."""
    which = how.variant(entry)
    cookie = given.get(which, "") if which is not None else ""
    if not cookie:
        return entry
    headers = objects.mapping(entry, "headers")
    response = objects.mapping(headers, "response")
    made = {**objects.mapping(response, "add"), chosen_requests.SET: cookie}
    return {**entry, "headers": {**headers, "response": {**response, "add": made}}}


def _without_cookie(entry: json.JsonObject) -> json.JsonObject:
    told = objects.mapping(entry, "headers", "response", "add")
    if not chosen_requests.is_ours(objects.text(told, chosen_requests.SET)):
        return entry
    rest = {key: value for key, value in told.items() if key != chosen_requests.SET}
    headers = objects.mapping(entry, "headers")
    response = _with(objects.mapping(headers, "response"), "add", rest)
    return _with(entry, "headers", _with(headers, "response", response))


def _with(body: json.JsonObject, field: str, value: json.JsonObject) -> json.JsonObject:
    rest = {key: content for key, content in body.items() if key != field}
    return {**rest, field: value} if value else rest


def _is_our_mirror(route: json.JsonObject, how: virtual_services.Routing) -> bool:
    return how.variant({"destination": objects.mapping(route, "mirror")}) is _Variant.CANARY
