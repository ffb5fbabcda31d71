"""What tasks say and do and analyses find, on its way into the store: gathered, then written.

It is kept for at most half a second or until there is much. When the store is gone it piles up to
a bound; then the oldest is dropped, and in a log a line says how much. A verdict does not depend
on what is kept here, only what is left of it after a restart and what people see.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from volary.engine.execution import ticks
from volary.engine.observers import feed
from volary.model import errors
from volary.model.runs import run_records
from volary.stages.judgement import findings
from volary.store import records, stores

Item = TypeVar("Item")

#: Items written at once, and kept in memory at most.
_BATCH, _MOST = 500, 10_000
#: Seconds between two writes; the writers of all runs write at the same moments.
_INTERVAL = 0.5


class _BatchWriter(Generic[Item]):
    def __init__(self, store: stores.Store, *, fence: run_records.Fence | None) -> None:
        self._store = store
        self._fence = fence
        self._waiting: deque[Item] = deque()
        self._dropped = 0
        self._some, self._full = asyncio.Event(), asyncio.Event()

    async def keep_writing(self) -> None:
        """Write what has gathered, again and again; `flush` writes the rest at the end."""
        loop = asyncio.get_running_loop()
        while True:
            await self._some.wait()
            try:
                async with asyncio.timeout_at(ticks.next_tick(loop.time(), _INTERVAL)):
                    await self._full.wait()
            except TimeoutError:
                pass
            await self.flush()

    async def flush(self) -> None:
        """Write what has gathered; what the store cannot take now waits for the next time."""
        self._full.clear()
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            written = False
            try:
                await self._append(batch, self._dropped)
                written = True
            except errors.TemporaryError:
                return
            finally:
                if written:
                    self._dropped = 0
                else:
                    self._waiting.extendleft(reversed(batch))
                    self._some.set()
                    self._shorten()
        self._some.clear()

    def _take(self, item: Item) -> None:
        self._waiting.append(item)
        self._some.set()
        self._shorten()
        if len(self._waiting) >= _BATCH:
            self._full.set()

    def _shorten(self) -> None:
        while len(self._waiting) > _MOST:
            self._waiting.popleft()
            self._dropped += 1

    async def _append(self, batch: Sequence[Item], dropped: int) -> None:
        """Write a batch, before which so many items were dropped."""
        raise NotImplementedError


class LogWriter(_BatchWriter[records.LogLine]):
    """An observer of one run that keeps what its tasks say."""

    def notify(self, event: feed.RunEvent) -> None:
        """Take a line of a task's log; other events are not for the log."""
        if isinstance(event, feed.TaskLogged):
            self._take(
                records.LogLine(
                    run_id=event.run,
                    stage=event.stage,
                    target=event.target,
                    attempt=event.attempt,
                    at=event.at,
                    level=event.level.value,
                    text=event.line,
                )
            )

    async def _append(self, batch: Sequence[records.LogLine], dropped: int) -> None:
        said = f"{dropped} lines were dropped here: they could not be written in time"
        gap = [replace(batch[0], level="warning", text=said)] if dropped else []
        await self._store.logs.append([*gap, *batch], fence=self._fence)


class AnalysisWriter(_BatchWriter[records.Finding]):
    """An observer of one run that keeps what its analyses find.

    A batch may be sent twice, when nobody knows whether it was kept: the key of each finding sees
    to it that it is there once.
    """

    def notify(self, event: feed.RunEvent) -> None:
        """Take a finding; other events are not for this writer."""
        if isinstance(event, feed.TaskFinding):
            self._take(
                records.Finding(
                    run_id=event.run,
                    stage=event.stage,
                    target=event.target,
                    attempt=event.attempt,
                    at=event.at,
                    kind=event.kind,
                    metric=event.metric,
                    document=dict(event.document),
                    key=findings.key(event.attempt, event.kind, event.metric, event.document),
                )
            )

    async def _append(self, batch: Sequence[records.Finding], dropped: int) -> None:
        await self._store.findings.append(batch, fence=self._fence)


class AuditWriter(_BatchWriter[records.AuditRecord]):
    """An observer of one run that notes in the audit what was taken over from others."""

    def __init__(self, store: stores.Store, *, by: str, application: str) -> None:
        super().__init__(store, fence=None)
        self._by = by
        self._application = application

    def notify(self, event: feed.RunEvent) -> None:
        """Take what was taken over; other events are not for the audit."""
        if isinstance(event, feed.TaskTookOver):
            self._take(
                records.AuditRecord(
                    at=event.at,
                    by=self._by,
                    action="object.taken-over",
                    result="ok",
                    application=self._application,
                    run_id=event.run,
                    document={
                        "cluster": event.target,
                        "object": event.object,
                        "from": event.claimant,
                    },
                )
            )

    async def _append(self, batch: Sequence[records.AuditRecord], dropped: int) -> None:
        for entry in batch:
            await self._store.audit.write(entry)
