"""What a look into a repository means for an application: how it stands, and what it requests."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import command_world
import git_feed
import reconciler_fixtures as given
from volary.controller.applications import repository_events
from volary.controller.status import application_statuses, cluster_releases
from volary.model import applications, errors, statuses
from volary.store import records
from volary.tenancy import membership

FILE = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop, labels: {team: web}}
"""
TYPO = errors.Problem("a typo", errors.Location("volary.yaml", 3))
HELD = errors.Problem("suspended by a policy\nin Karmada", holds=True)


MINE = membership.Membership("default")


@dataclass
class Seen:
    """A leader, and a repository that it looks into."""

    world: given.World
    path: Path
    feed: git_feed.Feed

    def push(self, text: str) -> str:
        """Commit the application's file; returns the commit."""
        (self.path / "volary.yaml").write_text(text)
        return command_world.commit(self.path, "Change the shop")

    async def look(self, *problems: errors.Problem) -> None:
        """Look into the repository, and find the application; with problems it cannot be used."""
        seen = await self.feed.look()
        for found in seen.applications:
            broken = replace(found, application=None, problems=problems)
            await repository_events.apply(
                self.world.leader, self.world.shop, broken if problems else found, seen, MINE
            )

    async def stands(self) -> tuple[str, str]:
        kept = await self.world.stored()
        return kept.status, kept.reason


@contextlib.asynccontextmanager
async def watched(
    path: Path, known: records.ApplicationRecord | None = None, **rules: object
) -> AsyncIterator[Seen]:
    feed = git_feed.Feed(path)
    made = replace(given.inputs.Rules(backoff=given.QUICK), **rules)  # type: ignore[arg-type]
    names = itertools.chain(["new"], map("new{}".format, itertools.count(2)))
    async with given.leading(sources=feed, rules=made, new_id=lambda: next(names)) as world:
        if known is not None:
            await world.store.applications.keep(known, fence=None)
        await world.registry.load()
        yield Seen(world, path, feed)


def kept(status: str, **fields: object) -> records.ApplicationRecord:
    """Return the application as it was kept before, at the same place."""
    standing = replace(application_statuses.ApplicationStatus(), **fields)  # type: ignore[arg-type]
    document = application_statuses.to_document(standing)
    return records.ApplicationRecord(
        "shop", "shop", "volary.yaml", status=status, document=document
    )


async def test_the_first_commit_is_released_and_where_the_file_is_is_known(tmp_path: Path) -> None:
    async with watched(tmp_path) as shop:
        commit = shop.push(FILE)

        await shop.look()
        await shop.world.until(lambda each: each.running_commit == commit)

        record, status = await shop.world.stored(), await shop.world.status()
        assert (record.repository, record.path, record.branch) == ("shop", "volary.yaml", "main")
        assert record.labels == {"team": "web"}
        assert (status.head, status.looked_at) == (commit, commit)
        run = await shop.world.store.runs.load("new")
        assert run is not None
        assert run.origin["reason"] == "it is the first commit seen of this application"


async def test_a_commit_that_is_no_reason_is_noted_and_releases_nothing(tmp_path: Path) -> None:
    async with watched(tmp_path) as shop:
        shop.push(FILE + "spec: {trigger: {onCommit: {disabled: true}}}\n")
        await shop.look()
        commit = shop.push(FILE + "# again\nspec: {trigger: {onCommit: {disabled: true}}}\n")
        await shop.look()

        assert (await shop.world.status()).looked_at == commit
        assert shop.world.script.prepared == []


