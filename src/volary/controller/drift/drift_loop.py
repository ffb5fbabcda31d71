"""Compares every application with Git again and again, while no run of it is under way.

What changed is written down with the application, told, and, where that is wished, repaired. Each
application has its turn once in a period, give or take a tenth; sooner when what counts for it
changed (a run ended), or when somebody who watches its objects hears of a change.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.config.crosscheck import eligibility
from volary.controller import notifications
from volary.controller.applications import reconcilers
from volary.controller.drift import comparer, comparisons, repair_rules
from volary.controller.leadership import context
from volary.controller.placement import backfill_rules
from volary.controller.status import (
    application_state,
    application_statuses,
    drift_states,
    run_requests,
)
from volary.livestate import live_objects
from volary.model import drift_rules
from volary.model.objects import ownership
from volary.notifying import notices

_LOG = logging.getLogger(__name__)
_BY = "volary"
#: Applications that are compared at the same time.
_AT_ONCE = 4
#: Seconds between two looks at whose turn it is, at most.
_LONGEST_PAUSE = 5.0
#: Periods between two comparisons where every change is heard of.
_RARELY = 10
_Word = drift_states.SyncWord
_Status = application_statuses.StatusWord
#: How an application stands when it is compared: what its last run left is settled.
_SETTLED = (_Status.SYNCED.value, _Status.OUT_OF_SYNC.value)


@dataclass(slots=True)
class _Turn:
    """When an application is compared next."""

    #: In the event loop's time.
    due: float
    #: What counted when it was compared last.
    signature: object = None
    #: When it was compared last, likewise.
    compared: float = 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How often applications are compared."""

    #: Between two comparisons of one, where not every change is heard of.
    period: timedelta
    #: Within which time, and after which at the earliest, what has changed is compared.
    gap: timedelta

    @property
    def gap_seconds(self) -> float:
        """The same, never longer than a period."""
        return min(self.gap, self.period).total_seconds()


