"""What everything that drives shares, for as long as this process holds the lease."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from volary.controller import inputs, insistence, openings, pulse, register, releases
from volary.model import json, record
from volary.notifying import notifier
from volary.sources import repository as repositories
from volary.store import faults, protocol, records

_REMEMBERED = 64


class Differences:
    """What changed between two commits, asked once for all applications of a repository."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str], tuple[str, ...]] = OrderedDict()
        self._lock = asyncio.Lock()

    async def between(
        self, name: str, repository: repositories.Repository, old: str, new: str
    ) -> tuple[str, ...]:
        """Return the paths that differ, of the repository called `name`.

        Raises:
            errors.UserError: One of the commits does not exist.
        """
        async with self._lock:
            key = (name, old, new)
            if key not in self._known:
                self._known[key] = await repository.changed_paths(old, new)
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            return self._known[key]


@dataclass(frozen=True, slots=True)
class Driving:
    """One tenure: from winning the lease to losing it."""

    store: protocol.Store
    fence: record.Fence | None
    desk: releases.Desk
    rules: inputs.Rules
    #: Beats whenever something was kept.
    pulse: pulse.Pulse
    #: Everything that goes on beside belongs to it, and ends with it.
    group: asyncio.TaskGroup
    #: How many may look into repositories and clusters at once, to plan.
    planners: asyncio.Semaphore
    #: Who is told what happens.
    notifier: notifier.Notifier
    #: Makes ids of runs.
    new_id: Callable[[], str]
    #: The clusters as they are known.
    register: register.Register
    differences: Differences = field(default_factory=Differences)
    #: Applications that are looked at again and again.
    opened: openings.Openings = field(default_factory=openings.Openings)

    async def note(
        self, by: str, action: str, document: json.JsonObject, *, application: str = ""
    ) -> None:
        """Write something into the audit that nobody asked for."""
        entry = records.AuditRecord(
            at=self.desk.clock.now(),
            by=by,
            action=action,
            result="ok",
            application=application,
            document=document,
        )
        await insistence.insist(lambda: self.store.audit.write(entry), action)


def is_overtaken(error: BaseException) -> bool:
    """Say whether another process drives now, so that this one has to stop at once."""
    if isinstance(error, BaseExceptionGroup):
        return any(is_overtaken(each) for each in error.exceptions)
    return isinstance(error, faults.Overtaken)
