"""What the server needs from the controller: everything people can ask for, without HTTP.

Every method may raise `controller.refusals.NotFound`, `controller.refusals.Conflict`,
`errors.UserError` or `errors.TemporaryError`.
"""

from typing import Protocol

from volary.controller import views
from volary.store import records


class Reading(Protocol):
    """What is shown; nothing here changes anything."""

    async def applications(
        self, wanted: records.ApplicationFilter, *, cursor: str = "", limit: int = 50
    ) -> views.PageView[views.ApplicationView]:
        """Return applications by name."""
        ...

    async def application(self, name: str) -> views.ApplicationView:
        """Return one application."""
        ...

    async def commits(
        self, application: str, *, cursor: str = "", limit: int = 50
    ) -> views.PageView[views.CommitView]:
        """Return an application's commits, the last seen first."""
        ...

    async def runs(
        self, wanted: records.RunFilter, *, cursor: str = "", limit: int = 50
    ) -> views.PageView[views.RunSummaryView]:
        """Return runs, the newest first."""
        ...

    async def run(self, run_id: str) -> views.RunView:
        """Return a whole run."""
        ...

    async def events(
        self, run_id: str, after: int = 0, *, limit: int = 500
    ) -> tuple[views.EventView, ...]:
        """Return a run's events after number `after`."""
        ...

    async def all_events(
        self, after: int = 0, *, application: str = "", limit: int = 500
    ) -> tuple[views.EventView, ...]:
        """Return events after position `after`, of every run or of one application's."""
        ...

    async def logs(
        self, run_id: str, *, stage: str = "", target: str = "", after: int = 0, limit: int = 500
    ) -> tuple[views.LogView, ...]:
        """Return lines of a run's logs after position `after`."""
        ...

    async def position(self) -> int:
        """Return the position of the newest event of all."""
        ...

    async def clusters(self) -> tuple[views.ClusterView, ...]:
        """Return the registered clusters, in the fleet's order."""
        ...

    async def audit(
        self, wanted: records.AuditFilter, *, cursor: str = "", limit: int = 50
    ) -> views.PageView[views.AuditView]:
        """Return what was done, the newest first."""
        ...

    async def changed(self, seconds: float) -> None:
        """Return when something may have changed, at the latest after `seconds`."""
        ...


class Asking(Protocol):
    """What people ask for; who asked, from where and what came of it goes into the audit."""

    async def sync(
        self, application: str, asker: views.Asker, *, commit: str = "", strategy: str = ""
    ) -> views.AskedView:
        """Roll a commit out; empty: the branch's head."""
        ...

    async def plan(
        self, application: str, asker: views.Asker, *, commit: str = ""
    ) -> views.PlanView:
        """Say what a sync would do, without doing it."""
        ...

    async def rollback(
        self, application: str, asker: views.Asker, *, to: str = ""
    ) -> views.AskedView:
        """Go back to a commit that ran before; empty: the one before the last."""
        ...

    async def approve(
        self, run_id: str, asker: views.Asker, *, comment: str = ""
    ) -> views.AskedView:
        """Approve what the run waits for."""
        ...

    async def reject(
        self, run_id: str, asker: views.Asker, *, comment: str = ""
    ) -> views.AskedView:
        """Reject what the run waits for."""
        ...

    async def pause(self, run_id: str, asker: views.Asker, *, reason: str = "") -> views.AskedView:
        """Start nothing new."""
        ...

    async def resume(self, run_id: str, asker: views.Asker) -> views.AskedView:
        """Go on after a pause."""
        ...

    async def cancel(
        self, run_id: str, asker: views.Asker, *, rollback: bool = True, reason: str = ""
    ) -> views.AskedView:
        """End the run, going back or leaving things as they are."""
        ...

    async def retry(
        self, run_id: str, asker: views.Asker, *, targets: tuple[str, ...] = ()
    ) -> views.AskedView:
        """Try again what failed; empty: on every cluster."""
        ...

    async def skip(
        self, run_id: str, target: str, asker: views.Asker, *, reason: str
    ) -> views.AskedView:
        """Go on without a cluster."""
        ...

    async def note(self, entry: records.AuditRecord) -> None:
        """Append to the audit what the server decided by itself, such as a denial."""
        ...


class Service(Reading, Asking, Protocol):
    """Everything the server passes on."""
