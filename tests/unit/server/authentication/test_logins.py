import asyncio
import contextlib
import json
import time
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

import server_world
from volary.config.server import settings_files
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
    async with looking(mint.settings()) as issuer:
        for name, token in bad.items():
            try:
                await issuer.claims(token)
            except issuers.RefusedError:
                continue
            believed.append(name)
        good = await issuer.claims(mint.token())

    assert believed == []
    assert good["sub"] == "ana"


@contextlib.asynccontextmanager
async def looking(settings: server_settings.Oidc) -> AsyncIterator[issuers.Issuer]:
    """An issuer whose keys are looked for beside the block."""
    issuer = issuers.Issuer(settings)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(issuer.keep_looking())
        yield issuer
        task.cancel()


def private_key(algorithm: str) -> Any:
    """Make a key as the algorithm has it."""
    curves = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
    if algorithm in curves:
        return ec.generate_private_key(curves[algorithm]())
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_document(key: Any) -> dict[str, Any]:
    kinds: list[tuple[type, Any]] = [
        (rsa.RSAPublicKey, jwt.algorithms.RSAAlgorithm),
        (ec.EllipticCurvePublicKey, jwt.algorithms.ECAlgorithm),
        (ed25519.Ed25519PublicKey, jwt.algorithms.OKPAlgorithm),
    ]
    public = key.public_key()
    made = next(algorithm for kind, algorithm in kinds if isinstance(public, kind))
    return dict(json.loads(made.to_jwk(public)))


@pytest.mark.parametrize("says_algorithm", [True, False], ids=["with alg", "without alg"])
@pytest.mark.parametrize("algorithm", sorted(issuers.ALGORITHMS))
async def test_every_algorithm_that_can_be_written_is_believed(
    tmp_path: Path, algorithm: str, says_algorithm: bool
) -> None:
    """With a real key, and one that signs by any other algorithm of that kind is refused."""
    mint, key = Mint(tmp_path), private_key(algorithm)
    document = {**public_document(key), "kid": "real", "use": "sig"}
    if says_algorithm:
        document["alg"] = algorithm
    mint.file.write_text(json.dumps({"keys": [document, {**document, "kid": "enc", "use": "enc"}]}))
    said = f"auth: {{oidc: {{issuer: https://i, audience: a, algorithms: [{algorithm}]}}}}"
    shortest = (
        "apiVersion: volary.dev/v1\nkind: Controller\nfleet: f\n"
        "repositories: [{name: a, url: https://git.example/a.git}]\n"
    )
    written = settings_files.parse(shortest + said, file="c.yaml").require()
    assert written.auth.oidc is not None

    async with looking(mint.settings(algorithms=written.auth.oidc.algorithms)) as issuer:
        claims = await issuer.claims(mint.token(key, alg=algorithm, kid="real"))
        refused = []
        for other in ("RS256", "RS384", "PS512", "ES256", "ES384", "EdDSA"):
            if other != algorithm:
                token = mint.token(private_key(other), alg=other, kid="real")
                with pytest.raises(issuers.RefusedError):
                    await issuer.claims(token)
                refused.append(other)
        with pytest.raises(issuers.RefusedError):
            await issuer.claims(mint.token(key, alg=algorithm, kid="enc"))

    assert claims["sub"] == "ana"
    assert refused


