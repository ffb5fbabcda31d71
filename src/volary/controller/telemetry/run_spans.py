"""A run that has ended as spans of a trace: the run, and within it its stages. Pure.

What a stage does on a cluster is traced while it is done, within the stage's place.
"""

from collections.abc import Iterator

from volary.engine.runs import state
from volary.model import statuses
from volary.telemetry import spans

_WELL = (statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.SKIPPED)


def of_run(kind: str, run: state.Run) -> Iterator[spans.FinishedSpan]:
    """Yield the spans of a run that has ended; nothing for one that never began."""
    if run.started is None or run.finished is None:
        return
    about: dict[str, str | int] = {
        "volary.application": run.application,
        "volary.run.id": run.id,
        "volary.run.kind": kind,
        "volary.run.status": run.status.value,
        "volary.commit": run.commit,
        "volary.clusters": len(run.clusters),
    }
    failure = "" if run.status in statuses.GOOD_ENDS else run.status.value
    yield spans.FinishedSpan(
        f"run {kind}", spans.Place(run.id), run.started, run.finished, about, failure
    )
    for stage in run.all_stages:
        if stage.started is None:
            continue
        status = stage.status
        yield spans.FinishedSpan(
            stage.stage.name,
            spans.Place(run.id, (stage.id,)),
            stage.started,
            # One that was given up has no end of its own.
            stage.finished or run.finished,
            {
                "volary.application": run.application,
                "volary.stage.id": stage.id,
                "volary.stage.status": status.value,
                "volary.wave": stage.wave,
            },
            "" if status in _WELL else status.value,
        )
