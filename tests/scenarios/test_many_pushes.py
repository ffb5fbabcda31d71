"""Three pushes a second to a repository of several applications, while a release goes on.

``VOLARY_PUSHES=400`` pushes more than the suite does; ``--log-cli-level=INFO`` says what it took.
"""

import asyncio
import contextlib
import dataclasses
import logging
import os
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import command_world
import process_time
import server_processes
from git_hosting import Upstream
from volary.sources.git import git_hosts

_LOG = logging.getLogger(__name__)
_PUSHES = int(os.environ.get("VOLARY_PUSHES", "48"))
#: Seconds from one push to the next; on a busy machine pushes come as fast as they can.
_PACE = 0.3
NAMES = ("us", "eu")
#: Applications that are released at once; `simple` is the one whose release goes on meanwhile.
QUICK = ("carts", "mails", "users")
_APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {name}}}
"""
_OBJECT = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{content: "{content}"}}
"""
V1, V2, V3, V4 = (f"example/simple:v{number}" for number in range(1, 5))
_TWICE = (
    "select application from runs where finished is null group by application having count(*) > 1"
)
_UNFINISHED = 'select application, "commit" from runs where finished is null'
_BECAME = """
    select application, "commit", status,
    case when reason like 'superseded by %' then substr(reason, 15, 7) else '' end from commits
"""


@dataclass
class Pushes:
    """Pushes to applications in turn, some of them by force; a push in eight is to all."""

    upstream: Upstream
    number: int = 0
    #: What each of them says at the branch's head.
    contents: dict[str, str] = field(default_factory=dict)
    #: What they said before the push that was last.
    before: dict[str, str] = field(default_factory=dict)
    #: The last push that is not to go again.
    fixed: int = 0
    forced: int = 0

    def push(self) -> None:
        """Commit and push, by `git`; blocks."""
        self.number += 1
        names = QUICK if self.number % 8 == 0 else (QUICK[self.number % len(QUICK)],)
        is_forced = self.number % 7 == 0 and self.number > self.fixed + 1
        if is_forced:
            # The push before goes, and what it brought.
            self.upstream.git("reset", "-q", "--hard", "HEAD~1")
            self.contents = self.before
            self.forced += 1
        self.before = self.contents
        self.contents = {**self.contents, **dict.fromkeys(names, f"push {self.number}")}
        self.upstream.commit(self.files(names), f"Push {self.number}")
        self.upstream.push("main", *(["--force"] if is_forced else []))

    def files(self, names: Collection[str] = QUICK) -> dict[str, str]:
        """The objects of applications, as they are at the head."""
        return {
            f"{name}/object.yaml": _OBJECT.format(name=name, content=self.contents[name])
            for name in names
        }

    def edit(self, old: str, new: str) -> str:
        """Push a change of `simple`; blocks."""
        self.fixed = self.number
        name = "simple/deployment.yaml"
        text = (self.upstream.work / name).read_text()
        assert old in text
        return self.upstream.publish({name: text.replace(old, new)})

    def tree(self, commit: str, name: str) -> str:
        """What Git calls the files of an application at a commit, also one that is gone."""
        return self.upstream.git("rev-parse", f"{commit}:{name}")

    async def go_on(self, count: int) -> None:
        """Push so often, at the pace."""
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for number in range(count):
            await asyncio.sleep(begin + number * _PACE - loop.time())
            await asyncio.to_thread(self.push)


@dataclass
class Server:
    """A server that can be killed; the next one has its store and its mirror."""

    world: command_world.World
    base: Path
    process: server_processes.ServerProcess | None = None
    #: Applications that were seen with two unfinished runs.
    twice: list[str] = field(default_factory=list)

    def ask(self, query: str) -> list[Any]:
        """Look into the database."""
        with contextlib.closing(sqlite3.connect(self.base / "volary.db", timeout=30)) as connection:
            return connection.execute(query).fetchall()

    @contextlib.asynccontextmanager
    async def started(self) -> AsyncIterator[server_processes.ServerProcess]:
        """Run it, and look all the time how many runs have not ended."""
        store = f"sqlite:{self.base / 'volary.db'}"
        async with (
            server_processes.started(self.world, self.base, store) as process,
            asyncio.TaskGroup() as group,
        ):
            looking = group.create_task(self._look())
            yield process
            looking.cancel()

    async def _look(self) -> None:
        while True:
            self.twice += [name for (name,) in self.ask(_TWICE)]
            await asyncio.sleep(0.05)

    async def until_released(
        self, process: server_processes.ServerProcess, contents: dict[str, str]
    ) -> None:
        """Wait until each application is said to be synced, and each cluster has this of it."""

        def holds(body: Any) -> bool:
            synced = {item["name"] for item in body["items"] if item["status"] == "synced"}
            return contents.keys() <= synced and all(
                self.content(name, application) == content
                for name in NAMES
                for application, content in contents.items()
            )

        await process.until("/api/v1/applications", holds)

    async def queued(self, commit: str) -> None:
        """Wait until a commit waits for the release that is under way."""
        await process_time.until(
            lambda: self.became().get(("simple", commit)) == ("queued", ""), every=0.1
        )

    def became(self) -> dict[tuple[str, str], tuple[str, str]]:
        """What became of commits, and by which one they were superseded."""
        return {
            (application, commit): (status, by)
            for application, commit, status, by in self.ask(_BECAME)
        }

    def content(self, cluster: str, application: str) -> str:
        body = self.world.find(cluster, "ConfigMap", application)
        return body["data"]["content"] if body else ""


