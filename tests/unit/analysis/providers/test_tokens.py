"""A token that has to be asked for before a system can be: for a key, or for the machine."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib import parse

import aiohttp.web
import jwt
import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import scripted_server
from volary.analysis.providers import provider_pool, query
from volary.config.fleet import fleet_files
from volary.controller import system_clock
from volary.model import analysis, metric_providers

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
).decode()
CLOCK = system_clock.SystemClock()
POINT = {"values": [{"doubleValue": 0.5}]}
ANSWER = {"timeSeriesData": [{"pointData": [POINT]}]}


class Google:
    """Grants tokens as Google documents it, and answers whoever shows the newest one."""

    def __init__(self, server: scripted_server.ScriptedServer) -> None:
        self.server = server
        self.granted = 0
        self.lifetime = 3599
        self.grants: list[scripted_server.Asked] = []
        server.handler = self.handle

    async def handle(self, asked: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        if asked.path.startswith("/v3/"):
            is_known = asked.headers["Authorization"] == f"Bearer token-{self.granted}"
            error = {"error": {"code": 401, "message": "invalid authentication credentials"}}
            return (
                scripted_server.answer(ANSWER) if is_known else scripted_server.answer(error, 401)
            )
        self.grants.append(asked)
        if refusal := self._refusal(asked):
            description = {"error": "invalid_grant", "error_description": refusal}
            return scripted_server.answer(description, 400)
        self.granted += 1
        token = {"access_token": f"token-{self.granted}", "token_type": "Bearer"}
        return scripted_server.answer({**token, "expires_in": self.lifetime})

    def _refusal(self, asked: scripted_server.Asked) -> str:
        if asked.path != "/token":
            is_google = asked.headers.get("Metadata-Flavor") == "Google"
            return "" if is_google and asked.method == "GET" else "Missing Metadata-Flavor header."
        form = dict(parse.parse_qsl(asked.body.decode()))
        if form["grant_type"] != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return "unsupported"
        try:
            claims = jwt.decode(
                form["assertion"],
                KEY.public_key(),
                algorithms=["RS256"],
                audience=f"{self.server.url}/token",
                options={"require": ["exp", "iat", "iss"]},
            )
        except jwt.InvalidTokenError:
            return "Invalid JWT Signature."
        is_right = claims["scope"] == "https://www.googleapis.com/auth/monitoring.read"
        return "" if is_right and claims["iss"] == "volary@shop.example" else "wrong claims"


@pytest.fixture
async def google() -> AsyncIterator[Google]:
    async with scripted_server.serve() as server:
        yield Google(server)


def write_key(directory: Path, google: Google, **changed: object) -> str:
    document = {
        "type": "service_account",
        "project_id": "shop-123456",
        "private_key_id": "k1",
        "private_key": PEM,
        "client_email": "volary@shop.example",
        "token_uri": f"{google.server.url}/token",
        **changed,
    }
    path = directory / "key.json"
    path.write_text(json.dumps(document, indent=2))
    return str(path)


def provider(google: Google, **config: Any) -> metric_providers.Provider:
    given = {"project": "shop-123456", "address": google.server.url, "share": "0s", **config}
    entry = {"name": "metrics", "type": "stackdriver", "config": given}
    text = yaml.safe_dump(
        {"kind": "Fleet", "clusters": [{"name": "us"}], "analysisProviders": [entry]}
    )
    return fleet_files.parse(text, file="fleet.yaml").require().providers[0]


def asked(text: str = "fetch x") -> query.Query:
    return query.Query(text, CLOCK.now(), timedelta(minutes=1), timeout=timedelta(seconds=30))


async def measure(
    one: metric_providers.Provider, *rounds: int, learned: list[str] | None = None
) -> list[query.Answer]:
    """Ask so many questions at one time, round after round."""
    known = [] if learned is None else learned
    found: list[query.Answer] = []
    async with provider_pool.open_providers([one], clock=CLOCK, learn=known.append) as providers:
        for i, count in enumerate(rounds):
            questions = (providers.measure(asked(f"fetch x{i}-{j}")) for j in range(count))
            found += await asyncio.gather(*questions)
    return found


async def test_a_key_is_shown_once_for_all_questions(google: Google, tmp_path: Path) -> None:
    key, learned = write_key(tmp_path, google), list[str]()
    found = await measure(provider(google, serviceAccountKeyFile=key), 5, 5, learned=learned)

    assert [answer.values for answer in found] == [(0.5,)] * 10
    assert len(google.grants) == 1
    [assertion] = [dict(parse.parse_qsl(google.grants[0].body.decode()))["assertion"]]
    assert jwt.get_unverified_header(assertion)["kid"] == "k1"
    assert "token-1" in learned


async def test_a_token_that_is_over_or_refused_is_replaced(google: Google, tmp_path: Path) -> None:
    one = provider(google, serviceAccountKeyFile=write_key(tmp_path, google))
    google.lifetime = 30
    short = await measure(one, 1, 1)
    google.lifetime = 3599
    async with provider_pool.open_providers([one], clock=CLOCK) as providers:
        first = await providers.measure(asked("a"))
        google.granted += 1  # somebody revoked it
        refused = await providers.measure(asked("b"))
        last = await providers.measure(asked("c"))

    assert [answer.values for answer in short] == [(0.5,)] * 2
    assert first.values == last.values == (0.5,)
    assert refused.message.startswith("metrics refused the credentials (answered 401: invalid")
    assert len(google.grants) == 4


async def test_the_machine_has_an_identity_of_its_own(google: Google) -> None:
    [answer] = await measure(provider(google, metadataAddress=google.server.url), 1)

    assert answer.values == (0.5,)
    path = "/computeMetadata/v1/instance/service-accounts/default/token"
    assert [each.path for each in google.grants] == [path]


async def test_a_given_token_is_taken(google: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOLARY_TEST_TOKEN", "token-0")
    [answer] = await measure(provider(google, tokenEnv="VOLARY_TEST_TOKEN"), 1)

    assert answer.values == (0.5,)
    assert google.grants == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"private_key": "no key"}, "is not asked: the private key of its key is none"),
        ({"client_email": 5}, "is not asked: its key is not that of a service account"),
        ({"token_uri": "file:///etc/passwd"}, "its key is not that of a service account"),
        ({"client_email": "x@y"}, "got no token from 127.0.0.1: it answered 400: wrong claims"),
    ],
)
async def test_a_wrong_key_is_said_and_never_repeated(
    google: Google, tmp_path: Path, changed: dict[str, object], expected: str
) -> None:
    key = write_key(tmp_path, google, **changed)
    [answer] = await measure(provider(google, serviceAccountKeyFile=key), 1)

    assert answer.reading is analysis.Reading.ERROR
    assert expected in answer.message
    assert "PRIVATE" not in answer.message
    assert "no key" not in answer.message


async def test_a_token_endpoint_that_is_busy_is_asked_again(google: Google, tmp_path: Path) -> None:
    one = provider(google, serviceAccountKeyFile=write_key(tmp_path, google))
    google.server.say(scripted_server.answer({}, 503), scripted_server.answer({"token": "other"}))
    async with provider_pool.open_providers([one], clock=CLOCK) as providers:
        refused = await providers.measure(asked("a"))
        good = await providers.measure(asked("b"))

    assert refused.message == "metrics got no token from 127.0.0.1: it was granted no token"
    assert good.values == (0.5,)


async def test_a_key_that_is_not_there_is_said(google: Google, tmp_path: Path) -> None:
    path = str(tmp_path / "gone.json")
    [answer] = await measure(provider(google, serviceAccountKeyFile=path), 1)

    assert (
        answer.message == f"metrics has no secret: {path} cannot be read: no such file or directory"
    )
