"""Secrets that are kept in Git encrypted reach the clusters, and nothing else that can be read."""

import asyncio
import base64
import contextlib
import json
import re
import signal
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib import parse

import aiohttp
import pygit2
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import command_world
import process_time
import sops_keys
import team_world
from volary.sources.decryption import ciphertexts

WORD = 'canary<7e1f>&0a "55b3"'
PIN = 48151623
#: Never a text, so that nobody knows it from one.
NUMBER = 90217654
ENCRYPTED = "canary/enc+9d2f 1c"
KEY = "canary of the first line\ncanary of the second line\n"
#: Every form in which one of them could be repeated.
FORMS = {
    "plain": ["canary<7e1f", ENCRYPTED, "canary of the"],
    "number": [str(PIN), str(NUMBER), "4.8151623e+07", "9.0217654e+07"],
    "base64": [
        base64.b64encode(text.encode()).decode().rstrip("=")[:-1]
        for text in (WORD, str(PIN), str(NUMBER), ENCRYPTED, KEY)
    ],
    "address": [parse.quote(text, safe="") for text in (WORD, ENCRYPTED)],
    "escaped": ["canary\\u003c7e1f", "canary&lt;7e1f"],
}
SETTINGS = """\
apiVersion: volary.dev/v1
kind: Controller
fleet: {fleet}
listen: 127.0.0.1:0
dataDirectory: {data}
repositories: [{{name: shop, url: {repository}, interval: 1s}}]
secrets:
  sops: {{ageKeyFile: {keys}/keys.txt}}
  keyPair: {{privateKeyFile: {keys}/private.pem}}
notifications:
  routes: [{{name: all, receiver: team}}]
  receivers: [{{name: team, webhook: {{url: "{outside}/told"}}}}]
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: simple-settings}}
data:
  word: {word}
  key: {key}
  plain: {plain}
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {{name: simple}}
stringData:
  pin: {pin}
"""
TEMPLATE = """\
apiVersion: v1
kind: Secret
metadata: {name: simple-encrypted}
data: {password: "{{ .encryptedSecrets.password | b64enc }}"}
"""


@dataclass
class Outside:
    """Who is notified."""

    url: str = ""
    told: list[str] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        self.told.append(await request.text())
        return web.Response()


