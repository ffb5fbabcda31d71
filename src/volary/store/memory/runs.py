"""Runs in memory."""

from collections.abc import Sequence

from volary.model.runs import run_records
from volary.store import fencing, pagination, records
from volary.store.memory import shelves


class Runs:
    """See `protocol.Runs`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits) -> None:
        self._shelf = shelf
        self._limits = limits

    def keep(
        self, transition: run_records.Transition, fence: run_records.Fence | None
    ) -> run_records.KeptTransition:
        """Keep one step of a run (`protocol.Store.keep_transition`)."""
        self._shelf.check_fence(fence)
        digest = fencing.digest(transition)
        run = self._shelf.runs.get(transition.head.id)
        repeated = fencing.check_transition(transition, digest, run.stored_version if run else None)
        if repeated is not None:
            return repeated
        transition = shelves.own(transition)
        if run is None:
            run = shelves.RunShelf(transition.head, 0, 0, "", {}, transition.origin)
            self._shelf.runs[transition.head.id] = run
        _change(run, transition, digest)
        self._tell(run, transition.feed)
        return run_records.KeptTransition(run.version, run.last_event)

    def _tell(self, run: shelves.RunShelf, feed: Sequence[run_records.EventRecord]) -> None:
        for event in feed:
            run.last_event += 1
            self._shelf.last_position = next(self._shelf.positions)
            run.events.append(
                records.FeedEvent(
                    self._shelf.last_position,
                    run.head.id,
                    run.head.application,
                    run.last_event,
                    event,
                )
            )

    async def load(self, run_id: str) -> run_records.StoredRun | None:
        """Return the whole run."""
        run = self._shelf.runs.get(run_id)
        if run is None:
            return None
        stages = sorted(run.stages.values(), key=lambda stage: stage.position)
        order = {stage.id: stage.position for stage in stages}
        tasks = sorted(run.tasks.values(), key=lambda task: (order[task.stage], task.position))
        return shelves.own(
            run_records.StoredRun(
                head=run.head,
                version=run.version,
                last_event=run.last_event,
                document=run.document,
                origin=run.origin,
                stages=tuple(stages),
                tasks=tuple(tasks),
                commands=tuple(run.commands[key] for key in sorted(run.commands)),
            )
        )

    async def list(
        self, wanted: records.RunFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.RunSummary]:
        """Return runs, the newest first."""
        after = pagination.by_time(cursor)
        limit = pagination.bounded(limit, self._limits.page)
        found = [
            shelves.own(records.RunSummary(run.head, run.version, run.origin))
            for run in sorted(self._shelf.runs.values(), key=_age, reverse=True)
            if _is_wanted(run.head, wanted) and (after is None or _age(run) < after)
        ]
        return pagination.cut(found, limit, lambda item: (item.head.created, item.head.id))

    async def unfinished(self) -> tuple[str, ...]:
        """Return the ids of runs that have not ended, the oldest first."""
        runs = sorted(self._shelf.runs.values(), key=_age)
        return tuple(run.head.id for run in runs if run.head.finished is None)

    async def approvals(self, run_id: str) -> tuple[run_records.ApprovalRecord, ...]:
        """Return who approved or rejected what, in order."""
        run = self._shelf.runs.get(run_id)
        return tuple(run.approvals) if run else ()

    async def settle(
        self, run_id: str, keys: Sequence[str], *, fence: run_records.Fence | None
    ) -> None:
        """Forget commands that were carried out."""
        self._shelf.check_fence(fence)
        run = self._shelf.runs.get(run_id)
        for key in keys:
            if run:
                run.commands.pop(key, None)


def _age(run: shelves.RunShelf) -> tuple[object, ...]:
    return (run.head.created, run.head.id)


def _change(run: shelves.RunShelf, transition: run_records.Transition, digest: str) -> None:
    run.head = transition.head
    run.version = transition.version
    run.digest = digest
    if transition.document is not None:
        run.document = transition.document
    run.stages |= {stage.id: stage for stage in transition.stages}
    run.tasks |= {(task.stage, task.target): task for task in transition.tasks}
    for key in transition.settled:
        run.commands.pop(key, None)
    run.commands |= {command.key: command for command in transition.commands}
    run.approvals += transition.approvals
    for version, event in enumerate(transition.events, transition.expected_version + 1):
        run.journal.append((version, transition.at, event))


def _is_wanted(head: run_records.RunHead, wanted: records.RunFilter) -> bool:
    return (
        (wanted.applications is None or head.application in wanted.applications)
        and (not wanted.statuses or head.status in wanted.statuses)
        and (not wanted.commit or head.commit == wanted.commit)
    )
