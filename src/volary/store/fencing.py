"""Whether a write may happen: pure rules that every store obeys, and the errors that say no.

1.  A write that shows a fence is refused unless the lease's newest number is that one. Whether
    the lease has expired does not matter: nobody has taken it, so nobody else writes.
2.  A transition follows from the version the run is at.
3.  The very transition that was kept last may be repeated: it is answered as before. So a
    caller whose connection broke in mid-commit just tries again.
4.  Under one lease an application has at most one run that has not ended; the database has an
    index that says so too.
5.  A request is carried out by the write that keeps its answer, and by no other: a write that
    answers a request which has an answer is refused, whatever that answer says. The very write
    that gave it may be repeated, and changes nothing.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from volary.model import errors
from volary.model.runs import run_records
from volary.store import encoding


class LeaseLost(errors.PermanentError):
    """Another process took the lease over: this one must stop leading, at once."""


class VersionConflict(errors.PermanentError):
    """Somebody else changed it first: read it again before deciding anew."""


class RunUnfinished(errors.PermanentError):
    """The application has a run that has not ended: that one goes on first."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} has not ended")
        self.run_id = run_id


class RequestAnswered(errors.PermanentError):
    """What a write carries out was answered before, or is gone: it must not be done now."""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """How a run stands in the store."""

    version: int
    last_event: int
    digest: str


def fence_refusal(fence: run_records.Fence | None, numbers: Mapping[str, int]) -> LeaseLost | None:
    """Return why a write may not happen; None: it may. `numbers` has the newest of each lease."""
    if fence is None or numbers.get(fence.name) == fence.number:
        return None
    return LeaseLost(f"another process took over the lease {fence.name}")


def judge_transition(
    transition: run_records.Transition, digest: str, stored_version: StoredVersion | None
) -> run_records.KeptTransition | VersionConflict | None:
    """Return None when the transition may be kept, the old answer when it is a repetition.

    A conflict: the run is not at the expected version.
    """
    version = stored_version.version if stored_version else 0
    if version == transition.expected_version:
        return None
    if stored_version and version == transition.version and stored_version.digest == digest:
        return run_records.KeptTransition(version, stored_version.last_event)
    return VersionConflict(
        f"run {transition.head.id} is at version {version}, "
        f"not at {transition.expected_version} as expected"
    )


def digest(transition: run_records.Transition) -> str:
    """Return what tells one transition from every other."""
    return hashlib.blake2b(encoding.encode(transition).encode(), digest_size=16).hexdigest()
