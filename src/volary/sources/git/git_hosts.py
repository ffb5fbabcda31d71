"""What mirrors need from a Git host, and how its complaints are reported.

Two ways lead there: `libgit2_remote` (in threads, after `branch_listing` has asked) for https
and files, `ssh_remote` (the programs git and ssh) for ssh, because libgit2 believes only the
host keys in the home directory of the process, and every repository names its own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from volary import secret_files
from volary.config.text import git_addresses
from volary.model import errors, server_settings

HEADS = "refs/heads/"
#: Depth that asks for the whole history.
WHOLE = 2_147_483_647
#: Hosts that take a token do not look at the user name; Bitbucket wants this one.
TOKEN_USER = "x-token-auth"
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of everything a host may do to us."""

    connect: timedelta = timedelta(seconds=10)
    #: Without a byte.
    silence: timedelta = timedelta(seconds=30)
    #: Of asking for the branches.
    listing: timedelta = timedelta(seconds=60)
    #: Of one fetch.
    fetch: timedelta = timedelta(minutes=15)
    #: Bytes of one fetch.
    largest: int = 4 * 1024**3
    #: Hosts that are talked to at the same time.
    parallel: int = 8
    #: A mirror of more pack files is made anew at the next start.
    packs: int = 500
    #: When a mirror has more pack files after a fetch, the smaller ones are merged.
    merged_packs: int = 20


@dataclass(frozen=True, slots=True)
class Heads:
    """The branches of a host."""

    #: Empty: the host names none.
    default: str = ""
    #: Commits by branch.
    branches: Mapping[str, str] = field(default_factory=dict)


class NoSuchReferenceError(errors.UserError):
    """The host has no reference of this name; some hosts say so, others send nothing."""


class Remote(Protocol):
    """A repository on its host."""

    async def heads(self) -> Heads:
        """Return the branches.

        Raises:
            TemporaryError: The host cannot be reached, or is slow.
            UserError: It refuses us, or we do not believe it.
        """
        ...

    async def fetch(self, refspecs: Sequence[str], *, depth: int) -> None:
        """Fetch into the mirror; `depth` 0 leaves the history's end where it is.

        Raises:
            TemporaryError: The host cannot be reached, or is slow.
            UserError: It refuses us, or sends too much.
        """
        ...


def heads_of(references: Mapping[str, str], default: str) -> Heads:
    """Return what a host announced, without the names Git would not allow."""
    branches = {}
    for name, commit in references.items():
        if name.startswith(HEADS) and is_branch(name.removeprefix(HEADS)):
            branches[name.removeprefix(HEADS)] = commit
    default = default.removeprefix(HEADS) if default.startswith(HEADS) else ""
    return Heads(default if is_branch(default) else "", branches)


def is_branch(name: str) -> bool:
    """Say whether a name is that of a branch."""
    try:
        return bool(git_addresses.branch(name))
    except ValueError:
        return False


def login(given: server_settings.Credentials | None) -> tuple[str, str] | None:
    """Return user name and secret for https; None: nothing is given.

    Raises:
        UserError: The file with the secret cannot be used.
    """
    if given is not None and given.token_file:
        return TOKEN_USER, secret_files.read(given.token_file)
    if given is not None and given.password_file:
        return given.username, secret_files.read(given.password_file)
    return None


def credentials_missing(url: str) -> errors.UserError:
    """Return the error for a host that asks for credentials where none are written."""
    return errors.user_error(
        f"{git_addresses.mask(url)}: the host asks for credentials, or there is no such repository",
        hint="write tokenFile, or username and passwordFile, under credentials",
    )


def slow(url: str, limit: timedelta) -> errors.TemporaryError:
    """Return the error for a host that did not answer in time."""
    seconds = limit.total_seconds()
    return errors.TemporaryError(
        f"{git_addresses.mask(url)} did not answer within {seconds:g} seconds"
    )


def printable(text: str) -> str:
    """Return what a host said, fit to be shown: short, one line, without credentials."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return git_addresses.mask(line)[:_SHOWN].rstrip(".")


def fetch_error(url: str, complaint: str) -> errors.VolaryError:
    """Return the error for a complaint of libgit2, git, ssh or the host."""
    where = git_addresses.mask(url)
    if re.search(_NO_REFERENCE, complaint, re.IGNORECASE):
        said = errors.Problem(f"{where}: {printable(complaint)}")
        return NoSuchReferenceError(said)
    for pattern, message, hint in _KNOWN:
        if re.search(pattern, complaint, re.IGNORECASE):
            return errors.user_error(f"{where}: {message}", hint=hint)
    what = "fetched" if re.search(_DISK, complaint, re.IGNORECASE) else "reached"
    return errors.TemporaryError(f"{where} cannot be {what}: {printable(complaint)}")


#: What git says of a reference that the host does not have.
_NO_REFERENCE = r"couldn't find remote ref"
#: What disks say, mostly our own.
_DISK = r"no space left on device|quota exceeded|read-only file system"

_KNOWN = (
    (
        r"target oid|not our ref|unadvertised|cannot fetch a specific object",
        "the host does not hand that commit out",
        "",
    ),
    (
        r"identification has changed",
        "the host's key is not the known one: the connection may be intercepted",
        "when the host has a new key, put it into knownHostsFile",
    ),
    (
        r"host key verification failed|host key is known|hostkey",
        "the host's key is not known",
        "put the host's key into knownHostsFile, after comparing it with what the host publishes",
    ),
    (
        r"unprotected private key|bad permissions",
        "other users may read the private key, so ssh refuses it",
        "chmod 600 the file named by sshKeyFile",
    ),
    (
        r"error in libcrypto|invalid format|load key|passphrase",
        "the private key cannot be used",
        "sshKeyFile must name a private key without passphrase",
    ),
    (
        r"permission denied|authentication|status code: 40[13]\b|access denied",
        "the host refuses the credentials",
        "check that they are current and may read the repository",
    ),
    (
        r"certificate|ssl error: (?!syscall)",
        "the host's certificate is not trusted",
        "name the authority's certificate in SSL_CERT_FILE",
    ),
    (
        r"redirect|status code: 3\d\d",
        "the host leads somewhere else, which is not followed",
        "write the address it leads to as url",
    ),
    (
        r"status code: (?:404|410)|not found|does not appear to be a git|failed to resolve path"
        r"|unsupported url protocol|could not find repository|not a git repository",
        "there is no such repository, or the credentials may not see it",
        "check the url and the credentials",
    ),
)