@contextlib.asynccontextmanager
async def outside() -> AsyncIterator[Outside]:
    made = Outside()
    application = web.Application()
    application.router.add_post("/told", made.take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        await runner.cleanup()


@dataclass(frozen=True)
class Keys:
    """What opens the repository's secrets."""

    age: sops_keys.AgeKey
    pair: rsa.RSAPrivateKey

    def write(self) -> None:
        self.age.file.with_name("private.pem").write_bytes(
            self.pair.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )

    def files(self, application: str, *, pin: str, plain: str = "a") -> Mapping[str, str]:
        """What is committed."""
        settings = CONFIG.format(word=json.dumps(WORD), key=json.dumps(KEY), plain=plain)
        encrypted = ciphertexts.encrypt(ENCRYPTED, self.pair.public_key())
        encryption = (
            "spec:\n  encryption:\n    decryptionTargets: [encrypted.yaml]\n"
            f"    encryptedSecrets: {{password: {encrypted}}}\n"
        )
        only = ("--encrypted-regex", "^(word|key|stringData)$")
        return {
            "settings.yaml": self.age.encrypt(settings, "a.yaml", *only),
            "secret.yaml": self.age.encrypt(SECRET.format(pin=pin), "b.yaml", *only),
            "encrypted.yaml": TEMPLATE,
            "app.pipecd.yaml": application.replace("spec:\n", encryption, 1),
        }


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    made = Keys(sops_keys.make(tmp_path / "keys"), rsa.generate_private_key(65537, 2048))
    made.write()
    return made


def leaks(seen: Mapping[str, str]) -> list[str]:
    """Return where something can be read, and what."""
    return [
        f"{place}: {form} ({name}): …{text[max(0, at - 60) : at + 60]}…"
        for place, text in seen.items()
        for name, forms in FORMS.items()
        for form in forms
        if (at := text.find(form)) >= 0
    ]


def kept(directory: Path) -> dict[str, str]:
    """Return every file below a directory, mirrors of what is public included."""
    return {
        str(file.relative_to(directory)): file.read_bytes().decode("latin-1")
        for file in directory.rglob("*")
        if file.is_file()
    }


async def test_a_server_deploys_them_and_shows_them_nowhere(tmp_path: Path, keys: Keys) -> None:
    async with command_world.world(tmp_path, "us") as world, outside() as listener:
        application = (world.directory / "app.pipecd.yaml").read_text()
        world.write(keys.files(application, pin=f'"{PIN}"'), message="Use secrets")
        data, file = tmp_path / "data", tmp_path / "server.yaml"
        file.write_text(
            SETTINGS.format(
                fleet=world.fleet,
                data=data,
                repository=world.directory,
                keys=keys.age.file.parent,
                outside=listener.url,
            )
        )
        made = await world.volary("token", "create", "a", "--role", "admin", "--config", str(file))
        token = made.out.strip()
        async with world.start("server", "--config", str(file)) as process:
            await process.until("listening on http")
            found = re.search(r"http://127\.0\.0\.1:\d+", process.said)
            assert found
            given = {"VOLARY_SERVER": found.group(), "VOLARY_TOKEN": token}

            async def ended(commit: str, status: str) -> None:
                async with asyncio.timeout(process_time.HANG):
                    while True:
                        listed = await world.volary("get", "runs", "-o", "json", **given)
                        runs = json.loads(listed.out or "[]")
                        words = [one["status"] for one in runs if one["commit"] == commit]
                        if status in words:
                            return
                        assert "failed" not in words, listed
                        await asyncio.sleep(0.1)

            await ended(head(world), "succeeded")
            deployed = {
                "settings": world.find("us", "ConfigMap", "simple-settings")["data"],
                "secret": world.find("us", "Secret", "simple")["data"],
                "encrypted": world.find("us", "Secret", "simple-encrypted")["data"],
            }
            # Without quotes it is a number, which the cluster refuses and repeats.
            world.write(
                keys.files(application, pin=str(NUMBER), plain="b"), message="Forget the quotes"
            )
            await ended(head(world), "failed")
            await ended_telling(listener)
            seen = await everything(found.group(), token)
            words = ("get", "app", "simple", "-o", "wide"), ("explain", "simple"), ("audit",)
            for typed in (*words, ("plan", ".", "--fleet", world.fleet)):
                said = await world.volary(*typed, **given, SOPS_AGE_KEY_FILE=str(keys.age.file))
                seen[" ".join(typed)] = said.out + said.err
            process.interrupt(signal.SIGTERM)
            seen["log"] = (await process.ended()).err

        assert deployed["settings"] == {"word": WORD, "key": KEY, "plain": "a"}
        assert base64.b64decode(deployed["secret"]["pin"]).decode() == str(PIN)
        assert base64.b64decode(deployed["encrypted"]["password"]).decode() == ENCRYPTED

    seen |= {f"told {count}": text for count, text in enumerate(listener.told)}
    assert len(seen) > 20
    assert any("*****" in text for text in seen.values()), seen
    assert "Value:*****" in seen["explain simple"]
    assert leaks(seen) == []
    assert leaks(kept(data)) == []
    temporary = Path(world.environment["TMPDIR"])
    assert leaks(kept(temporary)) == []
    assert any(name.startswith("volary.db") for name in kept(data))


def head(world: command_world.World) -> str:
    return str(pygit2.Repository(str(world.directory)).head.target)


async def ended_telling(listener: Outside) -> None:
    """Wait until the failure was told."""
    async with asyncio.timeout(process_time.HANG):
        while not any("TRIGGER_FAILED" in text for text in listener.told):  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def everything(url: str, token: str) -> dict[str, str]:
    """Return what every path that can be read shows, and plans."""
    headers = {"authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(url, headers=headers) as session:
        seen = await team_world.everything_shown(session)
        async with session.post("/api/v1/applications/simple/plan", json={}) as answer:
            seen["POST plan"] = await answer.text()
    return seen


async def test_a_run_from_here_decrypts_with_the_users_keys_and_shows_nothing(
    tmp_path: Path, keys: Keys
) -> None:
    age = {"SOPS_AGE_KEY_FILE": str(keys.age.file)}
    pair = {"VOLARY_PRIVATE_KEY_FILE": str(keys.age.file.with_name("private.pem"))}
    async with command_world.world(tmp_path, "us", "eu") as world:
        application = (world.directory / "app.pipecd.yaml").read_text()
        world.write(keys.files(application, pin=str(NUMBER)), message="Forget the quotes")
        nothing = await world.run()
        without_age = await world.run(**pair)
        refused = await world.run(**age, **pair)
        world.write(keys.files(application, pin=f'"{NUMBER}"'), message="Use secrets")
        done = await world.run("--strategy", "quick", "--output", "json", **age, **pair)
        world.write(
            {"deployment.yaml": (world.directory / "deployment.yaml").read_text() + "\n"},
            message="Nothing",
        )
        plan = await world.volary("plan", ".", "--fleet", world.fleet, "-o", "json", **age, **pair)
        same = await world.volary("diff-targets", ".", "--fleet", world.fleet, **age, **pair)
        rendered = await world.volary("render", ".", "--target", "us", **age, **pair)
        linted = await world.volary("lint", ".")
        inside = await world.run(**pair, SOPS_AGE_KEY_FILE=str(copied(keys, world.directory)))
        deployed = world.find("eu", "ConfigMap", "simple-settings")["data"]

    assert (nothing.code, without_age.code, refused.code) == (2, 2, 2), (nothing, refused)
    assert "and no key to decrypt them is named" in nothing.err
    assert "hint: name the keys under secrets.sops" in without_age.err
    assert "Value:*****" in refused.err
    assert done.code == 0, done
    assert plan.code == 0, plan
    assert deployed["word"] == WORD
    assert str(NUMBER) in rendered.out
    assert linted.code == 0, linted
    assert (inside.code, "is in the repository" in inside.err) == (2, True), inside
    seen = {
        "nothing": str(nothing),
        "refused": str(refused),
        "done": str(done),
        "plan": str(plan),
        "same": str(same),
        "linted": str(linted),
    }
    assert leaks(seen) == []
    assert leaks(kept(Path(world.environment["XDG_STATE_HOME"]))) == []
    assert leaks(kept(Path(world.environment["TMPDIR"]))) == []


def copied(keys: Keys, directory: Path) -> Path:
    """Put the key where it does not belong."""
    file = directory / "keys.txt"
    file.write_text(keys.age.file.read_text())
    return file
