"""What tasks and applications remember, in memory."""

from volary.model import json
from volary.model.runs import run_records
from volary.store import records
from volary.store.memory import shelves


class Memories:
    """See `protocol.Memories`."""

    def __init__(self, shelf: shelves.Shelves) -> None:
        self._shelf = shelf

    async def load(self, key: records.TaskKey) -> json.JsonObject:
        """Return what this attempt saved last; empty: nothing."""
        run = self._shelf.runs.get(key.run_id)
        attempt, document = run.memories.get((key.stage, key.target), (0, {})) if run else (0, {})
        return shelves.own(document) if attempt == key.attempt else {}

    async def save(
        self, key: records.TaskKey, document: json.JsonObject, *, fence: run_records.Fence | None
    ) -> None:
        """Keep it instead of what the task saved before; of an unknown run nothing is kept."""
        self._shelf.check_fence(fence)
        if run := self._shelf.runs.get(key.run_id):
            run.memories[key.stage, key.target] = (key.attempt, shelves.own(document))

    async def recall(self, application: str, target: str, name: str) -> json.JsonObject:
        """Return what was kept under a name; empty: nothing."""
        return shelves.own(self._shelf.memories.get((application, target, name), {}))

    async def keep(
        self,
        application: str,
        target: str,
        name: str,
        document: json.JsonObject,
        *,
        fence: run_records.Fence | None,
    ) -> None:
        """Keep it under a name instead of what was there."""
        self._shelf.check_fence(fence)
        self._shelf.memories[application, target, name] = shelves.own(document)
