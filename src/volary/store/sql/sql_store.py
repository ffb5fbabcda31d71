"""The store in a database, put together."""

from collections.abc import Sequence

from volary.model import clocks
from volary.model.runs import run_records
from volary.store import fencing, records
from volary.store.sql.database import database, group_commit
from volary.store.sql.repositories import (
    applications,
    audit,
    clusters,
    commits,
    events,
    findings,
    leases,
    logs,
    requests,
    retention,
    runs,
    task_states,
    transitions,
)


class SqlStore:
    """See `protocol.Store`; `factory.open_store` makes one."""

    def __init__(
        self, base: database.Database, *, clock: clocks.Clock, limits: records.Limits
    ) -> None:
        self._base = base
        self._group = group_commit.GroupCommit(
            self._write, lambda write: write.run_id, most=limits.group
        )
        self.runs = runs.Runs(base, limits)
        self.events = events.Events(base, limits)
        self.logs = logs.Logs(base, limits)
        self.findings = findings.Findings(base, limits)
        self.memories = task_states.TaskStates(base)
        self.leases = leases.Leases(base, clock)
        self.applications = applications.Applications(base, limits)
        self.commits = commits.Commits(base, limits)
        self.clusters = clusters.Clusters(base)
        self.requests = requests.Requests(base, limits, clock)
        self.audit = audit.Audit(base, limits)

    async def keep_transition(
        self, transition: run_records.Transition, *, fence: run_records.Fence | None
    ) -> run_records.KeptTransition:
        """Keep one step of a run, all or nothing."""
        write = transitions.Write(transition, fence, fencing.digest(transition))
        return await self._group.keep(write)

    async def prune(
        self, rule: records.Retention, *, fence: run_records.Fence | None
    ) -> records.Pruned:
        """Remove what retention allows."""
        return await retention.Retention(self._base, fence).prune(rule)

    async def _write(self, writes: Sequence[transitions.Write]) -> list[transitions.Result]:
        async with self._base.writing() as connection:
            return await transitions.write_all(connection, writes)
