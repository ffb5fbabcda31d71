"""A real store of which one call goes wrong in a way that nobody knows, or some calls do."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast

from volary.store import stores


class UnknownError(Exception):
    """Nobody has ever heard of it."""


class BreakingStore:
    """Passes every call on; whether one breaks is asked before it is made, and after.

    Calls of the test itself, the task that made this, never break.

    Args:
        base: The real store.
        breaks: Is given what is called, such as ``applications.keep``, and whether it was done.
    """

    def __init__(self, base: stores.Store, breaks: Callable[[str, bool], bool]) -> None:
        self._base = base
        self._breaks = breaks
        self._test = asyncio.current_task()

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._base, name)
        if inspect.iscoroutinefunction(member):
            return functools.partial(self.call, name, member)
        return _Group(self, name, member)

    async def call(self, name: str, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Make a call, unless it breaks."""
        mine = asyncio.current_task() is self._test
        if not mine and self._breaks(name, False):
            raise UnknownError(name)
        result = await method(*args, **named)
        if not mine and self._breaks(name, True):
            raise UnknownError(name)
        return result


class _Group:
    def __init__(self, store: BreakingStore, name: str, member: object) -> None:
        self._store, self._name, self._member = store, name, member

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._member, name)
        return functools.partial(self._store.call, f"{self._name}.{name}", method)


def breaking(breaks: Callable[[str, bool], bool]) -> Callable[[stores.Store], stores.Store]:
    """Return what makes of a store one that breaks."""
    return lambda base: cast("stores.Store", BreakingStore(base, breaks))


class HangingStore(BreakingStore):
    """Asks before each call whether it may be made, and waits until it may."""

    def __init__(
        self,
        base: stores.Store,
        hangs: Callable[[str, tuple[object, ...]], Awaitable[None]],
    ) -> None:
        super().__init__(base, lambda *_: False)
        self._hangs = hangs

    async def call(self, name: str, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Make a call once it may be made."""
        await self._hangs(name, args)
        return await super().call(name, method, *args, **named)


def hanging(
    hangs: Callable[[str, tuple[object, ...]], Awaitable[None]],
) -> Callable[[stores.Store], stores.Store]:
    """Return what makes of a store one that hangs."""
    return lambda base: cast("stores.Store", HangingStore(base, hangs))


class NthCall:
    """Breaks one call: the n-th, before or after it was carried out."""

    def __init__(self, number: int, *, done: bool) -> None:
        self.number = number
        self.done = done
        self.seen: list[str] = []

    def __call__(self, name: str, done: bool) -> bool:
        """Say whether this one breaks."""
        if done is not self.done:
            return False
        self.seen.append(name)
        return len(self.seen) == self.number

    @property
    def has_broken(self) -> bool:
        """Whether there were so many calls."""
        return len(self.seen) >= self.number