@dataclass(slots=True)
class DriftLoop:
    """One leader's.

    Args:
        leader: What is shared while this process is the leader.
        all_reconcilers: Those of the leader.
        comparer: Asks the clusters.
        watched: Says what has changed; where it hears of everything, comparisons are rare.
        pace: How often they happen.
    """

    leader: context.LeaderContext
    all_reconcilers: Callable[[], Iterable[reconcilers.ApplicationReconciler]]
    comparer: comparer.Comparer
    watched: live_objects.LiveObjects
    pace: Pace
    _turns: dict[str, _Turn] = field(default_factory=dict, init=False)
    #: Those whose turn it is; and their names, until they were compared: none is there twice.
    _queue: "asyncio.Queue[reconcilers.ApplicationReconciler]" = field(
        default_factory=asyncio.Queue, init=False
    )
    _queued: set[str] = field(default_factory=set, init=False)
    _hastened: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def keep_running(self) -> None:
        """Compare until cancelled."""
        pause = min(_LONGEST_PAUSE, self.pace.gap_seconds / 2)
        self._queue, self._queued = asyncio.Queue(), set()
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE):
                group.create_task(self._keep_comparing(), name="comparing with Git")
            while True:
                self._hastened.clear()
                self._queue_due()
                try:
                    async with asyncio.timeout(pause):
                        await self._hastened.wait()
                except TimeoutError:
                    continue

    async def keep_listening(self) -> None:
        """Have what is heard to have changed compared soon, until cancelled."""
        listener = self.watched.listen()
        try:
            while True:
                self.hasten(await listener.changed())
        finally:
            listener.close()

    def hasten(self, changes: Collection[live_objects.Change]) -> None:
        """Have applications compared soon whose objects have changed."""
        now = asyncio.get_running_loop().time()
        gap = self.pace.gap_seconds
        for reconciler in self.all_reconcilers():
            turn, owners = self._turns.get(reconciler.name), reconciler.status.owners
            if turn is None:
                continue
            # What changes all the time is not compared all the time.
            soon = max(now, turn.compared + gap)
            if soon < turn.due and _is_among(owners, changes):
                turn.due = soon
                self._hastened.set()

    def _queue_due(self) -> None:
        """Queue those whose turn it is: who has waited longest comes first."""
        now = asyncio.get_running_loop().time()
        everybody = {one.name: one for one in self.all_reconcilers()}
        for name in self._turns.keys() - everybody.keys():
            del self._turns[name]
        due = [
            one
            for name, one in everybody.items()
            if name not in self._queued and self._is_due(one, now)
        ]
        for reconciler in sorted(due, key=lambda one: self._turns[one.name].due):
            self._queued.add(reconciler.name)
            self._queue.put_nowait(reconciler)

    async def _keep_comparing(self) -> None:
        """Compare what is queued, one application after another, until cancelled."""
        while True:
            reconciler = await self._queue.get()
            turn = self._turns.get(reconciler.name)
            if turn is not None:
                self._begin(reconciler, turn)
            work = self._look(reconciler)
            await context.isolate_errors(work, reconciler.name, "is not compared with Git now")
            # Not before, else one that takes long would take everybody's place.
            self._queued.discard(reconciler.name)

    def _begin(self, reconciler: reconcilers.ApplicationReconciler, turn: _Turn) -> None:
        turn.compared = asyncio.get_running_loop().time()
        times = _RARELY if self._is_watched(reconciler) else 1
        seconds = times * self.pace.period.total_seconds()
        turn.due = turn.compared + seconds * random.uniform(0.9, 1.1)

    def _is_due(self, reconciler: reconcilers.ApplicationReconciler, now: float) -> bool:
        if reconciler.why_orphaned or reconciler.status.unowned:
            return False
        known = application_state.ApplicationState(reconciler.record, reconciler.status)
        signature = comparer.signature_of(known)
        turn = self._turns.get(reconciler.name)
        # After a start not all of them at once, and after a run not in the same moment.
        soon = now + random.uniform(0.5, 1.0) * self.pace.gap_seconds
        if turn is None:
            turn = self._turns[reconciler.name] = _Turn(soon, signature)
        if signature != turn.signature:
            turn.signature, turn.due = signature, min(turn.due, soon)
        return now >= turn.due and not reconciler.status.under_way

    def _is_watched(self, reconciler: reconcilers.ApplicationReconciler) -> bool:
        """Say whether every change of its objects is heard of."""
        return all(self.watched.is_current(cluster) for cluster in reconciler.status.owners)

    async def _look(self, reconciler: reconcilers.ApplicationReconciler) -> None:
        known = application_state.ApplicationState(reconciler.record, reconciler.status)
        if known.status.under_way or not known.status.releases.running:
            return
        compared = await self.comparer.compare(known, memory=timedelta(0))
        meanwhile = application_state.ApplicationState(reconciler.record, reconciler.status)
        if comparer.signature_of(meanwhile) != comparer.signature_of(known):
            return  # A run began meanwhile: what was seen may be half of it.
        if compared.problem and compared.mode is not _OFF:
            return
        now = self.leader.dependencies.clock.now()
        state = _after(known.status.drift, compared, now)
        decision = await self._decide(reconciler, compared, state, now)
        unrepaired = "" if decision.targets else decision.reason
        state = replace(state, unrepaired=unrepaired, repair_after=decision.after)
        if decision.gives_up and state.unrepaired != known.status.drift.unrepaired:
            told = {"reason": decision.reason}
            await self.leader.note(_BY, "drift.given-up", told, application=reconciler.name)
        await self._keep(reconciler, compared, state)
        if reconciler.status.repair is not None and not _is_wanted(compared):
            await reconciler.amend(lambda status: replace(status, repair=None))
        if decision.targets:
            await self._request(reconciler, decision, now)
        elif decision.reason and not decision.gives_up:
            self._look_again(reconciler.name, (decision.after or now + self.pace.period) - now)

    def _look_again(self, name: str, after: timedelta) -> None:
        """Have an application compared after a while at the latest: something is to be done."""
        turn = self._turns.get(name)
        if turn is not None:
            soon = asyncio.get_running_loop().time() + after.total_seconds()
            turn.due = min(turn.due, soon)

    async def _keep(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        compared: comparisons.Comparison,
        state: drift_states.DriftState,
    ) -> None:
        """Write down what changed, and tell whoever wants to know."""
        before = reconciler.status.drift
        if state == before:
            await reconciler.revise(lambda known: _revised(known, state, compared))
            return
        is_drifted, was_drifted = bool(state.clusters), bool(before.clusters)
        names = tuple(state.clusters or before.clusters)
        new = sorted(state.clusters.keys() - before.clusters.keys())
        if is_drifted is not was_drifted or new:
            event = (
                notices.Event.APPLICATION_OUT_OF_SYNC
                if is_drifted
                else notices.Event.APPLICATION_SYNCED
            )
            await notifications.drift_changed(
                self.leader.notifier,
                reconciler.record,
                (event, compared.at, names),
                compared.commit,
                compared.reason,
            )
        await reconciler.revise(lambda known: _revised(known, state, compared))
        if is_drifted is not was_drifted or new:
            action = "drift.found" if is_drifted else "drift.gone"
            document = {
                "clusters": new or list(names),
                "commit": compared.commit,
                "reason": compared.reason,
            }
            _LOG.info("application %s: %s: %s", reconciler.name, action, compared.reason)
            await self.leader.note(_BY, action, document, application=reconciler.name)

    async def _decide(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        compared: comparisons.Comparison,
        state: drift_states.DriftState,
        now: datetime,
    ) -> repair_rules.Decision:
        status = replace(reconciler.status, drift=state)
        if compared.mode is not drift_rules.DriftMode.REPAIR or not state.clusters:
            return repair_rules.Decision()
        if status.next_request is not None:
            return repair_rules.Decision(reason="something else is requested, and goes before")
        app = (await self.leader.open(reconciler.place, compared.commit)).application
        dependencies = self.leader.dependencies
        standing = dependencies.projects().standing(reconciler.record.project)

        def why_not(name: str) -> str:
            member = dependencies.clusters.member(name)
            if member is None:
                return "it left the fleet"
            if excluded := eligibility.exclusion_reason(app, member):
                return f"it is {excluded}"
            health = self.leader.register.of(name)
            return backfill_rules.why_not_now(app, member, status, health, now, standing)

        return repair_rules.decide(compared, status, now, why_not)

    async def _request(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        decision: repair_rules.Decision,
        now: datetime,
    ) -> None:
        run_request = run_requests.RunRequest(
            id=self.leader.new_id(),
            commit=decision.commit,
            kind=run_requests.KindName.REPAIR,
            reason=decision.reason,
            at=now,
            by=_BY,
            targets=decision.targets,
        )
        document = {
            "clusters": list(decision.targets),
            "commit": decision.commit,
            "reason": decision.reason,
            "run": run_request.id,
        }
        await self.leader.note(_BY, "drift.repair", document, application=reconciler.name)
        _LOG.info("application %s is repaired: %s", reconciler.name, decision.reason)
        await reconciler.amend(
            lambda status: _with_request(status, run_request, decision.fields, now)
        )


