"""What analyses measured and concluded, in memory."""

from collections.abc import Sequence

from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.memory import shelves


class Findings:
    """See `protocol.Findings`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits) -> None:
        self._shelf = shelf
        self._limits = limits

    async def append(
        self, findings: Sequence[records.Finding], *, fence: run_records.Fence | None
    ) -> None:
        """Keep findings in order; those of unknown runs are left out."""
        if not findings:
            return
        self._shelf.check_fence(fence)
        for finding in findings:
            if run := self._shelf.runs.get(finding.run_id):
                self._append(run, shelves.own(finding))

    def _append(self, run: shelves.RunShelf, finding: records.Finding) -> None:
        same = [kept for kept in run.findings if _task(kept.finding) == _task(finding)]
        number = same[-1].number + 1 if same else 1
        run.findings.append(records.StoredFinding(next(self._shelf.positions), number, finding))
        if len(same) >= self._limits.findings_per_task:
            run.findings.remove(same[0])

    async def after(
        self,
        run_id: str,
        position: int,
        *,
        wanted: records.FindingFilter | None = None,
        limit: int = 500,
    ) -> tuple[records.StoredFinding, ...]:
        """Return a run's findings after `position`, those that are wanted, in order."""
        run = self._shelf.runs.get(run_id)
        chosen = wanted or records.FindingFilter()
        found = [
            kept
            for kept in (run.findings if run else ())
            if kept.position > position and _fits(chosen, kept.finding)
        ]
        return tuple(
            shelves.own(kept) for kept in found[: pagination.bounded(limit, self._limits.page)]
        )


def _task(finding: records.Finding) -> tuple[str, str]:
    return finding.stage, finding.target


def _fits(wanted: records.FindingFilter, finding: records.Finding) -> bool:
    return (
        wanted.stage in ("", finding.stage)
        and wanted.target in ("", finding.target)
        and wanted.metric in ("", finding.metric)
        and wanted.kind in ("", finding.kind)
    )
