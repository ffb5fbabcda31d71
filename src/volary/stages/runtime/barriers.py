"""Several clusters going in step: what each one observed, seen by all of them.

One cluster alone is a barrier of one. What is decided follows from what was shared, so every
cluster comes to the same decision by itself, and nobody has to lead. Questions to the outside
are asked once, by whoever comes to them first, in the name of all.

Rounds only ever go on, and a cluster waits for nothing but the others' word on its own round,
so they cannot wait for each other in a circle; who comes later begins with the round of the
others.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from volary.model.pipeline.stage_kinds import stage_kind
from volary.stages.runtime import execution

T = TypeVar("T")

_ROUND = "round"
#: Answers that are still known; who is behind by more asks again.
_KEPT = 3


@dataclass(slots=True)
class Barrier:
    """One member's place among those who go in step."""

    work: execution.Work
    scope: stage_kind.Scope
    #: Grows by one with each word on how it stands.
    round: int = 0

    def begin(self) -> None:
        """Take a place; called once, before anything is said."""
        rendezvous = self.work.context.rendezvous
        said = rendezvous.said(_ROUND)
        others = (said.get(member) for member in rendezvous.members)
        reached = max((other for other in others if isinstance(other, int)), default=0)
        self.round = max(0, reached - 1)

    async def share(self, value: T) -> Mapping[str, T]:
        """Begin a round: say how it stands here, and return what every member said, by cluster.

        Raises:
            StageFailedError: when the others do not speak in time.
            StoppedError: when asked to stop.
        """
        self.round += 1
        target, rendezvous = self.work.context.target, self.work.context.rendezvous
        if self.scope is stage_kind.Scope.CLUSTER:
            return {target: value}
        topic = f"report {self.round}"
        rendezvous.post(target, _ROUND, self.round)
        rendezvous.post(target, topic, value)
        said = await self.work.gather(topic, "the other clusters did not come so far in time")
        return cast("Mapping[str, T]", said)

    async def ask(self, topic: str, number: int, question: Callable[[], Awaitable[str]]) -> str:
        """Have a question asked once for all, and return the answer.

        Args:
            topic: What is asked.
            number: How often it was asked before; the same for all who share the answer.
            question: Asks.

        Raises:
            StoppedError: when asked to stop.
        """
        if self.scope is stage_kind.Scope.CLUSTER:
            return await question()
        context = self.work.context
        key = f"{context.task.stage_id} {topic}"
        context.once.forget(f"{key} {number - _KEPT}")
        return (await self.work.once(f"{key} {number}", question)).value
