"""The state of tasks, kept by the server."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from volary.agents.tasks import services
from volary.clusters.transport import write_permits
from volary.concurrency import retries
from volary.model import json
from volary.stages.runtime import task_states

#: What is waited for.
SERVER = "the server"


@dataclass(frozen=True, slots=True)
class RemoteState:
    """See `task_states`. A server that is away is waited for; the stage pauses meanwhile.

    Whoever was overtaken writes nothing: each write waits for the permit of its task.
    """

    server: services.Services
    run: str

    async def load(self, place: task_states.TaskAttempt) -> json.JsonObject:
        """Return what was saved last; empty: nothing was."""
        return await retries.until_available(lambda: self.server.load(place), self.run, SERVER)

    async def save(self, place: task_states.TaskAttempt, document: json.JsonObject) -> None:
        """Keep the document instead of the one before."""
        await self._write(lambda: self.server.save(place, document))

    async def found(self, place: task_states.TaskAttempt) -> Sequence[json.JsonObject]:
        """Return the measurements that this attempt reported before, in their order."""
        return await retries.until_available(lambda: self.server.found(place), self.run, SERVER)

    async def recall(self, subject: task_states.StateKey) -> json.JsonObject:
        """Return what an earlier run kept; empty: nothing was."""
        target, name = subject.target, subject.name
        return await retries.until_available(
            lambda: self.server.recall(self.run, target, name), self.run, SERVER
        )

    async def keep(self, subject: task_states.StateKey, document: json.JsonObject) -> None:
        """Keep the document for later runs instead of the one before."""
        target, name = subject.target, subject.name
        await self._write(lambda: self.server.keep(self.run, target, name, document))

    async def _write(self, action: Callable[[], Awaitable[None]]) -> None:
        permit = write_permits.current_of_task()

        async def write() -> None:
            await permit.wait()
            await action()

        await retries.until_available(write, self.run, SERVER)
