"""What places say to each other: it takes time, and the question or the answer may be lost."""

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from simulation import loops
from volary.clusters.api import api_errors
from volary.model import errors

Answer = TypeVar("Answer")
_UNREACHABLE = "nothing came back"


@dataclass
class Network:
    """How places reach each other."""

    loop: loops.Loop
    #: The chance that a question, or an answer, is lost.
    loss: float = 0.0
    #: The longest that either takes, in seconds.
    delay: float = 0.05
    #: How long a place waits for an answer to what was lost.
    patience: float = 5.0
    #: Pairs of places that do not hear each other.
    cuts: set[frozenset[str]] = field(default_factory=set)
    #: Places that nobody hears.
    silent: set[str] = field(default_factory=set)
    #: The simulation is over: nobody hears anybody.
    is_over: bool = False

    async def call(
        self,
        place: str,
        action: Callable[[], Coroutine[Any, Any, Answer]],
        failure: Callable[[], Exception],
    ) -> Answer:
        """Have a place carry something out, and return what it answers.

        What was said is carried out, whatever becomes of who said it.
        """
        if self.is_over:
            raise failure()
        here = loops.PLACE.get()
        context = contextvars.copy_context()
        context.run(loops.PLACE.set, place)
        answered: asyncio.Future[Answer] = self.loop.create_future()
        # From here on it is on its way: no pause of who asks holds it up.
        self.loop.create_task(self._carry(here, place, action, answered), context=context)
        try:
            async with asyncio.timeout(self.patience):
                return await answered
        except TimeoutError:
            raise failure() from None

    async def _carry(
        self,
        here: str,
        place: str,
        action: Callable[[], Coroutine[Any, Any, Answer]],
        answered: "asyncio.Future[Answer]",
    ) -> None:
        if not await self._arrives(here, place):
            return
        error: Exception | None = None
        try:
            result = await action()
        except Exception as raised:  # noqa: BLE001 (it is the answer)
            error = raised
        if not await self._arrives(place, here) or answered.done():
            return
        if error is None:
            answered.set_result(result)
        else:
            answered.set_exception(error)

    async def _arrives(self, here: str, there: str) -> bool:
        lot = self.loop.lot
        await asyncio.sleep(lot.random() ** 4 * self.delay)
        if frozenset((here, there)) in self.cuts or {here, there} & self.silent:
            return False
        return lot.random() >= self.loss

    def heal(self) -> None:
        """Let everybody hear everybody, and lose nothing."""
        self.loss = 0.0
        self.cuts.clear()
        self.silent.clear()


class Remote:
    """Another place's object: its coroutines are carried out there."""

    def __init__(self, network: Network, place: str, real: Any) -> None:
        self._network, self._place, self._real = network, place, real

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if inspect.iscoroutinefunction(value):
            return self._asking(value)
        # The groups of a store, by noun.
        if type(value).__module__.startswith("volary.store.sql.repositories"):
            return Remote(self._network, self._place, value)
        return value

    def _asking(self, method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        def ask(*args: Any, **named: Any) -> Awaitable[Any]:
            return self._network.call(
                self._place,
                lambda: method(*args, **named),
                lambda: errors.TemporaryError("the database cannot be reached"),
            )

        return ask


def unreachable() -> Exception:
    """Return what a client raises when a cluster says nothing."""
    return api_errors.Unreachable(_UNREACHABLE)
