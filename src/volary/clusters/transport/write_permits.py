"""Whether this process may write to clusters now, asked right before each write is sent.

A process that drives by a lease may be stopped anywhere: by a debugger, a hypervisor, a machine
that sleeps. When it goes on, another process may have the lease. So what changes a cluster is
sent under a permit: it is waited for before a connection is taken, and looked at again when the
connection is there and nothing has been written to it.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

import aiohttp

if TYPE_CHECKING:
    from aiohttp.connector import Connection


class WritePermit(Protocol):
    """The right to write to clusters, which may end at any moment."""

    @property
    def is_valid(self) -> bool:
        """Whether a write may be sent at this moment."""
        ...

    async def wait(self) -> None:
        """Return when writes may be sent; who never gets the right again is cancelled meanwhile.

        Raises:
            errors.VolaryError: There is nothing to wait for.
        """
        ...


class Unconditional:
    """The permit of a process that nobody can take over from."""

    is_valid = True

    async def wait(self) -> None:
        """Return at once."""


UNCONDITIONAL = Unconditional()
#: Says which permit there is now.
Current = Callable[[], WritePermit]


class LapsedError(Exception):
    """The permit ended before anything was sent."""


_OF_REQUEST: ContextVar[WritePermit] = ContextVar("write permit", default=UNCONDITIONAL)


@contextlib.contextmanager
def required(permit: WritePermit) -> Iterator[None]:
    """Send what is sent in the block only under this permit.

    Raises:
        LapsedError: It ended; nothing was sent.
    """
    token = _OF_REQUEST.set(permit)
    try:
        yield
    finally:
        _OF_REQUEST.reset(token)


#: What who carries a task out is bound to, besides its process.
_OF_TASK: ContextVar[WritePermit] = ContextVar("write permit of a task", default=UNCONDITIONAL)


@contextlib.contextmanager
def of_task(permit: WritePermit) -> Iterator[None]:
    """Have all that is written in the block, and in tasks it starts, need this permit as well."""
    token = _OF_TASK.set(permit)
    try:
        yield
    finally:
        _OF_TASK.reset(token)


def current_of_task() -> WritePermit:
    """Return the permit of the task that is carried out at this moment."""
    return _OF_TASK.get()


class Both:
    """The permit of a process and of the task that it carries out at this moment."""

    def __init__(self, process: WritePermit) -> None:
        self._permits = (process, _OF_TASK.get())

    @property
    def is_valid(self) -> bool:
        """Whether both are valid."""
        return all(permit.is_valid for permit in self._permits)

    async def wait(self) -> None:
        """Return when each has been valid; whether both still are is looked at before the write.

        Raises:
            errors.VolaryError: One of them will never be.
        """
        for permit in self._permits:
            await permit.wait()


class CheckedRequest(aiohttp.ClientRequest):
    """A request that looks at its permit when its connection is there."""

    async def send(self, conn: "Connection") -> aiohttp.ClientResponse:
        """Send it, if it may still be sent."""
        if not _OF_REQUEST.get().is_valid:
            raise LapsedError
        return await super().send(conn)
