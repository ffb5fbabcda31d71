"""The store in memory, put together."""

from volary.model import clocks
from volary.model.runs import run_records
from volary.store import records
from volary.store.memory import (
    applications,
    audit,
    clusters,
    commits,
    events,
    findings,
    inventory,
    leases,
    logs,
    memories,
    requests,
    retention,
    runs,
    shelves,
)


class MemoryStore:
    """See `protocol.Store`."""

    def __init__(self, *, clock: clocks.Clock, limits: records.Limits) -> None:
        self._shelf = shelves.Shelves()
        self.runs = runs.Runs(self._shelf, limits)
        self.events = events.Events(self._shelf, limits)
        self.logs = logs.Logs(self._shelf, limits)
        self.findings = findings.Findings(self._shelf, limits)
        self.memories = memories.Memories(self._shelf)
        self.leases = leases.Leases(self._shelf, clock)
        self.applications = applications.Applications(self._shelf, limits)
        self.commits = commits.Commits(self._shelf, limits)
        self.inventory = inventory.Inventory(self._shelf)
        self.clusters = clusters.Clusters(self._shelf)
        self.requests = requests.Requests(self._shelf, limits, clock)
        self.audit = audit.Audit(self._shelf, limits)

    async def keep_transition(
        self, transition: run_records.Transition, *, fence: run_records.Fence | None
    ) -> run_records.KeptTransition:
        """Keep one step of a run, all or nothing."""
        return self.runs.keep(transition, fence)

    async def prune(
        self, rule: records.Retention, *, fence: run_records.Fence | None
    ) -> records.Pruned:
        """Forget what may be forgotten."""
        self._shelf.check_fence(fence)
        return retention.prune(self._shelf, rule)
