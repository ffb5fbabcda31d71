"""The state of tasks, kept by the server."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from volary.agents.tasks import services
from volary.clusters.transport import write_permits
from volary.model import backoffs, errors, json
from volary.stages.runtime import task_states

_LOG = logging.getLogger(__name__)
Value = TypeVar("Value")
_AGAIN = backoffs.Backoff(timedelta(milliseconds=200), timedelta(seconds=5))


async def until_answered(action: Callable[[], Awaitable[Value]], what: str) -> Value:
    """Ask until a server answers, and return what it says.

    Raises:
        errors.PermanentError: It refuses.
    """
    failures = 0
    while True:
        try:
            value = await action()
        except errors.TemporaryError as error:
            if not failures:
                _LOG.warning("%s waits for the server: %s", what, error)
            failures += 1
            await asyncio.sleep((error.delay or _AGAIN.after(failures)).total_seconds())
        else:
            if failures:
                _LOG.warning("%s goes on: the server is back", what)
            return value


@dataclass(frozen=True, slots=True)
class RemoteState:
    """See `task_states`. A server that is away is waited for; the stage pauses meanwhile.

    Whoever was overtaken writes nothing: each write waits for the permit of its task.
    """

    server: services.Services
    run: str

    async def load(self, place: task_states.TaskAttempt) -> json.JsonObject:
        """Return what was saved last; empty: nothing was."""
        return await until_answered(lambda: self.server.load(place), self.run)

    async def save(self, place: task_states.TaskAttempt, document: json.JsonObject) -> None:
        """Keep the document instead of the one before."""
        await self._write(lambda: self.server.save(place, document))

    async def found(self, place: task_states.TaskAttempt) -> Sequence[json.JsonObject]:
        """Return the measurements that this attempt reported before, in their order."""
        return await until_answered(lambda: self.server.found(place), self.run)

    async def recall(self, subject: task_states.StateKey) -> json.JsonObject:
        """Return what an earlier run kept; empty: nothing was."""
        target, name = subject.target, subject.name
        return await until_answered(lambda: self.server.recall(self.run, target, name), self.run)

    async def keep(self, subject: task_states.StateKey, document: json.JsonObject) -> None:
        """Keep the document for later runs instead of the one before."""
        target, name = subject.target, subject.name
        await self._write(lambda: self.server.keep(self.run, target, name, document))

    async def _write(self, action: Callable[[], Awaitable[None]]) -> None:
        permit = write_permits.current_of_task()

        async def write() -> None:
            await permit.wait()
            await action()

        await until_answered(write, self.run)