async def test_a_file_with_a_mistake_is_broken_and_what_was_decided_stays(tmp_path: Path) -> None:
    async with watched(tmp_path) as shop:
        first = shop.push(FILE)
        await shop.look()
        await shop.world.until(lambda each: each.running_commit == first)
        second = shop.push(FILE + "# again\n")

        await shop.look(TYPO, HELD)

        status, reason = await shop.stands()
        assert status == "broken"
        assert "a typo" in reason
        assert "; suspended by a policy" in reason
        assert "in Karmada" not in reason, "the first line of each"
        known = await shop.world.status()
        assert (known.head, known.looked_at) == (second, first)
        assert known.held == "suspended by a policy", "it holds back what is there as well"
        assert known.decided == second
        became = await shop.world.store.commits.get("shop", second)
        assert became is not None
        run = await shop.world.store.runs.load(became.run_id)
        assert run is not None
        assert (became.status, run.head.status) == ("failed", statuses.RunStatus.FAILED)
        assert "a typo" in run.head.reason


async def test_who_sees_that_it_is_broken_finds_the_run_that_failed_by_it(tmp_path: Path) -> None:
    async with watched(tmp_path) as shop:
        first = shop.push(FILE)
        await shop.look()
        await shop.world.until(lambda each: each.running_commit == first)
        second = shop.push(FILE + "# again\n")

        async def runs_when_broken() -> list[str]:
            await shop.world.until(lambda each: each.status == "broken")
            found = await shop.world.store.runs.list(records.RunFilter(commit=second))
            return [item.head.status.value for item in found.items]

        async with asyncio.TaskGroup() as group:
            seen = group.create_task(runs_when_broken())
            await shop.look(TYPO)

        assert seen.result() == ["failed"]


async def test_a_process_that_died_right_after_it_kept_the_failed_run_leaves_one_of_them(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path) as shop:
        first = shop.push(FILE)
        await shop.look()
        await shop.world.until(lambda each: each.running_commit == first)
        before, status = await shop.world.stored(), shop.world.shop.status
        second = shop.push(FILE + "# again\n")

        for _ in range(2):
            await shop.look(TYPO)
            found = await shop.world.store.runs.list(records.RunFilter(commit=second))
            assert [item.head.status.value for item in found.items] == ["failed"]
            assert (await shop.stands())[0] == "broken"
            # Whoever comes after it knows nothing of what it had not written yet.
            shop.world.shop._state_writer.record = before
            shop.world.shop._state_writer.status = status


async def test_only_a_commit_that_touches_a_broken_file_is_another_failed_run(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path) as shop:
        (tmp_path / "shop").mkdir()
        statuses_seen = []
        for name in ("shop/volary.yaml", "README.md", "shop/other.yaml"):
            (tmp_path / name).write_text(FILE if name.endswith("volary.yaml") else "# words")
            commit = command_world.commit(tmp_path, f"Change {name}")

            await shop.look(TYPO)

            assert (await shop.world.status()).decided == commit
            page = await shop.world.store.runs.list(records.RunFilter())
            statuses_seen.append([item.head.status.value for item in page.items])

        assert statuses_seen == [["failed"], ["failed"], ["failed", "failed"]]


async def test_what_only_people_roll_out_is_out_of_sync_once_git_has_another_file(
    tmp_path: Path,
) -> None:
    by_hand = FILE + "spec: {trigger: {onCommit: {disabled: true}}}\n"
    async with watched(tmp_path) as shop:
        first = shop.push(FILE)
        await shop.look()
        await shop.world.until(lambda each: each.running_commit == first)
        second = shop.push(by_hand)

        await shop.look()

        said = ("out_of_sync", f"{first[:7]} runs, Git has {second[:7]}")
        assert await shop.stands() == said


async def test_a_commit_that_mends_the_file_is_a_run_also_back_to_what_it_was(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path) as shop:
        first = shop.push(FILE)
        await shop.look()
        await shop.world.until(lambda each: each.running_commit == first)
        shop.push(FILE + "# a typo\n")
        await shop.look(TYPO)

        mended = shop.push(FILE)
        await shop.look()
        await shop.world.until(lambda each: each.running_commit == mended)

        assert (await shop.stands())[0] == "synced"


async def test_what_is_only_held_back_has_not_failed(tmp_path: Path) -> None:
    async with watched(tmp_path) as shop:
        commit = shop.push(FILE)
        await shop.look(HELD)

        assert (await shop.world.status()).decided == commit
        assert (await shop.world.store.runs.list(records.RunFilter())).items == ()


