"""Whose an application is, and what becomes of one that belongs to no project."""

import contextlib
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pygit2
import pytest

import command_world
import git_feed
import reconciler_fixtures as given
from volary.controller.status import (
    application_identity,
    application_statuses,
    run_admission,
)
from volary.engine.runs import run_builder
from volary.gitops import repository_state
from volary.model import projects
from volary.store import records
from volary.tenancy import membership

QUIET = "spec: {%s trigger: {onCommit: {disabled: true}}}\n"
A = projects.Project("team-a", sources=(projects.Source("mono", ("a",)),))
B = projects.Project("team-b", sources=(projects.Source("mono", ("b",)),))
BOTH = projects.Project("both", sources=(projects.Source("mono"),))


@dataclass
class Mono:
    """A repository of several teams, and the leader that looks into it."""

    world: given.World
    feed: git_feed.Feed
    path: Path

    def use(self, *several: projects.Project, unknown: str = "") -> None:
        """Have these projects count from now on."""
        now = membership.Projects({each.name: each for each in several}, unknown)
        self.world.leader.dependencies.projects = lambda: now

    def write(self, directory: str, name: str = "shop", wanted: str = "") -> None:
        head = f"apiVersion: volary.dev/v1\nkind: Application\nmetadata: {{name: {name}}}\n"
        (self.path / directory).mkdir(parents=True, exist_ok=True)
        more = f"project: {wanted}," if wanted else ""
        (self.path / directory / "volary.yaml").write_text(head + QUIET % more)

    def remove(self, directory: str) -> None:
        (self.path / directory / "volary.yaml").unlink()

    async def look(self) -> repository_state.RepositoryState:
        """Commit what was written, and take what is seen then."""
        command_world.commit(self.path, "Change it")
        seen = await self.feed.look()
        await self.world.registry.notice(seen)
        await self.settle()
        return seen

    async def review(self) -> None:
        await self.world.registry.review()
        await self.settle()

    async def settle(self) -> None:
        for reconciler in self.world.registry.all():
            await self.world.registry._queues.wait(reconciler.name)

    async def applications(self) -> dict[str, tuple[str, str]]:
        """Return path and project of each, by name."""
        wanted = records.ApplicationFilter(with_removed=True)
        page = await self.world.store.applications.list(wanted)
        return {each.name: (each.path, each.project) for each in page.items}


@contextlib.asynccontextmanager
async def looking(path: Path) -> AsyncIterator[Mono]:
    pygit2.init_repository(str(path), initial_head="main")
    feed = git_feed.Feed(path, "mono")
    async with given.leading(sources=feed) as world:
        yield Mono(world, feed, path)


async def test_without_projects_everything_belongs_to_the_default_one(tmp_path: Path) -> None:
    async with looking(tmp_path) as mono:
        mono.write("a")
        await mono.look()

        assert await mono.applications() == {"shop": ("a/volary.yaml", "default")}
        assert (await mono.world.status()).unowned == ""


async def test_an_application_belongs_to_the_project_that_takes_its_file(tmp_path: Path) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A, B)
        mono.write("a", "one")
        mono.write("b", "two")
        await mono.look()

        assert await mono.applications() == {
            "one": ("a/volary.yaml", "team-a"),
            "two": ("b/volary.yaml", "team-b"),
        }


async def test_one_that_no_project_takes_is_refused_and_nothing_begins(tmp_path: Path) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A)
        mono.write("c")
        await mono.look()

        kept, status = await mono.world.stored(), await mono.world.status()
        why = "no project takes c/volary.yaml of the repository mono, branch main"
        assert (kept.status, kept.reason, kept.project) == ("broken", why, "")
        assert run_admission.why_next_blocked(status) == why
        assert run_admission.why_blocked(status, None) == why
        runs = await mono.world.store.runs.list(records.RunFilter())
        assert runs.items == ()


