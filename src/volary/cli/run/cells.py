"""How a cell of the matrix is written: a sign, numbers, the time it took.

The sign carries the meaning; colour only repeats it.
"""

from collections.abc import Mapping
from datetime import datetime

from volary.cli.run import matrix
from volary.model import statuses

SIGNS = {
    statuses.TaskStatus.PENDING: ("·", "dim"),
    statuses.TaskStatus.RUNNING: ("▶", "cyan"),
    statuses.TaskStatus.WAITING: ("…", "yellow"),
    statuses.TaskStatus.SUCCEEDED: ("✓", "green"),
    statuses.TaskStatus.FAILED: ("✗", "red"),
    statuses.TaskStatus.CANCELLED: ("⊘", "yellow"),
    statuses.TaskStatus.SKIPPED: ("↷", "dim"),
    statuses.TaskStatus.UNREACHABLE: ("?", "red"),
    statuses.TaskStatus.ROLLED_BACK: ("↶", "yellow"),
}
#: The sign alone says it all.
_PLAIN = (
    statuses.TaskStatus.PENDING,
    statuses.TaskStatus.RUNNING,
    statuses.TaskStatus.SUCCEEDED,
)


def text(cell: matrix.Cell | None, now: datetime, *, brief: bool = False) -> tuple[str, str]:
    """Return a cell's text and its colour; a dash where the stage leaves the cluster out.

    With `brief` the sign stands alone, where there is no room for its word.
    """
    if cell is None:
        return "–", "dim"
    if cell.status is statuses.TaskStatus.CANCELLED and cell.started is None:
        return "·" if brief else "· not run", "dim"
    sign, colour = SIGNS[cell.status]
    parts = [sign]
    if cell.status is statuses.TaskStatus.RUNNING and cell.total:
        parts.append(f"{cell.ready}/{cell.total}")
    if cell.wanted:
        parts.append(weights(cell.wanted, cell.observed))
    if not brief and cell.status not in _PLAIN:
        parts.append(cell.status.value)
    if cell.started:
        parts.append(seconds(((cell.finished or now) - cell.started).total_seconds()))
    return " ".join(parts), colour


def weights(wanted: Mapping[str, int], observed: Mapping[str, int]) -> str:
    """Write ``80/10/10`` (primary/canary/baseline), with what was read back where it differs."""
    order = ("primary", "canary", "baseline")
    request = "/".join(str(wanted.get(name, 0)) for name in order)
    weights_seen = "/".join(str(observed.get(name, 0)) for name in order) if observed else "?"
    return request if request == weights_seen else f"{request} (seen {weights_seen})"


def seconds(value: float) -> str:
    """Write a span for people: ``0.4s``, ``12s``, ``3m05s``, ``2h10m``."""
    if value < 10:
        return f"{value:.1f}s"
    if value < 60:
        return f"{value:.0f}s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"
