"""A journal in memory."""

from volary.engine.execution import runners
from volary.engine.runs import state


class MemoryJournal:
    """Keeps the newest state of each run, for as long as the process lives."""

    def __init__(self) -> None:
        self.runs: dict[str, state.Run] = {}

    async def keep(self, record: runners.StepRecord) -> None:
        self.runs[record.run.id] = record.run
