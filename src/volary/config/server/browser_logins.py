"""What is wrong with the settings of logins in the browser."""

from datetime import timedelta
from urllib import parse

from volary.config.decoding import readings
from volary.model import addresses, server_settings

_SHORTEST = timedelta(minutes=1)


def check(reading: readings.Reading, url: str, auth: server_settings.Auth) -> None:
    """Note what is wrong with the server's own address, and with who logs in how."""
    if url and (problem := problem_of(url)):
        hint = "write https://volary.example.org, as people type it"
        reading.error(("url",), problem, hint)
    for name, value in (("idle", auth.sessions.idle), ("longest", auth.sessions.longest)):
        if value < _SHORTEST:
            reading.error(("auth", "sessions", name), "must be at least one minute", "write 12h")
    if auth.oidc is not None:
        _check_client(reading, url, auth.oidc)


def _check_client(reading: readings.Reading, url: str, oidc: server_settings.Oidc) -> None:
    at = ("auth", "oidc")
    if oidc.client_secret_file and not oidc.client_id:
        hint = "write clientId as well, or leave it out"
        reading.error((*at, "clientSecretFile"), "is the secret of no client", hint)
    if oidc.client_id and not url:
        hint = "write url: https://volary.example.org; the issuer sends people back there"
        reading.error((*at, "clientId"), "needs the address of this server (url)", hint)
    for place, scope in enumerate(oidc.scopes):
        if not scope.isascii() or not scope.isprintable() or set(scope) & set(' "\\'):
            reading.error((*at, "scopes", place), "is no scope", "write one word for each")


def problem_of(url: str) -> str:
    """Return why an address cannot be this server's in a browser; empty: it can."""
    try:
        parts = parse.urlsplit(url)
        _, host = parts.port, parts.hostname or ""
    except ValueError:
        return "is not an address"
    if parts.scheme not in ("https", "http") or not host or not url.isprintable():
        return "is not an http or https address"
    if parts.scheme == "http" and not addresses.is_loopback(host):
        return "must be an https address: without it a login is read on its way"
    if parts.username is not None or parts.query or parts.fragment or parts.path not in ("", "/"):
        return "must be a host, with a port if need be, and nothing else"
    return ""
