"""Commits of applications in memory."""

from dataclasses import replace

from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.memory import shelves


class Commits:
    """See `protocol.Commits`."""

    def __init__(self, shelf: shelves.Shelves, limits: records.Limits) -> None:
        self._shelf = shelf
        self._limits = limits

    async def keep(self, commit: records.CommitRecord, *, fence: run_records.Fence | None) -> None:
        """Keep it, new or changed; the time it was seen first stays."""
        self._shelf.check_fence(fence)
        commit = shelves.own(commit)
        before = self._shelf.commits.get((commit.application, commit.commit))
        seen = before.seen if before else commit.seen
        self._shelf.commits[commit.application, commit.commit] = replace(commit, seen=seen)

    async def get(self, application: str, commit: str) -> records.CommitRecord | None:
        """Return it."""
        return self._shelf.commits.get((application, commit))

    async def list(
        self, application: str, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.CommitRecord]:
        """Return an application's commits, the last seen first."""
        after = pagination.by_time(cursor)
        found = [
            commit
            for commit in sorted(self._shelf.commits.values(), key=age, reverse=True)
            if commit.application == application and (after is None or age(commit) < after)
        ]
        return pagination.cut(found, pagination.bounded(limit, self._limits.page), age)


def age(commit: records.CommitRecord) -> tuple[object, ...]:
    """Return what commits are sorted by."""
    return (commit.seen, commit.commit)
