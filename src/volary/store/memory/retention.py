"""Forgets old things in memory."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from volary.model import statuses
from volary.store import records
from volary.store.memory import commits, shelves

Item = TypeVar("Item")


def prune(shelf: shelves.Shelves, rule: records.Retention) -> records.Pruned:
    """Forget what `rule` lets go."""
    runs = _old_runs(shelf, rule)
    events = sum(len(shelf.runs[run].events) for run in runs)
    logs = sum(len(shelf.runs[run].logs) for run in runs)
    for run in runs:
        del shelf.runs[run]
    for kept in shelf.runs.values():
        if kept.head.finished is not None:
            logs += _drop(kept.logs, lambda each: each.line.at, rule.logs_before)
            _drop(kept.findings, lambda each: each.finding.at, rule.logs_before)
            events += _drop(kept.events, lambda each: each.record.at, rule.events_before)
            _drop(kept.journal, lambda each: each[1], rule.events_before)
    return records.Pruned(
        runs=len(runs),
        events=events,
        logs=logs,
        commits=_prune_commits(shelf, rule),
        requests=_prune_requests(shelf, rule),
        audit=_drop(shelf.audit, lambda each: each.at, rule.audit_before),
    )


def _drop(items: list[Item], at: Callable[[Item], datetime], before: datetime | None) -> int:
    kept = [item for item in items if before is None or at(item) >= before]
    dropped = len(items) - len(kept)
    items[:] = kept
    return dropped


def _old_runs(shelf: shelves.Shelves, rule: records.Retention) -> list[str]:
    by_application: dict[str, list[shelves.RunShelf]] = {}
    newest_first = sorted(
        shelf.runs.values(), key=lambda run: (run.head.created, run.head.id), reverse=True
    )
    for run in newest_first:
        by_application.setdefault(run.head.application, []).append(run)
    old = []
    for runs in by_application.values():
        succeeded = (run for run in runs if run.head.status is statuses.RunStatus.SUCCEEDED)
        newest_success = next(succeeded, None)
        old += [
            run.head.id
            for run in runs[max(rule.keep_runs_per_application, 0) :]
            if run.head.finished is not None
            and run.head.finished < rule.before
            and run is not newest_success
        ]
    return old


def _prune_commits(shelf: shelves.Shelves, rule: records.Retention) -> int:
    ranks: dict[str, int] = {}
    old = []
    for commit in sorted(shelf.commits.values(), key=commits.age, reverse=True):
        ranks[commit.application] = ranks.get(commit.application, 0) + 1
        application = shelf.applications.get(commit.application)
        if (
            ranks[commit.application] > rule.keep_runs_per_application
            and commit.seen < rule.before
            and not (application and application.running_commit == commit.commit)
            and commit.run_id not in shelf.runs
        ):
            old.append((commit.application, commit.commit))
    for key in old:
        del shelf.commits[key]
    return len(old)


def _prune_requests(shelf: shelves.Shelves, rule: records.Retention) -> int:
    old = [
        request.id
        for request in shelf.requests.values()
        if request.answered is not None and request.answered < rule.before
    ]
    for request in old:
        del shelf.requests[request]
    return len(old)
