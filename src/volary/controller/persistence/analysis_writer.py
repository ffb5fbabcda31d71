"""What analyses find on its way into the store: gathered, and written in batches.

As with logs, findings wait for at most half a second. When the store is gone they pile up to a
bound, and then the oldest are dropped; a verdict does not depend on what is kept here, only
what is left of it after a restart and what people see.
"""

import asyncio
from collections import deque

from volary.engine.execution import ticks
from volary.engine.observers import feed
from volary.model import errors
from volary.model.runs import run_records
from volary.store import protocol, records

#: Findings written at once, and kept in memory at most.
_BATCH, _MOST = 500, 10_000
#: Seconds between two writes; the books of all runs are written at the same moments.
_INTERVAL = 0.5


class AnalysisWriter:
    """An observer of one run that keeps what its analyses find."""

    def __init__(self, store: protocol.Store, *, fence: run_records.Fence | None) -> None:
        self._store = store
        self._fence = fence
        self._waiting: deque[records.Finding] = deque(maxlen=_MOST)

    def notify(self, event: feed.RunEvent) -> None:
        """Take a finding; other events are not for this book."""
        if isinstance(event, feed.TaskFinding):
            self._waiting.append(_finding(event))

    async def keep_writing(self) -> None:
        """Write what has gathered, again and again; `flush` writes the rest at the end."""
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            await asyncio.sleep(ticks.next_tick(now, _INTERVAL) - now)
            await self.flush()

    async def flush(self) -> None:
        """Write what has gathered; what the store cannot take now waits for the next time."""
        while self._waiting:
            batch = [self._waiting[i] for i in range(min(_BATCH, len(self._waiting)))]
            try:
                await self._store.findings.append(batch, fence=self._fence)
            except errors.TemporaryError:
                return
            # What came in meanwhile stands behind them, unless so much came that they are gone.
            while self._waiting and batch and self._waiting[0] is batch[0]:
                self._waiting.popleft()
                batch.pop(0)


def _finding(event: feed.TaskFinding) -> records.Finding:
    return records.Finding(
        run_id=event.run,
        stage=event.stage,
        target=event.target,
        attempt=event.attempt,
        at=event.at,
        kind=event.kind,
        metric=event.metric,
        document=dict(event.document),
    )