async def test_a_file_that_somebody_only_holds_back_is_suspended_until_that_is_removed(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path) as shop:
        commit = shop.push(FILE)
        await shop.look(HELD)
        assert await shop.stands() == ("suspended", "suspended by a policy")
        assert (await shop.world.status()).held == "suspended by a policy"

        await shop.look()
        await shop.world.until(lambda each: each.running_commit == commit)

        assert (await shop.world.status()).held == ""


async def test_a_file_that_cannot_be_used_is_broken_also_where_nothing_says_why(
    tmp_path: Path,
) -> None:
    """Suspended is said of what somebody holds back, and of nothing else."""
    async with watched(tmp_path) as shop:
        shop.push(FILE)
        await shop.look(errors.Problem("a warning", severity=errors.Severity.WARNING))

        assert await shop.stands() == ("broken", "it has errors")
        assert (await shop.world.status()).held == ""


async def test_what_waits_goes_on_when_nothing_holds_it_back_any_more(tmp_path: Path) -> None:
    async with watched(tmp_path) as shop:
        commit = shop.push(FILE)
        standing = kept("suspended", held="a policy", looked_at=commit)
        waiting = given.request("r1", commit)
        document = application_statuses.to_document(
            replace(application_statuses.from_document(standing.document), run_request=waiting)
        )
        await shop.world.store.applications.keep(replace(standing, document=document), fence=None)
        await shop.world.registry.load()

        await shop.look()
        await shop.world.until(lambda each: each.running_commit == commit)

        assert shop.world.script.prepared == ["r1"]


async def test_how_it_stands_once_its_file_can_be_read_again(tmp_path: Path) -> None:
    """As before it lost its repository; else by what runs."""
    (tmp_path / "volary.yaml").write_text(FILE)
    commit = command_world.commit(tmp_path, "Add the shop")
    runs = cluster_releases.ClusterReleases(commit, {}, commit)
    before = application_statuses.StatusBeforeOrphaned("failed", "eu was flooded")
    for fields, expected in (
        ({"before_orphaned": before}, ("failed", "eu was flooded")),
        (
            {"before_orphaned": replace(before, status="broken")},
            ("unknown", "no run has succeeded yet"),
        ),
        ({"releases": runs}, ("synced", "its file can be read again")),
        ({}, ("unknown", "no run has succeeded yet")),
    ):
        async with watched(tmp_path, kept("broken", looked_at=commit, **fields)) as shop:
            await shop.look()

            assert await shop.stands() == expected
            assert (await shop.world.status()).before_orphaned is None


async def test_how_a_run_ended_stays_when_the_file_was_never_unreadable(tmp_path: Path) -> None:
    (tmp_path / "volary.yaml").write_text(FILE)
    commit = command_world.commit(tmp_path, "Add the shop")
    async with watched(tmp_path, kept("failed", looked_at=commit)) as shop:
        await shop.look()

        assert (await shop.stands())[0] == "failed"


async def test_clusters_are_those_of_the_file_only_where_the_settings_list_it(
    tmp_path: Path,
) -> None:
    listed = {"rules of its file": ("shop", "volary.yaml"), "of its folder": ("shop", "")}
    for entry in listed.values():
        async with watched(tmp_path, listed=frozenset({entry})) as shop:
            shop.push(FILE)
            await shop.look()
            assert (await shop.world.status()).targets == applications.TargetSelector()
    async with watched(tmp_path) as shop:
        await shop.look()
        assert (await shop.world.status()).targets is None


async def test_a_commit_that_was_force_pushed_away_is_decided_as_the_first_one(
    tmp_path: Path,
) -> None:
    async with watched(tmp_path, kept("synced", looked_at="0" * 40)) as shop:
        commit = shop.push(FILE)

        await shop.look()
        await shop.world.until(lambda each: each.running_commit == commit)

        assert shop.world.script.prepared == ["new"]