async def test_not_even_a_way_back_begins_for_one_that_is_nobodys() -> None:
    back = given.request(kind=given.Kind.ROLLBACK)
    status = application_statuses.ApplicationStatus(run_request=back)

    assert run_admission.why_next_blocked(status) == ""
    assert run_admission.why_next_blocked(replace(status, unowned="nobody's")) == "nobody's"


async def test_projects_that_change_count_without_a_new_commit(tmp_path: Path) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A)
        mono.write("b")
        await mono.look()
        refused = await mono.world.stored()

        mono.use(A, B)
        await mono.review()
        taken, status = await mono.world.stored(), await mono.world.status()

        mono.use(A)
        await mono.review()
        again = await mono.world.stored()

    assert (refused.status, refused.project) == ("broken", "")
    assert (taken.status, taken.project, status.unowned) == ("unknown", "team-b", "")
    assert (again.status, again.project) == ("broken", "")


async def test_what_was_requested_goes_on_once_a_project_takes_it(tmp_path: Path) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A)
        mono.write("b")
        await mono.look()
        await mono.world.shop.submit(given.request())
        await mono.world.until(lambda shop: "no project takes" in str(shop.document))
        prepared = list(mono.world.script.prepared)

        mono.use(B)
        await mono.review()
        await mono.world.until(lambda shop: shop.running_commit == "c1")

    assert prepared == []


async def test_the_file_chooses_between_the_projects_that_take_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A, B, BOTH)
        mono.write("a")
        await mono.look()
        torn = await mono.world.stored()

        mono.write("a", wanted="both")
        await mono.look()
        chosen = await mono.world.stored()

        mono.write("a", wanted="team-b")
        await mono.look()
        refused = await mono.world.stored()

    assert torn.project == ""
    assert torn.reason == (
        "several projects take a/volary.yaml of the repository mono, branch main, and its"
        " `spec.project` does not say which it belongs to"
    )
    assert "(both, team-a)" in caplog.text, "whoever runs the server learns which"
    assert chosen.project == "both"
    assert (refused.project, refused.status) == ("", "broken")
    assert refused.reason.startswith("no project team-b takes a/volary.yaml")


async def test_what_a_file_wanted_holds_while_it_cannot_be_read(tmp_path: Path) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A, BOTH)
        mono.write("a", wanted="both")
        await mono.look()
        (tmp_path / "a/volary.yaml").write_text("apiVersion: volary.dev/v1\nkind: Nothing\n")
        seen = await mono.look()
        kept = await mono.world.stored()

    assert seen.applications[0].application is None
    assert kept.project == "both"


async def test_a_symbolic_link_does_not_make_a_file_another_teams(tmp_path: Path) -> None:
    """Git has one file, at one place: the link is no application file."""
    async with looking(tmp_path) as mono:
        mono.use(A, B)
        mono.write("a")
        (tmp_path / "b").mkdir()
        (tmp_path / "b/volary.yaml").symlink_to("../a/volary.yaml")
        (tmp_path / "b/all").symlink_to("../a")
        await mono.look()

        assert await mono.applications() == {"shop": ("a/volary.yaml", "team-a")}


async def test_while_projects_are_unknown_nothing_is_taken_and_nothing_begins(
    tmp_path: Path,
) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A)
        mono.write("a")
        await mono.look()
        before = await mono.world.stored()

        mono.use(unknown="the host is away")
        await mono.review()
        mono.write("a", "renamed")
        mono.write("a/new", "new")
        await mono.look()
        kept, status = await mono.world.stored(), await mono.world.status()
        unknown = await mono.applications()

        mono.use(A)
        await mono.review()
        after = await mono.applications()

    assert unknown == {"shop": ("a/volary.yaml", "team-a")}
    assert (kept.status, kept.reason) == (before.status, before.reason)
    assert status.unowned == "it is not known which projects there are: the host is away"
    assert after["new"] == ("a/new/volary.yaml", "team-a")


