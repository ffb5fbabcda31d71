"""A Git host over ssh, by the programs git and ssh.

Nothing of the user's own settings counts: no agent, no configuration, no host keys but
those that were named. ssh refuses a host whose key it does not know.
"""

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from volary import subprocesses
from volary.config.text import git_addresses
from volary.model import errors, server_settings
from volary.sources.git import git_hosts

_LARGEST_LISTING = 32 * 1024 * 1024
_HINT = "install git and ssh; repositories over ssh are fetched by them"


@dataclass(frozen=True, slots=True)
class Programs:
    """Paths of the programs."""

    git: str
    ssh: str


def find(search: str | None = None) -> Programs:
    """Look for the programs on `search` (default: PATH).

    Raises:
        UserError: One of them is missing.
    """
    git, ssh = shutil.which("git", path=search), shutil.which("ssh", path=search)
    if git is None or ssh is None:
        missing = "git" if git is None else "ssh"
        raise errors.user_error(f"the program {missing} was not found", hint=_HINT)
    return Programs(git, ssh)


@dataclass(frozen=True, slots=True)
class SshRemote:
    """A repository reached by git and ssh."""

    #: Where the mirror is.
    mirror: Path
    spec: server_settings.Repository
    limits: git_hosts.Limits
    programs: Programs

    async def heads(self) -> git_hosts.Heads:
        """See `git_hosts.Remote`."""
        output = await self._git(
            ["ls-remote", "--symref", "--", self.spec.url, "HEAD", f"{git_hosts.HEADS}*"],
            self.limits.listing,
        )
        return parse(output)

    async def fetch(self, refspecs: Sequence[str], *, depth: int) -> None:
        """See `git_hosts.Remote`; the size is bounded by the time only."""
        shallow = [] if depth == 0 else [f"--depth={depth}"]
        options = ["--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--force"]
        arguments = ["fetch", *options, *shallow, "--", self.spec.url, *refspecs]
        await self._git(arguments, self.limits.fetch)

    async def _git(self, arguments: Sequence[str], limit: timedelta) -> str:
        try:
            finished = await subprocesses.run(
                [self.programs.git, *arguments],
                environment=self._environment(),
                timeout=limit,
                largest=_LARGEST_LISTING,
                directory=self.mirror,
            )
        except subprocesses.ProcessTimeoutError:
            raise git_hosts.slow(self.spec.url, limit) from None
        if finished.code != 0:
            raise git_hosts.fetch_error(self.spec.url, finished.complaint)
        return finished.text("git")

    def _environment(self) -> dict[str, str]:
        given = self.spec.credentials
        if given is None or not given.ssh_key_file:
            raise errors.user_error(f"{git_addresses.mask(self.spec.url)} needs a key for ssh")
        command = ssh_command(self.programs.ssh, given, self.limits)
        return {
            **subprocesses.private_environment(self.programs.git, self.mirror),
            "GIT_SSH_COMMAND": command,
            "GIT_SSH_VARIANT": "ssh",
            "GIT_ALLOW_PROTOCOL": "ssh",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_DIR": str(self.mirror),
            "LC_ALL": "C",
        }


def ssh_command(ssh: str, given: server_settings.Credentials, limits: git_hosts.Limits) -> str:
    """Return the command git starts, for the shell it does that with."""
    silence = max(2, round(limits.silence.total_seconds()))
    options = {
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "PreferredAuthentications": "publickey",
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": f'"{_absolute(given.known_hosts_file)}"',
        "GlobalKnownHostsFile": "/dev/null",
        "UpdateHostKeys": "no",
        "ForwardAgent": "no",
        "ClearAllForwardings": "yes",
        "ConnectTimeout": str(max(1, round(limits.connect.total_seconds()))),
        "ServerAliveInterval": str(silence // 2),
        "ServerAliveCountMax": "2",
    }
    words = [ssh, "-F", "none", "-i", _absolute(given.ssh_key_file)]
    for name, value in options.items():
        words += ["-o", f"{name}={value}"]
    return shlex.join(words)


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def parse(listing: str) -> git_hosts.Heads:
    """Return what ``git ls-remote --symref`` printed."""
    default, references = "", {}
    for line in listing.splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: "):
            default = value.removeprefix("ref: ") if name == "HEAD" else default
        elif name:
            references[name] = value
    return git_hosts.heads_of(references, default)
