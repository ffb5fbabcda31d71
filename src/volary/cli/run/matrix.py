"""The cluster × stage matrix: what a person sees of a run, folded from its event stream.

Pure: `fold` takes the matrix so far and one event and returns the next matrix. Every
view (live, plain, summary) draws the same value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from volary.engine.observers import feed
from volary.model import statuses

#: How many log lines are kept.
LOG_LINES = 200

CellKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Cell:
    """One stage on one cluster."""

    status: statuses.TaskStatus = statuses.TaskStatus.PENDING
    sentence: str = ""
    ready: int = 0
    total: int = 0
    wanted: Mapping[str, int] = field(default_factory=dict)
    observed: Mapping[str, int] = field(default_factory=dict)
    started: datetime | None = None
    finished: datetime | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether nothing has begun there: people are waited for first."""
        return self.status is statuses.TaskStatus.WAITING and self.started is None


@dataclass(frozen=True, slots=True)
class Matrix:
    """A run as far as its events have said."""

    application: str = ""
    commit: str = ""
    targets: tuple[str, ...] = ()
    #: Stages in order, each once however many waves go through it; the rollback joins when
    #: it begins.
    stages: tuple[str, ...] = ()
    #: Stage to stage name.
    names: Mapping[str, str] = field(default_factory=dict)
    #: The wave of each target, in the order of the waves; empty: there are none.
    waves: Mapping[str, str] = field(default_factory=dict)
    #: Stages that have begun, with the wave that has.
    begun: frozenset[tuple[str, str]] = frozenset()
    cells: Mapping[CellKey, Cell] = field(default_factory=dict)
    status: statuses.RunStatus = statuses.RunStatus.PLANNED
    reason: str = ""
    started: datetime | None = None
    finished: datetime | None = None
    logs: tuple[feed.TaskLogged, ...] = ()

    def cell(self, stage: str, target: str) -> Cell | None:
        """Return the cell; None when the stage leaves the cluster out."""
        known = self.cells.get((stage, target))
        if known is None and (stage, self.waves.get(target, "")) not in self.begun:
            return Cell()
        return known

    @property
    def running(self) -> tuple[CellKey, ...]:
        """Cells that are being carried out, in order."""
        return tuple(
            (stage, target)
            for stage in self.stages
            for target in self.targets
            if (cell := self.cell(stage, target)) and cell.status is statuses.TaskStatus.RUNNING
        )


def column(stage_id: str) -> str:
    """Return a stage's id without its wave: ``first/2-WAIT`` and ``rest/2-WAIT`` are one column."""
    return stage_id.rpartition("/")[2]


def fold(matrix: Matrix, event: feed.RunEvent) -> Matrix:
    """Return the matrix after `event`; events it does not show change nothing."""
    match event:
        case feed.TaskEvent():
            return _fold_task(matrix, event)
        case feed.StageEvent():
            return _fold_stage(matrix, event)
        case _:
            return _fold_run(matrix, event)


def _fold_run(matrix: Matrix, event: feed.RunEvent) -> Matrix:
    match event:
        case feed.RunStarted():
            return replace(
                matrix,
                application=event.application,
                commit=event.commit,
                targets=_by_wave(event),
                stages=tuple(sorted(dict.fromkeys(map(column, event.stages)), key=_place)),
                names={
                    column_name: column_name.partition("-")[2] or column_name
                    for column_name in map(column, event.stages)
                },
                waves={name: wave for wave, names in event.waves.items() for name in names},
                status=statuses.RunStatus.RUNNING,
                started=event.at,
            )
        case feed.RunChanged():
            return replace(matrix, status=event.status, reason=event.reason)
        case feed.RollbackStarted():
            return replace(matrix, status=statuses.RunStatus.ROLLING_BACK, reason=event.reason)
        case feed.RunFinished():
            cells = {key: cell for key, cell in matrix.cells.items() if not cell.is_awaited}
            return replace(
                matrix, status=event.status, reason=event.reason, finished=event.at, cells=cells
            )
        case _:
            return matrix


def _fold_stage(matrix: Matrix, event: feed.StageEvent) -> Matrix:
    stage = column(event.stage)
    known = stage in matrix.stages
    matrix = replace(
        matrix,
        stages=matrix.stages if known else (*matrix.stages, stage),
        names={**matrix.names, stage: event.stage_name},
    )
    match event:
        case feed.StageStarted():
            new = {(stage, target): Cell() for target in event.targets}
            begun_cells = {key: cell for key, cell in matrix.cells.items() if not cell.is_awaited}
            begun = matrix.begun | {(stage, wave) for wave in _waves(matrix, event.stage)}
            return replace(matrix, cells={**new, **begun_cells}, begun=begun)
        case feed.StageWaiting():
            waiting = Cell(status=statuses.TaskStatus.WAITING, sentence=event.reason)
            waves = _waves(matrix, event.stage)
            awaited = {
                (stage, target): waiting
                for target in matrix.targets
                if matrix.waves.get(target, "") in waves
            }
            return replace(matrix, reason=event.reason, cells={**awaited, **matrix.cells})
        case _:
            return matrix


def _by_wave(event: feed.RunStarted) -> tuple[str, ...]:
    """Return the targets wave by wave."""
    return tuple(name for names in event.waves.values() for name in names) or event.targets


def _place(stage: str) -> int:
    number = stage.partition("-")[0]
    return int(number) if number.isdigit() else 0


def _waves(matrix: Matrix, stage_id: str) -> set[str]:
    """Return the waves that a stage's beginning is about: its own, or all for the rollback."""
    wave = stage_id.rpartition("/")[0]
    return {wave} if wave else {"", *matrix.waves.values()}


def _fold_task(matrix: Matrix, event: feed.TaskEvent) -> Matrix:
    if isinstance(event, feed.TaskLogged):
        return replace(matrix, logs=(*matrix.logs, event)[-LOG_LINES:])
    key = (column(event.stage), event.target)
    cell = _fold_cell(matrix.cells.get(key, Cell()), event)
    return replace(matrix, cells={**matrix.cells, key: cell})


def _fold_cell(cell: Cell, event: feed.TaskEvent) -> Cell:
    match event:
        case feed.TaskStarted():
            return Cell(status=statuses.TaskStatus.RUNNING, started=event.at)
        case feed.TaskProgressed():
            return replace(
                cell,
                sentence=event.sentence,
                ready=event.ready,
                total=event.total,
                wanted=event.wanted_weights,
                observed=event.observed_weights,
            )
        case feed.TaskTraffic():
            return replace(cell, wanted=event.wanted_weights, observed=event.observed_weights)
        case feed.TaskStopping():
            return replace(cell, sentence=f"stopping: {event.reason}")
        case feed.TaskFinished():
            return replace(cell, status=event.status, finished=event.at)
        case _:
            return cell


def explain(matrix: Matrix) -> str:
    """Say in one sentence what is going on, or why nothing is."""
    if matrix.finished or matrix.status in (
        statuses.RunStatus.WAITING,
        statuses.RunStatus.ROLLING_BACK,
    ):
        return matrix.reason
    waiting = [
        f"{target}: {cell.sentence}"
        for stage, target in matrix.running
        if (cell := matrix.cell(stage, target)) and cell.sentence
    ]
    if not waiting:
        return matrix.reason or "starting"
    stage = matrix.names.get(matrix.running[0][0], "")
    more = f" (and {len(waiting) - 1} more)" if len(waiting) > 1 else ""
    return f"{stage} waits for {waiting[0]}{more}"
