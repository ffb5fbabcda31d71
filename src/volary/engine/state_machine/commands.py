"""What a runner has to do: the outputs of `machine.advance`.

Commands follow from the difference between two states (see `orders`), so a runner
that starts again after a crash gets the outstanding ones from the state alone.
"""

from dataclasses import dataclass
from datetime import datetime

from volary.engine.runs import state
from volary.model import statuses


@dataclass(frozen=True, slots=True)
class StartTask:
    """Carry out `stage` on `target` and report `events.TaskFinished` with this attempt."""

    stage: str
    target: str
    attempt: int
    deadline: datetime
    #: Take the cluster back instead, as `K8S_ROLLBACK` does.
    rolling_back: bool = False


@dataclass(frozen=True, slots=True)
class StopTask:
    """Tell a running task to stop; it still reports how it ended."""

    stage: str
    target: str
    attempt: int
    how: state.Stopping
    reason: str


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Report `events.TimePassed` at this time; replaces the time before. None: never."""

    at: datetime | None


@dataclass(frozen=True, slots=True)
class Release:
    """The run has ended: give back whatever was held for it."""

    status: statuses.RunStatus
    reason: str


Command = StartTask | StopTask | WakeAt | Release
