"""The run of an application that has not ended and that nobody carries out at present.

An earlier process left it behind, or an error broke it off. It is read again and goes on; until
it does, people can still cancel and abandon it, by what is stored alone.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from volary.controller import refusals
from volary.controller.applications import state_writer, stuck_runs
from volary.controller.leadership import context
from volary.controller.status import run_origins
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.state_machine import events, machine
from volary.model import errors
from volary.model.runs import run_records

_LOG = logging.getLogger(__name__)

#: Writes down what the end of a run means for its application.
Conclude = Callable[[state.Run, run_origins.Origin], Awaitable[None]]


class InterruptedRun:
    """The one of an application, if it has one; who changes it holds the application's lock.

    Args:
        leader: What is shared while this process is the leader.
        writer: Writes down what becomes of it.
        conclude: Writes down what its end means.
    """

    def __init__(
        self,
        leader: context.LeaderContext,
        writer: state_writer.ApplicationStateWriter,
        conclude: Conclude,
    ) -> None:
        self._leader = leader
        self._writer = writer
        self._conclude = conclude
        #: As it was read last; None: there is none, or it was not read.
        self.stored: run_records.StoredRun | None = None
        #: Id of one that is to be read again: it may have gone on, or ended, or never begun.
        self.unread = ""

    @property
    def id(self) -> str:
        """Its id; empty: there is none."""
        return self.unread or (self.stored.head.id if self.stored is not None else "")

    async def read(self) -> None:
        """Read again how it stands; what the end of one that has ended means is written down."""
        if not self.unread:
            return
        stored = await self._load(self.unread)
        if stored is not None and stored.head.finished is None:
            self.stored = stored
        elif stored is not None:
            await self._conclude_stored(stored)
        self.unread = ""

    async def request(self, run_id: str, event: events.Event, trouble: Exception | None) -> str:
        """Ask it for something; returns why not, or nothing.

        All that can be done with it now is to end it, which `trouble` keeps from going on.
        """
        stored = await self._load(run_id)
        if stored is None:
            return f"there is no run {run_id}"
        if stored.head.finished is not None:
            return machine.advance(codec.read_run(stored), event).refusal
        if not isinstance(event, events.Cancel):
            return _cannot_go_on(run_id, trouble)
        if trouble is None or isinstance(trouble, errors.TemporaryError):
            return await self._cancel_later(stored, event)
        await self._cancel_stuck(stored, event, sentence(trouble))
        return ""

    async def abandon(self, run_id: str, by: str, reason: str, *, answers: str = "") -> str:
        """End it as it is, naming what stays behind; returns why not, or nothing.

        `answers` is the id of the request that is answered by that; empty: of none.
        """
        stored = await self._load(run_id)
        if stored is None:
            return f"there is no run {run_id}"
        if stored.head.finished is not None:
            return f"a run that is {stored.head.status.value} cannot be abandoned"
        await self._abandon(stored, by, reason, answers)
        return ""

    async def forget(self, by: str, reason: str) -> None:
        """End it as it is, if there is one, with an application of which nothing is kept."""
        stored = await self._load(self.id) if self.id else None
        if stored is not None and stored.head.finished is None:
            await self._writer.abandon(stored, by, reason)
        self.stored, self.unread = None, ""

    async def _load(self, run_id: str) -> run_records.StoredRun | None:
        runs = self._leader.store.runs
        return await self._writer.until_available(lambda: runs.load(run_id))

    async def _conclude_stored(self, stored: run_records.StoredRun) -> None:
        """Write down what an end means; where a bug is in the way, that it is one."""
        status = self._writer.status
        if status.run == stored.head.id and not status.under_way:
            return  # that was done
        try:
            await self._conclude(codec.read_run(stored), run_origins.from_document(stored.origin))
        except Exception as error:
            if context.is_overtaken(error):
                raise
            _LOG.exception("what the end of run %s means cannot be written down", stored.head.id)
            await self._writer.close(
                f"{sentence(error)}; run {stored.head.id}: {stored.head.reason}"
            )

    async def _cancel_later(self, stored: run_records.StoredRun, event: events.Cancel) -> str:
        """Write down that it is cancelled: it does what that takes as soon as it goes on."""
        step, refusal = stuck_runs.cancelled(stored, event)
        if step is not None:
            # Also when it is not known whether it was kept.
            self.stored, self.unread = None, stored.head.id
            await self._writer.keep_step(step)
        return refusal

    async def _cancel_stuck(
        self, stored: run_records.StoredRun, event: events.Cancel, trouble: str
    ) -> None:
        """End it, for it cannot go on; the way back, where it is wanted, is a run of its own."""
        if event.id:
            await self._writer.check_unanswered((run_records.RequestAnswer(event.id, event.at),))
        back, status = None, self._writer.status
        if event.rollback and status.run_request is None:
            back = stuck_runs.way_back(stored, self._leader.new_id(), event.by, event.at)
        if back is not None:
            # First, so that it is there whatever happens next.
            await self._writer.keep(replace(status, run_request=back))
        why = f"{event.reason}; it could not go on: {trouble}".removeprefix("; ")
        told = f"; run {back.id} brings back {back.commit[:7]}" if back is not None else ""
        await self._abandon(stored, event.by, why + told, event.id)

    async def _abandon(
        self, stored: run_records.StoredRun, by: str, reason: str, answers: str
    ) -> None:
        # Whatever breaks from here on, what became of it is read again.
        self.stored, self.unread = None, stored.head.id
        ended = await self._writer.abandon(stored, by, reason, answers=answers)
        if ended is not None:
            await self._conclude(ended, run_origins.from_document(stored.origin))
            self.unread = ""


def sentence(error: BaseException) -> str:
    """Say what went wrong; of a bug no more than its name, for its words may hold anything."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, errors.UserError):
        return refusals.sentence(error)
    if isinstance(error, errors.VolaryError):
        return str(error)
    return f"internal error ({type(error).__name__}), see the log"


def _cannot_go_on(run_id: str, trouble: Exception | None) -> str:
    why = f"cannot go on: {sentence(trouble)}" if trouble is not None else "is not carried out yet"
    return (
        f"run {run_id} {why}\nhint: `volary cancel {run_id}` ends it and goes back, as far as that"
        " can be done; `volary abandon` leaves its clusters as they are"
    )
