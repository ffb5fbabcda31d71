"""Writes that a browser sends with its cookie: only those that our own pages sent. Pure."""

import hmac
from collections.abc import Mapping

#: Has the CSRF token of the session (`GET /api/v1/session`).
HEADER = "x-csrf-token"
#: Methods that change nothing.
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def comes_from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Say whether a browser says that another site sent a request.

    Browsers that say nothing are left to the token, and to the check of ``Origin``.
    """
    return headers.get("sec-fetch-site", "same-origin") != "same-origin"


def is_refused(method: str, headers: Mapping[str, str], token: str) -> bool:
    """Say whether a request that comes with a cookie is not carried out.

    Args:
        method: Of HTTP.
        headers: With names in lower case.
        token: That of the session.
    """
    if method in SAFE:
        return False
    shown = headers.get(HEADER, "").encode("utf-8", "replace")
    return comes_from_elsewhere(headers) or not hmac.compare_digest(shown, token.encode())
