"""Mirrors over https, from a real host with a certificate of its own."""

import asyncio
import contextlib
import os
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pygit2
import pytest
from aiohttp import connector

import git_hosting
import process_time
from git_hosting import Host, Upstream
from volary.gitops import repository_state, watcher
from volary.model import applications, errors, server_settings
from volary.sources.git import branch_listing, git_hosts, mirrors
from volary.sources.rendering import renderers

SECRET = "hunter2-canary"
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
"""


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    found = Upstream.create(tmp_path)
    found.publish({"a": "1"})
    return found


@pytest.fixture
async def host(tmp_path: Path, upstream: Upstream) -> AsyncIterator[Host]:
    async with git_hosting.serve(tmp_path) as found:
        yield found


@pytest.fixture
def trusted(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process believes the host's authority, as with SSL_CERT_FILE."""
    path = tmp_path / "authority.pem"
    host.authority.cert_pem.write_to_path(str(path))
    monkeypatch.setattr(connector, "_SSL_CONTEXT_VERIFIED", ssl.create_default_context(cafile=path))
    before = pygit2.settings.ssl_cert_file
    pygit2.settings.ssl_cert_file = str(path)
    yield
    pygit2.settings.ssl_cert_file = before


def spec_of(
    host: Host, credentials: server_settings.Credentials | None = None
) -> server_settings.Repository:
    return server_settings.Repository("shop", f"{host.url}/upstream.git", credentials=credentials)


def basic(tmp_path: Path, password: str = SECRET) -> server_settings.Credentials:
    path = tmp_path / "password"
    path.write_text(f"{password}\n")
    return server_settings.Credentials(username="robot", password_file=str(path))


async def fetch(
    tmp_path: Path, spec: server_settings.Repository, limits: git_hosts.Limits | None = None
) -> mirrors.Fetched:
    async with mirrors.open_mirrors(tmp_path / "data", limits=limits) as opened:
        return await opened.mirror(spec).fetch("main")


