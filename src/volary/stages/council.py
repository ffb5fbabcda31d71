"""Several clusters going in step: what each found out, seen by all of them.

One cluster alone is a council of one. What is decided follows from what was said, so every
member comes to the same decision by itself, and nobody has to lead. Only questions to the
outside are asked by one, the speaker, in the name of all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from volary.model import stage
from volary.stages import work

T = TypeVar("T")


@dataclass(slots=True)
class Council:
    """One member's place among those who go in step."""

    doing: work.Work
    scope: stage.Scope
    #: The round, the same number for all who are in it.
    round: int = 0

    @property
    def is_speaker(self) -> bool:
        """Whether this cluster asks in the name of all."""
        if self.scope is stage.Scope.CLUSTER:
            return True
        members = self.doing.context.assembly.members
        return not members or members[0] == self.doing.context.target

    async def share(self, topic: str, value: T) -> Mapping[str, T]:
        """Say something, and return what every member said, by cluster.

        Raises:
            StageFailedError: when the others do not speak in time.
            StoppedError: when asked to stop.
        """
        target = self.doing.context.target
        if self.scope is stage.Scope.CLUSTER:
            return {target: value}
        assembly = self.doing.context.assembly
        where = f"{topic} {self.round}"
        assembly.post(target, where, value)
        try:
            async with asyncio.timeout(self.doing.remaining.total_seconds()):
                said = await self.doing.unless_stopped(_gathered(assembly.gather(target, where)))
        except TimeoutError:
            raise work.StageFailedError("the other clusters did not come so far in time") from None
        return cast("Mapping[str, T]", said)

    async def ask(self, topic: str, question: Callable[[], Awaitable[str]]) -> str:
        """Have the speaker ask, and return the answer to all.

        A speaker that left without an answer was stopped; the others come to know it by their
        own stop flags, and until then nothing is granted.
        """
        mine = await question() if self.is_speaker else None
        said = await self.share(topic, mine)
        answers = [each for each in said.values() if each is not None]
        return answers[0] if answers else "nobody could ask"


async def _gathered(gathering: Awaitable[T]) -> T:
    return await gathering
