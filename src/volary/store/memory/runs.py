"""Runs in memory."""

from collections.abc import Sequence

from volary.model import record
from volary.store import pages, records, verdicts
from volary.store.memory import shelves


class Runs:
    """See `protocol.Runs`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits) -> None:
        self._shelf = shelf
        self._limits = limits

    def keep(self, transition: record.Transition, fence: record.Fence | None) -> record.Kept:
        """Keep one step of a run (`protocol.Store.keep_transition`)."""
        self._shelf.check_fence(fence)
        digest = verdicts.digest(transition)
        run = self._shelf.runs.get(transition.head.id)
        repeated = verdicts.check_transition(transition, digest, run.standing if run else None)
        if repeated is not None:
            return repeated
        transition = shelves.own(transition)
        if run is None:
            run = shelves.RunShelf(transition.head, 0, 0, "", {}, transition.origin)
            self._shelf.runs[transition.head.id] = run
        _change(run, transition, digest)
        self._tell(run, transition.feed)
        return record.Kept(run.version, run.last_event)

    def _tell(self, run: shelves.RunShelf, feed: Sequence[record.EventRecord]) -> None:
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

    async def load(self, run_id: str) -> record.StoredRun | None:
        """Return the whole run."""
        run = self._shelf.runs.get(run_id)
        if run is None:
            return None
        stages = sorted(run.stages.values(), key=lambda stage: stage.position)
        order = {stage.id: stage.position for stage in stages}
        tasks = sorted(run.tasks.values(), key=lambda task: (order[task.stage], task.position))
        return shelves.own(
            record.StoredRun(
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
        after = pages.by_time(cursor)
        limit = pages.bounded(limit, self._limits.page)
        found = [
            shelves.own(records.RunSummary(run.head, run.version, run.origin))
            for run in sorted(self._shelf.runs.values(), key=_age, reverse=True)
            if _is_wanted(run.head, wanted) and (after is None or _age(run) < after)
        ]
        return pages.cut(found, limit, lambda item: (item.head.created, item.head.id))

    async def unfinished(self) -> tuple[str, ...]:
        """Return the ids of runs that have not ended, the oldest first."""
        runs = sorted(self._shelf.runs.values(), key=_age)
        return tuple(run.head.id for run in runs if run.head.finished is None)

    async def approvals(self, run_id: str) -> tuple[record.ApprovalRecord, ...]:
        """Return who approved or rejected what, in order."""
        run = self._shelf.runs.get(run_id)
        return tuple(run.approvals) if run else ()

    async def settle(self, run_id: str, keys: Sequence[str], *, fence: record.Fence | None) -> None:
        """Forget commands that were carried out."""
        self._shelf.check_fence(fence)
        run = self._shelf.runs.get(run_id)
        for key in keys:
            if run:
                run.commands.pop(key, None)


def _age(run: shelves.RunShelf) -> tuple[object, ...]:
    return (run.head.created, run.head.id)


def _change(run: shelves.RunShelf, transition: record.Transition, digest: str) -> None:
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


def _is_wanted(head: record.RunHead, wanted: records.RunFilter) -> bool:
    return (
        (wanted.applications is None or head.application in wanted.applications)
        and (not wanted.statuses or head.status in wanted.statuses)
        and (not wanted.commit or head.commit == wanted.commit)
    )
