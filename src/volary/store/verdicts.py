"""Whether a write may happen: pure rules that every store obeys.

1.  A write that shows a fence is refused unless the lease's newest number is that one. Whether
    the lease has expired does not matter: nobody has taken it, so nobody else writes.
2.  A transition follows from the version the run is at.
3.  The very transition that was kept last may be repeated: it is answered as before. So a
    caller whose connection broke in mid-commit just tries again.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from volary.model import record
from volary.store import faults, texts


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands in the store."""

    version: int
    last_event: int
    digest: str


def check_fence(fence: record.Fence | None, numbers: Mapping[str, int]) -> None:
    """Let the holder of the lease pass; `numbers` has the newest number of each lease.

    Raises:
        faults.Overtaken: It was taken over.
    """
    if fence is not None and numbers.get(fence.name) != fence.number:
        raise faults.Overtaken(f"another process took over the lease {fence.name}")


def check_transition(
    transition: record.Transition, digest: str, standing: Standing | None
) -> record.Kept | None:
    """Return None when the transition may be kept, the old answer when it is a repetition.

    Raises:
        faults.VersionConflict: The run is not at the expected version.
    """
    version = standing.version if standing else 0
    if version == transition.expected_version:
        return None
    if standing and version == transition.version and standing.digest == digest:
        return record.Kept(version, standing.last_event)
    raise faults.VersionConflict(
        f"run {transition.head.id} is at version {version}, "
        f"not at {transition.expected_version} as expected"
    )


def digest(transition: record.Transition) -> str:
    """Return what tells one transition from every other."""
    return hashlib.blake2b(texts.encode(transition).encode(), digest_size=16).hexdigest()
