import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

import server_world
from volary.model import errors, server_settings
from volary.server.authentication import issuers, logins, tokens

ISSUER, AUDIENCE = "https://login.example.org", "volary"


class Mint:
    """An issuer with one RSA key."""

    def __init__(self, directory: Path) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        secret = {
            "kty": "oct",
            "kid": "shared",
            "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ1",
        }
        self.file = directory / "jwks.json"
        self.file.write_text(json.dumps({"keys": [{**public, "kid": "one"}, secret]}))

    def settings(self, **more: Any) -> server_settings.Oidc:
        return server_settings.Oidc(ISSUER, AUDIENCE, jwks_file=str(self.file), **more)

    def token(self, key: Any = None, *, alg: str = "RS256", kid: str = "one", **more: Any) -> str:
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "ana",
            "groups": ["release"],
            "exp": time.time() + 60,
            **more,
        }
        kept = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(
            kept, key if key is not None else self.key, algorithm=alg, headers={"kid": kid}
        )


async def test_people_of_the_issuer_have_the_roles_of_their_groups(tmp_path: Path) -> None:
    mint = Mint(tmp_path)
    roles = (server_settings.RoleBinding(server_settings.Role.DEPLOYER, group="release"),)
    auth = server_settings.Auth(mint.settings())
    async with server_world.served(tmp_path, auth=auth, roles=roles) as world:
        ana = {"authorization": f"Bearer {mint.token()}"}
        fine, _ = await world.ask("POST", "/api/v1/runs/run-web/pause", headers=ana)
        denied, _ = await world.ask("POST", "/api/v1/runs/run-web/approve", headers=ana)
        groupless = {"authorization": f"Bearer {mint.token(groups=[])}"}
        nothing, _ = await world.ask("GET", "/api/v1/runs", headers=groupless)

    assert (fine, denied, nothing) == (409, 403, 403)


async def test_tokens_that_must_not_be_believed_are_not(tmp_path: Path) -> None:
    mint = Mint(tmp_path)
    issuer = issuers.Issuer(mint.settings())
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    shared = "secret-secret-secret-secret-12345"
    bad = {
        "expired": mint.token(exp=time.time() - 120),
        "no end": mint.token(exp=None),
        "another audience": mint.token(aud="other"),
        "another issuer": mint.token(iss="https://evil.example"),
        "nobody": mint.token(sub=None),
        "not yet": mint.token(nbf=time.time() + 600),
        "another key": mint.token(other),
        "an unknown key": mint.token(kid="two"),
        "shared secret": mint.token(shared, alg="HS256", kid="shared"),
        "unsigned": mint.token("", alg="none"),
        "another algorithm": mint.token(ec.generate_private_key(ec.SECP256R1()), alg="ES256"),
        "not allowed": mint.token(alg="PS256"),
        "nonsense": "abc.def.ghi",
        "too long": "a" * 20_000,
    }
    believed = []
    for name, token in bad.items():
        try:
            await issuer.claims(token)
        except issuers.RefusedError:
            continue
        believed.append(name)

    assert believed == []
    assert (await issuer.claims(mint.token()))["sub"] == "ana"


@pytest.mark.parametrize("algorithms", [("HS256",), ("none",), ("RS256", "HS512"), ()])
def test_weak_algorithms_cannot_be_configured(algorithms: tuple[str, ...]) -> None:
    with pytest.raises(errors.UserError, match="cannot be allowed"):
        issuers.Issuer(server_settings.Oidc(ISSUER, AUDIENCE, algorithms=algorithms))


async def test_without_credentials_this_machine_may_do_everything(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        before, _ = await world.ask("GET", "/api/v1/audit")
        world.token("viewer")
        after, _ = await world.ask("GET", "/api/v1/audit")

    assert (before, after) == (200, 401)


async def test_names_of_others_are_not_answered_without_credentials(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        bound, _ = await world.ask("GET", "/healthz", headers={"host": "evil.example:80"})
        foreign, _ = await world.ask(
            "POST", "/api/v1/runs/run-web/pause", headers={"origin": "https://evil.example"}
        )
        fine, _ = await world.ask("GET", "/healthz", headers={"host": "localhost:1"})

    assert (bound, foreign, fine) == (421, 403, 200)


def test_other_machines_are_not_answered_without_credentials(tmp_path: Path) -> None:
    settings = server_settings.Settings("f", str(tmp_path), "memory:", host="0.0.0.0")
    with pytest.raises(errors.UserError, match="needs credentials"):
        logins.open_authenticator(settings, tokens.TokenFile(tmp_path), None)  # type: ignore[arg-type]


async def test_revoked_and_expired_tokens_open_nothing(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        header = world.token("viewer", "ci")
        fine, _ = await world.ask("GET", "/api/v1/runs", headers=header)
        world.tokens.revoke("ci", now=world.clock.now())
        gone, _ = await world.ask("GET", "/api/v1/runs", headers=header)
        nobody, _ = await world.ask("GET", "/api/v1/runs")

    assert (fine, gone, nobody) == (200, 401, 401)


async def test_guessing_has_to_wait(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        admin = world.token("admin")
        wrong = {"authorization": "Bearer volary_guess"}
        statuses = [(await world.ask("GET", "/api/v1/runs", headers=wrong))[0] for _ in range(12)]
        world.clock.forward(seconds=61)
        later, _ = await world.ask("GET", "/api/v1/runs", headers=admin)

    assert statuses == [401] * 10 + [429] * 2
    assert later == 200


def test_only_a_hash_of_a_token_is_kept(tmp_path: Path) -> None:
    kept = tokens.TokenFile(tmp_path)
    now = server_world.fixed_clock.FixedClock().now()
    _, written = kept.create("ci", server_settings.Role.ADMIN, now=now, match_labels={})
    file = tmp_path / tokens.FILE_NAME

    assert written.removeprefix(tokens.PREFIX) not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept.find(written, now) is not None
    assert kept.find(written + "x", now) is None
    with pytest.raises(errors.UserError, match="already"):
        kept.create("ci", server_settings.Role.ADMIN, now=now, match_labels={})


def test_a_file_that_others_can_read_lets_nobody_in(tmp_path: Path) -> None:
    kept = tokens.TokenFile(tmp_path)
    (tmp_path / tokens.FILE_NAME).write_text('{"tokens": []}')
    (tmp_path / tokens.FILE_NAME).chmod(0o644)

    with pytest.raises(errors.UserError, match="can be read by others"):
        kept.all()


async def test_who_has_no_role_cannot_tell_what_exists_from_what_does_not(tmp_path: Path) -> None:
    mint = Mint(tmp_path)
    auth = server_settings.Auth(mint.settings())
    async with server_world.served(tmp_path, auth=auth) as world:
        ana = {"authorization": f"Bearer {mint.token()}"}
        answers = [
            await world.ask(method, f"/api/v1/{path}", headers=ana)
            for method, path in (
                ("GET", "applications/web"),
                ("GET", "applications/nothing"),
                ("GET", "runs/run-web"),
                ("GET", "runs/nothing"),
                ("GET", "applications"),
                ("GET", "audit"),
                ("POST", "applications/web/sync"),
                ("POST", "clusters/us/drain"),
            )
        ]

    assert {(status, body["detail"]) for status, body in answers} == {(403, "ana has no role here")}
