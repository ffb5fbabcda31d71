"""Rules of an HTTPRoute or a GRPCRoute: what a division adds to them, and taking it out.

The rules for the requests of an A/B test and of users with a cookie are copies of a rule of
the user with narrower matches. Which they are is remembered by a digest of their matches in
an annotation, so it survives whatever else is done to the route.
"""

import hashlib
import json as json_text
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.services import backends
from volary.model import errors, json
from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division
from volary.stages.traffic.routers import chosen_requests, entries

#: Digests of the rules that a division added.
ANNOTATION = "volary.dev/added-rules"
_MIRROR = "RequestMirror"
_RESPONSE = "ResponseHeaderModifier"
_ALL = division.ALL
_EVERY_PATH = {"type": "PathPrefix", "value": "/"}
_Variant = variant.Variant


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a route as they are."""

    items: Sequence[json.JsonObject]
    added: frozenset[str]

    def is_added(self, rule: json.JsonObject) -> bool:
        """Say whether a division added the rule."""
        return digest(rule) in self.added

    @property
    def plain(self) -> list[json.JsonObject]:
        """The rules that no division added."""
        return [rule for rule in self.items if not self.is_added(rule)]


def of(body: json.JsonObject) -> Rules:
    """Return the rules of a route."""
    noted = objects.text(body, "metadata", "annotations", ANNOTATION)
    return Rules(
        list(objects.mappings(body, "spec", "rules")), frozenset(filter(None, noted.split(",")))
    )


def backends_of(rule: json.JsonObject, known: backends.Backends) -> entries.Entries:
    """Return the backends of a rule, for arithmetic."""
    return entries.Entries(list(objects.mappings(rule, "backendRefs")), known, entries.REFERENCES)


def digest(rule: json.JsonObject) -> str:
    """Return what tells a rule by its matches, however the API server completes them."""
    matches = [_plain_match(match) for match in objects.mappings(rule, "matches")]
    text = json_text.dumps(matches, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain_match(match: json.JsonObject) -> json.JsonObject:
    path = objects.mapping(match, "path")
    plain: json.JsonObject = {
        "path": [objects.text(path, "type") or "PathPrefix", objects.text(path, "value") or "/"],
        "method": match.get("method"),
    }
    for field in ("headers", "queryParams"):
        plain[field] = [
            [
                objects.text(condition, "name").lower(),
                objects.text(condition, "type") or "Exact",
                objects.text(condition, "value"),
            ]
            for condition in objects.mappings(match, field)
        ]
    return plain


def copies(rule: json.JsonObject, known: backends.Backends) -> int:
    """Return the percentage of a rule's requests that canary gets a copy of."""
    for route_filter in objects.mappings(rule, "filters"):
        if _is_our_mirror(route_filter, known):
            return objects.number(route_filter, "requestMirror", "percent", default=_ALL)
    return 0


def stripped(rule: json.JsonObject, known: backends.Backends) -> json.JsonObject:
    """Return a rule without the mirror and the cookies of an earlier division."""
    filters = objects.sequence(rule, "filters")
    kept = [route_filter for route_filter in filters if not _is_our_mirror(route_filter, known)]
    result = _with(rule, "filters", filters, kept)
    references = objects.sequence(rule, "backendRefs")
    plain = [_without_cookies(reference) for reference in references]
    return {**result, "backendRefs": plain} if plain != references else result


def divided(
    rule: json.JsonObject,
    wanted: division.Division,
    known: backends.Backends,
    *,
    paths: bool,
) -> tuple[list[json.JsonObject], json.JsonObject]:
    """Return the rules to add before a stripped rule, and the rule with its new weights.

    Args:
        rule: A rule that leads to the application.
        wanted: How its traffic should be divided.
        known: The variants' Services.
        paths: The route is about paths (HTTP), so a match without one means every path.

    Raises:
        UserError: when the rule looks at something itself that is to be looked at.
    """
    added = [_narrowed(rule, chosen, known, paths=paths) for chosen in chosen_requests.of(wanted)]
    weighted = {**rule, "backendRefs": backends_of(rule, known).divided(wanted.shares)}
    if wanted.mirror:
        weighted = _mirrored(weighted, wanted, known)
    return added, _giving(weighted, chosen_requests.cookies(wanted), known)


def _narrowed(
    rule: json.JsonObject,
    chosen: chosen_requests.ChosenRequests,
    known: backends.Backends,
    *,
    paths: bool,
) -> json.JsonObject:
    """Return the rule for those of its requests that are chosen, all to one variant."""
    matches = list(objects.mappings(rule, "matches")) or [{}]
    unnamed = {key: value for key, value in rule.items() if key != "name"}
    narrowed = {
        **unnamed,
        "matches": [_match(match, chosen, paths=paths) for match in matches],
        "backendRefs": [backends_of(rule, known).single(chosen.variant)],
    }
    return _giving(narrowed, {chosen.variant: chosen.cookie}, known)


