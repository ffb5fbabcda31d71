"""What a kind of run is. Each kind has a file: release, rollback, move, backfill.

The kind is said by the run request and kept with the run's origin; nothing else is a sign of
it. Preparing reads sources and clusters; everything else is pure and says what is to be
written down. A new kind is a file with its class and a line in `kind_registry`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from volary.controller.runs import ready_runs
from volary.controller.status import application_state, cluster_releases, run_origins, run_requests
from volary.engine.runs import state
from volary.manifests import redaction
from volary.store import stores


@dataclass(frozen=True, slots=True)
class RequestedRun:
    """A run that is requested."""

    #: As it was kept last.
    application: application_state.ApplicationState
    run_request: run_requests.RunRequest


@dataclass(frozen=True, slots=True)
class Planning(RequestedRun):
    """A run that is requested, and what preparing it works with."""

    dependencies: ready_runs.Dependencies
    store: stores.Store
    #: Learns the secrets of what is rendered, so that errors can be shown.
    masker: redaction.Masker
    #: Is given a sentence with the clusters that are waited for.
    told: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run that is kept."""

    #: As it was kept last.
    application: application_state.ApplicationState
    run: state.Run
    #: As it was kept with the run: also who got how many replicas, and where it was to be.
    origin: run_origins.Origin


@dataclass(frozen=True, slots=True)
class EndedRun(KeptRun):
    """A run that has ended, and what its end is judged by."""

    #: What tells a cluster from one built in its place.
    identity: cluster_releases.Identity
    #: When its end is written down.
    now: datetime


class RunKind(Protocol):
    """One kind of run."""

    @property
    def name(self) -> run_requests.KindName:
        """How it is called in run requests and origins."""
        ...

    @property
    def announces_refusals(self) -> bool:
        """Whether people are told when a requested run is refused."""
        ...

    async def prepare(self, planning: Planning) -> ready_runs.ReadyRun:
        """Return the new run of a request; writes nothing.

        Raises:
            errors.UserError: Something has to be mended first.
            errors.TemporaryError: It may work later.
        """
        ...

    def begun(self, kept: KeptRun) -> application_state.StateChange:
        """Return what changes once a run is kept, clean; its request is done."""
        ...

    def concluded(self, ended: EndedRun) -> application_state.StateChange:
        """Return what changes once a run has ended."""
        ...

    def refused(self, requested: RequestedRun, reason: str) -> application_state.StateChange:
        """Return what changes when a request becomes no run until somebody mends something."""
        ...

    def delayed(
        self, requested: RequestedRun, trouble: str, retry: str
    ) -> application_state.StateChange:
        """Return what changes when a request cannot become a run yet.

        Args:
            requested: It is tried again.
            trouble: Why not yet.
            retry: When it is tried again, a clause.
        """
        ...