async def test_the_next_leader_looks_at_stored_applications_before_any_repository(
    tmp_path: Path,
) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A)
        mono.write("a")
        await mono.look()
        mono.use(B)
        later = given.registry.ApplicationRegistry(mono.world.leader, {})
        await later.load()

        kept = await mono.world.stored()
        assert (kept.status, kept.project) == ("broken", "")


async def test_a_name_that_another_project_has_is_not_taken_over(tmp_path: Path) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A, B)
        mono.write("a")
        await mono.look()
        mono.write("b")
        await mono.look()
        beside = await mono.applications()
        mono.remove("a")
        await mono.look()
        after = await mono.applications()

    expected = {"shop": ("a/volary.yaml", "team-a"), "shop.mono-b": ("b/volary.yaml", "team-b")}
    assert beside == expected
    assert after == expected


async def test_nor_is_what_the_other_project_left_behind(tmp_path: Path) -> None:
    """A record has its history, and what it has in clusters."""
    async with looking(tmp_path) as mono:
        mono.use(A, B)
        mono.write("a")
        await mono.look()
        mono.remove("a")
        mono.write("b")
        await mono.look()
        gone = (await mono.world.stored()).removed
        torn = await mono.applications()
        mono.write("a")
        await mono.look()
        back = await mono.world.stored()

    assert gone is not None
    assert torn["shop"] == ("a/volary.yaml", "team-a")
    assert torn["shop.mono-b"] == ("b/volary.yaml", "team-b")
    assert (back.project, back.removed) == ("team-a", None)


async def test_a_file_that_moves_within_its_project_stays_the_same_application(
    tmp_path: Path,
) -> None:
    async with looking(tmp_path) as mono:
        mono.use(A, B)
        mono.write("a")
        await mono.look()
        mono.remove("a")
        mono.write("a/deeper")
        await mono.look()

        assert await mono.applications() == {"shop": ("a/deeper/volary.yaml", "team-a")}


async def test_who_takes_every_name_somebody_could_have_stops_nobody(tmp_path: Path) -> None:
    location = application_identity.ApplicationLocation("mono", "a/volary.yaml")
    mine = application_identity.qualified_name("shop", location)
    digest = hashlib.sha256(str(location).encode()).hexdigest()[:8]
    async with looking(tmp_path) as mono:
        mono.use(A, B)
        for number, name in enumerate(("shop", mine, f"{mine}-{digest}", f"{mine}-{digest}-2")):
            mono.write(f"b/{number}", name)
        await mono.look()
        mono.write("a")
        await mono.look()
        found = await mono.applications()
        await mono.look()
        again = await mono.applications()

    assert found[f"{mine}-{digest}-3"] == ("a/volary.yaml", "team-a")
    assert again == found


async def test_a_run_left_behind_waits_until_it_is_known_which_projects_there_are(
    tmp_path: Path,
) -> None:
    async with looking(tmp_path) as mono:
        mono.use(unknown="the host is away")
        run = run_builder.new_run(
            "r1",
            run_builder.RunSpec("shop", "c1", run_builder.one_group(("us",)), (given.SYNC,)),
            given.AT,
        )
        await given.keep_run(mono.world.store, run, given.Kind.MOVE)
        status = application_statuses.ApplicationStatus(run="r1", under_way=True)
        document = application_statuses.to_document(status)
        record = records.ApplicationRecord("shop", "mono", "a/volary.yaml", document=document)
        await mono.world.store.applications.keep(record, fence=None)
        await mono.world.registry.load()
        await mono.world.until(lambda shop: "host is away" in str(shop.document["waiting_reason"]))
        reason = (await mono.world.stored()).reason

        mono.use(BOTH)
        await mono.review()
        await mono.world.until(lambda shop: "cannot go on" in shop.reason)
        kept = await mono.world.stored()

    assert "cannot go on" not in reason, "it was not even tried"
    assert kept.project == "both"
