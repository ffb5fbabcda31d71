"""The matrix as a table: stages down and clusters across, or the other way when there are many."""

from datetime import datetime

from rich import box, console, table, text

from volary.cli.run import cells, matrix
from volary.model import statuses
from volary.model.pipeline.stage_kinds import stage_kind

#: Up to this many clusters stand side by side, where the terminal is wide enough.
SIDE_BY_SIDE = 6
#: Columns that a stage's name and a cluster's cell take.
_STAGE_WIDTH = 22
_CELL_WIDTH = 13
#: Columns between two cells.
_GAP = 3

_QUIET = (statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.PENDING)


def stands_side_by_side(shown: matrix.Matrix, width: int) -> bool:
    """Tell whether the clusters are columns on a terminal of `width` columns."""
    room = (width - _STAGE_WIDTH) // _CELL_WIDTH
    return len(shown.targets) <= min(SIDE_BY_SIDE, max(room, 1))


def draw(
    shown: matrix.Matrix, now: datetime, *, width: int, rows: int = 0
) -> console.RenderableType:
    """Return the matrix as a table of at most `rows` clusters (0: all) when they are rows."""
    if stands_side_by_side(shown, width):
        return _stages_down(shown, now)
    return _clusters_down(shown, now, width, rows or len(shown.targets))


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


def _clusters_down(
    shown: matrix.Matrix, now: datetime, width: int, rows: int
) -> console.RenderableType:
    grid = _new_table()
    longest = max(len(target) for target in shown.targets)
    if shown.waves:
        grid.add_column("wave", no_wrap=True)
    grid.add_column("cluster", no_wrap=True, min_width=min(longest, width // 3))
    heads = [stage_kind.title(shown.names.get(stage, stage)) for stage in shown.stages]
    numbered = [f"{number} {head}" for number, head in enumerate(heads, start=1)]
    used = longest + (max(map(len, shown.waves.values())) + _GAP if shown.waves else 0)
    fits = used + sum(max(len(head), _CELL_WIDTH) + _GAP for head in numbered) <= width
    for number, head in enumerate(numbered, start=1):
        grid.add_column(head if fits else str(number), no_wrap=True)
    ordered = sorted(shown.targets, key=lambda target: _is_quiet(shown, target))
    visible = set(ordered[:rows])
    chosen = (
        [target for target in shown.targets if target in visible] if shown.waves else ordered[:rows]
    )
    above = ""
    for target in chosen:
        written = [_cell(shown, stage, target, now, brief=not fits) for stage in shown.stages]
        wave = shown.waves.get(target, "")
        heading = [text.Text("" if wave == above else wave)] if shown.waves else []
        above = wave
        grid.add_row(*heading, text.Text(target), *written)
    legend = [] if fits else _folded(numbered, width)
    parts: list[console.RenderableType] = [*legend, grid]
    if len(ordered) > rows:
        parts.append(text.Text(f"… and {len(ordered) - rows} more clusters", style="dim"))
    return console.Group(*parts)


def _folded(words_of_stages: list[str], width: int) -> list[text.Text]:
    """Return the stages' names as lines that are not broken within a name."""
    lines = [""]
    for words_of_stage in words_of_stages:
        longer = f"{lines[-1]}  {words_of_stage}" if lines[-1] else words_of_stage
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(words_of_stage)
    return [text.Text(line) for line in lines]


def _cell(
    shown: matrix.Matrix, stage: str, target: str, now: datetime, *, brief: bool = False
) -> text.Text:
    cell = shown.cell(stage, target)
    written, colour = cells.text(cell, now, brief=brief)
    return text.Text(written, style=colour)


def _is_quiet(shown: matrix.Matrix, target: str) -> bool:
    """Tell whether nothing on this cluster needs a look; such clusters come last."""
    return all(
        cell is None or cell.status in _QUIET
        for cell in (shown.cell(stage, target) for stage in shown.stages)
    )
