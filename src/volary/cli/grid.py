"""The matrix as a table: stages down and clusters across, or the other way when there are many."""

from datetime import datetime

from rich import box, table, text

from volary.cli import cells, matrix
from volary.model import status as words

#: Up to this many clusters stand side by side.
SIDE_BY_SIDE = 6

_QUIET = (words.TaskStatus.SUCCEEDED, words.TaskStatus.PENDING)


def draw(shown: matrix.Matrix, now: datetime, *, rows: int = 0) -> table.Table:
    """Return the matrix as a table of at most `rows` clusters (0: all) when they are rows."""
    if len(shown.targets) <= SIDE_BY_SIDE:
        return _stages_down(shown, now)
    return _clusters_down(shown, now, rows or len(shown.targets))


def _new_table() -> table.Table:
    return table.Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def _stages_down(shown: matrix.Matrix, now: datetime) -> table.Table:
    grid = _new_table()
    grid.add_column("stage", no_wrap=True)
    for target in shown.targets:
        grid.add_column(target, no_wrap=True)
    for stage in shown.stages:
        written = [_cell(shown, stage, target, now) for target in shown.targets]
        grid.add_row(text.Text(shown.names.get(stage, stage)), *written)
    return grid


def _clusters_down(shown: matrix.Matrix, now: datetime, rows: int) -> table.Table:
    grid = _new_table()
    grid.add_column("cluster", no_wrap=True)
    for number, stage in enumerate(shown.stages, start=1):
        grid.add_column(f"{number} {_short(shown.names.get(stage, stage))}", no_wrap=True)
    ordered = sorted(shown.targets, key=lambda target: _is_quiet(shown, target))
    for target in ordered[:rows]:
        written = [_cell(shown, stage, target, now) for stage in shown.stages]
        grid.add_row(text.Text(target), *written)
    if len(ordered) > rows:
        grid.add_row(text.Text(f"… {len(ordered) - rows} more", style="dim"))
    return grid


def _cell(shown: matrix.Matrix, stage: str, target: str, now: datetime) -> text.Text:
    known = any(key[0] == stage for key in shown.cells)
    cell = shown.cell(stage, target) if known else matrix.Cell()
    written, colour = cells.text(cell, now)
    return text.Text(written, style=colour)


def _is_quiet(shown: matrix.Matrix, target: str) -> bool:
    """Tell whether nothing on this cluster needs a look; such clusters come last."""
    return all(
        cell is None or cell.status in _QUIET
        for cell in (shown.cell(stage, target) for stage in shown.stages)
    )


def _short(name: str) -> str:
    return name.removeprefix("K8S_").replace("_", " ").lower()
