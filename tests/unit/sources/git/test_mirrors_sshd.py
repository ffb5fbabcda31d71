"""Mirrors over ssh from a real sshd on loopback: keys, host keys, and their refusals."""

import asyncio
import contextlib
import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pygit2
import pytest

import process_time
from git_hosting import Upstream
from volary.model import errors, server_settings
from volary.sources.git import git_hosts, mirrors, ssh_remote

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")

pytestmark = [
    pytest.mark.skipif(SSHD is None, reason="sshd is not installed"),
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="sshd needs root for a login"),
]


@dataclass(frozen=True)
class Host:
    """A running sshd."""

    port: int
    #: Private key that is let in, and one that is not.
    key: Path
    stranger: Path
    known_hosts: Path

    def spec(self, path: Path, **changes: Path) -> server_settings.Repository:
        key, known = changes.get("key", self.key), changes.get("known", self.known_hosts)
        return server_settings.Repository(
            "shop",
            f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{path}",
            credentials=server_settings.Credentials(
                ssh_key_file=str(key), known_hosts_file=str(known)
            ),
        )


def new_key(path: Path) -> Path:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)],
        check=True,
        timeout=process_time.HANG,
    )
    return path


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    home = tmp_path / "sshd"
    home.mkdir(mode=0o700)
    ours, stranger, identity = (new_key(home / name) for name in ("ours", "stranger", "host"))
    (home / "authorized").write_text(ours.with_suffix(".pub").read_text())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    public = identity.with_suffix(".pub").read_text().split()
    (home / "known").write_text(f"[127.0.0.1]:{port} {public[0]} {public[1]}\n")
    settings = home / "sshd_config"
    settings.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {identity}\nPidFile none\n"
        f"AuthorizedKeysFile {home / 'authorized'}\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)  # sshd requires it
    process = await asyncio.create_subprocess_exec(
        str(SSHD), "-D", "-e", "-f", str(settings), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await _until_open(port)
        yield Host(port, ours, stranger, home / "known")
    finally:
        process.terminate()
        await process.wait()


async def _until_open(port: int) -> None:
    async with asyncio.timeout(process_time.HANG):
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                await writer.wait_closed()
                return
            await asyncio.sleep(0.05)


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    found = Upstream.create(tmp_path)
    found.publish({"a": "1"})
    return found


def mirror_of(tmp_path: Path, spec: server_settings.Repository) -> mirrors.Mirror:
    path = tmp_path / "mirror.git"
    pygit2.init_repository(str(path), bare=True)
    limits = git_hosts.Limits()
    return mirrors.Mirror(
        path, spec.url, ssh_remote.SshRemote(path, spec, limits, ssh_remote.find()), limits
    )


async def test_a_branch_is_followed(host: Host, upstream: Upstream, tmp_path: Path) -> None:
    mirror = mirror_of(tmp_path, host.spec(upstream.bare))
    old = upstream.git("rev-parse", "HEAD")

    first = await mirror.fetch()
    new = upstream.publish({"b": "1"})
    moved = await mirror.fetch("main")

    assert (first.branch, first.head) == ("main", old)
    assert moved.update == mirrors.RefUpdate("main", old, new)
    assert await mirror.repository.changed_paths(old, new) == ("b",)
    upstream.git("push", "-q", "origin", f"{old}:refs/pull/7/head")
    assert await mirror.find("pull/7/head") == old
    with pytest.raises(errors.UserError, match="no branch or tag pull/8/head"):
        await mirror.find("pull/8/head")


async def test_a_key_that_is_not_let_in_is_refused(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    spec = host.spec(upstream.bare, key=host.stranger)

    with pytest.raises(errors.UserError, match="refuses the cred"):
        await mirror_of(tmp_path, spec).fetch("main")


async def test_a_host_that_is_not_known_is_refused(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    nobody = tmp_path / "nobody"
    nobody.write_text("")

    with pytest.raises(errors.UserError, match="host's key is not known"):
        await mirror_of(tmp_path, host.spec(upstream.bare, known=nobody)).fetch("main")


async def test_a_host_with_another_key_is_refused(
    host: Host, upstream: Upstream, tmp_path: Path
) -> None:
    changed = tmp_path / "changed"
    public = host.stranger.with_suffix(".pub").read_text().split()
    changed.write_text(f"[127.0.0.1]:{host.port} {public[0]} {public[1]}\n")

    with pytest.raises(errors.UserError, match="is not the known one"):
        await mirror_of(tmp_path, host.spec(upstream.bare, known=changed)).fetch("main")
