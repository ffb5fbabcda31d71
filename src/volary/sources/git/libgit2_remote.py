"""A Git host by libgit2: https and files.

Its calls block, so they run in threads of their own. A call that outlives its deadline is
left alone: it ends at its next word from the host, or when the host has been silent for
too long, and until then its mirror is busy.
"""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeVar

import aiohttp
import pygit2
from pygit2.enums import CredentialType

from volary.config.text import git_addresses
from volary.model import errors, server_settings
from volary.sources.git import branch_listing, git_hosts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Libgit2Remote:
    """A repository reached by libgit2."""

    #: Where the mirror is.
    mirror: Path
    spec: server_settings.Repository
    limits: git_hosts.Limits
    workers: futures.Executor
    session: aiohttp.ClientSession
    #: An earlier call is still under way.
    _stuck: threading.Event = field(default_factory=threading.Event)

    @property
    def _is_file(self) -> bool:
        return git_addresses.transport(self.spec.url) is git_addresses.Transport.FILE

    async def heads(self) -> git_hosts.Heads:
        """See `git_hosts.Remote`."""
        if not self._is_file:
            return await branch_listing.list_branches(self.session, self.spec, self.limits)
        return await self._run(self._heads, self.limits.listing)

    async def fetch(self, refspecs: Sequence[str], *, depth: int) -> None:
        """See `git_hosts.Remote`; files have no short history, all of it is taken."""
        depth = 0 if self._is_file else depth
        await self._run(
            lambda callbacks: self._fetch(refspecs, depth, callbacks), self.limits.fetch
        )

    async def _run(self, work: "Callable[[_Callbacks], T]", limit: timedelta) -> T:
        where = git_addresses.mask(self.spec.url)
        if self._stuck.is_set():
            raise errors.TemporaryError(f"{where}: the host still has not answered the last time")
        callbacks = _Callbacks(self.spec, self.limits.largest)
        future = asyncio.get_running_loop().run_in_executor(
            self.workers, self._guarded, work, callbacks
        )
        try:
            async with asyncio.timeout(limit.total_seconds()):
                return await asyncio.shield(future)
        except TimeoutError:
            raise git_hosts.slow(self.spec.url, limit) from None
        except pygit2.GitError as error:
            raise git_hosts.fetch_error(self.spec.url, str(error)) from None
        finally:
            if not future.done():
                self._leave(future, callbacks)

    def _guarded(self, work: "Callable[[_Callbacks], T]", callbacks: "_Callbacks") -> T:
        try:
            return work(callbacks)
        except (KeyError, ValueError, OSError) as error:
            raise pygit2.GitError(str(error)) from error

    def _leave(self, future: "asyncio.Future[T]", callbacks: "_Callbacks") -> None:
        """Let go of a call that is still under way."""
        callbacks.abandoned.set()
        self._stuck.set()

        def ended(done: "asyncio.Future[T]") -> None:
            self._stuck.clear()
            if not done.cancelled():
                done.exception()

        future.add_done_callback(ended)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[pygit2.Remote]:
        url = self.spec.url
        # libgit2 takes a relative path for an address.
        location = str(Path(url).absolute()) if self._is_file and "://" not in url else url
        mirror = pygit2.Repository(str(self.mirror))
        try:
            yield mirror.remotes.create_anonymous(location)
        finally:
            # It refers to itself: its files would stay open until the garbage is collected.
            mirror.free()

    def _heads(self, callbacks: "_Callbacks") -> git_hosts.Heads:
        with self._opened() as opened:
            heads = opened.list_heads(callbacks=callbacks)
        named = {listed_head.name or "": listed_head for listed_head in heads}
        head = named.get("HEAD")
        return git_hosts.heads_of(
            {name: str(listed_head.oid) for name, listed_head in named.items()},
            (head.symref_target or "") if head else "",
        )

    def _fetch(self, refspecs: Sequence[str], depth: int, callbacks: "_Callbacks") -> None:
        # As the environment says.
        proxy: Literal[True] | None = None if self._is_file else True
        with self._opened() as opened:
            opened.fetch(list(refspecs), callbacks=callbacks, proxy=proxy, depth=depth)


class _Callbacks(pygit2.RemoteCallbacks):
    """Answers libgit2: who we are, and when it is enough."""

    def __init__(self, spec: server_settings.Repository, largest: int) -> None:
        super().__init__()
        self.abandoned = threading.Event()
        self._spec = spec
        self._largest = largest
        self._asked = False

    def credentials(
        self, url: str, username_from_url: str | None, allowed_types: CredentialType
    ) -> pygit2.UserPass:
        """Give the credentials once; a second question means they were not good enough."""
        del url, username_from_url
        where = git_addresses.mask(self._spec.url)
        if not allowed_types & CredentialType.USERPASS_PLAINTEXT:
            raise errors.user_error(f"{where}: the host takes neither token nor password")
        if self._asked:
            raise errors.user_error(
                f"{where}: the host refuses the credentials",
                hint="check that they are current and may read the repository",
            )
        self._asked = True
        known = git_hosts.login(self._spec.credentials)
        if known is None:
            raise git_hosts.credentials_missing(self._spec.url)
        return pygit2.UserPass(*known)

    def transfer_progress(self, stats: pygit2.remotes.TransferProgress) -> None:
        """Stop a call nobody waits for, or one that brings too much."""
        if self.abandoned.is_set():
            raise errors.TemporaryError("the fetch took too long")
        if stats.received_bytes > self._largest:
            raise errors.user_error(
                f"{git_addresses.mask(self._spec.url)} sends more than {self._largest} bytes"
            )


def prepare_for_hosts(limits: git_hosts.Limits) -> None:
    """Tell libgit2 how long a host may be silent, and whom to trust; for the whole process.

    It may be built without either; who is trusted is not known then, and hosts are refused.
    """
    authorities = ssl.get_default_verify_paths()
    with contextlib.suppress(pygit2.GitError):
        pygit2.settings.set_ssl_cert_locations(authorities.cafile, authorities.capath)
    with contextlib.suppress(pygit2.GitError):
        pygit2.settings.server_connect_timeout = round(limits.connect.total_seconds() * 1000)
        pygit2.settings.server_timeout = round(limits.silence.total_seconds() * 1000)
