"""The rules of one run, fixed at its start: what failures lead to, waves, windows, approvals.

Stored with the run as part of its head (`codec`): fields are added with defaults, and nothing is
renamed.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from volary.model.placement import rollouts


class OnFailure(StrEnum):
    """What follows when a stage has failed and its running tasks have come to rest."""

    #: Roll back the touched clusters.
    ROLLBACK = "rollback"
    #: Roll back the touched clusters of the failed wave; earlier waves keep the new release.
    ROLLBACK_WAVE = "rollback-wave"
    #: The run fails and everything stays as it is.
    STOP = "stop"
    #: The run waits for a person: retry, skip a cluster, or cancel.
    HOLD = "hold"


class OnUnreachable(StrEnum):
    """What follows when a cluster cannot be reached."""

    #: It is a failure like any other.
    FAIL = "fail"
    #: The run goes on without the cluster, and does not end `succeeded`; in a wave within
    #: the budget only.
    CONTINUE_WITHOUT = "continue-without"
    #: It is tried again until its time is over; what then follows is as with the one above.
    WAIT = "wait"


#: See `Policy.again_after`.
AGAIN_AFTER = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one run, fixed at its start."""

    on_failure: OnFailure = OnFailure.ROLLBACK
    on_unreachable: OnUnreachable = OnUnreachable.FAIL
    #: Why a failure is not rolled back, for the reason of the run; may be empty.
    stop_reason: str = ""
    #: Limit of the whole run, without the rollback and the time it waits for a person.
    timeout: timedelta = timedelta(hours=6)
    #: Limit of the rollback, which has a deadline of its own.
    rollback_timeout: timedelta = timedelta(minutes=30)
    #: How long a task may take to finish its write after it was asked to stop, before it is
    #: broken off; and then how long until it counts as lost.
    grace: timedelta = timedelta(minutes=5)
    #: How many clusters of the whole run may fail or be unreachable, whatever their waves
    #: allow; None: the waves decide alone.
    failures: int | None = None
    unreachable: int | None = None
    #: After which time a cluster that is waited for is tried again, unless it was seen before.
    again_after: timedelta = AGAIN_AFTER


@dataclass(frozen=True, slots=True)
class WaveRule:
    """What holds for the clusters of one wave; absolute numbers, fixed at the run's start."""

    name: str
    targets: tuple[str, ...]
    #: How many of them may fail before the wave has.
    failures: int = 0
    #: How many may be unreachable besides.
    unreachable: int = 0
    on_failure: OnFailure = OnFailure.ROLLBACK
    on_unreachable: OnUnreachable = OnUnreachable.FAIL
    #: How many of them are rolled back at once in a rollback; 0: all.
    concurrency: int = 0


@dataclass(frozen=True, slots=True)
class WindowRule:
    """When some clusters of the run may be changed, or may not; fixed at the run's start."""

    window: rollouts.Window
    targets: tuple[str, ...]
    #: Whether they may not be changed within it; otherwise within it only.
    deny: bool = False
    #: The project whose it is; empty: the application's own. A cluster may be changed when each
    #: of the two lets it be.
    project: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Who has to agree before a group of targets starts."""

    count: int = 1
    #: Names that may approve; empty: anybody who is let in.
    approvers: tuple[str, ...] = ()
    #: How long it is waited for; then the stage has failed.
    timeout: timedelta = timedelta(hours=24)
