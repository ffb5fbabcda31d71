"""An assignment as text for people."""

from collections.abc import Iterator

from volary.placement.replicas import assignment


def describe(made: assignment.Assignment) -> Iterator[str]:
    """Yield a line for each workload, with what was free for it and when that was read."""
    for workload in made.workloads:
        yield f"{workload.key.title}: {workload.reason}{_describe_capacity(workload, made)}"


def read_at(made: assignment.Assignment) -> str:
    """Return when the free capacity was read; empty: nobody needed it."""
    times = sorted(f"{moment:%Y-%m-%d %H:%M:%S} UTC" for moment in made.read_at.values())
    if not times:
        return ""
    return times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"


def _describe_capacity(divided: assignment.WorkloadAssignment, made: assignment.Assignment) -> str:
    known = {name: count for name, count in divided.room.items() if name in made.read_at}
    if not known:
        return ""
    listed = ", ".join(f"{name} {count}" for name, count in known.items())
    return f" (free, read at {read_at(made)}: {listed})"