_OFF = drift_rules.DriftMode.OFF


def _is_wanted(compared: comparisons.Comparison) -> bool:
    is_repaired = compared.mode is drift_rules.DriftMode.REPAIR
    return is_repaired and compared.status is not _Word.IN_SYNC


def _is_among(
    owners: Mapping[str, ownership.Owner], changes: Collection[live_objects.Change]
) -> bool:
    """Say whether something of an application has changed; looks through the shorter of both."""
    if len(changes) < len(owners):
        return any(cluster in owners and owners[cluster].id == of for cluster, of in changes)
    return any((cluster, owner.id) in changes for cluster, owner in owners.items())


def _after(
    state: drift_states.DriftState, compared: comparisons.Comparison, now: datetime
) -> drift_states.DriftState:
    """Return what is remembered after a comparison."""
    if compared.mode is _OFF:
        return drift_states.DriftState()
    drifted: Mapping[str, drift_states.DriftedCluster] = {
        one.name: drift_states.DriftedCluster(_since(one, now), one.reason)
        for one in compared.clusters
        if one.status is _Word.OUT_OF_SYNC
    }
    unknown = frozenset(
        one.name for one in compared.clusters if one.status in (_Word.UNKNOWN, _Word.RUNNING)
    )
    return drift_states.with_drifted(state, drifted, unknown=unknown, now=now)


def _since(cluster: comparisons.ClusterComparison, now: datetime) -> datetime:
    """Return since when a cluster is out of sync, as far as its objects say."""
    known = [one.since for one in cluster.objects if one.since is not None and one.since <= now]
    return min(known, default=now)


def _revised(
    known: application_state.ApplicationState,
    state: drift_states.DriftState,
    compared: comparisons.Comparison,
) -> application_state.StateChange:
    """Return what is written down: how the application stands changes where nothing else counts."""
    status, record = known.status, known.record
    if status.under_way:
        return application_state.StateChange(status)
    columns: dict[str, object] = {}
    other_commit = application_statuses.why_out_of_sync(status)
    if state.clusters and record.status in _SETTLED:
        before = state.reason_before
        if record.status == _Status.SYNCED.value:
            before = record.reason
        state = replace(state, reason_before=before)
        parts = (f"drift: {_reason(state, compared)}", state.unrepaired)
        told = "; ".join(filter(None, parts))
        reason = f"{other_commit}; {told}" if other_commit else told
        columns = {"status": _Status.OUT_OF_SYNC.value, "reason": reason}
    elif status.drift.clusters and not state.clusters:
        was_synced = bool(status.drift.reason_before) and not other_commit
        if record.status == _Status.OUT_OF_SYNC.value and was_synced:
            before = status.drift.reason_before
            columns = {"status": _Status.SYNCED.value, "reason": before}
        elif record.status == _Status.OUT_OF_SYNC.value and other_commit:
            columns = {"reason": other_commit}
        state = replace(state, reason_before="")
    columns = {name: value for name, value in columns.items() if getattr(record, name) != value}
    return application_state.StateChange(replace(status, drift=state), columns)


def _reason(state: drift_states.DriftState, compared: comparisons.Comparison) -> str:
    told = [one for one in compared.clusters if one.name in state.clusters]
    seen = [one for one in told if one.status is _Word.OUT_OF_SYNC]
    if seen:
        return comparisons.summarize(seen)
    name, kept = next(iter(state.clusters.items()))
    return f"{name}: {kept.reason}"


def _with_request(
    status: application_statuses.ApplicationStatus,
    run_request: run_requests.RunRequest,
    fields: frozenset[str],
    now: datetime,
) -> application_statuses.ApplicationStatus:
    """Return the status with a repair, unless something else came up meanwhile."""
    if status.under_way or status.next_request is not None:
        return status
    repaired = drift_states.with_repair(status.drift, fields, now)
    return replace(status, repair=run_request, drift=repaired)
