"""What a task, stage or run reports back: a status, a sentence, details."""

from dataclasses import dataclass

from volary.model import status


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a piece of work ended, with the one sentence every surface shows."""

    status: status.TaskStatus
    #: Why, in one sentence without a full stop.
    reason: str
    #: What was done where, a line each; shown below the reason.
    details: tuple[str, ...] = ()
    #: The task wrote something to its cluster, so a rollback has to visit it.
    touched: bool = False
    #: It is not the cluster that failed: whoever was asked about the release said no to it.
    refused: bool = False
