"""Mirrors of real repositories on this machine."""

import asyncio
import shutil
import stat
from pathlib import Path

import pytest

from git_hosting import Upstream, run
from volary.model import errors, server_settings
from volary.sources.git import git_hosts, mirrors


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream.create(tmp_path)


def spec_of(upstream: Upstream) -> server_settings.Repository:
    return server_settings.Repository("shop", str(upstream.bare))


async def test_a_branch_is_followed_and_only_changes_are_told(
    upstream: Upstream, tmp_path: Path
) -> None:
    first = upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        new = await mirror.fetch("main")
        same = await mirror.fetch("main")
        second = upstream.publish({"a": "2", "b": "2"})
        moved = await mirror.fetch("main")

        assert new == mirrors.Fetched("main", first, mirrors.RefUpdate("main", "", first))
        assert same == mirrors.Fetched("main", first)
        assert moved.update == mirrors.RefUpdate("main", first, second)
        assert await mirror.repository.changed_paths(first, second) == ("a", "b")
        assert (await mirror.repository.resolve(second)).subject == "change"


async def test_a_force_push_is_noticed(upstream: Upstream, tmp_path: Path) -> None:
    upstream.publish({"a": "1"})
    old = upstream.publish({"a": "2"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")
        upstream.git("reset", "-q", "--hard", "HEAD~1")
        new = upstream.commit({"a": "3"})
        upstream.push("main", "--force")
        fetched = await mirror.fetch("main")

        assert fetched.update == mirrors.RefUpdate("main", old, new, forced=True)
        assert await mirror.repository.changed_paths(old, new) == ("a",)


async def test_a_deleted_branch_is_told_once_and_may_come_back(
    upstream: Upstream, tmp_path: Path
) -> None:
    commit = upstream.publish({"a": "1"})
    upstream.push("release")
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("release")
        upstream.git("push", "-q", "origin", ":release")
        gone = await mirror.fetch("release")
        still_gone = await mirror.fetch("release")
        upstream.push("release")
        back = await mirror.fetch("release")

    assert gone.update == mirrors.RefUpdate("release", commit, "")
    assert still_gone == mirrors.Fetched("release", "")
    assert back.update == mirrors.RefUpdate("release", "", commit)


async def test_an_empty_repository_has_no_head(upstream: Upstream, tmp_path: Path) -> None:
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        fetched = await all_of_them.mirror(spec_of(upstream)).fetch()

    assert fetched == mirrors.Fetched("", "")


async def test_without_a_name_the_default_branch_is_meant(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.publish({"a": "1"})
    commit = upstream.commit({"a": "2"})
    upstream.push("trunk")
    upstream.git("--git-dir", str(upstream.bare), "symbolic-ref", "HEAD", "refs/heads/trunk")
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        fetched = await all_of_them.mirror(spec_of(upstream)).fetch()

    assert (fetched.branch, fetched.head) == ("trunk", commit)


async def test_a_mirror_outlives_the_process_and_what_a_killed_one_left(
    upstream: Upstream, tmp_path: Path
) -> None:
    first = upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        await all_of_them.mirror(spec_of(upstream)).fetch("main")
    [path] = (tmp_path / "data").glob("*.git")
    (path / "refs/heads/main.lock").touch()
    second = upstream.publish({"a": "2"})

    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        fetched = await all_of_them.mirror(spec_of(upstream)).fetch("main")

    assert fetched.update == mirrors.RefUpdate("main", first, second)


async def test_a_broken_mirror_is_made_anew(upstream: Upstream, tmp_path: Path) -> None:
    commit = upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        await all_of_them.mirror(spec_of(upstream)).fetch("main")
    [path] = (tmp_path / "data").glob("*.git")
    (path / "HEAD").unlink()

    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        fetched = await all_of_them.mirror(spec_of(upstream)).fetch("main")

    assert fetched.head == commit


async def test_a_mirror_of_too_many_packs_is_made_anew(upstream: Upstream, tmp_path: Path) -> None:
    limits = git_hosts.Limits(packs=1)
    for number in range(2):
        upstream.publish({"a": str(number)})
        async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
            await all_of_them.mirror(spec_of(upstream)).fetch("main")

    async with mirrors.open_mirrors(tmp_path / "data", limits=limits) as all_of_them:
        fetched = await all_of_them.mirror(spec_of(upstream)).fetch("main")

    assert fetched.update is not None
    assert fetched.update.old == ""


async def test_mirrors_are_private_and_one_per_address(upstream: Upstream, tmp_path: Path) -> None:
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        one = all_of_them.mirror(spec_of(upstream))
        other = all_of_them.mirror(server_settings.Repository("b", str(upstream.bare), "release"))

        assert one is other
        for path in [tmp_path / "data", *(tmp_path / "data").glob("*.git")]:
            assert stat.S_IMODE(path.stat().st_mode) == 0o700


async def test_two_at_once_share_a_mirror_without_harm(upstream: Upstream, tmp_path: Path) -> None:
    commit = upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        found = await asyncio.gather(*(mirror.fetch("main") for _ in range(5)))

    assert {each.head for each in found} == {commit}
    assert sum(each.update is not None for each in found) == 1


async def test_a_commit_that_a_force_push_left_behind_is_found_or_said_to_be_gone(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")

        with pytest.raises(errors.UserError, match="does not have the commit 0123456"):
            await mirror.ensure("0123456789" * 4)


def collect_garbage(data: Path) -> None:
    """What an operator does, or a job of the machine."""
    [path] = data.glob("*.git")
    run("git", "reflog", "expire", "--expire=now", "--all", cwd=path)
    run("git", "gc", "-q", "--prune=now", cwd=path)


async def test_a_kept_commit_outlives_force_pushes_and_garbage_collection(
    upstream: Upstream, tmp_path: Path
) -> None:
    first = upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")
        await mirror.keep("shop / web", {first})
        upstream.git("commit", "-q", "--amend", "-m", "again")
        upstream.push("main", "--force")
        run("git", "gc", "-q", "--prune=now", cwd=upstream.bare)
        await mirror.fetch("main")
        collect_garbage(tmp_path / "data")

    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        assert (await mirror.repository.tree(first)).read("a") == b"1"

        # Once nobody needs it, it goes.
        await mirror.keep("shop / web", (), exclusively=True)
        collect_garbage(tmp_path / "data")
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        with pytest.raises(errors.UserError, match="does not have the commit"):
            await all_of_them.mirror(spec_of(upstream)).repository.tree(first)


async def test_holders_keep_commits_without_regard_to_one_another(
    upstream: Upstream, tmp_path: Path
) -> None:
    first, second = upstream.publish({"a": "1"}), upstream.publish({"a": "2"})
    upstream.git("checkout", "-q", "--orphan", "other")
    upstream.commit({"b": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")
        await mirror.keep("web", {first, second})
        await mirror.keep("api", {first, "0123456789" * 4})
        await mirror.keep("web", {second}, exclusively=True)
        upstream.push("main", "--force")
        run("git", "gc", "-q", "--prune=now", cwd=upstream.bare)
        await mirror.fetch("main")
        await mirror.keep("api", {first, "0123456789" * 4})
        collect_garbage(tmp_path / "data")

        assert (await mirror.repository.tree(first)).read("a") == b"1"
        assert (await mirror.repository.tree(second)).read("a") == b"2"


async def test_a_mirror_that_is_made_anew_keeps_what_was_kept(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.publish({"a": "0"})
    first = upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        await all_of_them.mirror(spec_of(upstream)).fetch("main")
        await all_of_them.mirror(spec_of(upstream)).keep("web", {first})
    upstream.git("commit", "-q", "--amend", "-m", "again")
    upstream.push("main", "--force")
    run("git", "gc", "-q", "--prune=now", cwd=upstream.bare)

    limits = git_hosts.Limits(packs=0)
    for content in "23":
        newest = upstream.commit({"a": content})
        upstream.push("main", "--force")
        async with mirrors.open_mirrors(tmp_path / "data", limits=limits) as all_of_them:
            mirror = all_of_them.mirror(spec_of(upstream))
            await mirror.fetch("main")

            assert (await mirror.repository.tree(first)).read("a") == b"1"
            assert (await mirror.repository.tree(newest)).read("a") == content.encode()
            collect_garbage(tmp_path / "data")


@pytest.mark.parametrize("killed_after", ["old", "fresh", "nothing"])
async def test_a_mirror_that_was_being_made_anew_is_not_lost(
    upstream: Upstream, tmp_path: Path, killed_after: str
) -> None:
    first = upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        await all_of_them.mirror(spec_of(upstream)).fetch("main")
        await all_of_them.mirror(spec_of(upstream)).keep("web", {first})
    upstream.git("commit", "-q", "--amend", "-m", "again")
    upstream.push("main", "--force")
    run("git", "gc", "-q", "--prune=now", cwd=upstream.bare)
    [path] = (tmp_path / "data").glob("*.git")
    fresh, old = path.with_name(f"{path.name}.new"), path.with_name(f"{path.name}.old")
    if killed_after == "nothing":
        (fresh / "objects").mkdir(parents=True)
    else:
        shutil.copytree(path, fresh)
        path.rename(old)
    if killed_after == "fresh":
        fresh.rename(path)

    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")

        assert (await mirror.repository.tree(first)).read("a") == b"1"
    assert [path] == [one for one in (tmp_path / "data").iterdir() if one.is_dir()]


@pytest.mark.parametrize("form", ["{}/missing.git", "file://{}/missing.git", "{}"])
async def test_a_missing_repository_is_an_error_with_a_hint(tmp_path: Path, form: str) -> None:
    spec = server_settings.Repository("shop", form.format(tmp_path))
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        with pytest.raises(errors.UserError, match="no such repository"):
            await all_of_them.mirror(spec).fetch("main")


async def test_a_fetch_that_brings_too_much_is_stopped(upstream: Upstream, tmp_path: Path) -> None:
    upstream.publish({f"file{number}": str(number) * 5000 for number in range(50)})
    limits = git_hosts.Limits(largest=10)
    async with mirrors.open_mirrors(tmp_path / "data", limits=limits) as all_of_them:
        with pytest.raises(errors.UserError, match="sends more than 10 bytes"):
            await all_of_them.mirror(spec_of(upstream)).fetch("main")


async def test_a_directory_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")

    with pytest.raises(errors.UserError, match="cannot be used"):
        async with mirrors.open_mirrors(tmp_path / "data"):
            pass
