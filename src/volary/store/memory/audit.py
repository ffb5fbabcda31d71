"""Who did what, in memory."""

from dataclasses import replace

from volary.store import pagination, records
from volary.store.memory import shelves


class Audit:
    """See `protocol.Audit`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits) -> None:
        self._shelf = shelf
        self._limits = limits

    async def write(self, entry: records.AuditRecord) -> None:
        """Keep one entry."""
        position = next(self._shelf.positions)
        self._shelf.audit.append(replace(shelves.own(entry), position=position))

    async def list(
        self, wanted: records.AuditFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.AuditRecord]:
        """Return entries, the newest first."""
        before = pagination.by_position(cursor)
        found = [
            shelves.own(entry)
            for entry in reversed(self._shelf.audit)
            if _is_wanted(entry, wanted) and (before is None or entry.position < before)
        ]
        limit = pagination.bounded(limit, self._limits.page)
        return pagination.cut(found, limit, lambda item: (item.position,))


def _is_wanted(entry: records.AuditRecord, wanted: records.AuditFilter) -> bool:
    return (
        wanted.by in ("", entry.by)
        and wanted.application in ("", entry.application)
        and wanted.run_id in ("", entry.run_id)
        and wanted.action in ("", entry.action)
    )
