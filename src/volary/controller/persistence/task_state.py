"""The state of tasks in the store, with the proof that this process is the leader."""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.controller.persistence import retry
from volary.model import json
from volary.model.runs import run_records
from volary.stages.judgement import findings
from volary.stages.runtime import task_states
from volary.store import records, stores

_PAGE = 500


@dataclass(frozen=True, slots=True)
class TaskStateStore:
    """See `task_states`. An unavailable store is waited for; the stage pauses meanwhile.

    Whoever was overtaken learns it here (`fencing.LeaseLost`), as with every write.
    """

    store: stores.Store
    fence: run_records.Fence | None
    #: Under which name the store knows the application.
    application: str

    async def load(self, place: task_states.TaskAttempt) -> json.JsonObject:
        """Return what was saved last; empty: nothing was."""
        key = _key(place)
        return await retry.until_available(lambda: self.store.memories.load(key), place.run)

    async def save(self, place: task_states.TaskAttempt, document: json.JsonObject) -> None:
        """Keep the document instead of the one before."""
        key = _key(place)
        await retry.until_available(
            lambda: self.store.memories.save(key, document, fence=self.fence), place.run
        )

    async def found(self, place: task_states.TaskAttempt) -> Sequence[json.JsonObject]:
        """Return the measurements that this attempt reported before, in their order."""
        wanted = records.FindingFilter(
            stage=place.stage, target=place.target, kind=findings.MEASUREMENT
        )
        documents: list[json.JsonObject] = []
        position = 0

        async def read() -> Sequence[records.Finding]:
            return await self.store.findings.after(place.run, position, wanted=wanted, limit=_PAGE)

        while True:
            page = await retry.until_available(read, place.run)
            documents += [finding.document for finding in page if finding.attempt == place.attempt]
            if len(page) < _PAGE:
                return documents
            position = page[-1].position

    async def recall(self, subject: task_states.StateKey) -> json.JsonObject:
        """Return what an earlier run kept; empty: nothing was."""
        return await retry.until_available(
            lambda: self.store.memories.recall(self.application, subject.target, subject.name),
            subject.application,
        )

    async def keep(self, subject: task_states.StateKey, document: json.JsonObject) -> None:
        """Keep the document for later runs instead of the one before."""
        await retry.until_available(
            lambda: self.store.memories.keep(
                self.application, subject.target, subject.name, document, fence=self.fence
            ),
            subject.application,
        )


def _key(place: task_states.TaskAttempt) -> records.TaskKey:
    return records.TaskKey(place.run, place.stage, place.target, place.attempt)
