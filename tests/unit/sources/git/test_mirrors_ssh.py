"""Mirrors over ssh: real git, with a program in ssh's place that runs the command here.

What ssh itself does with the host keys is left to ssh; that it is told to check them, and
that its refusals are understood, is shown here.
"""

import dataclasses
import shlex
import shutil
import stat
from pathlib import Path

import pygit2
import pytest

from git_hosting import Upstream
from volary.model import errors, server_settings
from volary.sources.git import git_hosts, mirrors, ssh_remote

REAL = shutil.which("ssh")


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    found = Upstream.create(tmp_path)
    found.publish({"a": "1"})
    return found


@pytest.fixture
def key(tmp_path: Path) -> server_settings.Credentials:
    for name in ("id key", "known"):
        (tmp_path / name).write_text("")
    return server_settings.Credentials(
        ssh_key_file=str(tmp_path / "id key"), known_hosts_file=str(tmp_path / "known")
    )


def stand_in(tmp_path: Path, script: str) -> ssh_remote.Programs:
    path = tmp_path / "ssh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    git = shutil.which("git")
    assert git
    return ssh_remote.Programs(git, str(path))


def mirror_of(
    tmp_path: Path, spec: server_settings.Repository, programs: ssh_remote.Programs
) -> mirrors.Mirror:
    path = tmp_path / "mirror.git"
    pygit2.init_repository(str(path), bare=True)
    limits = git_hosts.Limits()
    return mirrors.Mirror(
        path, spec.url, ssh_remote.SshRemote(path, spec, limits, programs), limits
    )


#: Writes down how it was called, and does the last argument here.
RUN = """
printf "%s\\n" "$@" > "$(dirname "$0")/called"
PATH=/usr/bin:/bin:/usr/local/bin
for last; do :; done
eval "$last"
"""


async def test_a_branch_is_followed_over_ssh(
    upstream: Upstream, tmp_path: Path, key: server_settings.Credentials
) -> None:
    spec = server_settings.Repository(
        "shop", f"ssh://git@git.example{upstream.bare}", credentials=key
    )
    mirror = mirror_of(tmp_path, spec, stand_in(tmp_path, RUN))
    old = upstream.git("rev-parse", "HEAD")
    middle = upstream.publish({"a": "2"})
    first = await mirror.fetch()
    new = upstream.publish({"b": "1"})
    moved = await mirror.fetch("main")

    assert first == mirrors.Fetched("main", middle, mirrors.RefUpdate("main", "", middle))
    assert moved.update == mirrors.RefUpdate("main", middle, new)
    assert await mirror.repository.changed_paths(old, new) == ("a", "b")
    called = (tmp_path / "called").read_text().splitlines()
    assert "git@git.example" in called
    assert str(tmp_path / "id key") in called
    assert {"StrictHostKeyChecking=yes", "IdentityAgent=none", "BatchMode=yes"} <= set(called)
    assert f'UserKnownHostsFile="{tmp_path}/known"' in called


@pytest.mark.parametrize(
    ("complaint", "kind", "message"),
    [
        (
            "No ED25519 host key is known for git.example and you have requested strict checking.",
            errors.UserError,
            "host's key is not known",
        ),
        (
            "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nHost key verification failed.",
            errors.UserError,
            "is not the known one",
        ),
        ("git@git.example: Permission denied (publickey).", errors.UserError, "refuses the cred"),
        ("WARNING: UNPROTECTED PRIVATE KEY FILE!", errors.UserError, "may read the private key"),
        ('Load key "/x": error in libcrypto', errors.UserError, "key cannot be used"),
        ("ssh: connect to host git.example port 22: timed out", errors.TemporaryError, "timed out"),
    ],
)
async def test_refusals_of_ssh_are_understood(
    tmp_path: Path,
    key: server_settings.Credentials,
    complaint: str,
    kind: type[errors.VolaryError],
    message: str,
) -> None:
    spec = server_settings.Repository("shop", "git@git.example:shop.git", credentials=key)
    programs = stand_in(tmp_path, f"echo {shlex.quote(complaint)} >&2; exit 255")

    with pytest.raises(kind, match=message):
        await mirror_of(tmp_path, spec, programs).fetch("main")


async def test_a_slow_host_is_given_up(tmp_path: Path, key: server_settings.Credentials) -> None:
    spec = server_settings.Repository("shop", "git@git.example:shop.git", credentials=key)
    programs = stand_in(tmp_path, "PATH=/usr/bin:/bin; exec sleep 60")
    limits = dataclasses.replace(git_hosts.Limits(), listing=git_hosts.Limits().connect / 20)
    path = tmp_path / "mirror.git"
    pygit2.init_repository(str(path), bare=True)

    with pytest.raises(errors.TemporaryError, match=r"did not answer within 0\.5 seconds"):
        await ssh_remote.SshRemote(path, spec, limits, programs).heads()


@pytest.mark.skipif(REAL is None, reason="needs the program ssh")
async def test_the_real_ssh_takes_the_options(
    tmp_path: Path, key: server_settings.Credentials
) -> None:
    """Nobody listens there; what matters is that ssh gets as far as trying."""
    spec = server_settings.Repository("shop", "ssh://git@127.0.0.1:9/shop.git", credentials=key)

    with pytest.raises(errors.TemporaryError, match="cannot be reached"):
        await mirror_of(tmp_path, spec, ssh_remote.find()).fetch("main")


def test_a_missing_program_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="git was not found"):
        ssh_remote.find(str(tmp_path))


def test_a_listing_is_read_and_odd_names_are_left_out() -> None:
    listing = (
        f"ref: refs/heads/main\tHEAD\n{'a' * 40}\tHEAD\n{'a' * 40}\trefs/heads/main\n"
        f"{'b' * 40}\trefs/heads/../../x\n{'c' * 40}\trefs/heads/feature/a\nnonsense\n"
    )

    assert ssh_remote.parse(listing) == git_hosts.Heads(
        "main", {"main": "a" * 40, "feature/a": "c" * 40}
    )
