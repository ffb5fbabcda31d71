"""What happens to a run: the inputs of `machine.advance`.

Each event says when it happened; the machine has no other clock. Facts (a task
ended, time passed, a cluster answers) are always taken; requests of people (cancel, pause,
approve, …) can be refused, and then the step says why.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from volary.engine.runs import policies, state
from volary.model import statuses


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to a run."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Fact(Event):
    """Something that is so; one that comes too late is ignored."""


@dataclass(frozen=True, slots=True)
class Start(Event):
    """Begin a planned run."""


@dataclass(frozen=True, slots=True)
class TakenOver(Fact):
    """Somebody goes on with the run as it was stored; what had carried it out is no more."""

    #: Only the task on this cluster is taken over; empty: all that are under way.
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class TaskProgressed(Fact):
    """A running task said how far it is."""

    stage: str
    target: str
    attempt: int
    progress: state.Progress


@dataclass(frozen=True, slots=True)
class TaskFinished(Fact):
    """A task ended and reported what it achieved; a stale attempt is ignored."""

    stage: str
    target: str
    attempt: int
    outcome: statuses.Outcome


@dataclass(frozen=True, slots=True)
class TimePassed(Fact):
    """The time of the last `commands.WakeAt` has come; harmless when too early."""


@dataclass(frozen=True, slots=True)
class ClockJumped(Fact):
    """The clock was set forward, or back, by so much: no limit counts what nobody had."""

    by: timedelta


@dataclass(frozen=True, slots=True)
class ClusterReachable(Fact):
    """Somebody saw that a cluster answers; what waits for it is tried again at once."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ProjectChanged(Fact):
    """The application's project has other rules by now; what is running finishes."""

    #: Its windows; those of the application stay.
    windows: tuple[policies.WindowRule, ...] = ()
    #: How many clusters it may change at once; 0: as many as the plan says.
    most_at_once: int = 0


@dataclass(frozen=True, slots=True)
class Request(Event):
    """Somebody asks for something."""

    by: str
    #: What they saw of the run; None: it is the process itself that asks, knowing how the run is.
    seen: state.Sighting | None = field(default=None, kw_only=True)
    #: Id of the stored request, which is answered in the transaction of the step; empty: of none.
    id: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Decision(Request):
    """What a person decides about the group that waits."""

    comment: str = ""


@dataclass(frozen=True, slots=True)
class Cancel(Request):
    """Somebody, or a revert in Git, asks to end the run.

    Without `now` running tasks finish their write first. A rollback is not stopped
    by a polite cancel: only `now` breaks it off.
    """

    #: Roll back the touched clusters, or leave everything as it is.
    rollback: bool = False
    now: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PauseAsked(Request):
    """Start nothing new until resumed; what runs finishes."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resume(Request):
    """Go on after a pause."""


@dataclass(frozen=True, slots=True)
class SkipCluster(Request):
    """Leave one cluster out of the rest of the run."""

    target: str
    reason: str
    #: Because it was cordoned: only where nothing has begun.
    cordoned: bool = False


@dataclass(frozen=True, slots=True)
class SkipStage(Request):
    """End the stage that only measures or waits, and go on with the next one (PipeCD)."""

    #: Its id.
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Retry(Request):
    """Try the failed stage of a held run again."""

    #: Clusters to try again; empty: every one that did not succeed.
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approve(Decision):
    """A yes for the group that waits."""


@dataclass(frozen=True, slots=True)
class Reject(Decision):
    """A no for the group that waits: the stage has failed."""


@dataclass(frozen=True, slots=True)
class Withdraw(Decision):
    """Somebody withdraws their approval, before anything came of it."""


@dataclass(frozen=True, slots=True)
class PromoteWave(Request):
    """End what the current wave waits for at its end: soak, webhook, analysis."""

    reason: str
    #: The wave that is meant; empty: the current one.
    wave: str = ""


@dataclass(frozen=True, slots=True)
class Unfreeze(Request):
    """Let this run change clusters whose windows are closed."""

    reason: str
