"""The engine's journal in the store: each step of a run is one transaction.

State, event, outstanding commands and feed are kept together or not at all, with the fence of
the lease that this process holds. A store that is locked, full or gone is waited for: the run
stands still meanwhile and loses nothing.
"""

from collections.abc import Callable

from volary.controller import insistence, masked
from volary.engine import journal, state, transitions
from volary.manifests import masking
from volary.model import record as records
from volary.store import protocol


class StoreJournal:
    """Keeps the transitions of one run; see `engine.journal.Journal`.

    Args:
        store: Where they are kept.
        run: The run as it was kept last.
        version: The version it was kept at.
        fence: Proof that this process drives.
        masker: Takes secrets out of every sentence.
        kept: Called after each step, to wake those who watch.
    """

    def __init__(
        self,
        store: protocol.Store,
        run: state.Run,
        version: int,
        *,
        fence: records.Fence | None,
        masker: masking.Masker,
        kept: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._run = run
        self._version = version
        self._fence = fence
        self._masker = masker
        self._kept = kept

    async def keep(self, record: journal.Record) -> None:
        """Remember one transition; returns once it is safe.

        Raises:
            faults.Overtaken: Another process drives now; this one must stop.
            faults.VersionConflict: Another process has driven this run on.
        """
        made = transitions.of_step(self._run, record.happened, record.step, self._version)
        clean = masked.clean_transition(self._masker, made)

        async def write() -> records.Kept:
            return await self._store.keep_transition(clean, fence=self._fence)

        kept = await insistence.insist(write, f"run {self._run.id}")
        self._run, self._version = record.step.run, kept.version
        self._kept()
