"""What a task keeps of its progress, so that it can go on in its middle after a crash.

A task that had begun is carried out again when the process comes back. Most stages read all
they need from the cluster; what cannot be read there (how many checks failed so far, when a
measuring began) they keep here. A state belongs to one attempt: whoever tries a stage again
begins afresh. It goes with the run.

What outlives a run is stored by application and cluster, under a name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from volary.model import json


@dataclass(frozen=True, slots=True)
class TaskAttempt:
    """Whose state it is: one attempt at one stage on one cluster."""

    run: str
    stage: str
    target: str
    attempt: int


@dataclass(frozen=True, slots=True)
class StateKey:
    """What an application has learnt in a cluster, under a name."""

    application: str
    target: str
    name: str


class TaskStateStore(Protocol):
    """Where task state is stored; a save returns once it is durable.

    May raise whatever says that this process must not go on, such as that another one is the
    leader.
    """

    async def load(self, place: TaskAttempt) -> json.JsonObject:
        """Return what was saved last; empty: nothing was."""
        ...

    async def save(self, place: TaskAttempt, document: json.JsonObject) -> None:
        """Keep the document instead of the one before."""
        ...

    async def found(self, place: TaskAttempt) -> Sequence[json.JsonObject]:
        """Return the measurements that this attempt reported before, in their order.

        The last few may be missing when the process did not end by itself.
        """
        ...

    async def recall(self, subject: StateKey) -> json.JsonObject:
        """Return what an earlier run kept; empty: nothing was."""
        ...

    async def keep(self, subject: StateKey, document: json.JsonObject) -> None:
        """Keep the document for later runs instead of the one before."""
        ...


@dataclass(slots=True)
class InProcessStore:
    """Keeps task state for as long as the process lives."""

    _tasks: dict[TaskAttempt, json.JsonObject] = field(default_factory=dict)
    _subjects: dict[StateKey, json.JsonObject] = field(default_factory=dict)

    async def load(self, place: TaskAttempt) -> json.JsonObject:
        """Return what was saved last."""
        return self._tasks.get(place, {})

    async def save(self, place: TaskAttempt, document: json.JsonObject) -> None:
        """Keep the document."""
        self._tasks[place] = document

    async def found(self, place: TaskAttempt) -> Sequence[json.JsonObject]:
        """Return nothing: a process that goes on has not lost what it measured."""
        del place
        return ()

    async def recall(self, subject: StateKey) -> json.JsonObject:
        """Return what an earlier run kept."""
        return self._subjects.get(subject, {})

    async def keep(self, subject: StateKey, document: json.JsonObject) -> None:
        """Keep the document for later runs."""
        self._subjects[subject] = document


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of one task; what is saved has to be plain JSON, and is not to be changed."""

    place: TaskAttempt = TaskAttempt("", "", "", 1)
    application: str = ""
    keeper: TaskStateStore = field(default_factory=InProcessStore)

    async def load(self) -> json.JsonObject:
        """Return what this attempt saved last; empty: it begins."""
        return await self.keeper.load(self.place)

    async def save(self, document: json.JsonObject) -> None:
        """Remember the document instead of the one before; returns once it is safe."""
        await self.keeper.save(self.place, document)

    async def found(self) -> Sequence[json.JsonObject]:
        """Return the measurements that this attempt reported before."""
        return await self.keeper.found(self.place)

    async def recall(self, name: str) -> json.JsonObject:
        """Return what an earlier run of the application kept for this cluster; else empty."""
        return await self.keeper.recall(self._subject(name))

    async def keep(self, name: str, document: json.JsonObject) -> None:
        """Keep something for later runs of the application on this cluster."""
        await self.keeper.keep(self._subject(name), document)

    def _subject(self, name: str) -> StateKey:
        return StateKey(self.application, self.place.target, name)
