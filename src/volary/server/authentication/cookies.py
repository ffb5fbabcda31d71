"""Cookies: what they are called, and that no script and no other site gets at them.

With https their names begin with ``__Host-``: browsers then take them from this host only, for all
of it, and only over https. On plain http, which only this machine itself speaks, they cannot, and
have the port in their names: browsers do not keep the cookies of two ports apart.
"""

from dataclasses import dataclass
from datetime import timedelta
from urllib import parse

from starlette import requests, responses

from volary.model import addresses, server_settings


@dataclass(frozen=True, slots=True)
class Cookie:
    """One cookie of this server."""

    name: str
    is_secure: bool

    def read(self, request: requests.HTTPConnection) -> str:
        """Return what a browser sent; empty: nothing."""
        return request.cookies.get(self.name, "")

    def set(self, answer: responses.Response, value: str, lifetime: timedelta) -> None:
        """Have the browser keep a value."""
        answer.set_cookie(
            self.name,
            value,
            max_age=int(lifetime.total_seconds()),
            path="/",
            secure=self.is_secure,
            httponly=True,
            samesite="lax",
        )

    def clear(self, answer: responses.Response) -> None:
        """Have the browser forget it."""
        answer.delete_cookie(
            self.name, path="/", secure=self.is_secure, httponly=True, samesite="lax"
        )


@dataclass(frozen=True, slots=True)
class Cookies:
    """The cookies of a server."""

    #: Who is logged in.
    session: Cookie
    #: A login that has begun at the issuer.
    attempt: Cookie
    #: Whether there are logins in the browser: over plain http they would be read on their way.
    is_possible: bool


def of(settings: server_settings.Settings) -> Cookies:
    """Return the cookies that the settings ask for."""
    is_secure = settings.tls is not None or settings.url.startswith("https:")
    port = parse.urlsplit(settings.url).port or settings.port
    before, after = ("__Host-", "") if is_secure else ("", f"-{port}")
    return Cookies(
        Cookie(f"{before}volary-session{after}", is_secure),
        Cookie(f"{before}volary-login{after}", is_secure),
        is_possible=is_secure or addresses.is_loopback(settings.host),
    )
