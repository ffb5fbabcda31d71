"""Whether a move begins while a run is under way: it waits, or interrupts the run. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from volary.controller.status import application_statuses, run_admission, run_requests
from volary.engine.runs import state
from volary.placement.failover import situations


def is_urgent(status: application_statuses.ApplicationStatus) -> bool:
    """Say whether what waits to move is worth interrupting a run for.

    Only what is lost or unhealthy and has no replacement yet; a drain, a rebalance and a clean-up
    wait.
    """
    causes = (situations.Cause.CLUSTER, situations.Cause.APPLICATION)
    return any(
        eviction.cause in causes and not eviction.replaced for eviction in status.placed.leaving
    )


class Preemption(StrEnum):
    """What a move does about a run under way."""

    #: There is none.
    GO = "go"
    WAIT = "wait"
    #: The run is ended as it is: nothing is rolled back, and its commit is requested again.
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class PreemptionDecision:
    """The answer with its sentence."""

    room: Preemption
    reason: str = ""


def decide_preemption(
    status: application_statuses.ApplicationStatus,
    run: state.Run | None,
    move: run_requests.RunRequest,
    now: datetime,
    patience: timedelta,
) -> PreemptionDecision:
    """Say whether a requested move may begin.

    One rule, whatever the run does: it is waited for, and when it has not ended within
    `patience`, it is interrupted, if the move is urgent. A pause pins everything, and a rollback is
    never disturbed.
    """
    pinned = run_admission.why_blocked(status, run)
    if pinned:
        return PreemptionDecision(Preemption.WAIT, f"{pinned}, which pins where it is as well")
    if run is None or run.is_final:
        return PreemptionDecision(Preemption.GO)
    if not is_urgent(status):
        return PreemptionDecision(Preemption.WAIT, f"run {run.id} has to end first")
    if run.rollback is not None or run.ending is not None:
        return PreemptionDecision(Preemption.WAIT, f"run {run.id} is ending, and is not disturbed")
    waited = now - move.at
    if waited < patience:
        until = move.at + patience
        return PreemptionDecision(
            Preemption.WAIT, f"run {run.id} has to end first; it is interrupted at {until:%H:%M:%S}"
        )
    return PreemptionDecision(Preemption.INTERRUPT, f"run {run.id} did not end within {patience}")


def request_resumption(
    run: state.Run, move: run_requests.RunRequest, now: datetime, new_id: str
) -> run_requests.RunRequest:
    """Return the request that takes an interrupted run's commit up again, after the move."""
    return run_requests.RunRequest(
        id=new_id,
        commit=run.commit,
        kind=run_requests.KindName.RELEASE,
        reason=f"goes on after run {run.id} was interrupted: {move.reason}",
        at=now,
        by="failover",
    )
