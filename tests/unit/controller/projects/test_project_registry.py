"""Which projects there are: the last good set, stored, and never half of one."""

import contextlib
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.config.projects import definitions, project_files
from volary.controller.persistence import change_signal
from volary.controller.projects import project_registry
from volary.gitops import project_discovery, repository_state
from volary.model import errors, server_settings
from volary.model.runs import run_records
from volary.store import factory, fencing, stores

SETTINGS = server_settings.Settings(
    "fleet.yaml",
    repositories=(
        server_settings.Repository("apps", "https://git.example/apps"),
        server_settings.Repository("platform", "https://git.example/platform", "main"),
    ),
    projects=server_settings.ProjectFiles((), "platform", "teams"),
    notifications=server_settings.Notifications(receivers=(server_settings.Receiver("chat"),)),
)
PROJECT = """
apiVersion: volary.dev/v1
kind: Project
metadata: {name: %s}
spec:
  sources: [{repository: apps, paths: [%s]}]
  destinations: [{namespaces: ["*"]}]
  routes: [{name: all, receiver: chat}]
"""


def text(name: str, path: str = "") -> str:
    return PROJECT % (name, path or name)


def seen(
    commit: str, *texts: str, name: str = "platform", problem: str = ""
) -> repository_state.RepositoryState:
    files = tuple(project_files.TextFile(f"teams/{n}.yaml", each) for n, each in enumerate(texts))
    problems = (errors.Problem(problem),) if problem else ()
    found = project_discovery.FoundFiles(commit, files, problems)
    return repository_state.RepositoryState(name, "main", None, project_files=found)


def beside(*names: str) -> definitions.Definitions:
    files = [project_files.TextFile(f"{name}.yaml", text(name)) for name in names]
    return project_files.parse(files).require()


@contextlib.asynccontextmanager
async def opened(address: str = "memory:") -> AsyncIterator[stores.Store]:
    async with factory.open_store(address, clock=given.TurnedClock()) as store:
        yield store


def registry(
    store: stores.Store,
    settings: server_settings.Settings = SETTINGS,
    known: definitions.Definitions | None = None,
) -> project_registry.ProjectRegistry:
    return project_registry.ProjectRegistry(
        store,
        given.TurnedClock(),
        change_signal.ChangeSignal(),
        project_registry.written(settings, known),
    )


async def test_without_any_project_everything_belongs_to_the_default_one() -> None:
    async with opened() as store:
        made = registry(store, server_settings.Settings("fleet.yaml"))

        assert not await made.load()
        assert not made.current().are_in_use


async def test_files_beside_the_settings_are_known_at_once() -> None:
    async with opened() as store:
        made = registry(store, server_settings.Settings("fleet.yaml"), beside("a", "b"))

        assert sorted(made.current().by_name) == ["a", "b"]
        assert made.current().unknown == ""


async def test_what_was_never_read_is_unknown_and_not_nothing() -> None:
    async with opened() as store:
        made = registry(store, known=beside("a"))
        await made.load()

        assert made.current().are_in_use
        assert made.current().unknown == "repository platform was not read yet"