@pytest.mark.usefixtures("trusted")
async def test_an_open_repository_needs_one_question_when_nothing_changed(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    async with mirrors.open_mirrors(tmp_path / "data") as opened:
        mirror = opened.mirror(spec_of(host))
        first = await mirror.fetch("main")
        host.requests.clear()
        await mirror.fetch("main")

    assert first.head == upstream.git("rev-parse", "HEAD")
    assert host.requests == ["GET /upstream.git/info/refs"]


#: Fetches and says what is at the branch, in a process that has read no certificates yet.
_FETCH = """
import asyncio, pathlib, sys
from volary.model import server_settings
from volary.sources.git import mirrors
import pygit2

async def fetch(directory, url):
    async with mirrors.open_mirrors(pathlib.Path(directory)) as opened:
        spec = server_settings.Repository("shop", url)
        return (await opened.mirror(spec).fetch("main")).head

print(pygit2.settings.ssl_cert_file, asyncio.run(fetch(*sys.argv[1:])))
"""


async def test_a_host_is_believed_whose_authority_the_system_names(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    path = tmp_path / "authority.pem"
    host.authority.cert_pem.write_to_path(str(path))

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _FETCH, str(tmp_path / "data"), spec_of(host).url),
        env={**os.environ, "SSL_CERT_FILE": str(path), "SSL_CERT_DIR": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(process_time.HANG):
        said, _ = await process.communicate()

    assert said.decode().split() == ["None", upstream.git("rev-parse", "HEAD")]


@pytest.mark.usefixtures("trusted")
async def test_a_change_is_fetched_once_for_all_applications_and_servers(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    names = [f"app-{number}" for number in range(20)]
    for name in names:
        upstream.commit({f"{name}/a.yaml": CONFIG % name})
    first = upstream.publish({"readme": "1"})
    settings = server_settings.Settings(
        "fleet.yaml", str(tmp_path), "memory:", repositories=(spec_of(host),)
    )
    renderer, heads = renderers.Renderer(), asyncio.Queue[str]()
    read = watcher.WatchedRepositories

    async def note(told: repository_state.RepositoryState) -> None:
        assert told.head is not None
        heads.put_nowait(told.head.id)

    async def render(repositories: watcher.WatchedRepositories, commit: str) -> None:
        """Render every application for three clusters, as a plan of each does."""
        repository = await repositories.repository("shop")
        files = await repository.tree(commit)
        for name in names:
            described = applications.Application(name=name)
            for target in ("us", "eu", "asia"):
                await renderer.render(files, described, directory=name, target=target)

    async with (
        mirrors.open_mirrors(tmp_path / "leader") as leading,
        mirrors.open_mirrors(tmp_path / "standing") as standing,
        asyncio.TaskGroup() as group,
    ):
        watched = watcher.Watcher(settings, leading)
        task = group.create_task(watched.watch(note))
        async with asyncio.timeout(process_time.HANG):
            assert await heads.get() == first
            await render(read(settings, leading), first)
            before = renderer.renderings
            host.requests.clear()
            second = upstream.publish({f"{names[3]}/a.yaml": CONFIG % "changed"})
            watched.request_refresh("shop")
            assert await heads.get() == second
            await render(read(settings, leading), second)
        task.cancel()
        fetched = [line for line in host.requests if line.startswith("POST")]
        # Somebody asks a server that stands by about that commit.
        asked = await read(settings, standing).fetch_head("shop")
        host.requests.clear()
        await render(read(settings, standing), asked)
        besides = list(host.requests)

    assert (before, renderer.renderings) == (20, 21), "once for each application, then what changed"
    assert len(fetched) == 1
    assert (asked, besides) == (second, []), "one fetch of its own, for all of them"


@pytest.mark.usefixtures("trusted")
async def test_only_the_newest_commit_is_fetched_until_an_older_one_is_needed(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    old = upstream.git("rev-parse", "HEAD")
    for number in range(3):
        new = upstream.publish({"b": str(number)})
    async with mirrors.open_mirrors(tmp_path / "data") as opened:
        mirror = opened.mirror(spec_of(host))
        await mirror.fetch("main")
        [path] = (tmp_path / "data").glob("*.git")
        assert pygit2.Repository(str(path)).is_shallow
        assert pygit2.Repository(str(path)).get(old) is None

        newer = upstream.publish({"c": "1"})
        moved = await mirror.fetch("main")
        assert moved.update == mirrors.RefUpdate("main", new, newer)
        assert await mirror.repository.changed_paths(old, newer) == ("b", "c")

        upstream.git("reset", "-q", "--hard", "HEAD~1")
        upstream.commit({"d": "1"})
        upstream.push("main", "--force")
        forced = await mirror.fetch("main")
        assert forced.update is not None
        assert forced.update.forced


@pytest.mark.usefixtures("trusted")
async def test_whether_a_commit_is_of_a_branch_is_told_by_its_whole_history(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    old = upstream.git("rev-parse", "HEAD")
    head = upstream.publish({"b": "1"})
    upstream.git("checkout", "-q", "-b", "mine")
    beside = upstream.commit({"c": "1"})
    upstream.push("mine")
    async with mirrors.open_mirrors(tmp_path / "data") as opened:
        mirror = opened.mirror(spec_of(host))
        await mirror.fetch("main")
        [path] = (tmp_path / "data").glob("*.git")
        assert pygit2.Repository(str(path)).is_shallow

        assert await mirror.repository.has_in_history(head, head)
        assert await mirror.repository.has_in_history(head, old)
        assert not await mirror.repository.has_in_history(head, beside)
        await mirror.fetch("mine")
        assert not await mirror.repository.has_in_history(head, beside)
        assert not await mirror.repository.has_in_history(old, head)


@pytest.mark.usefixtures("trusted")
async def test_a_force_push_onto_a_short_history_is_noticed(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    old = upstream.publish({"b": "1"})
    async with mirrors.open_mirrors(tmp_path / "data") as opened:
        mirror = opened.mirror(spec_of(host))
        await mirror.fetch("main")
        upstream.git("reset", "-q", "--hard", "HEAD~1")
        new = upstream.commit({"d": "1"})
        upstream.push("main", "--force")
        forced = await mirror.fetch("main")
        assert forced.update == mirrors.RefUpdate("main", old, new, forced=True)
        assert await mirror.repository.changed_paths(old, new) == ("b", "d")


@pytest.mark.usefixtures("trusted")
async def test_a_password_lets_in_and_is_read_anew(host: Host, tmp_path: Path) -> None:
    host.username, host.password = "robot", SECRET
    async with mirrors.open_mirrors(tmp_path / "data") as opened:
        mirror = opened.mirror(spec_of(host, basic(tmp_path)))
        assert (await mirror.fetch("main")).head
        host.password = "rotated"
        with pytest.raises(errors.UserError, match="refuses the credentials") as caught:
            await mirror.fetch("main")
        basic(tmp_path, "rotated")
        assert (await mirror.fetch("main")).head

    assert SECRET not in str(caught.value)


@pytest.mark.usefixtures("trusted")
async def test_a_token_lets_in_and_is_written_nowhere(host: Host, tmp_path: Path) -> None:
    host.username, host.password = "x-token-auth", SECRET
    path = tmp_path / "token"
    path.write_text(SECRET)
    fetched = await fetch(
        tmp_path, spec_of(host, server_settings.Credentials(token_file=str(path)))
    )

    assert fetched.head
    written = [each for each in (tmp_path / "data").rglob("*") if each.is_file()]
    assert written
    assert all(SECRET.encode() not in each.read_bytes() for each in written)


@pytest.mark.usefixtures("trusted")
async def test_asked_for_credentials_without_having_any(host: Host, tmp_path: Path) -> None:
    host.password = SECRET

    with pytest.raises(errors.UserError, match="asks for credentials"):
        await fetch(tmp_path, spec_of(host))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("content", [b"", b"\xff", None])
async def test_a_secret_that_cannot_be_read_is_an_error(
    host: Host, tmp_path: Path, content: bytes | None
) -> None:
    host.password = SECRET
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(errors.UserError, match="token"):
        await fetch(tmp_path, spec_of(host, server_settings.Credentials(token_file=str(path))))


async def test_an_unknown_certificate_is_refused(host: Host, tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="certificate is not trusted"):
        await fetch(tmp_path, spec_of(host))

    assert host.requests == []


@pytest.mark.usefixtures("trusted")
async def test_a_redirect_is_not_followed(host: Host, tmp_path: Path) -> None:
    async with git_hosting.serve(tmp_path) as elsewhere:
        host.status = 302
        host.headers = {"Location": f"{elsewhere.url}/upstream.git/info/refs"}
        with pytest.raises(errors.UserError, match="leads somewhere else"):
            await fetch(tmp_path, spec_of(host, basic(tmp_path)))

        assert elsewhere.requests == []


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, errors.UserError),
        (403, errors.UserError),
        (500, errors.TemporaryError),
        (429, errors.TemporaryError),
    ],
)
async def test_what_the_host_answers_decides_whether_it_is_worth_trying_again(
    host: Host, tmp_path: Path, status: int, kind: type[errors.VolaryError]
) -> None:
    host.status = status

    with pytest.raises(kind):
        await fetch(tmp_path, spec_of(host))


@pytest.mark.usefixtures("trusted")
async def test_a_silent_host_is_given_up(host: Host, tmp_path: Path) -> None:
    host.silent = "GET"
    limits = git_hosts.Limits(listing=timedelta(seconds=0.5))

    with pytest.raises(errors.TemporaryError, match="did not answer within"):
        await fetch(tmp_path, spec_of(host), limits)


@pytest.mark.usefixtures("trusted")
async def test_a_fetch_that_hangs_is_given_up_and_its_mirror_is_busy_until_it_ends(
    host: Host, tmp_path: Path
) -> None:
    host.silent = "POST"
    limits = git_hosts.Limits(silence=timedelta(seconds=2), fetch=timedelta(seconds=0.5))
    async with mirrors.open_mirrors(tmp_path / "data", limits=limits) as opened:
        mirror = opened.mirror(spec_of(host))
        with pytest.raises(errors.TemporaryError, match="did not answer within"):
            await mirror.fetch("main")
        with pytest.raises(errors.TemporaryError, match="still has not answered"):
            await mirror.fetch("main")


@pytest.mark.parametrize(
    "body", [b"", b"0000", b"<html>", b"0009hello", b"00zz", b"ffff0000", b"0006\xff\xfe"]
)
def test_nonsense_is_no_branch(body: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert branch_listing.parse(body) == git_hosts.Heads()


@pytest.mark.usefixtures("trusted")
async def test_a_host_that_announces_what_it_does_not_have_is_not_believed(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.git("--git-dir", str(upstream.bare), "gc", "-q")
    packs = upstream.bare / "packed-refs"
    head = upstream.git("rev-parse", "HEAD")
    packs.write_text(packs.read_text().replace(head, "0123456789" * 4))

    with pytest.raises((errors.TemporaryError, errors.UserError)):
        await fetch(tmp_path, spec_of(host))


async def test_a_host_that_is_not_there_is_worth_trying_again(tmp_path: Path) -> None:
    spec = server_settings.Repository("shop", "https://127.0.0.1:9/shop.git")

    with pytest.raises(errors.TemporaryError, match="cannot be reached"):
        await fetch(tmp_path, spec)


async def test_a_commit_that_is_gone_is_asked_for_once_until_the_branch_moves(
    upstream: Upstream, host: Host, trusted: None, tmp_path: Path
) -> None:
    """As by thousands of applications that a force-push left at a commit nobody has."""
    gone = "0123456789" * 4
    async with mirrors.open_mirrors(tmp_path / "data") as all_of_them:
        mirror = all_of_them.mirror(spec_of(host))
        await mirror.fetch("main")

        async def asked(times: int) -> int:
            host.requests.clear()
            for _ in range(times):
                with pytest.raises(errors.UserError, match=f"does not have the commit {gone}"):
                    await mirror.repository.resolve(gone)
                with pytest.raises(errors.UserError, match=f"does not have the commit {gone}"):
                    await mirror.repository.changed_paths(gone, "main" * 10)
            return len(host.requests)

        once = await asked(1)
        assert once > 0
        assert await asked(1000) == 0
        await mirror.fetch("main")
        assert await asked(1) == 0, "the branch has not moved"
        upstream.publish({"a": "2"})
        await mirror.fetch("main")
        assert 0 < await asked(1000) <= once
