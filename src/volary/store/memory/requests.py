"""What people asked for, in memory."""

from dataclasses import replace

from volary.model import clocks
from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.memory import shelves


class Requests:
    """See `protocol.Requests`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits, clock: clocks.Clock) -> None:
        self._shelf = shelf
        self._limits = limits
        self._clock = clock

    async def ask(self, request: records.RequestRecord) -> bool:
        """Keep a request."""
        if request.id in self._shelf.requests:
            return False
        self._shelf.requests[request.id] = shelves.own(request)
        return True

    async def unanswered(self, *, limit: int = 100) -> tuple[records.RequestRecord, ...]:
        """Return requests that wait for an answer, the oldest first."""
        waiting = [request for request in self._shelf.requests.values() if request.answered is None]
        waiting.sort(key=lambda each: (each.at, each.id))
        return shelves.own(tuple(waiting[: pagination.bounded(limit, self._limits.page)]))

    async def answer(
        self, request_id: str, *, refusal: str, fence: run_records.Fence | None
    ) -> None:
        """Say that it was taken or why not; a second answer is ignored."""
        self._shelf.check_fence(fence)
        request = self._shelf.requests.get(request_id)
        if request is not None and request.answered is None:
            self._shelf.requests[request_id] = replace(
                request, answered=self._clock.now(), refusal=shelves.own(refusal)
            )

    async def get(self, request_id: str) -> records.RequestRecord | None:
        """Return it."""
        return shelves.own(self._shelf.requests.get(request_id))
