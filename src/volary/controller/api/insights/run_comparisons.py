"""Two runs of an application beside each other: what differs, in sentences and tables. Pure."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from volary.controller.api import analysis_representations, representations
from volary.model import phrases

#: How much longer or shorter a run is that is worth a sentence, as a share of the other.
_WORTH_SAYING = 0.1
#: Characters of a commit in a sentence.
_SHORT = 8


def compare(
    before: representations.Run, after: representations.Run
) -> analysis_representations.RunComparison:
    """Return what differs between two runs."""
    clusters_before, clusters_after = _clusters(before), _clusters(after)
    return analysis_representations.RunComparison(
        before.summary,
        after.summary,
        tuple(_differences(before, after)),
        tuple(_stages(before, after)),
        tuple(name for name in clusters_after if name not in clusters_before),
        tuple(name for name in clusters_before if name not in clusters_after),
    )


def _clusters(run: representations.Run) -> tuple[str, ...]:
    return tuple(target.name for target in run.targets if not target.left_out)


def _differences(before: representations.Run, after: representations.Run) -> Iterator[str]:
    old, new = before.summary, after.summary
    if old.commit != new.commit:
        yield f"commit {_short(new.commit)} instead of {_short(old.commit)}"
    else:
        yield f"both are of commit {_short(new.commit)}"
    if old.running_commit != new.running_commit:
        yield f"it began from {_commit(new.running_commit)}, not from {_commit(old.running_commit)}"
    if old.strategy != new.strategy:
        yield f"strategy {new.strategy or 'unknown'} instead of {old.strategy or 'unknown'}"
    yield from _cluster_differences(before, after)
    yield from _stage_differences(before, after)
    if old.status != new.status:
        yield f"it is {new.status}, the other {old.status}: {new.reason or 'no reason is known'}"
    if said := _times(_length(old), _length(new)):
        yield f"it took {said}"


def _short(commit: str) -> str:
    return commit[:_SHORT]


def _commit(commit: str) -> str:
    return _short(commit) or "nothing"


def _cluster_differences(before: representations.Run, after: representations.Run) -> Iterator[str]:
    old, new = _clusters(before), _clusters(after)
    if added := [name for name in new if name not in old]:
        yield f"also on {phrases.join_names(added)}"
    if gone := [name for name in old if name not in new]:
        yield f"without {phrases.join_names(gone)}"
    exceptions = {target.name for target in before.targets if target.exception}
    if undone := [
        target.name
        for target in after.targets
        if target.exception and target.name not in exceptions
    ]:
        yield f"something is left undone on {phrases.join_names(undone)}"


def _stage_differences(before: representations.Run, after: representations.Run) -> Iterator[str]:
    old, new = (_names(run) for run in (before, after))
    if added := [name for name in new if name not in old]:
        yield f"stages that the other has not: {phrases.join_names(added)}"
    if gone := [name for name in old if name not in new]:
        yield f"without the stages {phrases.join_names(gone)}"
    for stage in _stages(before, after):
        if not stage.before_status or not stage.after_status:
            continue
        if stage.before_status != stage.after_status:
            yield f"{stage.name} is {stage.after_status}, in the other {stage.before_status}"
        elif said := _times(stage.before_seconds, stage.after_seconds):
            yield f"{stage.name} took {said}"


def _names(run: representations.Run) -> list[str]:
    return [stage.id for stage in _all_stages(run)]


def _all_stages(run: representations.Run) -> tuple[representations.Stage, ...]:
    return (*run.stages, *((run.rollback,) if run.rollback else ()))


def _stages(
    before: representations.Run, after: representations.Run
) -> Iterator[analysis_representations.ComparedStage]:
    old, new = ({stage.id: stage for stage in _all_stages(run)} for run in (before, after))
    for name in dict.fromkeys((*new, *old)):
        then, now = old.get(name), new.get(name)
        yield analysis_representations.ComparedStage(
            name,
            then.status if then else "",
            now.status if now else "",
            _seconds(then.started, then.finished) if then else None,
            _seconds(now.started, now.finished) if now else None,
        )


def _seconds(started: datetime | None, finished: datetime | None) -> float | None:
    if started is None or finished is None:
        return None
    return max(0.0, (finished - started).total_seconds())


def _length(run: representations.RunSummary) -> float | None:
    return _seconds(run.started, run.finished)


def _times(before: float | None, after: float | None) -> str:
    """Say how long it took beside the other; empty: about as long, or nobody knows."""
    if before is None or after is None or abs(after - before) < max(1.0, _WORTH_SAYING * before):
        return ""
    longer = "longer" if after > before else "less"
    took, than = (phrases.duration(timedelta(seconds=round(each))) for each in (after, before))
    return f"{took or '0s'}, {longer} than {than or '0s'}"