def _match(
    match: json.JsonObject, chosen: chosen_requests.ChosenRequests, *, paths: bool
) -> json.JsonObject:
    result = dict(match)
    if paths:
        result.setdefault("path", dict(_EVERY_PATH))
    for field, wanted in (("headers", chosen.headers), ("queryParams", chosen.query)):
        if not wanted:
            continue
        own = list(objects.mappings(match, field))
        names = {objects.text(condition, "name").lower() for condition in own}
        for name in wanted:
            if name.lower() in names:
                raise errors.user_error(
                    f"a rule of the route looks at {name} itself, so users cannot be told apart"
                    " by it",
                    hint="name the rules that may be changed in editableRoutes",
                )
        result[field] = own + [_test(name, text_match) for name, text_match in wanted.items()]
    return result


def _test(name: str, match: traffic.TextMatch) -> json.JsonObject:
    if match.kind is traffic.MatchKind.EXACT:
        return {"name": name, "type": "Exact", "value": match.value}
    whole = match.kind is traffic.MatchKind.REGEX
    value = match.value if whole else f"^{chosen_requests.regex(match, any_text='.*')}$"
    return {"name": name, "type": "RegularExpression", "value": value}


def _mirrored(
    rule: json.JsonObject, wanted: division.Division, known: backends.Backends
) -> json.JsonObject:
    model = backends_of(rule, known).single(_Variant.CANARY)
    target = {key: value for key, value in model.items() if key not in ("weight", "filters")}
    told: json.JsonObject = {"backendRef": target}
    if wanted.mirror < _ALL:
        told["percent"] = wanted.mirror
    made = {"type": _MIRROR, "requestMirror": told}
    return {**rule, "filters": [*objects.sequence(rule, "filters"), made]}


def _giving(
    rule: json.JsonObject, cookies: Mapping[variant.Variant, str], known: backends.Backends
) -> json.JsonObject:
    """Return the rule with cookies in the answers of variants."""
    references: list[json.JsonObject] = []
    for reference in objects.mappings(rule, "backendRefs"):
        which = known.variant(entries.service_name(reference))
        cookie = cookies.get(which, "") if which is not None else ""
        references.append(_with_cookie(reference, cookie) if cookie else reference)
    return {**rule, "backendRefs": references}


def _with_cookie(reference: json.JsonObject, value: str) -> json.JsonObject:
    filters = list(objects.mappings(reference, "filters"))
    made = {"name": chosen_requests.SET, "value": value}
    for position, route_filter in enumerate(filters):
        if objects.text(route_filter, "type") == _RESPONSE:
            told = objects.mapping(route_filter, "responseHeaderModifier")
            own = objects.sequence(told, "add")
            if any(objects.text(one, "name").lower() == chosen_requests.SET.lower() for one in own):
                raise errors.user_error(
                    f"the backend {entries.service_name(reference)} sets a cookie by a filter of"
                    " its own",
                    hint="leave sessionAffinity out, or the filter",
                )
            changed = {**route_filter, "responseHeaderModifier": {**told, "add": [*own, made]}}
            return {
                **reference,
                "filters": [*filters[:position], changed, *filters[position + 1 :]],
            }
    filters.append({"type": _RESPONSE, "responseHeaderModifier": {"add": [made]}})
    return {**reference, "filters": filters}


def _without_cookies(reference: json.JsonObject) -> json.JsonObject:
    filters = objects.sequence(reference, "filters")
    kept = [
        remaining for route_filter in filters if (remaining := _without_our_cookie(route_filter))
    ]
    return _with(reference, "filters", filters, kept)


def _without_our_cookie(route_filter: json.JsonObject) -> json.JsonObject | None:
    """Return a filter without our cookie; None when nothing else is in it."""
    told = objects.mapping(route_filter, "responseHeaderModifier")
    own = objects.sequence(told, "add")
    kept = [one for one in own if not chosen_requests.is_ours(objects.text(one, "value"))]
    if kept == own:
        return route_filter
    rest = {key: value for key, value in told.items() if key != "add"}
    if kept:
        rest["add"] = kept
    return {**route_filter, "responseHeaderModifier": rest} if rest else None


def _with(
    body: json.JsonObject, field: str, before: list[object], after: Sequence[object]
) -> json.JsonObject:
    """Return `body` with another list in a field, without the field when that is empty."""
    if before == after:
        return body
    rest = {key: value for key, value in body.items() if key != field}
    return {**rest, field: list(after)} if after else rest


def _is_our_mirror(route_filter: json.JsonObject, known: backends.Backends) -> bool:
    target = objects.mapping(route_filter, "requestMirror", "backendRef")
    return (
        objects.text(route_filter, "type") == _MIRROR
        and entries.service_name(target) == known.canary
    )
