"""The watcher on real repositories, and its pace in virtual time."""

import asyncio
import contextlib
import itertools
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pygit2
import pytest

import process_time
from git_hosting import Upstream
from volary.concurrency import work_threads
from volary.gitops import discovery, repository_state, watcher
from volary.model import applications, errors, server_settings
from volary.sources.git import mirrors, repositories

QUICK = watcher.PollIntervals(gap=timedelta(seconds=0.01), longest=timedelta(seconds=0.05))
WEB = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: %s}
"""


class Listener:
    """Collects what is told."""

    def __init__(self) -> None:
        self.told: list[repository_state.RepositoryState] = []
        self.failing = 0
        self._news = asyncio.Condition()

    async def __call__(self, told: repository_state.RepositoryState) -> None:
        if self.failing:
            self.failing -= 1
            raise errors.TemporaryError("the store is away")
        async with self._news:
            self.told.append(told)
            self._news.notify_all()

    async def until(
        self, wanted: Callable[[repository_state.RepositoryState], bool]
    ) -> repository_state.RepositoryState:
        """Wait for the first thing told that is wanted, and forget everything up to it."""
        async with asyncio.timeout(process_time.HANG), self._news:
            while True:
                for position, each in enumerate(self.told):
                    if wanted(each):
                        del self.told[: position + 1]
                        return each
                await self._news.wait()


@asynccontextmanager
async def watching(
    directory: Path,
    repositories: Sequence[server_settings.Repository],
    listed: Sequence[server_settings.ListedApplication] = (),
    *,
    failing: int = 0,
    projects: server_settings.ProjectFiles | None = None,
) -> AsyncIterator[tuple[watcher.Watcher, Listener]]:
    settings = server_settings.Settings(
        "fleet.yaml",
        str(directory),
        "memory:",
        repositories=tuple(repositories),
        applications=tuple(listed),
        projects=projects or server_settings.ProjectFiles(),
    )
    listener = Listener()
    listener.failing = failing
    async with mirrors.open_mirrors(directory / "mirrors") as opened, asyncio.TaskGroup() as group:
        watched = watcher.Watcher(settings, opened, pace=QUICK)
        task = group.create_task(watched.watch(listener))
        try:
            yield watched, listener
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def spec_of(upstream: Upstream, name: str = "shop", **more: object) -> server_settings.Repository:
    return server_settings.Repository(
        name, str(upstream.bare), "main", interval=timedelta(seconds=0.02), **more
    )  # type: ignore[arg-type]


@pytest.fixture
def shop(tmp_path: Path) -> Upstream:
    (tmp_path / "shop").mkdir()
    return Upstream.create(tmp_path / "shop")


@pytest.fixture
def other(tmp_path: Path) -> Upstream:
    (tmp_path / "other").mkdir()
    return Upstream.create(tmp_path / "other")


def names_of(told: repository_state.RepositoryState) -> list[str]:
    return [each.name for each in told.applications]


async def test_applications_are_found_added_changed_and_removed(
    shop: Upstream, tmp_path: Path
) -> None:
    first = shop.publish({"apps/web/volary.yaml": WEB % "web"}, "begin")
    async with watching(tmp_path, [spec_of(shop)]) as (_, listener):
        told = await listener.until(lambda each: True)
        assert told.head is not None
        assert (told.head.id, told.head.subject) == (first, "begin")
        assert told.update == mirrors.RefUpdate("main", "", first)
        assert [
            (each.name, each.path, each.directory, each.commit) for each in told.applications
        ] == [("web", "apps/web/volary.yaml", "apps/web", first)]

        shop.publish({"apps/api/x.pipecd.yaml": WEB % "api"})
        told = await listener.until(lambda each: True)
        assert names_of(told) == ["api", "web"]

        shop.remove(["apps/web"])
        shop.push()
        told = await listener.until(lambda each: True)
        assert names_of(told) == ["api"]


async def test_a_look_that_takes_too_long_twice_is_repeated_with_the_next_commit_only(
    shop: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    look = discovery.Discovery.look

    def counted(finder: discovery.Discovery, tree: repositories.GitTree) -> discovery.Discovered:
        looks.append(tree.identity(""))
        ends = time.thread_time() + (0.5 if tree.entry("app-0") else 0)
        while time.thread_time() < ends:
            pass
        return look(finder, tree)

    monkeypatch.setattr(discovery.Discovery, "look", counted)
    many = {f"app-{n}/volary.yaml": WEB % f"app-{n}" for n in range(4)}
    shop.publish(many)
    work_threads.install(work_threads.WorkThreads(longest=timedelta(milliseconds=30)))
    async with watching(tmp_path, [spec_of(shop)]) as (watched, listener):
        told = await listener.until(lambda each: True)
        assert told.problem.startswith(
            "looking for applications took more than 0.03 s of processor time"
        )
        await process_time.until(lambda: len(looks) == 2)
        for _ in range(5):
            watched.request_refresh("shop")
            await asyncio.sleep(0.03)
        assert len(looks) == 2

        shop.remove([f"app-{n}" for n in range(3)])
        shop.push()
        told = await listener.until(lambda each: not each.problem)
        assert names_of(told) == ["app-3"]


async def test_nothing_is_told_when_nothing_changed(shop: Upstream, tmp_path: Path) -> None:
    shop.publish({"volary.yaml": WEB % "web"})
    async with watching(tmp_path, [spec_of(shop)]) as (watched, listener):
        await listener.until(lambda each: True)
        for _ in range(5):
            watched.request_refresh("shop")
            await asyncio.sleep(0.03)
        assert listener.told == []


async def test_a_broken_file_breaks_only_its_own_application(
    shop: Upstream, tmp_path: Path
) -> None:
    shop.publish({"a/volary.yaml": WEB % "web", "b/volary.yaml": WEB % "api"})
    async with watching(tmp_path, [spec_of(shop)]) as (_, listener):
        await listener.until(lambda each: True)
        shop.publish({"a/volary.yaml": WEB % "web" + "spec: {pipelin: {}}"})
        told = await listener.until(lambda each: True)

        web, api = told.applications
        assert (web.name, web.application) == ("web", None)
        assert "unknown field pipelin" in str(web.problems[0])
        assert api.application is not None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "the file is not UTF-8 text"),
        (b"#" * (1024 * 1024 + 1), "the file is larger than 1024 KiB"),
        (b"", "the file is empty"),
    ],
)
async def test_a_file_that_cannot_be_read_is_a_problem(
    shop: Upstream, tmp_path: Path, content: bytes, message: str
) -> None:
    shop.commit({"a/volary.yaml": ""})
    (shop.work / "a/volary.yaml").write_bytes(content)
    shop.publish({})
    async with watching(tmp_path, [spec_of(shop)]) as (_, listener):
        told = await listener.until(lambda each: True)

    [found] = told.applications
    assert (found.name, found.application) == ("a", None)
    assert message in found.problems[0].message


async def test_only_configured_paths_are_searched(shop: Upstream, tmp_path: Path) -> None:
    shop.publish({f"{name}/volary.yaml": WEB % name for name in ("a", "b", "c")})
    spec = spec_of(shop, paths=("a", "c", "missing"))
    async with watching(tmp_path, [spec]) as (_, listener):
        told = await listener.until(lambda each: True)

    assert names_of(told) == ["a", "c"]
    assert told.warnings == ("missing is not a directory of shop",)


async def test_listed_applications_have_the_targets_of_the_settings(
    shop: Upstream, tmp_path: Path
) -> None:
    shop.publish({"a/volary.yaml": WEB % "a", "b/volary.yaml": WEB % "b"})
    targets = applications.TargetSelector(names=("us",))
    listed = [
        server_settings.ListedApplication("shop", "a", targets),
        server_settings.ListedApplication("shop", "gone", targets),
    ]
    async with watching(tmp_path, [spec_of(shop)], listed) as (_, listener):
        told = await listener.until(lambda each: True)

    a, gone = told.applications
    assert a.application is not None
    assert a.application.targets == targets
    assert (gone.name, gone.application) == ("gone", None)
    assert "gone does not exist" in gone.problems[0].message


async def test_a_listed_application_that_is_also_found_counts_once(
    shop: Upstream, tmp_path: Path
) -> None:
    shop.publish({"apps/a/volary.yaml": WEB % "a", "apps/b/volary.yaml": WEB % "b"})
    targets = applications.TargetSelector(names=("us",))
    listed = [server_settings.ListedApplication("shop", "apps/a", targets)]
    async with watching(tmp_path, [spec_of(shop, paths=("apps",))], listed) as (_, listener):
        told = await listener.until(lambda each: True)

    assert names_of(told) == ["a", "b"]
    found = [each.application.targets.names for each in told.applications if each.application]
    assert found == [("us",), ()]


async def test_two_files_may_call_their_applications_the_same(
    shop: Upstream, tmp_path: Path
) -> None:
    shop.publish({"a/volary.yaml": WEB % "web", "b/volary.yaml": WEB % "web"})
    async with watching(tmp_path, [spec_of(shop)]) as (_, listener):
        told = await listener.until(lambda each: True)

    found = [(each.name, each.path, bool(each.application)) for each in told.applications]
    assert found == [("web", "a/volary.yaml", True), ("web", "b/volary.yaml", True)]


async def test_a_deleted_branch_and_a_force_push_are_said(
    shop: Upstream, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = shop.publish({"a/volary.yaml": WEB % "web"})
    async with watching(tmp_path, [spec_of(shop)]) as (_, listener):
        await listener.until(lambda each: True)
        shop.git("--git-dir", str(shop.bare), "update-ref", "-d", "refs/heads/main")
        gone = await listener.until(lambda each: True)
        assert gone.head is None
        assert gone.problem == "the branch main was deleted"
        assert names_of(gone) == ["web"]
        assert gone.update == mirrors.RefUpdate("main", first, "")

        shop.push()
        back = await listener.until(lambda each: True)
        assert (back.problem, names_of(back)) == ("", ["web"])

        shop.git("commit", "-q", "--amend", "-m", "other")
        shop.push("main", "--force")
        moved = await listener.until(lambda each: True)
        assert moved.update is not None
        assert moved.update.forced
    assert any("by a force-push" in each.message for each in caplog.records)


async def test_an_empty_repository_is_said_and_comes_to_life(
    shop: Upstream, tmp_path: Path
) -> None:
    spec = server_settings.Repository("shop", str(shop.bare), interval=timedelta(seconds=0.02))
    async with watching(tmp_path, [spec]) as (_, listener):
        empty = await listener.until(lambda each: True)
        shop.publish({"a/volary.yaml": WEB % "web"})
        told = await listener.until(lambda each: True)

    assert (empty.head, empty.problem) == (None, "the repository is empty")
    assert (told.problem, told.branch, names_of(told)) == ("", "main", ["web"])


async def test_a_lost_host_is_told_once_and_its_return_once(
    shop: Upstream, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop.publish({"a/volary.yaml": WEB % "web"})
    hidden = shop.bare.with_name("hidden.git")
    async with watching(tmp_path, [spec_of(shop)]) as (_, listener):
        await listener.until(lambda each: True)
        shop.bare.rename(hidden)
        lost = await listener.until(lambda each: True)
        await asyncio.sleep(0.5)
        assert listener.told == []
        hidden.rename(shop.bare)
        back = await listener.until(lambda each: True)

    assert "no such repository" in lost.problem
    assert names_of(lost) == ["web"]
    assert (back.problem, names_of(back)) == ("", ["web"])
    warnings = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 2


async def test_what_was_not_taken_in_is_told_again(shop: Upstream, tmp_path: Path) -> None:
    commit = shop.publish({"a/volary.yaml": WEB % "web"})
    async with watching(tmp_path, [spec_of(shop)], failing=2) as (_, listener):
        told = await listener.until(lambda each: True)

    assert told.update == mirrors.RefUpdate("main", "", commit)


async def test_a_repository_of_another_name_cannot_be_hastened(
    shop: Upstream, tmp_path: Path
) -> None:
    async with watching(tmp_path, [spec_of(shop)]) as (watched, listener):
        await listener.until(lambda each: True)

        assert watched.request_refresh("shop")
        assert not watched.request_refresh("shopp")


class CountingMirror:
    """A host in virtual time: counts questions, and is down at will."""

    def __init__(self, path: Path) -> None:
        opened = pygit2.init_repository(str(path), bare=True)
        author = pygit2.Signature("Ann", "ann@example.com", 1_700_000_000, 0)
        root = opened.TreeBuilder().write()
        self.head = str(opened.create_commit("refs/heads/main", author, author, "m", root, []))
        self.repository = repositories.Repository("shop", opened)
        self.looks: list[float] = []
        self.down = False

    def mirror(self, spec: server_settings.Repository) -> "CountingMirror":
        return self

    async def fetch(self, branch: str = "") -> mirrors.Fetched:
        self.looks.append(asyncio.get_running_loop().time())
        if self.down:
            raise errors.TemporaryError("the host is down")
        return mirrors.Fetched("main", self.head)

    def gaps(self) -> list[float]:
        return [after - before for before, after in itertools.pairwise(self.looks)]


@asynccontextmanager
async def virtually(host: CountingMirror) -> AsyncIterator[tuple[watcher.Watcher, Listener]]:
    settings = server_settings.Settings(
        "f", "d", "memory:", repositories=(server_settings.Repository("shop", "/x", "main"),)
    )
    listener = Listener()
    watched = watcher.Watcher(settings, host, random=random.Random(1))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watched.watch(listener))
        yield watched, listener
        task.cancel()


@pytest.mark.looptime
async def test_looks_are_a_minute_apart_give_or_take_a_tenth(tmp_path: Path) -> None:
    host = CountingMirror(tmp_path / "m.git")
    async with virtually(host):
        await asyncio.sleep(3600)

    gaps = host.gaps()[1:]
    assert 55 <= len(gaps) <= 66
    assert all(54 <= gap <= 66.1 for gap in gaps)
    assert max(gaps) - min(gaps) > 3


@pytest.mark.looptime
async def test_a_flood_of_webhooks_is_one_look_every_few_seconds(tmp_path: Path) -> None:
    host = CountingMirror(tmp_path / "m.git")
    async with virtually(host) as (watched, _):
        for _ in range(6000):
            watched.request_refresh("shop")
            await asyncio.sleep(0.01)

    assert 8 <= len(host.looks) <= 14
    assert all(gap >= 4.9 for gap in host.gaps())


@pytest.mark.looptime
async def test_a_hint_does_not_wait_for_the_minute(tmp_path: Path) -> None:
    host = CountingMirror(tmp_path / "m.git")
    async with virtually(host) as (watched, _):
        await asyncio.sleep(20)
        watched.request_refresh("shop")
        await asyncio.sleep(1)

        assert len(host.looks) == 2


@pytest.mark.looptime
async def test_a_host_that_is_down_is_asked_less_and_less(tmp_path: Path) -> None:
    host = CountingMirror(tmp_path / "m.git")
    host.down = True
    async with virtually(host) as (_, listener):
        await asyncio.sleep(2 * 3600)

        assert len(listener.told) == 1
        assert listener.told[0].problem == "the host is down"
    gaps = host.gaps()
    assert [round(gap / 60) for gap in gaps[:3]] == [2, 4, 8]
    assert all(540 <= gap <= 660.1 for gap in gaps[4:])


async def test_project_files_come_from_the_repository_of_the_settings_only(
    shop: Upstream, other: Upstream, tmp_path: Path
) -> None:
    files = {"teams/a.yaml": "a", "volary.yaml": WEB % "web"}
    shop.publish(files)
    first = other.publish({**files, "volary.yaml": WEB % "api"})
    where = server_settings.ProjectFiles((), "other", "teams")
    specs = [spec_of(shop), spec_of(other, "other")]
    async with watching(tmp_path, specs, projects=where) as (_, listener):
        found = (await listener.until(lambda each: each.name == "other")).project_files
        assert found is not None
        assert (found.commit, [file.text for file in found.files]) == (first, ["a"])

        other.publish({"teams/a.yaml": "b"})
        again = await listener.until(lambda each: each.name == "other")
        assert again.project_files is not None
        assert [file.text for file in again.project_files.files] == ["b"]

        other.bare.rename(other.bare.with_name("away"))
        lost = await listener.until(lambda each: each.name == "other")
        assert lost.problem
        assert lost.project_files is None

        shop.publish({"README": "x"})
        quiet = await listener.until(lambda each: each.name == "shop")
        assert quiet.project_files is None
