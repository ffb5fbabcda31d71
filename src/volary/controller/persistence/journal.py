"""The engine's journal in the store: each step of a run is one transaction.

State and feed are stored together or not at all, with the fence of
the lease that this process holds. A store that is locked, full or gone is waited for: the run
stands still meanwhile and loses nothing.
"""

from collections.abc import Callable

from volary.controller.persistence import redaction, retry
from volary.engine.execution import runners
from volary.engine.persistence import transitions
from volary.engine.runs import state
from volary.manifests import redaction as manifest_redaction
from volary.model.runs import run_records
from volary.store import stores


class StoreJournal:
    """Keeps the transitions of one run; see `engine.execution.runners.Journal`.

    Args:
        store: Where they are kept.
        run: The run as it was kept last.
        version: The version it was kept at.
        fence: Proof that this process is the leader.
        masker: Takes secrets out of every sentence.
        kept: Called after each step, to wake those who watch.
    """

    def __init__(
        self,
        store: stores.Store,
        run: state.Run,
        version: int,
        *,
        fence: run_records.Fence | None,
        masker: manifest_redaction.Masker,
        kept: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._run = run
        self._version = version
        self._fence = fence
        self._masker = masker
        self._kept = kept

    async def keep(self, record: runners.StepRecord) -> None:
        """Remember one transition; returns once it is safe.

        Raises:
            faults.Overtaken: Another process holds the leader lease now; this one must stop.
            faults.VersionConflict: Another process has advanced this run.
        """
        made = transitions.step_transition(
            self._run, record.happened, record.run, record.told, self._version
        )
        clean = redaction.clean_transition(self._masker, made)

        async def write() -> run_records.KeptTransition:
            return await self._store.keep_transition(clean, fence=self._fence)

        kept = await retry.until_available(write, f"run {self._run.id}")
        self._run, self._version = record.run, kept.version
        self._kept()
