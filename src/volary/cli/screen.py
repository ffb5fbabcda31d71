"""The live screen: title, matrix, a line per running task, last log lines, why it waits."""

from datetime import datetime

from rich import console as rich_console
from rich import text

from volary.cli import cells, grid, matrix

LAST_LOG_LINES = 6
RUNNING_LINES = 8


def draw(shown: matrix.Matrix, now: datetime, *, height: int) -> rich_console.Group:
    """Return the screen for a terminal of `height` lines."""
    if not shown.started:
        return rich_console.Group(text.Text("starting …", style="dim"))
    room = max(height - LAST_LOG_LINES - RUNNING_LINES - 8, 3)
    parts: list[rich_console.RenderableType] = [
        _title(shown, now),
        grid.draw(shown, now, rows=room),
        *_running(shown, now),
        *_logs(shown),
        text.Text(f"→ {matrix.explain(shown)}", style="bold", overflow="ellipsis", no_wrap=True),
    ]
    return rich_console.Group(*parts)


def _title(shown: matrix.Matrix, now: datetime) -> text.Text:
    spent = ((shown.finished or now) - (shown.started or now)).total_seconds()
    status = shown.status.value.replace("_", " ")
    return text.Text(f"{shown.application} {shown.commit[:7]}  {status}  {cells.seconds(spent)}\n")


def _running(shown: matrix.Matrix, now: datetime) -> list[text.Text]:
    lines = []
    for stage, target in shown.running[:RUNNING_LINES]:
        cell = shown.cells[stage, target]
        written, colour = cells.text(cell, now)
        line = text.Text(overflow="ellipsis", no_wrap=True)
        line.append(f"  {target} ", style="bold")
        line.append(written, style=colour)
        line.append(f"  {cell.sentence}")
        lines.append(line)
    more = len(shown.running) - RUNNING_LINES
    if more > 0:
        lines.append(text.Text(f"  … and {more} more running", style="dim"))
    return lines


def _logs(shown: matrix.Matrix) -> list[text.Text]:
    return [
        text.Text(f"  {each.target}  {each.line}", style="dim", overflow="ellipsis", no_wrap=True)
        for each in shown.logs[-LAST_LOG_LINES:]
    ]
