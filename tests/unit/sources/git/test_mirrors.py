"""Mirrors of real repositories on this machine."""

import asyncio
import os
import shutil
import stat
from pathlib import Path

import pytest

from git_hosting import Upstream, run
from volary.model import errors, server_settings
from volary.sources.git import git_hosts, mirrors, packs


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


def test_a_full_disk_of_ours_is_no_lost_host() -> None:
    complaint = "cannot extend packfile '/data/mirrors/shop.git/pack': No space left on device"

    error = git_hosts.fetch_error("https://git.example/shop.git", complaint)

    assert isinstance(error, errors.TemporaryError)
    assert str(error) == f"https://git.example/shop.git cannot be fetched: {complaint}"


@pytest.mark.parametrize(
    "lost", ["HEAD", "refs/heads/main", "refs/volary/kept/*/*", "objects/pack/*.idx", "objects/*/*"]
)
async def test_a_mirror_that_a_power_cut_damaged_is_fetched_anew(
    upstream: Upstream, tmp_path: Path, lost: str
) -> None:
    """What was written last may be empty then."""

    async def fetch_and_keep(commit: str) -> None:
        async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
            mirror = all_of_them.mirror(spec_of(upstream))
            await mirror.fetch("main")
            await mirror.keep("simple", [commit], exclusively=True)

    first = upstream.publish({"a": "1"})
    await fetch_and_keep(first)
    [path] = (tmp_path / "data").glob("*.git")
    damaged = list(path.glob(lost))
    assert damaged
    for file in damaged:
        # Another file of this name: what this process has mapped of it does not change.
        file.unlink()
        file.touch()

    second = upstream.publish({"a": "2"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        fetched = await mirror.fetch("main")
        assert fetched.head == second
        assert (await mirror.repository.resolve(first)).id == first


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


async def test_what_is_named_is_found_on_the_host_though_nobody_follows_it(
    upstream: Upstream, tmp_path: Path
) -> None:
    main = upstream.publish({"a": "1"})
    upstream.git("checkout", "-q", "-b", "feature/bigger")
    proposed = upstream.commit({"a": "2"}, "propose it")
    upstream.git("push", "-q", "origin", "HEAD:refs/pull/7/head")
    branch = upstream.commit({"a": "3"})
    upstream.push("feature/bigger")
    upstream.git("tag", "-a", "v1.2", "-m", "a release", proposed)
    upstream.git("push", "-q", "origin", "v1.2")
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")
        found = [
            await mirror.find(name)
            for name in ("feature/bigger", "v1.2", "pull/7/head", "refs/pull/7/head", "main")
        ]
        with pytest.raises(errors.UserError, match="no branch or tag feature/smaller"):
            await mirror.find("feature/smaller")
        with pytest.raises(errors.UserError, match=r"no branch or tag a\.\.b"):
            await mirror.find("a..b")
        read = await mirror.repository.resolve(found[2])

        assert found == [branch, proposed, proposed, proposed, main]
        assert read.subject == "propose it"
        assert (await mirror.fetch("main")).update is None, "what is followed stays"


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


def open_packs(data: Path) -> list[str]:
    """The pack files below a directory that this process holds open, or has in its memory."""
    descriptors = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    mapped = Path("/proc/self/maps").read_text().splitlines()
    return [one for one in (*descriptors, *mapped) if str(data) in one and "/pack/" in one]


async def test_pushes_leave_no_more_and_more_files_open(upstream: Upstream, tmp_path: Path) -> None:
    """The tree is held all the time, as by a run."""
    limits = git_hosts.Limits(merged_packs=5)
    first = upstream.publish({"a": "first"})
    commits, opened = [], []
    async with mirrors.open_mirrors(tmp_path / "data", limits=limits) as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")
        tree = await mirror.repository.tree(first)
        for number in range(30):
            commits.append(upstream.publish({"a": str(number)}))
            await mirror.fetch("main")
            assert (await mirror.repository.tree(commits[-1])).read("a") == str(number).encode()
            assert tree.read("a") == b"first"
            opened.append(len(open_packs(tmp_path / "data")))
        for number, commit in enumerate(commits):
            assert (await mirror.repository.tree(commit)).read("a") == str(number).encode()
        [path] = (tmp_path / "data").glob("*.git")
        run("git", "fsck", "--strict", cwd=path)

    # Of each pack its two files, and the pack itself in memory and as a file.
    assert max(opened) <= 3 * (limits.merged_packs + 1), opened
    assert max(opened[15:]) <= max(opened[:15]), opened


async def test_packs_that_go_while_somebody_reads_are_missed_by_nobody(
    upstream: Upstream, tmp_path: Path
) -> None:
    """As the other process in the directory sees it; it has read nothing of most of the packs."""
    commits = [upstream.publish({"a": str(number)}) for number in range(2)]
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")
        for number in range(2, 6):
            commits.append(upstream.publish({"a": str(number)}))
            await mirror.fetch("main")
        [path] = (tmp_path / "data").glob("*.git")
        await mirror.repository.tree(commits[-1])

        assert packs.merge(path, 2)

        assert len(list(path.glob("objects/pack/*.pack"))) < 4
        for number, commit in enumerate(commits):
            assert (await mirror.repository.tree(commit)).read("a") == str(number).encode()
        assert not packs.merge(path, 4)


async def test_packs_that_cannot_be_merged_keep_no_push_away(
    upstream: Upstream, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = git_hosts.Limits(merged_packs=1)
    upstream.publish({"a": "0"})
    async with mirrors.open_mirrors(tmp_path / "data", limits=limits) as all_of_them:
        mirror = all_of_them.mirror(spec_of(upstream))
        await mirror.fetch("main")
        [path] = (tmp_path / "data").glob("*.git")
        for end in ("pack", "idx"):
            (path / f"objects/pack/pack-{'0' * 40}.{end}").write_text("of another version")
        newest = upstream.publish({"a": "1"})
        fetched = await mirror.fetch("main")

    assert fetched.head == newest
    assert "its packs cannot be merged" in caplog.text


async def test_what_a_killed_merge_left_is_removed(upstream: Upstream, tmp_path: Path) -> None:
    upstream.publish({"a": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        await all_of_them.mirror(spec_of(upstream)).fetch("main")
    [path] = (tmp_path / "data").glob("*.git")
    (path / "merging-x").mkdir()
    (path / "merging-x/pack-1.pack").touch()

    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        await all_of_them.mirror(spec_of(upstream)).fetch("main")

    assert not list(path.glob("merging-*"))


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ([], 0),
        ([5], 0),
        ([1, 1], 2),
        ([1, 3, 9, 27], 0),
        ([1, 1, 1, 100], 3),
        ([1, 3, 8, 100], 3),
        ([50, 60, 70, 100], 4),
    ],
)
def test_what_is_small_beside_the_others_is_merged(
    sizes: list[int], merged: int, tmp_path: Path
) -> None:
    by_size = {tmp_path / f"{place}.pack": size for place, size in enumerate(sizes)}

    assert list(packs.choose(by_size)) == list(by_size)[:merged]


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
