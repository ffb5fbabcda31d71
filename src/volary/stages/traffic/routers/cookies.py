"""Cookies that keep users with their variant, and how they are found in requests again.

Values carry a mark, so that what an earlier division added to a route is known as such.
"""

import re

from volary.model.pipeline import traffic
from volary.stages.traffic import division

HEADER = "Cookie"
SET = "Set-Cookie"
_MARK = "volary-"
_OURS = re.compile(rf"[^=;\s]+={_MARK}[a-z]*(?:;.*)?")
_SPECIAL = re.compile(r"([.+*?()|\[\]{}^$\\])")


def for_canary(wanted: division.Division, affinity: traffic.SessionAffinity) -> str:
    """Return the header's value that lets a user stay with canary."""
    value = _pair(affinity.cookie_name, wanted.token)
    return value + _attributes(affinity, affinity.max_age)


def for_primary(wanted: division.Division, affinity: traffic.SessionAffinity) -> str:
    """Return the header's value that lets a user stay with primary for an interval."""
    value = _pair(affinity.primary_cookie_name, wanted.token)
    return value + _attributes(affinity, int(wanted.interval.total_seconds()))


def expired(wanted: division.Division, affinity: traffic.SessionAffinity) -> str:
    """Return the header's value that takes canary's cookie back."""
    return _pair(affinity.cookie_name, wanted.token) + _attributes(affinity, -1)


def is_ours(value: str) -> bool:
    """Say whether a Set-Cookie header was added by a division."""
    return _OURS.fullmatch(value) is not None


def stays(name: str, wanted: division.Division) -> traffic.TextMatch:
    """Return what the cookie header of a user looks like who has a cookie of this release."""
    return among(name, traffic.TextMatch(f"{_MARK}{wanted.token}"))


def header(match: traffic.RequestMatch) -> dict[str, traffic.TextMatch]:
    """Return what the cookie header of a fitting request looks like; empty without cookies.

    Routers can look at a header once, so at one cookie.
    """
    patterns = [among(name, text_match) for name, text_match in match.cookies.items()]
    return {HEADER: patterns[0]} if patterns else {}


def among(name: str, match: traffic.TextMatch) -> traffic.TextMatch:
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


def _pair(name: str, token: str) -> str:
    return f"{name}={_MARK}{token}"


def _attributes(affinity: traffic.SessionAffinity, age: int) -> str:
    parts = [f"Max-Age={age}"]
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
    return "".join(f"; {part}" for part in parts)
