"""The live screen: title, matrix, a line per running task, last log lines, why it waits."""

from dataclasses import dataclass
from datetime import datetime

from rich import console as rich_console
from rich import text

from volary.cli.run import cells, grid, matrix

LAST_LOG_LINES = 6
RUNNING_LINES = 8
#: Title with an empty line, head of the table, names of the stages, counts of what is not
#: shown, the sentence, and a line for the cursor.
_FIXED = 2 + 2 + 2 + 2 + 1 + 1


@dataclass(frozen=True, slots=True)
class Share:
    """How many lines each part of the screen gets."""

    rows: int
    running: int
    logs: int


def divide(height: int, *, rows: int, running: int, logs: int) -> Share:
    """Divide a terminal of `height` lines among what would like to be shown.

    The table gets what the others leave; what the table does not need goes back to them.
    """
    room = max(height - _FIXED, 6)
    some_logs = min(logs, LAST_LOG_LINES, max(room // 5, 1))
    some_running = min(running, RUNNING_LINES, max(room // 3, 2))
    shown = min(rows, room - some_logs - some_running)
    spare = room - shown - some_logs - some_running
    more_running = min(running - some_running, RUNNING_LINES - some_running, spare)
    more_logs = min(logs - some_logs, LAST_LOG_LINES - some_logs, spare - more_running)
    return Share(shown, some_running + more_running, some_logs + more_logs)


def draw(shown: matrix.Matrix, now: datetime, *, width: int, height: int) -> rich_console.Group:
    """Return the screen for a terminal of that size."""
    if not shown.started:
        return rich_console.Group(text.Text("starting …", style="dim"))
    across = grid.stands_side_by_side(shown, width)
    rows = len(shown.stages if across else shown.targets)
    share = divide(height, rows=rows, running=len(shown.running), logs=len(shown.logs))
    parts: list[rich_console.RenderableType] = [
        _title(shown, now),
        grid.draw(shown, now, width=width, rows=share.rows),
        *_running(shown, now, share.running),
        *_logs(shown, share.logs),
        text.Text(f"→ {matrix.explain(shown)}", style="bold", overflow="ellipsis", no_wrap=True),
    ]
    return rich_console.Group(*parts)


def _title(shown: matrix.Matrix, now: datetime) -> text.Text:
    spent = ((shown.finished or now) - (shown.started or now)).total_seconds()
    status = shown.status.value.replace("_", " ")
    return text.Text(f"{shown.application} {shown.commit[:7]}  {status}  {cells.seconds(spent)}\n")


def _running(shown: matrix.Matrix, now: datetime, most: int) -> list[text.Text]:
    lines = []
    for stage, target in shown.running[:most]:
        cell = shown.cells[stage, target]
        written, colour = cells.text(cell, now)
        line = text.Text(overflow="ellipsis", no_wrap=True)
        line.append(f"  {target} ", style="bold")
        line.append(written, style=colour)
        line.append(f"  {cell.sentence}")
        lines.append(line)
    more = len(shown.running) - most
    if more > 0:
        lines.append(text.Text(f"  … and {more} more running", style="dim"))
    return lines


def _logs(shown: matrix.Matrix, most: int) -> list[text.Text]:
    return [
        text.Text(f"  {log.target}  {log.line}", style="dim", overflow="ellipsis", no_wrap=True)
        for log in shown.logs[len(shown.logs) - most :]
    ]
