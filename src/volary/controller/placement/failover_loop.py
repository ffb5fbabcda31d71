"""Moves applications between clusters: looks after each probing, decides, asks reconcilers.

What is decided is pure (`placement.failover`, `runs.preemption`); here is only looked and
kept. A decision is kept with its application before anything follows from it, so another
process goes on where this one ended.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.concurrency import fan_out
from volary.controller.applications import reconcilers
from volary.controller.leadership import context
from volary.controller.placement import app_health, external_probe, rebalancing
from volary.controller.planning import opened_applications
from volary.controller.runs import moves, preemption
from volary.controller.status import application_statuses, run_admission, run_requests
from volary.engine.state_machine import events
from volary.model import applications, statuses
from volary.model.fleet import cluster_health, taints
from volary.model.placement import failover_rules
from volary.notifying import notices
from volary.placement.failover import decisions, eviction_limits, evictions, situations

_LOG = logging.getLogger(__name__)
_BY = "failover"
#: Longer than the time in which moves are counted.
_COUNTED = timedelta(minutes=2)


@dataclass(slots=True)
class FailoverLoop:
    """One leader's.

    Args:
        leader: What is shared while this process is the leader.
        all_reconcilers: Those of the leader.
        limits: How much may be moved.
    """

    leader: context.LeaderContext
    all_reconcilers: Callable[[], Iterable[reconcilers.ApplicationReconciler]]
    limits: failover_rules.FailoverLimits = field(default_factory=failover_rules.FailoverLimits)
    #: Why nothing is moved at all; empty: it is.
    alarm: str = field(default="", init=False)
    #: When moves began, by application and cluster; of the last minutes.
    _begun: dict[tuple[str, str], datetime] = field(default_factory=dict, init=False)
    _refusals: external_probe.RefusalLog = field(
        default_factory=external_probe.RefusalLog, init=False
    )

    async def look(self, roll: cluster_health.FleetHealth) -> None:
        """Decide for all applications after one round of probes."""
        concerned = []
        for reconciler in tuple(self.all_reconcilers()):
            work = self._consider(reconciler, roll.doubt)
            if await context.isolate_errors(work, reconciler.name, "is not moved now"):
                concerned.append(reconciler)
        await self._tell(self._view(roll.doubt), concerned)

    @property
    def _known(self) -> Mapping[str, cluster_health.ClusterHealth]:
        """All clusters of the fleet, as they are known in this moment."""
        register = self.leader.register
        return {name: register.of(name) for name in register.members.names}

    def _view(self, doubt: str) -> eviction_limits.FleetAssessment:
        rules = self.leader.register.rules
        seen = eviction_limits.assess(self._known, self._now(), rules, doubt)
        return replace(seen, names_clusters=not self.leader.dependencies.projects().are_in_use)

    def _now(self) -> datetime:
        return self.leader.dependencies.clock.now()

    # One application.

    async def _consider(self, reconciler: reconcilers.ApplicationReconciler, doubt: str) -> bool:
        """Look at one application; say whether it may be moved by itself."""
        record = reconciler.record
        commit = reconciler.status.releases.for_newcomers
        if record.removed is not None or reconciler.why_orphaned or not commit:
            return False
        # As it was released last: what that says about failover counts.
        opened = await self.leader.open(reconciler.place, commit)
        app = opened.application
        if await self._is_of_interest(reconciler, app):
            await self._take_back(reconciler, opened)
            await self._decide(reconciler, opened, doubt)
            await self._make_room(reconciler, app)
        return app.failover is not None

    async def _is_of_interest(
        self, reconciler: reconcilers.ApplicationReconciler, app: applications.Application
    ) -> bool:
        placed = reconciler.status.placed
        drained = any(health.drain for health in self._known.values())
        if app.failover is not None or placed.leaving or reconciler.status.move or drained:
            return True
        if placed.waiting or placed.timers:
            await reconciler.amend(
                lambda now: now.with_placement(replace(now.placed, waiting={}, timers={}))
            )
        return False

    async def _decide(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        opened: opened_applications.OpenedApplication,
        doubt: str,
    ) -> None:
        before = reconciler.status
        if before.move is not None or reconciler.is_moving:
            return
        situation = await self.situation(reconciler.record.project, before, opened)
        allowance = self._allowance(reconciler, doubt)
        decision = decisions.decide(situation, allowance)
        here = self.leader.register.members.names
        # Of a cluster that left the fleet nobody can tell any more what it has.
        left = tuple(eviction for eviction in before.placed.leaving if eviction.cluster in here)
        after = evictions.next_steps(situation, (*left, *decision.leaving), decision.chosen)
        if pinned := run_admission.why_blocked(reconciler.status, reconciler.run_under_way):
            after = evictions.paused(left, pinned)
        away = {name: why for name, why in before.placed.away.items() if name in here}
        placed = situations.PlacementState(
            decision.chosen if decision.leaving else before.placed.chosen,
            {**away, **{eviction.cluster: eviction.reason for eviction in decision.leaving}},
            after.leaving,
            decision.timers,
            {**decision.waiting, **after.waiting},
        )
        move = None
        if after.shift is not None:
            move = run_requests.RunRequest(
                self.leader.new_id(),
                before.releases.for_newcomers,
                run_requests.KindName.MOVE,
                after.reason,
                situation.now,
                by=_BY,
                shift=after.shift,
            )
        if placed != before.placed or move is not None:
            await reconciler.amend(
                lambda status: (
                    status if reconciler.is_moving else moves.decided(status, before, placed, move)
                )
            )
            await self._note(reconciler, decision, placed)

    async def _take_back(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        opened: opened_applications.OpenedApplication,
    ) -> None:
        """Take a move back that has not begun and that nothing speaks for any more."""
        before = reconciler.status
        if before.move is None or before.move.by != _BY:
            return
        situation = await self.situation(reconciler.record.project, before, opened)
        after = evictions.without_pending(situation)
        if after is None:
            return
        await reconciler.amend(lambda status: moves.decided(status, before, after, None))
        _LOG.warning("application %s stays where it is: the reason has gone", reconciler.name)

    async def _note(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        decision: decisions.Decision,
        placed: situations.PlacementState,
    ) -> None:
        """Say what was decided, and count it, once it is kept."""
        if not set(placed.leaving) <= set(reconciler.status.placed.leaving):
            return
        for eviction in decision.leaving:
            _LOG.warning(
                "application %s leaves %s: %s", reconciler.name, eviction.cluster, eviction.reason
            )
            if eviction.cause is not situations.Cause.DRAIN:
                self._begun[reconciler.name, eviction.cluster] = eviction.since
            document = {"reason": f"{eviction.cluster}: {eviction.reason}"}
            await self.leader.note(_BY, "failover.moved", document, application=reconciler.name)

    def _allowance(
        self, reconciler: reconcilers.ApplicationReconciler, doubt: str
    ) -> eviction_limits.Allowance:
        """Return how much may begin to move; nothing of what somebody has paused."""
        pinned = run_admission.why_blocked(reconciler.status, reconciler.run_under_way)
        if pinned:
            return eviction_limits.Allowance(
                0, f"{pinned}, which pins where it is as well", is_closed=True
            )
        return eviction_limits.allowance(
            self._view(doubt), self._recent(), self.limits, self._now()
        )

    async def situation(
        self,
        project: str,
        status: application_statuses.ApplicationStatus,
        opened: opened_applications.OpenedApplication,
    ) -> situations.Situation:
        """Return everything that a decision about an application of a project looks at."""
        dependencies = self.leader.dependencies.acting_for(project)
        policy = opened.application.failover
        rules = self.leader.register.rules
        situation = rebalancing.situation(
            dependencies, opened, status, self._known, rules, project=project
        )
        if policy is None:
            return situation
        if policy.application is not None:
            here = situation.placement.chosen
            well = [cluster_name for cluster_name in here if situation.is_well(cluster_name)]
            health_by_cluster = await app_health.read_health(
                dependencies.clusters, dependencies.renderer, opened, well, dependencies.patience
            )
            situation = replace(
                situation,
                health=_unhealthy(health_by_cluster, in_release=status.under_way),
            )
        if policy.cluster is not None and policy.witness is not None:
            answers = await self._ask(policy.witness, situation)
            refused = {name: answer.refusal for name, answer in answers.items() if answer.refusal}
            self._refusals.tell(opened.application.name, refused)
            asked = {name: answer.served for name, answer in answers.items() if not answer.refusal}
            situation = replace(situation, served=asked, unasked=refused)
        return situation

    async def _ask(
        self, witness: failover_rules.ExternalProbe, situation: situations.Situation
    ) -> Mapping[str, external_probe.ProbeAnswer]:
        """Ask about the clusters that carry a mark of a rule."""
        reach = self.leader.dependencies.executor_options.permissions.reach
        no_execute = taints.Effect.NO_EXECUTE
        marked = [
            target
            for target in situation.targets
            if target.name in situation.placement.chosen
            and any(one.by == taints.BY_RULE and one.effect is no_execute for one in target.taints)
        ]
        answers = await fan_out.run_all(
            marked, lambda cluster: external_probe.ask(witness, cluster, reach)
        )
        return {cluster.name: answer for cluster, answer in zip(marked, answers, strict=True)}

    def _recent(self) -> list[datetime]:
        """Return when moves began, of all applications: as it is kept, and those that ended."""
        kept = {
            (reconciler.name, eviction.cluster): eviction.since
            for reconciler in self.all_reconcilers()
            for eviction in reconciler.status.placed.leaving
            if eviction.cause in (situations.Cause.CLUSTER, situations.Cause.APPLICATION)
        }
        now = self._now()
        self._begun = {key: at for key, at in self._begun.items() if now - at < _COUNTED}
        return list({**self._begun, **kept}.values())

    # A run under way.

    async def _make_room(
        self, reconciler: reconcilers.ApplicationReconciler, app: applications.Application
    ) -> None:
        """Interrupt a run that a move has waited for long enough."""
        run, move = reconciler.run_under_way, reconciler.status.move
        if move is None or reconciler.is_moving:
            return
        patience = (app.failover or failover_rules.Failover()).patience
        answer = preemption.decide_preemption(reconciler.status, run, move, self._now(), patience)
        if answer.room is preemption.Preemption.WAIT:
            await reconciler.amend(lambda status: moves.delayed(status, answer.reason))
        if run is None or answer.room is not preemption.Preemption.INTERRUPT:
            return
        again = preemption.request_resumption(run, move, self._now(), self.leader.new_id())
        # First what comes after: a process that dies in between leaves a run too many, not too few.
        await reconciler.amend(
            lambda status: status if status.run_request else replace(status, run_request=again)
        )
        reason = f"interrupted by a move: {move.reason}"
        event = events.Cancel(self._now(), _BY, rollback=False, reason=reason)
        refusal = await reconciler.request(run.id, event)
        if refusal:
            _LOG.warning("run %s goes on before a move: %s", run.id, refusal)

    # Everybody.

    async def _tell(
        self,
        view: eviction_limits.FleetAssessment,
        concerned: Iterable[reconcilers.ApplicationReconciler],
    ) -> None:
        """Raise or end the alarm; told once, and only where something could be moved."""
        about = tuple(concerned)
        found = eviction_limits.allowance(view, (), self.limits, self._now())
        raised = found.alarm if about else ""
        if view.doubt or bool(raised) is bool(self.alarm):
            return
        self.alarm = raised
        if not raised:
            _LOG.warning("failover goes on: %s", view)
            return
        _LOG.error("failover is stopped: %s", raised)
        await self.leader.note(_BY, "failover.stopped", {"reason": raised})
        for reconciler in about:
            record = reconciler.record
            subject = notices.Subject(reconciler.name, project=record.project, labels=record.labels)
            self.leader.notifier.announce(
                notices.Event.FAILOVER_STOPPED, subject, self._now(), found.reason
            )


def _unhealthy(
    health_by_cluster: Mapping[str, statuses.HealthStatus], *, in_release: bool
) -> Mapping[str, statuses.HealthStatus]:
    """Return how the application is; what is not complete is ill unless a release is under way.

    A Deployment whose pods die after its rollout never says that it is degraded.
    """
    ill = statuses.HealthStatus.DEGRADED
    progressing = statuses.HealthStatus.PROGRESSING
    return {
        name: ill if status is progressing and not in_release else status
        for name, status in health_by_cluster.items()
    }
