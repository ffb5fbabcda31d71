"""Carries out the commands that people submitted: they come out of the store.

Whichever process took a command, the leader carries it out. What is done and that it is done are
kept in one transaction, so when a process dies in between it is neither lost nor done again; a
request that has an answer, whatever it says, is not carried out any more.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType

from volary.controller import refusals
from volary.controller.api.commands import request_events
from volary.controller.applications import reconcilers, registry, state_writer
from volary.controller.fleet import taint_commands
from volary.controller.leadership import context
from volary.controller.persistence import change_signal, retry
from volary.controller.placement import rebalancing
from volary.controller.runs import commit_history, ready_runs, release_plans, rollbacks
from volary.controller.status import application_requests, run_requests
from volary.engine.execution import runners
from volary.engine.observers import explanations
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.state_machine import events, machine, sightings
from volary.gitops import triggers
from volary.model import errors
from volary.model.runs import run_plans, run_records
from volary.store import fencing, records


async def pause_application(
    reconciler: reconcilers.ApplicationReconciler,
    pause: state.Pause,
    *,
    answers: state_writer.Answers = (),
) -> str:
    """Have nothing of the application begin to move; returns why not, or nothing.

    A run under way is paused as well; one that cannot be, because it is ending, goes its way.
    """
    refusal = application_requests.why_not_paused(reconciler.status)
    if not refusal:
        await reconciler.pause(pause, answers=answers)
    return refusal


async def resume_application(
    reconciler: reconcilers.ApplicationReconciler,
    by: str,
    now: datetime,
    *,
    answers: state_writer.Answers = (),
) -> str:
    """Have the application go on, its run with what it is pinned to; returns why not."""
    refusal = application_requests.why_not_resumed(reconciler.status)
    if not refusal:
        await reconciler.resume(events.Resume(now, by), answers=answers)
    return refusal


_LOG = logging.getLogger(__name__)

#: Carries a request out, and keeps its answer with that; returns why not, or nothing.
Handler = Callable[[records.RequestRecord, state_writer.Answers], Awaitable[str]]
NO_HANDLERS: Mapping[str, Handler] = MappingProxyType({})


class CommandHandler:
    """Takes requests from the store, one after another per application, and answers them."""

    def __init__(
        self,
        leader: context.LeaderContext,
        application_registry: registry.ApplicationRegistry,
        asked: change_signal.ChangeSignal,
        handlers: Mapping[str, Handler] = NO_HANDLERS,
    ) -> None:
        """Make one; `handlers` carry out requests of kinds that are about no application."""
        self._leader = leader
        self._registry = application_registry
        self._handlers = handlers
        self._asked = asked
        self._under_way: set[str] = set()
        #: Of those: answered, but a list that was read before may still have them.
        self._answered: set[str] = set()
        #: What waits behind the request that is carried out, by application.
        self._queues: dict[str, deque[records.RequestRecord]] = {}

    async def keep_handling(self) -> None:
        """Answer until cancelled; those of one application in order, and those of others beside."""
        while True:
            answered = frozenset(self._answered)
            after = 0
            while waiting := await self._unanswered(after):
                for request in waiting:
                    if request.id not in self._under_way:
                        self._under_way.add(request.id)
                        self._enqueue(request)
                after = waiting[-1].position
            self._under_way -= answered
            self._answered -= answered
            await self._asked.wait(self._leader.rules.look.total_seconds())

    async def _unanswered(self, after: int) -> tuple[records.RequestRecord, ...]:
        requests = self._leader.store.requests
        return await retry.until_done(
            lambda: requests.unanswered(after=after),
            "answering requests",
            is_final=context.is_overtaken,
        )

    def _enqueue(self, request: records.RequestRecord) -> None:
        if request.application in self._queues:
            self._queues[request.application].append(request)
            return
        queue = self._queues[request.application] = deque([request])
        work = self._answer_all(request.application, queue)
        self._leader.group.create_task(work, name="request")

    async def _answer_all(self, application: str, queue: deque[records.RequestRecord]) -> None:
        try:
            while queue:
                await self._answer(queue.popleft())
        finally:
            del self._queues[application]

    async def _answer(self, request: records.RequestRecord) -> None:
        """Carry a request out and answer it; what goes wrong is told to whoever asked."""
        try:
            refusal = await self.carry_out(request)
        except errors.UserError as error:
            refusal = refusals.to_text(error)
        except errors.TemporaryError as error:
            refusal = f"not now: {error}"
        except (runners.AlreadyAnswered, fencing.RequestAnswered) as error:
            refusal = str(error)  # whoever asked was told already
        except errors.PermanentError as error:
            if context.is_overtaken(error):
                raise
            refusal = str(error)  # such as a run that is stored and cannot be read
        # A request that meets a bug is answered, so that it ends no process, now or later.
        except Exception as error:
            if context.is_overtaken(error):
                raise
            _LOG.exception("request %s cannot be carried out", request.id)
            refusal = f"internal error ({type(error).__name__}), see the log"
        store, fence = self._leader.store, self._leader.fence
        await retry.until_done(
            lambda: store.requests.answer(request.id, refusal=refusal, fence=fence),
            "answering requests",
            is_final=context.is_overtaken,
        )
        self._answered.add(request.id)
        self._leader.change_signal.notify_all()

    async def carry_out(self, request: records.RequestRecord) -> str:
        """Do what is asked for; returns why not, or nothing."""
        if request.unreadable:
            _LOG.error("request %s cannot be read: %s", request.id, request.unreadable)
            return f"what is stored of this request cannot be read: {request.unreadable}"
        if request.run_id:
            return await self._of_run(request)
        return await (self._handlers.get(request.kind) or self._of_fleet)(
            request, self._done(request)
        )

    async def _of_fleet(self, request: records.RequestRecord, answers: state_writer.Answers) -> str:
        """Do what is asked for about a cluster, or an application."""
        if request.kind == taint_commands.KIND:
            leader = self._leader
            now = leader.dependencies.clock.now()
            return await taint_commands.carry_out(request, leader.register, now, fence=leader.fence)
        reconciler = self._registry.reconciler(request.application)
        if reconciler is not None:
            return await self._of_application(reconciler, request)
        if request.kind == "forget":
            return await self._registry.forget_unreadable(
                request.application, request.by, answers=answers
            )
        return self._registry.why_unknown(request.application)

    async def _of_application(
        self, reconciler: reconcilers.ApplicationReconciler, request: records.RequestRecord
    ) -> str:
        reason = request.document.get("reason", "")
        now, done = self._leader.dependencies.clock.now(), self._done(request)
        match request.kind:
            case "forget":
                refusal = await self._registry.forget(reconciler, request.by, reason, answers=done)
            case "adopt":
                repository = request.document["repository"]
                refusal = await self._registry.adopt(
                    reconciler, repository, request.by, answers=done
                )
            case "pause":
                pause = state.Pause(request.by, now, reason)
                refusal = await pause_application(reconciler, pause, answers=done)
            case "resume":
                refusal = await resume_application(reconciler, request.by, now, answers=done)
            case _ if reconciler.why_orphaned:
                refusal = application_requests.why_nothing_starts(reconciler.why_orphaned)
            case "rollback":
                refusal = await self._rollback(reconciler, request)
            case rebalancing.KIND:
                refusal = await rebalancing.carry_out(self._leader, reconciler, request)
            case "sync":
                refusal = await self._sync(reconciler, request)
            case _:
                refusal = f"nobody knows a request of kind {request.kind}"
        return refusal

    async def _of_run(self, request: records.RequestRecord) -> str:
        runs = self._leader.store.runs
        summary = await runs.summary(request.run_id)
        if summary is None:
            return f"there is no run {request.run_id}"
        if request.kind == "abandon":
            return await self._abandon(request, summary)
        event = request_events.of_request(request, self._leader.dependencies.clock.now())
        if summary.head.finished is not None:
            stored = await runs.load(request.run_id)
            ended = codec.read_run(stored) if stored else None
            refusal = machine.advance(ended, event).refusal if ended else ""
            return _with_possible(refusal, event, ended)
        reconciler = self._registry.reconciler(summary.head.application)
        if reconciler is None:
            return "no process carries out this run"
        refusal = await reconciler.request(request.run_id, event)
        return _with_possible(refusal, event, reconciler.run_under_way)

    async def _abandon(self, request: records.RequestRecord, summary: records.RunSummary) -> str:
        """End a run as it is, whatever state it is in and whoever should carry it out."""
        if summary.head.finished is not None:
            return f"a run that is {summary.head.status.value} cannot be abandoned"
        reconciler = self._registry.reconciler_of(summary.head.application)
        reason: str = request.document.get("reason", "")
        return await reconciler.abandon(request.run_id, request.by, reason, answers=request.id)

    async def _sync(
        self, reconciler: reconcilers.ApplicationReconciler, request: records.RequestRecord
    ) -> str:
        named: str = request.document.get("commit", "")
        repositories = self._leader.dependencies.repositories
        commit = named or await repositories.fetch_head(reconciler.record.repository)
        # Whoever looks at the repositories has nothing left to decide about what is fetched here.
        noted = {} if named else {"looked_at": commit, "wanted": commit}
        opened = await ready_runs.open_application(
            self._leader.dependencies, reconciler.place, commit
        )
        decision = triggers.on_command(opened.application.triggers, request.by)
        if not decision.starts:
            return decision.reason
        elsewhere = await self._require_on_branch(reconciler, opened.commit) if named else ""
        await reconciler.submit(
            run_requests.RunRequest(
                id=request.id,
                commit=opened.commit,
                kind=run_requests.KindName.RELEASE,
                reason="; ".join(filter(None, (decision.reason, elsewhere))),
                at=request.at,
                by=request.by,
                strategy=release_plans.parse_strategy(request.document.get("strategy", "")),
            ),
            answers=self._done(request),
            **noted,
        )
        return ""

    async def _rollback(
        self, reconciler: reconcilers.ApplicationReconciler, request: records.RequestRecord
    ) -> str:
        to = request.document.get("to", "")
        run_id = reconciler.unfinished_run
        if not to and run_id:
            now = self._leader.dependencies.clock.now()
            event = events.Cancel(now, request.by, rollback=True, reason="rollback", id=request.id)
            return await reconciler.request(run_id, event)
        if not to:
            await reconciler.submit(
                await rollbacks.request_rollback(self._leader.store, reconciler.name, request),
                answers=self._done(request),
            )
            return ""
        commit = await self._commit_of(reconciler, to)
        opened = await ready_runs.open_application(
            self._leader.dependencies, reconciler.place, commit
        )
        if not await commit_history.has_run(self._leader.store, reconciler.name, opened.commit):
            await self._require_on_branch(reconciler, opened.commit)
        await reconciler.submit(
            run_requests.RunRequest(
                id=request.id,
                commit=opened.commit,
                kind=run_requests.KindName.ROLLBACK_TO_COMMIT,
                reason=f"{request.by} rolls back to {opened.commit[:7]}",
                at=request.at,
                by=request.by,
                # A rollback does not wait for a canary.
                strategy=run_plans.Strategy.QUICK_SYNC,
            ),
            answers=self._done(request),
            instead_of_stuck=f"it could not go on, and {opened.commit[:7]} follows",
        )
        return ""

    async def _require_on_branch(
        self, reconciler: reconcilers.ApplicationReconciler, commit: str
    ) -> str:
        """See `commit_history.require_on_branch`; what is only worth a warning is logged, too."""
        elsewhere = await commit_history.require_on_branch(
            self._leader.dependencies, reconciler.place, commit, head=reconciler.status.head
        )
        if elsewhere:
            _LOG.warning("application %s: %s", reconciler.name, elsewhere)
        return elsewhere

    def _done(self, request: records.RequestRecord) -> state_writer.Answers:
        """Return the answer that is kept with what is done for a request."""
        return (run_records.RequestAnswer(request.id, self._leader.dependencies.clock.now()),)

    async def _commit_of(self, reconciler: reconcilers.ApplicationReconciler, named: str) -> str:
        """Return the commit of a run that is named by its id; else what is named is one."""
        run = await self._leader.store.runs.summary(named)
        if run is not None and run.head.application == reconciler.name:
            return run.head.commit
        return named


def _with_possible(refusal: str, event: events.Request, run: state.Run | None) -> str:
    """Return why a request is refused; of one that cannot come again also what is possible."""
    if not refusal or run is None:
        return refusal
    is_stale = event.seen is not None and event.seen != sightings.of_run(run)
    if not (run.is_final or is_stale or isinstance(event, events.Retry)):
        return refusal
    possible = ", or ".join(explanations.instead_of_retry(run))
    return refusals.with_hint(refusal, f"possible now: {possible}" if possible else "")