async def test_a_commit_brings_projects_and_another_one_takes_them_away() -> None:
    async with opened() as store:
        made = registry(store, known=beside("ops"))

        assert await made.take(seen("c1", text("a"), text("b")), fence=None)
        assert sorted(made.current().by_name) == ["a", "b", "ops"]
        assert not await made.take(seen("c2", text("a"), text("b")), fence=None)
        assert made.commit == "c2"
        assert await made.take(seen("c3", text("a")), fence=None)
        assert sorted(made.current().by_name) == ["a", "ops"]


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (seen("c2bad000", text("a"), "kind: Projct"), "teams/1.yaml:1: kind"),
        (seen("c2bad000", problem="teams is not a directory"), "teams is not a directory"),
        (seen("c2bad000", text("a"), text("ops")), "the project ops is there already"),
        (seen("c2bad000", text("a").replace("chat", "chatt")), "did you mean chat?"),
        (seen("c2bad000", text("a") + "  secrets: {sops: {ageKeyFile: k}}"), "names files of the"),
    ],
)
async def test_a_broken_file_keeps_the_whole_last_good_set_and_says_so(
    broken: repository_state.RepositoryState, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened() as store:
        made = registry(store, known=beside("ops"))
        await made.take(seen("c1", text("a"), text("b")), fence=None)
        before = made.current()

        with caplog.at_level(logging.ERROR):
            assert not await made.take(broken, fence=None)
            assert not await made.take(broken, fence=None)

        assert made.current() == before
        assert made.commit == "c1"
        assert made.problem.startswith("commit c2bad00 of platform: ")
        assert why in made.problem
        assert len([each for each in caplog.records if "cannot be taken" in each.message]) == 1
        await made.take(seen("c3", text("a")), fence=None)
        assert made.problem == ""


async def test_the_first_commit_that_is_broken_leaves_them_unknown_and_names_no_project() -> None:
    async with opened() as store:
        made = registry(store)
        await made.take(seen("c1", text("secret-team"), text("secret-team")), fence=None)

        assert made.current().unknown == "the project files of repository platform have errors"
        assert "secret-team" in made.problem


async def test_a_repository_without_any_project_does_not_open_the_door() -> None:
    async with opened() as store:
        made = registry(store)
        await made.take(seen("c1", text("a")), fence=None)
        taken = await made.take(seen("c2"), fence=None)

        assert not taken
        assert list(made.current().by_name) == ["a"]
        assert "there is no project in repository platform" in made.problem


async def test_only_the_repository_of_the_settings_says_what_teams_may_do() -> None:
    async with opened() as store:
        made = registry(store)

        assert not await made.take(seen("c1", text("evil"), name="apps"), fence=None)
        assert made.current().by_name == {}


async def test_another_process_knows_what_was_good_last_before_the_host_answers() -> None:
    async with opened() as store:
        before = registry(store)
        await before.take(seen("c1", text("a")), fence=None)
        await before.take(seen("c2", "kind: x"), fence=None)

        made = registry(store)
        assert await made.load()
        assert not await made.load()

        assert made.current() == before.current()
        assert (made.commit, made.problem) == ("c1", before.problem)
        assert not await made.take(seen("c3", text("a")), fence=None)


async def test_what_another_source_said_does_not_count() -> None:
    async with opened() as store:
        await registry(store).take(seen("c1", text("a")), fence=None)
        for path, url in (("others", ""), ("teams", "https://git.example/other")):
            repository = server_settings.Repository(
                "platform", url or "https://git.example/platform", "main"
            )
            made = registry(
                store,
                server_settings.Settings(
                    "fleet.yaml",
                    repositories=(repository,),
                    projects=server_settings.ProjectFiles((), "platform", path),
                ),
            )
            await made.load()

            assert made.current().unknown


async def test_a_receiver_that_the_settings_have_lost_does_not_stop_a_restart() -> None:
    async with opened() as store:
        await registry(store).take(seen("c1", text("a")), fence=None)
        settings = server_settings.Settings(
            "fleet.yaml", repositories=SETTINGS.repositories, projects=SETTINGS.projects
        )
        made = registry(store, settings)
        await made.load()

        assert list(made.current().by_name) == ["a"]
        assert made.current().unknown == ""


async def test_what_is_stored_and_cannot_be_read_is_unknown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened() as store:
        await registry(store).take(seen("c1", text("a")), fence=None)
        made = registry(store, known=beside("a"))
        await made.load()

        assert made.current().unknown == (
            "what is stored of them cannot be read with these settings"
        )


async def test_what_counts_was_stored_before() -> None:
    async with opened() as store:
        old = await store.leases.acquire("drive", "a", timedelta(minutes=1))
        assert old is not None
        await store.leases.release(old)
        await store.leases.acquire("drive", "b", timedelta(minutes=1))
        fence: run_records.Fence = old.fence
        made = registry(store)

        with pytest.raises(fencing.LeaseLost):
            await made.take(seen("c1", text("a")), fence=fence)
        assert made.current().unknown
