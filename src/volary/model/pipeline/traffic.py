"""Which requests are meant: matches for A/B tests, and cookies that keep a user's variant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from volary.model import options


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
    """Cookies that keep a user with the variant of the first answer."""

    cookie_name: Annotated[options.Text, options.Option("Cookie of users that canary served.")]
    #: Empty: users of primary may be moved to the new version.
    primary_cookie_name: str = options.option(
        "Cookie of users that primary served, for one interval.", ""
    )
    max_age: int = options.option("Seconds that canary's cookie lives.", 86400, least=1)
    domain: str = options.option("Attribute of the cookie.", "")
    #: Without it a browser keeps the cookie for the directory of one page only.
    path: str = options.option("Attribute of the cookie; empty: there is none.", "/")
    http_only: bool = options.option("Attribute of the cookie.", False)
    secure: bool = options.option("Attribute of the cookie.", False)
    partitioned: bool = options.option("Attribute of the cookie.", False)
    same_site: SameSite | None = options.option("Attribute of the cookie.", None)
