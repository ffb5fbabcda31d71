"""Which requests are meant: matches for A/B tests, and cookies that keep a user's variant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum


class MatchKind(StrEnum):
    """How a text is compared."""

    EXACT = "exact"
    PREFIX = "prefix"
    SUFFIX = "suffix"
    REGEX = "regex"


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A text that is looked for in a header, a cookie or a query parameter."""

    value: str
    kind: MatchKind = MatchKind.EXACT


@dataclass(frozen=True, slots=True)
class RequestMatch:
    """Requests that fulfil every one of these; several matches are alternatives."""

    #: By the header's name.
    headers: Mapping[str, TextMatch] = field(default_factory=dict)
    cookies: Mapping[str, TextMatch] = field(default_factory=dict)
    query_parameters: Mapping[str, TextMatch] = field(default_factory=dict)


class SameSite(StrEnum):
    """The cookie attribute of that name."""

    STRICT = "Strict"
    LAX = "Lax"
    NONE = "None"


@dataclass(frozen=True, slots=True)
class SessionAffinity:
    """Cookies by which a user stays with a variant (Flagger: ``sessionAffinity``)."""

    cookie_name: str
    #: Empty: users of primary may be moved to the new version.
    primary_cookie_name: str = ""
    max_age: timedelta = timedelta(days=1)
    domain: str = ""
    path: str = ""
    http_only: bool = False
    secure: bool = False
    partitioned: bool = False
    same_site: SameSite | None = None
