"""Who may do what, said in a platform team's repository: it counts without a restart, and survives
one without the repository."""

import asyncio
import contextlib
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pygit2

import command_world
import process_time

V1, V2 = "example/simple:v1", "example/simple:v2"
SETTINGS = """\
apiVersion: volary.dev/v1
kind: Controller
fleet: {fleet}
listen: 127.0.0.1:0
dataDirectory: {data}
repositories:
- {{name: shop, url: {repository}, interval: 1s}}
- {{name: platform, url: {platform}, interval: 1s}}
projects: {{repository: platform, path: teams}}
"""
PROJECT = """\
apiVersion: volary.dev/v1
kind: Project
metadata: {name: team-a}
spec:
  sources: [{repository: shop, paths: ["%s"]}]
  destinations: [{namespaces: ["*"]}]
"""
_NUMBERS = itertools.count()


@dataclass
class Platform:
    """The repository of the platform team."""

    directory: Path

    def say(self, text: str) -> str:
        (self.directory / "teams").mkdir(exist_ok=True)
        (self.directory / "teams/a.yaml").write_text(text)
        return command_world.commit(self.directory, "Say who may do what")


@dataclass
class Server:
    """A server, and somebody who may do everything."""

    world: command_world.World
    url: str
    token: str
    process: command_world.Started

    async def ask(self, *words: str) -> Any:
        ended = await self.world.volary(
            *words, "-o", "json", VOLARY_SERVER=self.url, VOLARY_TOKEN=self.token
        )
        assert ended.out, ended
        return json.loads(ended.out)

    async def application(self) -> dict[str, Any]:
        found = await self.ask("get", "apps")
        return found[0] if found else {"status": "", "reason": "", "unowned": "", "project": ""}

    async def until(self, **wanted: str) -> dict[str, Any]:
        """Wait until the application is shown so."""
        async with asyncio.timeout(process_time.HANG):
            while True:
                found = await self.application()
                if all(text in found[key] for key, text in wanted.items()):
                    return found
                await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def served(
    base: Path, world: command_world.World, data: str = "data"
) -> AsyncIterator[Server]:
    (base / data).mkdir(mode=0o700, exist_ok=True)
    file = base / f"{data}.yaml"
    file.write_text(
        SETTINGS.format(
            fleet=world.fleet,
            data=base / data,
            repository=world.directory,
            platform=base / "platform",
        )
    )
    made = await world.volary(
        "token",
        "create",
        f"ana-{next(_NUMBERS)}",
        "--role",
        "admin",
        "--config",
        str(file),
    )
    assert made.code == 0, made
    async with world.start("server", "--config", str(file)) as process:
        await process.until("listening on http")
        found = re.search(r"http://127\.0\.0\.1:\d+", process.said)
        assert found
        yield Server(world, found.group(), made.out.strip(), process)


def platform(base: Path) -> Platform:
    pygit2.init_repository(str(base / "platform"), initial_head="main")
    return Platform(base / "platform")


async def test_what_a_team_may_do_changes_with_a_commit(tmp_path: Path) -> None:
    team = platform(tmp_path)
    team.say(PROJECT % "**")
    async with command_world.world(tmp_path, "us") as world, served(tmp_path, world) as server:
        first = await server.until(status="synced")

        team.say(PROJECT % "elsewhere")
        refused = await server.until(status="broken")
        second = world.edit("deployment.yaml", V1, V2)
        pushed = await server.until(head=second)
        runs = await server.ask("get", "runs")
        image = world.images("us")

        team.say(PROJECT.replace("Project", "Projekt", 1) % "**")
        async with asyncio.timeout(process_time.HANG):
            while True:
                listed = await server.ask("project", "list")
                if listed["files"]["problem"]:
                    break
                await asyncio.sleep(0.1)
        still = await server.application()

        team.say(PROJECT % "**")
        taken = await server.until(status="synced", runningCommit=second)

    assert first["project"] == "team-a"
    assert "no project takes" in refused["reason"]
    assert (refused["project"], refused["runningCommit"]) == ("", first["runningCommit"])
    assert pushed["status"] == "broken"
    assert [run["commit"] for run in runs] == [first["runningCommit"]]
    assert image.startswith(V1)
    assert "did you mean Project?" in listed["files"]["problem"]
    assert [project["name"] for project in listed["projects"]] == ["team-a"]
    assert still["status"] == "broken"
    assert taken["project"] == "team-a"


async def test_a_server_that_starts_without_the_git_host_knows_what_was_said_last(
    tmp_path: Path,
) -> None:
    team = platform(tmp_path)
    team.say(PROJECT % "**")
    async with command_world.world(tmp_path, "us") as world:
        async with served(tmp_path, world) as server:
            await server.until(status="synced", project="team-a")
        shutil.move(tmp_path / "platform", tmp_path / "away")
        async with served(tmp_path, world) as server:
            known = await server.ask("project", "list")
            second = world.edit("deployment.yaml", V1, V2)
            released = await server.until(status="synced", runningCommit=second)
        async with served(tmp_path, world, "new-data") as server:
            await server.process.until("platform: ")
            unknown = await server.ask("project", "list")
            found = await server.ask("get", "apps")
            runs = await server.ask("get", "runs")

    assert [project["name"] for project in known["projects"]] == ["team-a"]
    assert known["files"]["unknown"] == ""
    assert released["project"] == "team-a"
    assert unknown["files"]["unknown"] == "repository platform was not read yet"
    assert (unknown["projects"], found, runs) == ([], [], [])
