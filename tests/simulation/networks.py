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
        context = contextvars.copy_context()
        context.run(loops.PLACE.set, place)
        answered: asyncio.Future[Answer] = self.loop.create_future()
        way = _Way(loops.PLACE.get(), place, action, answered)
        # From here on it is on its way: no pause of who asks holds it up.
        self.loop.call_later(self._delay(), self._arrive, way, context=context)
        # A timer of its own, for thousands: `asyncio.timeout` takes as long as all the rest.
        patience = self.loop.call_later(self.patience, _give_up, answered, failure)
        try:
            return await answered
        finally:
            patience.cancel()

    def _arrive(self, way: "_Way") -> None:
        if not self._is_lost(way):
            self.loop.create_task(self._carry_out(way))

    async def _carry_out(self, way: "_Way") -> None:
        result, error = None, None
        try:
            result = await way.action()
        except Exception as raised:  # noqa: BLE001 (it is the answer)
            error = raised
        self.loop.call_later(self._delay(), self._answer, way, result, error)

    def _answer(self, way: "_Way", result: Any, error: Exception | None) -> None:
        if self._is_lost(way) or way.answered.done():
            return
        if error is None:
            way.answered.set_result(result)
        else:
            way.answered.set_exception(error)

    def _delay(self) -> float:
        return self.loop.lot.random() ** 4 * self.delay

    def _is_lost(self, way: "_Way") -> bool:
        ends = frozenset((way.here, way.there))
        return ends in self.cuts or bool(ends & self.silent) or self.loop.lot.random() < self.loss

    def heal(self) -> None:
        """Let everybody hear everybody, and lose nothing."""
        self.loss = 0.0
        self.cuts.clear()
        self.silent.clear()


@dataclass(frozen=True, slots=True)
class _Way:
    """A question on its way to a place, and the answer on its way back."""

    here: str
    there: str
    action: Callable[[], Coroutine[Any, Any, Any]]
    answered: "asyncio.Future[Any]"


def _give_up(answered: "asyncio.Future[Any]", failure: Callable[[], Exception]) -> None:
    if not answered.done():
        answered.set_exception(failure())


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
