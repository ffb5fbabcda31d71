"""Logs of tasks in memory."""

from collections.abc import Sequence
from dataclasses import replace

from volary.model.runs import run_records
from volary.store import encoding, pagination, records
from volary.store.memory import shelves


class Logs:
    """See `protocol.Logs`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits) -> None:
        self._shelf = shelf
        self._limits = limits

    async def append(
        self, lines: Sequence[records.LogLine], *, fence: run_records.Fence | None
    ) -> None:
        """Keep lines in order; those of unknown runs are left out."""
        if not lines:
            return
        self._shelf.check_fence(fence)
        for line in lines:
            if run := self._shelf.runs.get(line.run_id):
                self._append(run, shelves.own(line))

    def _append(self, run: shelves.RunShelf, line: records.LogLine) -> None:
        same = [kept for kept in run.logs if _task(kept.line) == _task(line)]
        number = same[-1].number + 1 if same else 1
        line = replace(line, text=encoding.shorten(line.text, self._limits.line_length))
        run.logs.append(records.StoredLogLine(next(self._shelf.positions), number, line))
        if len(same) >= self._limits.lines_per_task:
            run.logs.remove(same[0])

    async def after(
        self, run_id: str, position: int, *, stage: str = "", target: str = "", limit: int = 500
    ) -> tuple[records.StoredLogLine, ...]:
        """Return a run's lines after `position`, of one stage or cluster if given, in order."""
        run = self._shelf.runs.get(run_id)
        found = [
            kept
            for kept in (run.logs if run else ())
            if kept.position > position
            and stage in ("", kept.line.stage)
            and target in ("", kept.line.target)
        ]
        return tuple(found[: pagination.bounded(limit, self._limits.page)])


def _task(line: records.LogLine) -> tuple[str, str]:
    return line.stage, line.target
