"""An issuer's keys over HTTP: they rotate, and the issuer is down at times."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec

import process_time
from volary.model import errors, server_settings
from volary.server.authentication import issuers


@dataclass
class Host:
    """An issuer on a socket of this machine."""

    url: str = ""
    keys: dict[str, ec.EllipticCurvePrivateKey] = field(default_factory=dict)
    #: Takes the place of the keys, with this status.
    instead: tuple[int, str] | None = None
    asked: int = 0
    #: Nobody is answered before.
    answers: asyncio.Event | None = None

    def rotate(self, name: str) -> None:
        """Have one key, a new one."""
        self.keys = {name: ec.generate_private_key(ec.SECP256R1())}

    def token(self, name: str, key: ec.EllipticCurvePrivateKey | None = None) -> str:
        claims = {"iss": self.url, "aud": "volary", "sub": "ana", "exp": time.time() + 60}
        signing = key or self.keys[name]
        return jwt.encode(claims, signing, algorithm="ES256", headers={"kid": name})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path.endswith("openid-configuration"):
            return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys"})
        self.asked += 1
        if self.answers is not None:
            await self.answers.wait()
        if self.instead is not None:
            status, text = self.instead
            return web.Response(status=status, text=text)
        made = jwt.algorithms.ECAlgorithm.to_jwk
        documents = [
            {**json.loads(made(key.public_key())), "kid": name} for name, key in self.keys.items()
        ]
        # In two pieces, as networks may deliver it.
        whole = json.dumps({"keys": documents}).encode()
        answer = web.StreamResponse()
        await answer.prepare(request)
        for piece in (whole[:50], whole[50:]):
            await answer.write(piece)
            await asyncio.sleep(0.01)
        return answer


@contextlib.asynccontextmanager
async def hosted() -> AsyncIterator[Host]:
    host = Host()
    app = web.Application()
    app.router.add_get("/{rest:.*}", host.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        host.rotate("first")
        yield host
    finally:
        await runner.cleanup()


class Hours:
    """Turns the issuer module's monotonic clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._more = 0.0
        real = time.monotonic
        monkeypatch.setattr(issuers.time, "monotonic", lambda: real() + self._more)

    def forward(self, seconds: float) -> None:
        self._more += seconds


@contextlib.asynccontextmanager
async def issuer_of(host: Host, **more: Any) -> AsyncIterator[issuers.Issuer]:
    """An issuer whose keys are looked for beside the block."""
    settings = server_settings.Oidc(host.url, "volary", algorithms=("ES256",), **more)
    issuer = issuers.Issuer(settings)
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(issuer.keep_looking())
        yield issuer
        looking.cancel()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what goes on beside."""
    async with asyncio.timeout(process_time.HANG):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_keys_that_rotate_are_found_and_old_ones_believed_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hours = Hours(monkeypatch)
    async with hosted() as host, issuer_of(host) as issuer:
        old = host.keys["first"]
        assert (await issuer.claims(host.token("first")))["sub"] == "ana"
        host.rotate("second")
        with pytest.raises(issuers.RefusedError, match="a key that the issuer does not have"):
            await issuer.claims(host.token("second"))
        assert host.asked == 1, "an unknown key is no reason to ask at once again"
        hours.forward(31)
        assert (await issuer.claims(host.token("second")))["sub"] == "ana"
        with pytest.raises(issuers.RefusedError, match="does not have"):
            await issuer.claims(host.token("first", old))

        assert host.asked == 2


async def test_many_tokens_at_once_are_one_question() -> None:
    async with hosted() as host, issuer_of(host, jwks_url=f"{host.url}/keys") as issuer:
        await asyncio.gather(*(issuer.claims(host.token("first")) for _ in range(20)))

        assert host.asked == 1


@pytest.mark.parametrize(
    "instead",
    [
        (500, "out of order"),
        (200, "<html>"),
        (200, "[]"),
        (200, '{"keys": 7}'),
        (200, '{"keys": [{"kty": "?"}]}'),
        (302, ""),
        (200, '{"keys": [' + "1," * 800_000 + "1]}"),
    ],
    ids=["error", "page", "list", "number", "unknown kind", "elsewhere", "huge"],
)
async def test_an_issuer_that_is_down_shuts_nobody_out_for_an_hour(
    monkeypatch: pytest.MonkeyPatch, instead: tuple[int, str]
) -> None:
    hours = Hours(monkeypatch)
    async with hosted() as host, issuer_of(host) as issuer:
        await issuer.claims(host.token("first"))
        host.instead = instead
        hours.forward(1200)
        for _ in range(3):
            assert (await issuer.claims(host.token("first")))["sub"] == "ana"
        await until(lambda: host.asked == 2)
        hours.forward(3600)
        with pytest.raises(errors.TemporaryError):
            await issuer.claims(host.token("first"))
        host.instead = None
        hours.forward(31)
        assert (await issuer.claims(host.token("first")))["sub"] == "ana"


async def test_without_ever_having_had_a_key_it_is_not_the_tokens_fault() -> None:
    async with hosted() as host, issuer_of(host) as issuer:
        host.instead = (503, "")
        for _ in range(2):
            with pytest.raises(errors.TemporaryError):
                await issuer.claims(host.token("first"))


async def test_a_token_with_an_unknown_key_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The issuer does not answer; whoever has a key that is known does not notice."""
    hours = Hours(monkeypatch)
    async with hosted() as host, issuer_of(host) as issuer, asyncio.TaskGroup() as group:
        await issuer.claims(host.token("first"))
        hours.forward(31)
        host.answers = asyncio.Event()
        forged = host.token("unknown", host.keys["first"])
        waiting = [group.create_task(refusal(issuer, forged)) for _ in range(50)]
        await until(lambda: host.asked == 2)

        for _ in range(20):
            assert (await issuer.claims(host.token("first")))["sub"] == "ana"
        assert not any(task.done() for task in waiting)

        host.answers.set()
        said = await asyncio.gather(*waiting)
        assert set(said) == {"the token is signed by a key that the issuer does not have"}
        assert await refusal(issuer, forged) == said[0]
        assert host.asked == 2, "the next look is not before its time"


async def refusal(issuer: issuers.Issuer, token: str) -> str:
    with pytest.raises(issuers.RefusedError) as caught:
        await issuer.claims(token)
    return str(caught.value)
