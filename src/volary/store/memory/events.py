"""The feeds of the runs in memory."""

from collections.abc import Iterable

from volary.store import pagination, protocol, records
from volary.store.memory import shelves


class Events:
    """See `protocol.Events`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits) -> None:
        self._shelf = shelf
        self._limits = limits

    async def after(
        self, run_id: str, number: int, *, limit: int = 500
    ) -> tuple[records.FeedEvent, ...]:
        """Return a run's events after the one with `number`, in order."""
        run = self._shelf.runs.get(run_id)
        return self._some(
            (event for event in run.events if event.number > number) if run else (), limit
        )

    async def all_after(
        self, position: int, *, application: str = "", limit: int = 500
    ) -> tuple[records.FeedEvent, ...]:
        """Return events of every run, or of one application's, after `position`, in order."""
        found = [
            event
            for run in self._shelf.runs.values()
            for event in run.events
            if event.position > position and application in ("", event.application)
        ]
        return self._some(sorted(found, key=lambda event: event.position), limit)

    async def position(self) -> int:
        """Return the position of the newest event."""
        return self._shelf.last_position

    async def journal(
        self, run_id: str, *, after: int = 0, limit: int = 500
    ) -> tuple[protocol.Entry, ...]:
        """Return what drove the run."""
        run = self._shelf.runs.get(run_id)
        entries = run.journal if run else []
        found = [(version, event) for version, _, event in entries if version > after]
        return shelves.own(tuple(found[: pagination.bounded(limit, self._limits.page)]))

    def _some(
        self, events: Iterable[records.FeedEvent], limit: int
    ) -> tuple[records.FeedEvent, ...]:
        return shelves.own(tuple(events)[: pagination.bounded(limit, self._limits.page)])
