"""The engine's journal in the store: each step of a run is one transaction.

State and feed are stored together or not at all, with the fence of
the lease that this process holds. A store that is locked, full or gone is waited for: the run
stands still meanwhile and loses nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

from volary.controller.persistence import redaction, retry
from volary.engine.execution import runners
from volary.engine.persistence import transitions
from volary.engine.runs import state
from volary.manifests import redaction as manifest_redaction
from volary.model.runs import run_records
from volary.store import stores


@dataclass(slots=True)
class StoreJournal:
    """Keeps the transitions of one run; see `engine.execution.runners.Journal`."""

    store: stores.Store
    #: As it was kept last, and the version it was kept at.
    run: state.Run
    version: int
    #: Proof that this process is the leader.
    fence: run_records.Fence | None
    #: Takes secrets out of every sentence.
    masker: manifest_redaction.Masker
    #: Called after each step, to wake those who watch.
    kept: Callable[[], None] = lambda: None

    async def keep(self, record: runners.StepRecord) -> None:
        """Remember one transition; returns once it is safe.

        Raises:
            fencing.LeaseLost: Another process holds the leader lease now; this one must stop.
            fencing.VersionConflict: Another process has advanced this run.
        """
        made = transitions.step_transition(
            self.run, record.happened, record.run, record.told, self.version
        )
        clean = redaction.clean_transition(self.masker, made)

        async def write() -> run_records.KeptTransition:
            return await self.store.keep_transition(clean, fence=self.fence)

        kept = await retry.until_available(write, f"run {self.run.id}")
        self.run, self.version = record.run, kept.version
        self.kept()
