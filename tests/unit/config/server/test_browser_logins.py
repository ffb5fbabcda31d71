"""Settings of logins in the browser."""

from datetime import timedelta

import pytest

from volary.config.server import settings_files
from volary.model import server_settings

SHORTEST = """
apiVersion: volary.dev/v1
kind: Controller
fleet: fleet.yaml
repositories:
  - {name: shop, url: https://git.example/shop.git}
"""
ISSUER = "issuer: https://login.example, audience: volary"


def problems(more: str) -> list[str]:
    found = settings_files.parse(SHORTEST + more, file="c.yaml", directory="/etc/volary")
    return [f"{problem.where} {problem.message}".partition(" ")[2] for problem in found.problems]


def test_a_client_of_an_issuer_is_read() -> None:
    more = f"""
url: https://volary.example.org
ui: false
auth:
  oidc: {{{ISSUER}, clientId: ui, clientSecretFile: secret, scopes: [groups]}}
  sessions: {{idle: 1h, longest: 8h}}
"""
    found = settings_files.parse(SHORTEST + more, file="c.yaml", directory="/etc/volary").require()

    assert (found.url, found.ui) == ("https://volary.example.org", False)
    assert found.auth.oidc == server_settings.Oidc(
        "https://login.example",
        "volary",
        client_id="ui",
        client_secret_file="/etc/volary/secret",
        scopes=("groups",),
    )
    assert found.auth.sessions == server_settings.Sessions(timedelta(hours=1), timedelta(hours=8))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("url: volary.example.org", "is not an http or https address"),
        ("url: ftp://volary.example.org", "is not an http or https address"),
        ("url: http://volary.example.org", "must be an https address"),
        ("url: https://volary.example.org/volary", "must be a host, with a port if need be"),
        ("url: https://ana@volary.example.org", "must be a host, with a port if need be"),
        ("url: https://volary.example.org:x", "is not an address"),
        (f"auth: {{oidc: {{{ISSUER}, clientId: ui}}}}", "needs the address of this server"),
        (f"auth: {{oidc: {{{ISSUER}, clientSecretFile: s}}}}", "is the secret of no client"),
        (f"auth: {{oidc: {{{ISSUER}, clientSecret: s}}}}", "secrets do not belong into this file"),
        (f"auth: {{oidc: {{{ISSUER}, scopes: ['a b']}}}}", "is no scope"),
        ("auth: {sessions: {idle: 1s}}", "must be at least one minute"),
        ("auth: {sessions: {longest: 0s}}", "must be at least one minute"),
    ],
)
def test_what_is_wrong_is_said(more: str, said: str) -> None:
    [problem] = problems(more)

    assert said in problem


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "http://localhost:8080/", "https://[::1]:1"]
)
def test_addresses_that_are_fine(url: str) -> None:
    assert problems(f"url: {url}") == []
