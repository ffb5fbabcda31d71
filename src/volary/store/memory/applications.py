"""Applications in memory."""

from dataclasses import replace
from typing import Any

from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.memory import shelves


class Applications:
    """See `protocol.Applications`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits) -> None:
        self._shelf = shelf
        self._limits = limits

    async def keep(
        self, application: records.ApplicationRecord, *, fence: run_records.Fence | None
    ) -> int:
        """Keep it, new or changed, and return its new version."""
        self._shelf.check_fence(fence)
        application = shelves.own(application)
        before = self._shelf.applications.get(application.name)
        if before is not None and records.is_same(before, application):
            return before.version
        version = before.version + 1 if before else 1
        self._shelf.applications[application.name] = replace(application, version=version)
        return version

    async def get(self, name: str) -> records.ApplicationRecord | None:
        """Return it."""
        return shelves.own(self._shelf.applications.get(name))

    async def list(
        self, wanted: records.ApplicationFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.ApplicationRecord]:
        """Return applications by name."""
        after = pagination.by_name(cursor)
        found = [
            shelves.own(application)
            for name, application in sorted(self._shelf.applications.items())
            if name > after and _is_wanted(application, wanted)
        ]
        limit = pagination.bounded(limit, self._limits.page)
        return pagination.cut(found, limit, lambda item: (item.name,))

    async def forget(self, name: str, *, fence: run_records.Fence | None) -> None:
        """Forget it with all that is kept under its name, but for its runs."""
        self._shelf.check_fence(fence)
        shelf = self._shelf
        shelf.applications.pop(name, None)
        kept: tuple[dict[Any, Any], ...] = (shelf.commits, shelf.inventory, shelf.memories)
        for each in kept:
            for key in [key for key in each if key[0] == name]:
                del each[key]


def _is_wanted(application: records.ApplicationRecord, wanted: records.ApplicationFilter) -> bool:
    return (
        wanted.labels.items() <= application.labels.items()
        and wanted.status in ("", application.status)
        and wanted.repository in ("", application.repository)
        and (wanted.with_removed or application.removed is None)
    )
