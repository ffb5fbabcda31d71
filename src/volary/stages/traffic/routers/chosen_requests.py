"""Requests that go to one variant whatever the percentages say: A/B tests, users with a cookie.

Cookies keep users with their variant. Their values carry a mark, so that what an earlier
division added to a route is known as such.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division

HEADER = "Cookie"
SET = "Set-Cookie"
_CANARY, _PRIMARY = variant.Variant.CANARY, variant.Variant.PRIMARY
_MARK = "volary-"
_OURS = re.compile(rf"[^=;\s]+={_MARK}[a-z]*(?:;.*)?")
_SPECIAL = re.compile(r"([.+*?()|\[\]{}^$\\])")


@dataclass(frozen=True, slots=True)
class ChosenRequests:
    """Requests by what they look like, and the variant that gets all of them."""

    #: Unlike that of the division's others.
    name: str
    variant: variant.Variant
    #: Cookies are among them, as the header that they come in.
    headers: Mapping[str, traffic.TextMatch]
    query: Mapping[str, traffic.TextMatch] = field(default_factory=dict)
    #: What the answers set; empty: nothing.
    cookie: str = ""


def of(wanted: division.Division) -> list[ChosenRequests]:
    """Return the requests that a division chooses, in the order of looking at them."""
    chosen = [
        ChosenRequests(
            f"match-{position}",
            _CANARY,
            {**match.headers, **_header(match)},
            match.query_parameters,
        )
        for position, match in enumerate(wanted.match, start=1)
    ]
    affinity = wanted.affinity
    if affinity is None:
        return chosen
    stays = {HEADER: _stays(affinity.cookie_name, wanted)}
    if not wanted.canary:
        taken = _cookie(affinity.cookie_name, wanted, affinity, -1)
        return [*chosen, ChosenRequests("canary-cookie", _PRIMARY, stays, cookie=taken)]
    chosen.append(ChosenRequests("canary-cookie", _CANARY, stays))
    if affinity.primary_cookie_name:
        stays = {HEADER: _stays(affinity.primary_cookie_name, wanted)}
        chosen.append(ChosenRequests("primary-cookie", _PRIMARY, stays))
    return chosen


def cookies(wanted: division.Division) -> dict[variant.Variant, str]:
    """Return the cookies that let users stay with the variant that answers them by weight.

    Canary's lives as long as the user says, primary's for an interval.
    """
    affinity = wanted.affinity
    if affinity is None or not wanted.canary:
        return {}
    given = {_CANARY: _cookie(affinity.cookie_name, wanted, affinity, affinity.max_age)}
    if affinity.primary_cookie_name:
        age = int(wanted.interval.total_seconds())
        given[_PRIMARY] = _cookie(affinity.primary_cookie_name, wanted, affinity, age)
    return given


def is_ours(value: str) -> bool:
    """Say whether a Set-Cookie header was added by a division."""
    return _OURS.fullmatch(value) is not None


def _stays(name: str, wanted: division.Division) -> traffic.TextMatch:
    """Return what the cookie header of a user looks like who has a cookie of this release."""
    return _among(name, traffic.TextMatch(f"{_MARK}{wanted.token}"))


def _header(match: traffic.RequestMatch) -> dict[str, traffic.TextMatch]:
    """Return what the cookie header of a fitting request looks like; empty without cookies.

    Routers can look at a header once, so at one cookie.
    """
    patterns = [_among(name, text_match) for name, text_match in match.cookies.items()]
    return {HEADER: patterns[0]} if patterns else {}


def _among(name: str, match: traffic.TextMatch) -> traffic.TextMatch:
    """Return what a header looks like that has a fitting cookie among others.

    It holds for routers that want a part of the header to fit, and for those that want all.
    """
    value = regex(match)
    return traffic.TextMatch(f"^(.*;\\s*)?{escape(name)}={value}(;.*)?$", traffic.MatchKind.REGEX)


def regex(match: traffic.TextMatch, any_text: str = "[^;]*") -> str:
    """Return the regular expression for a match; `any_text` is what may stand beside it."""
    match match.kind:
        case traffic.MatchKind.EXACT:
            return escape(match.value)
        case traffic.MatchKind.PREFIX:
            return f"{escape(match.value)}{any_text}"
        case traffic.MatchKind.SUFFIX:
            return f"{any_text}{escape(match.value)}"
        case traffic.MatchKind.REGEX:
            return f"({match.value})"


def escape(text: str) -> str:
    """Return a text as a regular expression for itself, as every dialect understands it."""
    return _SPECIAL.sub(r"\\\1", text)


def _cookie(
    name: str, wanted: division.Division, affinity: traffic.SessionAffinity, age: int
) -> str:
    """Return the header's value that sets a cookie of this release, or takes it back."""
    parts = [f"{name}={_MARK}{wanted.token}", f"Max-Age={age}"]
    if affinity.domain:
        parts.append(f"Domain={affinity.domain}")
    if affinity.path:
        parts.append(f"Path={affinity.path}")
    for name, is_set in (
        ("HttpOnly", affinity.http_only),
        ("Secure", affinity.secure),
        ("Partitioned", affinity.partitioned),
    ):
        if is_set:
            parts.append(name)
    if affinity.same_site is not None:
        parts.append(f"SameSite={affinity.same_site.value}")
    return "; ".join(parts)