@dataclass(frozen=True)
class Usage:
    """What a process holds."""

    files: int
    #: Pack files among them; more than one handle may have the same one open.
    packs: int
    #: Of memory, in MiB.
    resident: int

    @classmethod
    def of(cls, process: server_processes.ServerProcess) -> "Usage":
        proc = Path("/proc") / str(process.process.process.pid)
        files = []
        for descriptor in (proc / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                files.append(os.readlink(descriptor))
        status = dict(
            line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line
        )
        return cls(
            len(files),
            len({file for file in files if ".pack" in file}),
            int(status["VmRSS"].split()[0]) // 1024,
        )


def given(base: Path) -> Pushes:
    """Write the repository: `simple` with its pipeline, and those that are released at once."""
    upstream = Upstream.create(base)
    shutil.copytree(command_world.EXAMPLES / "simple", upstream.work / "simple")
    # It does not run out of its time while others are pushed to, however long that takes.
    deployment = upstream.work / "simple/deployment.yaml"
    patient = "spec:\n  progressDeadlineSeconds: 1000000"
    deployment.write_text(deployment.read_text().replace("spec:", patient, 1))
    pushes = Pushes(upstream, contents=dict.fromkeys(QUICK, "at first"))
    files = {f"{name}/volary.yaml": _APPLICATION.format(name=name) for name in QUICK}
    upstream.publish(files | pushes.files(), "At first")
    return pushes


async def test_pushes_that_come_faster_than_releases_end_with_the_newest_of_each_application(
    tmp_path: Path,
) -> None:
    """The release of `simple` goes on all the time; the server is killed in the middle."""
    async with command_world.world(tmp_path, *NAMES) as world:
        pushes = given(tmp_path)
        server = Server(dataclasses.replace(world, directory=pushes.upstream.bare), tmp_path)
        for name in NAMES:
            world.running.clusters[name].faults.images.add("*/simple:v2", "never-ready")
        async with server.started() as process:
            await process.until("/api/v1/applications", _all_synced)
            second = await asyncio.to_thread(pushes.edit, V1, V2)
            await process_time.until(lambda: world.find("us", "Deployment", "simple-canary"))
            before = Usage.of(process)
            await pushes.go_on(_PUSHES // 2)
            third = await asyncio.to_thread(pushes.edit, V2, V3)
            await server.queued(third)
            at_kill = Usage.of(process)
            process.process.interrupt(signal.SIGKILL)
        async with server.started() as process:
            await pushes.go_on(_PUSHES - _PUSHES // 2)
            fourth = await asyncio.to_thread(pushes.edit, V3, V4)
            await server.queued(fourth)
            await server.until_released(process, pushes.contents)
            # Nobody waited for the release that does not get on.
            assert server.ask(_UNFINISHED) == [("simple", second)]
            # While packs are merged, those that go are open beside the new one.
            most = git_hosts.Limits().merged_packs + 1
            await process_time.until(lambda: Usage.of(process).packs <= most)
            after = Usage.of(process)
            back = await asyncio.to_thread(pushes.edit, V4, V1)
            await process.until("/api/v1/runs?application=simple", _ended)
            await process.until("/api/v1/applications", _all_synced)
            applications = (await process.get("/api/v1/applications"))[1]["items"]
        await world.settled()

        assert server.twice == []
        assert server.ask(_UNFINISHED) == []
        for item in applications:
            name, commit = item["name"], item["runningCommit"]
            assert pushes.tree(commit, name) == pushes.tree("HEAD", name)
        for name in NAMES:
            assert {each: server.content(name, each) for each in QUICK} == pushes.contents
            assert world.images(name) == f"{V1} 2/2"
            assert world.find(name, "Deployment", "simple-canary") is None
        became = server.became()
        assert [became.pop(("simple", commit)) for commit in (second, third, fourth, back)] == [
            ("rolled_back", ""),
            ("superseded", fourth[:7]),
            ("superseded", back[:7]),
            ("reverted", ""),
        ]
        # Whatever was seen of the others was released, or says by what it was overtaken.
        counted = Counter(status for status, _ in became.values())
        # A push by force takes back what may be under way.
        assert counted.keys() <= {"succeeded", "superseded", "rolled_back", "reverted"}
        assert max(counted["rolled_back"], counted["reverted"]) <= pushes.forced
        assert all(by for status, by in became.values() if status == "superseded")
        used = f"{before} -> {at_kill}, after the kill {after}"
        _LOG.info("%d pushes, %d by force: %s; %s", _PUSHES, pushes.forced, used, dict(counted))
        assert pushes.forced > 2


def _all_synced(body: Any) -> bool:
    synced = [item for item in body["items"] if item["status"] == "synced"]
    return len(synced) == len(QUICK) + 1


def _ended(body: Any) -> bool:
    return all(run["finished"] for run in body["items"])