async def test_keys_that_must_not_prove_anything_do_not(tmp_path: Path) -> None:
    mint = Mint(tmp_path)
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    curve = ec.generate_private_key(ec.SECP384R1())
    documents = [
        {**public_document(mint.key), "kid": "one", "alg": "RS256"},
        {**public_document(short), "kid": "short"},
        {**public_document(curve), "kid": "curve"},
        {"kty": "oct", "kid": "shared", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ1"},
        {"kty": "RSA", "kid": "broken"},
    ]
    mint.file.write_text(json.dumps({"keys": documents}))
    algorithms = ("RS256", "RS512", "ES256", "ES384")
    async with looking(mint.settings(algorithms=algorithms)) as issuer:
        assert (await issuer.claims(mint.token()))["sub"] == "ana"
        assert (await issuer.claims(mint.token(curve, alg="ES384", kid="curve")))["sub"] == "ana"
        bad = [
            mint.token(alg="RS512"),  # the key says that it is for RS256
            mint.token(ec.generate_private_key(ec.SECP256R1()), alg="ES256", kid="curve"),
            mint.token(kid="broken"),
            mint.token(kid="shared"),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jwt.warnings.InsecureKeyLengthWarning)
            bad.append(mint.token(short, kid="short"))
            for token in bad:
                with pytest.raises(issuers.RefusedError):
                    await issuer.claims(token)


@pytest.mark.parametrize("algorithms", [("HS256",), ("none",), ("RS256", "HS512"), ()])
def test_weak_algorithms_cannot_be_configured(algorithms: tuple[str, ...]) -> None:
    with pytest.raises(errors.UserError, match="cannot be allowed"):
        issuers.Issuer(server_settings.Oidc(ISSUER, AUDIENCE, algorithms=algorithms))


async def test_a_person_of_the_issuer_cannot_take_the_name_of_an_api_token(
    tmp_path: Path,
) -> None:
    mint = Mint(tmp_path)
    admin = server_settings.Role.ADMIN
    roles = (
        server_settings.RoleBinding(admin, subject="token:ci"),
        server_settings.RoleBinding(admin, subject="local"),
        server_settings.RoleBinding(server_settings.Role.VIEWER, subject="oidc:ana"),
    )
    auth = server_settings.Auth(mint.settings())
    async with server_world.served(tmp_path, auth=auth, roles=roles) as world:
        world.token("admin", "ci")
        seen = {}
        for subject in ("token:ci", "local", "ana", "a\nb", "x" * 300):
            header = {"authorization": f"Bearer {mint.token(sub=subject, groups=[])}"}
            seen[subject[:8]] = (await world.ask("GET", "/api/v1/audit", headers=header))[0]
            status, said = await world.ask("GET", "/api/v1/whoami", headers=header)
            seen[subject[:8] + " is"] = said["name"] if status == 200 else status

    assert seen == {
        "token:ci": 403,
        "token:ci is": "oidc:token:ci",
        "local": 403,
        "local is": "oidc:local",
        "ana": 403,
        "ana is": "oidc:ana",
        "a\nb": 401,
        "a\nb is": 401,
        "xxxxxxxx": 401,
        "xxxxxxxx is": 401,
    }


async def test_where_nothing_is_written_the_server_starts_closed(tmp_path: Path) -> None:
    required = server_settings.Authentication.REQUIRED
    async with server_world.served(tmp_path, authentication=required) as world:
        health = [(await world.ask("GET", path))[0] for path in ("/healthz", "/readyz")]
        closed = [
            await world.ask(method, path)
            for method, path in (
                ("GET", "/api/v1/runs"),
                ("GET", "/api/v1/whoami"),
                ("GET", "/metrics"),
                ("GET", "/api/v1/openapi.json"),
                ("POST", "/api/v1/tokens"),
                ("POST", "/api/v1/applications/web/sync"),
            )
        ]
        guessed = {"authorization": "Bearer volary_guess"}
        guess, _ = await world.ask("GET", "/api/v1/runs", headers=guessed)
        admin = world.token("admin")
        opened, _ = await world.ask("GET", "/api/v1/runs", headers=admin)
        _, then = await world.ask("GET", "/api/v1/runs")

    assert health == [200, 200]
    assert {status for status, _ in closed} == {401}
    assert {body["detail"] for _, body in closed} == {logins.CLOSED}
    assert "volary token create NAME --role admin" in logins.CLOSED
    assert (guess, opened) == (401, 200)
    assert then["detail"] == "credentials are needed"


@pytest.mark.parametrize("how", ["deleted", "emptied", "no tokens", "opened", "revoked"])
async def test_a_token_file_that_goes_away_opens_nothing(tmp_path: Path, how: str) -> None:
    file = tmp_path / tokens.FILE_NAME
    async with server_world.served(tmp_path) as world:
        first, _ = await world.ask("GET", "/api/v1/audit")
        admin = world.token("admin", "me")
        fine, _ = await world.ask("GET", "/api/v1/audit", headers=admin)
        match how:
            case "deleted":
                file.unlink()
            case "emptied":
                file.write_bytes(b"")
            case "no tokens":
                file.write_text('{"version": 1, "tokens": []}')
            case "opened":
                file.chmod(0o640)
            case "revoked":
                world.tokens.revoke("me", now=world.clock.now())
        nobody, _ = await world.ask("GET", "/api/v1/audit")
        before, _ = await world.ask("GET", "/api/v1/audit", headers=admin)
        again, _ = await world.ask("GET", "/healthz", headers={"host": "evil.example"})

    assert (first, fine, nobody) == (200, 200, 401)
    assert before == (503 if how in ("emptied", "opened") else 401)
    assert again == 200, "what asks for credentials answers to any name"


async def test_a_file_that_is_closed_again_opens_what_it_did(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / tokens.FILE_NAME
    async with server_world.served(tmp_path) as world:
        admin = world.token("admin")
        seen = []
        for mode in (0o604, 0o660, 0o600):
            file.chmod(mode)
            seen += [(await world.ask("GET", "/api/v1/runs", headers=admin)) for _ in range(3)]

    assert [status for status, _ in seen] == [503] * 6 + [200] * 3
    assert str(tmp_path) not in str(seen), "who has no valid token is told no path"
    complaints = [text for text in caplog.messages if "can be read by others" in text]
    assert len(complaints) == 1
    assert "chmod 600" in complaints[0]


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-For: 127.0.0.1",
        "X-Forwarded-Host: localhost",
        "Forwarded: for=127.0.0.1",
        "X-Real-IP: 127.0.0.1",
        "Via: 1.1 proxy",
    ],
)
async def test_what_a_proxy_passes_on_is_not_from_this_machine(tmp_path: Path, header: str) -> None:
    name, _, value = header.partition(": ")
    required = server_settings.Authentication.REQUIRED
    async with server_world.served(tmp_path) as world:
        direct, _ = await world.ask("GET", "/api/v1/runs")
        passed, said = await world.ask("GET", "/api/v1/runs", headers={name: value})
        admin = world.token("admin")
        fine, _ = await world.ask("GET", "/api/v1/runs", headers={**admin, name: value})
    async with server_world.served(tmp_path / "other", authentication=required) as world:
        never, _ = await world.ask("GET", "/api/v1/runs", headers={name: value})

    assert (direct, passed, fine, never) == (200, 401, 200, 401)
    assert "through a proxy" in said["detail"]


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
        disguised, _ = await world.ask(
            "GET", "/healthz", headers={"host": "127.0.0.1.evil.example"}
        )
        fine, _ = await world.ask("GET", "/healthz", headers={"host": "localhost:1"})

    assert (bound, foreign, disguised, fine) == (421, 403, 421, 200)


