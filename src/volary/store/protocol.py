"""What every store can do, in small groups by noun.

The leader shows its `fence` with every write; None says that the caller holds
no lease and needs none (a one-shot run with a store of its own). What people do (requests,
audit) needs no fence: it may come in through a standby process.

Every method may raise `errors.TemporaryError` when the database is locked, full or gone:
nothing was written then, or the same call can be made again with the same effect. Lists
raise `errors.UserError` for a cursor that is none.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from volary.model import json
from volary.model.runs import run_records
from volary.store import records


class Runs(Protocol):
    """Runs as they were kept last; `Store.keep_transition` changes them."""

    async def load(self, run_id: str) -> run_records.StoredRun | None:
        """Return the whole run at one moment; None when there is none."""
        ...

    async def summary(self, run_id: str) -> records.RunSummary | None:
        """Return what lists show of a run; None when there is none."""
        ...

    async def list(
        self, wanted: records.RunFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.RunSummary]:
        """Return runs, the newest first."""
        ...

    async def unfinished(self) -> tuple[str, ...]:
        """Return the ids of runs that have not ended, the oldest first."""
        ...

    async def approvals(self, run_id: str) -> tuple[run_records.ApprovalRecord, ...]:
        """Return who approved or rejected what, in order."""
        ...


class Events(Protocol):
    """The feeds of the runs."""

    async def after(
        self, run_id: str, number: int, *, limit: int = 500
    ) -> tuple[records.FeedEvent, ...]:
        """Return a run's events after the one with `number`, in order."""
        ...

    async def all_after(
        self, position: int, *, application: str = "", limit: int = 500
    ) -> tuple[records.FeedEvent, ...]:
        """Return events of every run, or of one application's, after `position`, in order."""
        ...

    async def position(self) -> int:
        """Return the position of the newest event; 0 when there was never one."""
        ...


class Logs(Protocol):
    """What tasks said, bounded: of each task's log the newest lines are kept."""

    async def append(
        self, lines: Sequence[records.LogLine], *, fence: run_records.Fence | None
    ) -> None:
        """Keep lines in order; those of unknown runs are left out."""
        ...

    async def after(
        self, run_id: str, position: int, *, stage: str = "", target: str = "", limit: int = 500
    ) -> tuple[records.StoredLogLine, ...]:
        """Return a run's lines after `position`, of one stage or cluster if given, in order."""
        ...


class Findings(Protocol):
    """What analyses measured and concluded, bounded: of each task the newest are kept."""

    async def append(
        self, findings: Sequence[records.Finding], *, fence: run_records.Fence | None
    ) -> None:
        """Keep findings in order; those of unknown runs are left out."""
        ...

    async def after(
        self,
        run_id: str,
        position: int,
        *,
        wanted: records.FindingFilter | None = None,
        limit: int = 500,
    ) -> tuple[records.StoredFinding, ...]:
        """Return a run's findings after `position`, those that are wanted, in order."""
        ...


class TaskStates(Protocol):
    """What tasks remember over a restart, and applications over their runs."""

    async def load(self, key: records.TaskKey) -> json.JsonObject:
        """Return what this attempt saved last; empty: nothing."""
        ...

    async def save(
        self, key: records.TaskKey, document: json.JsonObject, *, fence: run_records.Fence | None
    ) -> None:
        """Keep it instead of what the task saved before; of an unknown run nothing is kept."""
        ...

    async def recall(self, application: str, target: str, name: str) -> json.JsonObject:
        """Return what was kept under a name; empty: nothing."""
        ...

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
        ...


class Leases(Protocol):
    """Who may drive. Whether a lease has expired is judged by the store's clock."""

    async def acquire(self, name: str, owner: str, ttl: timedelta) -> records.Lease | None:
        """Take a lease that is free, expired or already `owner`'s; None: another holds it.

        A taken lease always has a new number, so earlier holders (an earlier life of the
        same owner too) are fenced off.
        """
        ...

    async def renew(self, lease: records.Lease, ttl: timedelta) -> records.Lease:
        """Hold it for another `ttl` from now; also when it expired but nobody took it.

        Raises:
            fencing.LeaseLost: Somebody else has it, or it was released.
        """
        ...

    async def release(self, lease: records.Lease) -> None:
        """Give it back, so that another need not wait; nothing happens when overtaken."""
        ...

    async def current(self, name: str) -> records.Lease | None:
        """Return who holds it now; None: nobody does."""
        ...


