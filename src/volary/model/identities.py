"""Names of people: each says by its beginning who vouches for it.

So an issuer cannot give anybody the name of an API token, nor a token's maker that of a person.
"""

from collections.abc import Iterable

#: People of the issuer, and API tokens.
PERSON_PREFIX, TOKEN_PREFIX = "oidc:", "token:"
#: Agents beside clusters: they are nobody's role.
AGENT_PREFIX = "agent:"
#: Whoever is on the server's machine, while that asks for no credentials.
LOCAL = "local"


def says_source(name: str) -> bool:
    """Say whether a name says who vouches for it."""
    return name == LOCAL or name.startswith((PERSON_PREFIX, TOKEN_PREFIX))


def is_among(name: str, names: Iterable[str]) -> bool:
    """Say whether somebody is one of those an application names.

    A name there that does not say who vouches for it, as PipeCD's do not, is that of a person of
    the issuer; or somebody's own, where `volary run` has no server.
    """
    return any(
        name == known or (not says_source(known) and name == f"{PERSON_PREFIX}{known}")
        for known in names
    )