def test_other_machines_are_not_answered_without_credentials(tmp_path: Path) -> None:
    settings = server_settings.Settings(
        "f",
        str(tmp_path),
        "memory:",
        host="0.0.0.0",
        authentication=server_settings.Authentication.NONE,
    )
    clock = server_world.fixed_clock.FixedClock()

    assert not logins.open_authenticator(settings, tokens.TokenFile(tmp_path), clock).is_open


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
        valid, _ = await world.ask("GET", "/api/v1/runs", headers=admin)
        nobody, _ = await world.ask("GET", "/api/v1/runs")
        world.clock.forward(seconds=61)
        later, _ = await world.ask("GET", "/api/v1/runs", headers=wrong)

    assert statuses == [401] * 10 + [429] * 2
    assert valid == 200, "who fails shuts nobody else of the same address out"
    assert nobody == 401
    assert later == 401


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

    assert {(status, body["detail"]) for status, body in answers} == {
        (403, "oidc:ana has no role here")
    }


def test_guesses_from_a_network_of_ipv6_are_those_of_one() -> None:
    failed, now = logins.FailedLogins(), server_world.fixed_clock.FixedClock().now()

    waits = [failed.count(f"2001:db8:1:2::{host:x}", now) for host in range(11)]

    assert [bool(wait) for wait in waits] == [False] * 10 + [True]
    assert not failed.count("2001:db8:1:3::1", now), "another network"
    assert [bool(failed.count(f"192.0.2.{host}", now)) for host in range(20)] == [False] * 20


def test_of_several_servers_each_allows_its_share_of_failures() -> None:
    failed, now = logins.FailedLogins(lambda: 3), server_world.fixed_clock.FixedClock().now()

    waits = [failed.count("192.0.2.1", now) for _ in range(5)]

    assert [bool(wait) for wait in waits] == [False] * 3 + [True] * 2
    assert failed.wait("192.0.2.1", now)
    assert not failed.wait("192.0.2.1", now + logins.WINDOW)


def test_nobody_is_held_up_for_others_behind_the_same_balancer() -> None:
    failed = logins.FailedLogins(proxies=("10.0.0.0/8",))
    now = server_world.fixed_clock.FixedClock().now()

    waits = [failed.count("10.1.2.3", now) for _ in range(20)]

    assert not any(waits)
    assert not failed.wait("10.1.2.3", now)


async def test_no_token_is_believed_while_it_may_have_been_revoked_elsewhere(
    tmp_path: Path,
) -> None:
    async with server_world.served(tmp_path) as world:
        authorization = world.token("viewer")
        before, _ = await world.ask("GET", "/api/v1/whoami", headers=authorization)
        is_current = False
        authenticator = world.application.state.server_state.authenticator
        authenticator.are_tokens_current = lambda: is_current
        during, problem = await world.ask("GET", "/api/v1/whoami", headers=authorization)
        is_current = True
        after, _ = await world.ask("GET", "/api/v1/whoami", headers=authorization)

    assert (before, during, after) == (200, 503, 200)
    assert "which are revoked" in problem["detail"]