class Applications(Protocol):
    """The applications that are known."""

    async def keep(
        self, application: records.ApplicationRecord, *, fence: run_records.Fence | None
    ) -> int:
        """Keep it, new or changed, and return its new version.

        What is the same as before, apart from `updated`, keeps its version.
        """
        ...

    async def get(self, name: str) -> records.ApplicationRecord | None:
        """Return it; None when it was never known."""
        ...

    async def list(
        self, wanted: records.ApplicationFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.ApplicationRecord]:
        """Return applications by name."""
        ...

    async def forget(self, name: str, *, fence: run_records.Fence | None) -> None:
        """Delete it with its commits, inventories and task state; its runs are history and stay.

        A name that is not known is ignored.
        """
        ...


class Commits(Protocol):
    """The commits of the applications and what became of them."""

    async def keep(self, commit: records.CommitRecord, *, fence: run_records.Fence | None) -> None:
        """Keep it, new or changed; the time it was seen first stays."""
        ...

    async def get(self, application: str, commit: str) -> records.CommitRecord | None:
        """Return it; None when it was never seen."""
        ...

    async def list(
        self, application: str, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.CommitRecord]:
        """Return an application's commits, the last seen first."""
        ...


class Clusters(Protocol):
    """The clusters as they were seen last. There are as many as the fleet has, and no more."""

    async def keep(
        self, clusters: Sequence[records.ClusterRecord], *, fence: run_records.Fence | None
    ) -> None:
        """Keep clusters, new or changed, all of them or none."""
        ...

    async def list(self) -> tuple[records.ClusterRecord, ...]:
        """Return all that are known, by name."""
        ...

    async def forget(self, names: Sequence[str], *, fence: run_records.Fence | None) -> None:
        """Delete clusters; names that are not known are ignored."""
        ...


class Requests(Protocol):
    """What people asked for, through whichever process, for the leader."""

    async def ask(self, request: records.RequestRecord) -> bool:
        """Keep a request; False when one with its id is there already (a repetition)."""
        ...

    async def unanswered(self, *, limit: int = 100) -> tuple[records.RequestRecord, ...]:
        """Return requests that wait for an answer, the oldest first."""
        ...

    async def answer(
        self, request_id: str, *, refusal: str, fence: run_records.Fence | None
    ) -> None:
        """Say that it was taken (empty `refusal`) or why not; a second answer is ignored."""
        ...

    async def get(self, request_id: str) -> records.RequestRecord | None:
        """Return it; None when there is none."""
        ...


class Audit(Protocol):
    """Append-only: who did what."""

    async def write(self, entry: records.AuditRecord) -> None:
        """Keep one entry."""
        ...

    async def list(
        self, wanted: records.AuditFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.AuditRecord]:
        """Return entries, the newest first."""
        ...


class Store(Protocol):
    """Durable state."""

    @property
    def runs(self) -> Runs:
        """Runs."""
        ...

    @property
    def events(self) -> Events:
        """Feeds."""
        ...

    @property
    def logs(self) -> Logs:
        """Logs."""
        ...

    @property
    def findings(self) -> Findings:
        """What analyses measured."""
        ...

    @property
    def memories(self) -> TaskStates:
        """What tasks remember."""
        ...

    @property
    def leases(self) -> Leases:
        """Leases."""
        ...

    @property
    def applications(self) -> Applications:
        """Applications."""
        ...

    @property
    def commits(self) -> Commits:
        """Commits."""
        ...

    @property
    def clusters(self) -> Clusters:
        """The clusters as they were seen last."""
        ...

    @property
    def requests(self) -> Requests:
        """What people asked for."""
        ...

    @property
    def audit(self) -> Audit:
        """Who did what."""
        ...

    async def keep_transition(
        self, transition: run_records.Transition, *, fence: run_records.Fence | None
    ) -> run_records.KeptTransition:
        """Keep one step of a run: state and feed, all or nothing.

        Safe to repeat: the same transition a second time changes nothing and gets the same
        answer, so a caller that does not know whether it was kept just tries again.

        Raises:
            faults.VersionConflict: The run is not at the expected version.
            fencing.LeaseLost: Another process took the lease over.
        """
        ...

    async def prune(
        self, rule: records.Retention, *, fence: run_records.Fence | None
    ) -> records.Pruned:
        """Remove what retention allows, a little at a time, and give the space back."""
        ...
