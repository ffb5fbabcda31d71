"""The engine's journal in the store: each step of a run is one transaction.

State, feed and what people are notified of are stored together or not at all, with the fence of
the lease that this process holds. A store that is locked, full or gone is waited for: the run
stands still meanwhile and loses nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from volary.controller.persistence import retry
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.observers import redaction as event_redaction
from volary.engine.persistence import transitions
from volary.engine.runs import state
from volary.manifests import redaction as manifest_redaction
from volary.model.runs import run_records
from volary.notifying import notifier as notifiers
from volary.store import fencing, stores


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
    #: Notifies people of what happens: what it sends is kept with the step. None: nobody is.
    notifier: notifiers.RunNotifier | None = None
    _last: run_records.Transition | None = None

    async def keep(self, record: runners.StepRecord) -> None:
        """Remember one transition; returns once it is safe.

        Raises:
            runners.AlreadyAnswered: The request was answered before; nothing is kept.
            fencing.LeaseLost: Another process holds the leader lease now; this one must stop.
            fencing.VersionConflict: Another process has advanced this run.
        """
        made = transitions.step_transition(
            self.run, record.happened, record.run, record.told, self.version
        )
        await self.keep_step(made, record.told)
        self.run = record.run

    async def keep_step(self, step: run_records.Transition, told: Sequence[feed.RunEvent]) -> None:
        """Remember a step; the very same one twice is one.

        Raises:
            runners.AlreadyAnswered: The request was answered before; nothing is kept.
            fencing.LeaseLost: Another process holds the leader lease now; this one must stop.
            fencing.VersionConflict: Another process has advanced this run.
        """
        if self._last == step:
            # People were notified of it already, so it would not be the very same one.
            return
        clean = event_redaction.clean_transition(self.masker, step)
        notices: notifiers.StepNotices | None = None
        if self.notifier is not None:
            clean_events = [event_redaction.clean_event(self.masker, event) for event in told]
            notices = self.notifier.prepare(clean_events, step.version)
            clean = replace(clean, notifications=notices.messages)

        async def write() -> run_records.KeptTransition:
            return await self.store.keep_transition(clean, fence=self.fence)

        try:
            kept = await retry.until_available(write, f"run {self.run.id}")
        except fencing.RequestAnswered as error:
            raise runners.AlreadyAnswered(str(error)) from error
        self._last, self.version = step, kept.version
        self.kept()
        if self.notifier is not None and notices is not None:
            self.notifier.post(notices)
