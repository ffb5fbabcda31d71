"""Asks an https host for its branches: the first step of Git's smart protocol.

Most checks end here. Done without libgit2 on purpose: libgit2 crashes the process on some
redirects (seen with 1.9.7), so it only speaks to hosts that have just answered plainly; and a
question that is asked every minute costs no thread this way.
"""

import base64
from collections.abc import Iterator

import aiohttp

from volary.config.text import git_addresses
from volary.http_client import answers
from volary.model import errors, server_settings
from volary.sources.git import git_hosts

#: Far above the largest known repositories (a million branches).
_LARGEST = 64 * 1024 * 1024
_KIND = "application/x-git-upload-pack-advertisement"


async def list_branches(
    session: aiohttp.ClientSession, spec: server_settings.Repository, limits: git_hosts.Limits
) -> git_hosts.Heads:
    """Return the branches of a repository.

    Raises:
        TemporaryError: The host cannot be reached, is slow, or makes no sense.
        UserError: It refuses us, leads elsewhere, or we do not believe it.
    """
    where = git_addresses.mask(spec.url)
    timeout = aiohttp.ClientTimeout(
        total=limits.listing.total_seconds(),
        sock_connect=limits.connect.total_seconds(),
        sock_read=limits.silence.total_seconds(),
    )
    try:
        async with session.get(
            f"{spec.url.rstrip('/')}/info/refs",
            params={"service": "git-upload-pack"},
            headers=_authorization(spec),
            allow_redirects=False,
            timeout=timeout,
        ) as answer:
            _check(spec, answer)
            body = await answers.read_whole(answer, _LARGEST)
    except answers.TooLargeError:
        raise errors.user_error(f"{where} announces too many branches") from None
    except TimeoutError:
        raise git_hosts.slow(spec.url, limits.listing) from None
    except aiohttp.ClientSSLError:
        raise git_hosts.fetch_error(spec.url, "certificate") from None
    except (aiohttp.ClientError, OSError) as error:
        raise git_hosts.fetch_error(spec.url, f"no connection: {error}") from None
    try:
        return parse(body)
    except ValueError as error:
        raise errors.TemporaryError(f"{where} does not speak Git: {error}") from None


def parse(body: bytes) -> git_hosts.Heads:
    """Return what a host announced.

    Raises:
        ValueError: It is not in Git's words.
    """
    references: dict[str, str] = {}
    default = ""
    for line in _lines(body):
        if line.startswith(b"#"):
            continue
        text, _, capabilities = line.decode("utf-8", "replace").rstrip("\n").partition("\0")
        commit, space, name = text.partition(" ")
        if not space or len(commit) != 40:
            raise ValueError("a line is not that of a branch")
        references[name] = commit
        for capability in capabilities.split():
            if capability.startswith("symref=HEAD:"):
                default = capability.removeprefix("symref=HEAD:")
    return git_hosts.heads_of(references, default)


def _lines(body: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(body):
        size = int(body[position : position + 4], 16)
        if size >= 4:
            if position + size > len(body):
                raise ValueError("it ends in the middle of a line")
            yield body[position + 4 : position + size]
        position += max(size, 4)


def _authorization(spec: server_settings.Repository) -> dict[str, str]:
    known = git_hosts.login(spec.credentials)
    if known is None:
        return {}
    return {"Authorization": f"Basic {base64.b64encode(':'.join(known).encode()).decode()}"}


def _check(spec: server_settings.Repository, answer: aiohttp.ClientResponse) -> None:
    where = git_addresses.mask(spec.url)
    if answer.status == 401 and spec.credentials is None:
        raise git_hosts.credentials_missing(spec.url)
    if answer.status != 200:
        raise git_hosts.fetch_error(spec.url, f"status code: {answer.status}")
    if answer.content_type != _KIND:
        raise errors.user_error(
            f"{where} is not the address of a Git repository", hint="check the url"
        )
