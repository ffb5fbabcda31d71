"""Durable state, put together of groups by noun.

The leader shows its `fence` with every write; None says that the caller holds
no lease and needs none (a one-shot run with a store of its own). What people do (requests,
audit, logins) needs no fence: it may come in through a standby process.

Every method may raise `errors.TemporaryError` when the database is locked, full or gone:
nothing was written then, or the same call can be made again with the same effect. Lists
raise `errors.UserError` for a cursor that is none.
"""

from collections.abc import Sequence
from datetime import timedelta

from volary.model import clocks
from volary.model.runs import run_records
from volary.store import migrator, records
from volary.store.sql.database import database, group_commit
from volary.store.sql.repositories import (
    agents,
    api_tokens,
    applications,
    artifacts,
    audit,
    clusters,
    commits,
    events,
    leases,
    notifications,
    project_files,
    repository_refreshes,
    requests,
    retention,
    runs,
    servers,
    sessions,
    task_rows,
    task_states,
    transitions,
    workspaces,
)
from volary.store.sql.schema import fences


class Store:
    """Durable state in a database; `factory.open_store` makes one."""

    def __init__(
        self,
        base: database.Database,
        *,
        clock: clocks.Clock,
        limits: records.Limits,
        lease_clock: clocks.Clock | None,
        known: migrator.KnownSchema = migrator.KNOWN,
    ) -> None:
        self._base = base
        self._clock = clock
        self._known = known
        self._group = group_commit.GroupCommit(
            self._write, lambda write: write.item.head.id, most=limits.group
        )
        self.runs = runs.Runs(base, limits)
        self.events = events.Events(base, limits)
        self.logs = task_rows.Logs(base, limits)
        self.findings = task_rows.Findings(base, limits)
        self.artifacts = artifacts.Artifacts(base)
        self.memories = task_states.TaskStates(base)
        self.leases = leases.Leases(base, lease_clock)
        self.applications = applications.Applications(base, limits)
        self.commits = commits.Commits(base, limits)
        self.clusters = clusters.Clusters(base)
        self.project_files = project_files.ProjectFiles(base)
        self.workspaces = workspaces.Workspaces(base)
        self.notifications = notifications.Notifications(base)
        self.requests = requests.Requests(base, limits, clock)
        self.audit = audit.Audit(base, limits)
        self.sessions = sessions.Sessions(base)
        self.servers = servers.Servers(base, self.leases, known.revision)
        self.api_tokens = api_tokens.ApiTokens(base)
        self.refreshes = repository_refreshes.RepositoryRefreshes(base)
        self.agents = agents.Agents(base)

    def check_writes(self) -> None:
        """Say whether what was written last in this process was kept; does not ask the database.

        Raises:
            errors.TemporaryError: Writes fail: the database is locked, full, read-only or gone.
        """
        self._base.check_writes()

    async def keep_transition(
        self, transition: run_records.Transition, *, fence: run_records.Fence | None
    ) -> run_records.KeptTransition:
        """Keep one step of a run: state and feed, all or nothing.

        Safe to repeat: the same transition a second time changes nothing and gets the same
        answer, so a caller that does not know whether it was kept just tries again.

        Raises:
            fencing.VersionConflict: The run is not at the expected version.
            fencing.LeaseLost: Another process took the lease over.
        """
        return await self._group.keep(fences.Fenced(transition, fence))

    async def contract(self, *, quiet: timedelta) -> tuple[str, ...]:
        """Take out of the schema what no server needs that was there for `quiet`.

        Returns:
            The revisions that were contracted.
        """
        async with self._base.reading() as connection:
            since = await self.leases.now(connection) - quiet
        return await migrator.contract(self._base, self._known, since=since)

    async def prune(
        self, rule: records.Retention, *, fence: run_records.Fence | None
    ) -> records.Pruned:
        """Remove what retention allows, a little at a time, and give the space back."""
        return await retention.Retention(self._base, fence, self._clock).prune(rule)

    async def _write(self, writes: Sequence[transitions.Write]) -> list[transitions.Result]:
        async with self._base.writing() as connection:
            return await transitions.write_all(connection, writes)
