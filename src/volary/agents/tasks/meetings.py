"""Where tasks of a stage meet that are carried out in several processes.

The place is that of the leader. Who works elsewhere has a mirror of it: what the others say comes
there, and what is said here goes to the leader. After another process has become the leader its
place is empty, so all that was said is said again.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from volary.agents.tasks import meeting_values, remote_state, services
from volary.concurrency import background_tasks, retries
from volary.engine import executor
from volary.model import errors
from volary.model.pipeline import pipelines
from volary.stages.runtime import rendezvouses

#: Seconds that leaving may take; who does not say so is missed after a while anyway.
_FAREWELL = 5.0


@contextlib.asynccontextmanager
async def shared(
    here: rendezvouses.Rendezvous, server: services.Services, task: executor.TaskContext
) -> AsyncIterator[None]:
    """Have a rendezvous of this process be that of the stage, wherever its tasks are carried out.

    Those of stages that have nothing to say to each other are left alone.

    Raises:
        errors.PermanentError: The server refuses.
    """
    if not _meets(task.stage):
        yield
        return
    mirror = _Mirror(here, server, task)
    # Those that are there already have to be seen before the first word.
    await mirror.say()
    try:
        async with (
            background_tasks.in_background(mirror.keep_saying()),
            background_tasks.in_background(mirror.keep_hearing()),
        ):
            yield
    finally:
        await mirror.leave()


def _meets(stage: pipelines.Stage) -> bool:
    return stage.kind.meets or stage.beside is not None


@dataclass(slots=True)
class _Mirror:
    here: rendezvouses.Rendezvous
    server: services.Services
    task: executor.TaskContext
    #: Of the place that is mirrored, and what of it has been seen.
    place: str = ""
    seen: int = -1
    #: What that place was told, by topic.
    told: dict[str, object] = field(default_factory=dict)
    #: What was heard, by topic and cluster, as it came.
    heard: dict[tuple[str, str], Any] = field(default_factory=dict)

    async def say(self) -> None:
        """Say what is new here, and hear what is new there."""
        said = dict(self.here.said_by(self.task.target))
        new = {topic: value for topic, value in said.items() if self.told.get(topic) is not value}
        written = {topic: meeting_values.write(value) for topic, value in new.items()}
        met = await self._ask({topic: text for topic, text in written.items() if text is not None})
        is_new_place = bool(self.place) and met.place != self.place
        self._take(met)
        if is_new_place and said.keys() != new.keys():
            self.told = {}
            await self.say()
        else:
            self.told = said

    async def keep_saying(self) -> None:
        """Say what is new here as soon as it is said, until cancelled."""
        while True:
            number = self.here.number
            said = self.here.said_by(self.task.target)
            if any(self.told.get(topic) is not value for topic, value in said.items()):
                await self.say()
            else:
                await self.here.changed(number)

    async def keep_hearing(self) -> None:
        """Hear what is new there, until cancelled."""
        while True:
            place = self.place
            met = await self._ask({}, seen=self.seen)
            self._take(met)
            if met.place != place:
                self.told = {}
                await self.say()

    async def leave(self) -> None:
        """Say that this task is there no more."""
        with contextlib.suppress(errors.VolaryError, TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await self.server.meet(self._meeting({}, is_present=False))

    async def _ask(self, said: dict[str, Any], seen: int = -1) -> services.Met:
        meeting = self._meeting(said, seen=seen)
        return await retries.until_available(
            lambda: self.server.meet(meeting), self.task.run_id, remote_state.SERVER
        )

    def _meeting(
        self, said: dict[str, Any], *, seen: int = -1, is_present: bool = True
    ) -> services.Meeting:
        task = self.task
        return services.Meeting(task.run_id, task.stage_id, task.target, said, is_present, seen)

    def _take(self, met: services.Met) -> None:
        """Have what is there be here as well."""
        if met.place == self.place and met.number < self.seen:
            return  # an answer that was overtaken
        if met.place != self.place:
            self.heard = {}
        self.place, self.seen = met.place, met.number
        others = [member for member in met.members if member != self.task.target]
        for member in self.here.members:
            if member != self.task.target and member not in others:
                self.here.leave(member)
        for member in others:
            self.here.join(member)
        for topic, said in met.said.items():
            for member, document in said.items():
                if member != self.task.target:
                    self._hear(member, topic, document)

    def _hear(self, member: str, topic: str, document: object) -> None:
        if self.heard.get((topic, member)) == document:
            return
        self.heard[topic, member] = document
        value = meeting_values.read(document)
        if value is not None:
            self.here.post(member, topic, value)
