"""Moves applications between clusters: looks after each roll call, decides, and asks lanes.

What is decided is pure (`placement.failover`, `following`, `losses`); here is only looked and
kept. A decision is kept with its application before anything follows from it, so another
process goes on where this one ended.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.controller.applications import reconcilers
from volary.controller.leadership import context
from volary.controller.placement import app_health, external_probe, probe_rounds, rebalancing
from volary.controller.planning import projects
from volary.controller.runs import moves
from volary.controller.status import application_statuses, run_admission, run_requests
from volary.engine.state_machine import events
from volary.model import applications, statuses
from volary.model.fleet import cluster_health, taints
from volary.model.placement import failover_rules
from volary.notifying import notices
from volary.placement.failover import decisions, eviction_limits, evictions

_LOG = logging.getLogger(__name__)
_BY = "failover"
#: Longer than the time in which moves are counted.
_COUNTED = timedelta(minutes=2)


@dataclass(slots=True)
class FailoverLoop:
    """One tenure's.

    Args:
        tenure: What everything that drives shares.
        all_lanes: Those of the tenure.
        limits: How much may be moved.
    """

    tenure: context.LeaderContext
    all_lanes: Callable[[], Iterable[reconcilers.ApplicationReconciler]]
    limits: failover_rules.FailoverLimits = field(default_factory=failover_rules.FailoverLimits)
    #: Why nothing is moved at all; empty: it is.
    alarm: str = field(default="", init=False)
    #: When moves began, by application and cluster; of the last minutes.
    _begun: dict[tuple[str, str], datetime] = field(default_factory=dict, init=False)
    _refusals: external_probe.RefusalLog = field(
        default_factory=external_probe.RefusalLog, init=False
    )

    async def look(self, roll: cluster_health.FleetHealth) -> None:
        """Decide for all applications after one roll call."""
        concerned = []
        for lane in tuple(self.all_lanes()):
            work = self._consider(lane, roll.doubt)
            if await probe_rounds.isolate_errors(work, lane.name, "cannot be looked at"):
                concerned.append(lane)
        await self._tell(self._view(roll.doubt), concerned)

    @property
    def _known(self) -> Mapping[str, cluster_health.ClusterHealth]:
        """All clusters of the fleet, as they are known in this moment."""
        register = self.tenure.register
        return {name: register.of(name) for name in register.members.names}

    def _view(self, doubt: str) -> eviction_limits.FleetAssessment:
        return eviction_limits.assess(self._known, self._now(), self.tenure.register.rules, doubt)

    def _now(self) -> datetime:
        return self.tenure.desk.clock.now()

    # One application.

    async def _consider(self, lane: reconcilers.ApplicationReconciler, doubt: str) -> bool:
        """Look at one application; say whether it may be moved by itself."""
        record = lane.record
        commit = moves.completed_commit(lane.standing, record.running_commit)
        if record.removed is not None or lane.why_gone or not commit:
            return False
        project = await self._project(lane, commit)
        app = project.application
        if await self._is_of_interest(lane, app):
            await self._take_back(lane, project)
            await self._decide(lane, project, doubt)
            await self._make_room(lane, app)
        return app.failover is not None

    async def _project(
        self, lane: reconcilers.ApplicationReconciler, commit: str
    ) -> projects.Project:
        """Return the application as it was released last; its own word about failover counts."""
        tenure = self.tenure
        return await tenure.opened.open(tenure.desk, lane.place, commit, tenure.planners)

    async def _is_of_interest(
        self, lane: reconcilers.ApplicationReconciler, app: applications.Application
    ) -> bool:
        placed = lane.standing.placed
        drained = any(each.drain for each in self._known.values())
        if app.failover is not None or placed.leaving or lane.standing.move or drained:
            return True
        if placed.waiting or placed.timers:
            await lane.change({"placed": replace(placed, waiting={}, timers={})})
        return False

    async def _decide(
        self, lane: reconcilers.ApplicationReconciler, project: projects.Project, doubt: str
    ) -> None:
        before = lane.standing.placed
        if lane.standing.move is not None or moves.is_moving(lane.run_under_way):
            return
        situation = await self.situation(lane.standing, project)
        allowance = self._allowance(lane, doubt)
        decision = decisions.decide(situation, allowance)
        here = self.tenure.register.members.names
        # Of a cluster that left the fleet nobody can tell any more what it has.
        left = tuple(each for each in before.leaving if each.cluster in here)
        after = evictions.next_steps(situation, (*left, *decision.leaving), decision.chosen)
        if pinned := run_admission.why_blocked(lane.standing, lane.run_under_way):
            after = evictions.paused(left, pinned)
        away = {name: why for name, why in before.away.items() if name in here}
        placed = decisions.PlacementState(
            decision.chosen if decision.leaving else before.chosen,
            before.coming,
            {**away, **{each.cluster: each.reason for each in decision.leaving}},
            after.leaving,
            decision.timers,
            {**decision.waiting, **after.waiting},
        )
        move = self._want(lane, after, situation.now)

        def kept(
            standing: application_statuses.ApplicationStatus,
        ) -> application_statuses.ApplicationStatus:
            # Somebody else decided meanwhile; the next look decides anew.
            if (
                standing.placed != before
                or standing.move is not None
                or moves.is_moving(lane.run_under_way)
            ):
                return standing
            return replace(standing, placed=placed, move=move)

        if placed != before or move is not None:
            await lane.amend(kept)
            await self._note(lane, decision, placed)

    async def _take_back(
        self, lane: reconcilers.ApplicationReconciler, project: projects.Project
    ) -> None:
        """Take a move back that has not begun and that nothing speaks for any more."""
        move, before = lane.standing.move, lane.standing.placed
        if move is None or move.by != _BY:
            return
        after = evictions.without_pending(await self.situation(lane.standing, project))
        if after is None:
            return

        def kept(
            standing: application_statuses.ApplicationStatus,
        ) -> application_statuses.ApplicationStatus:
            is_same = standing.move == move and standing.placed == before
            return replace(standing, placed=after, move=None) if is_same else standing

        await lane.amend(kept)
        _LOG.warning("application %s stays where it is: %s", lane.name, "the reason has gone")

    async def _note(
        self,
        lane: reconcilers.ApplicationReconciler,
        decision: decisions.Decision,
        placed: decisions.PlacementState,
    ) -> None:
        """Say what was decided, and count it, once it is kept."""
        if not set(placed.leaving) <= set(lane.standing.placed.leaving):
            return
        for each in decision.leaving:
            _LOG.warning("application %s leaves %s: %s", lane.name, each.cluster, each.reason)
            if each.cause is not decisions.Cause.DRAIN:
                self._begun[lane.name, each.cluster] = each.since
            document = {"reason": f"{each.cluster}: {each.reason}"}
            await self.tenure.note(_BY, "failover.moved", document, application=lane.name)

    def _allowance(
        self, lane: reconcilers.ApplicationReconciler, doubt: str
    ) -> eviction_limits.Allowance:
        """Return how much may begin to move; nothing of what somebody has paused."""
        pinned = run_admission.why_blocked(lane.standing, lane.run_under_way)
        if pinned:
            return eviction_limits.Allowance(
                0, f"{pinned}, which pins where it is as well", is_closed=True
            )
        return eviction_limits.allowance(
            self._view(doubt), self._recent(), self.limits, self._now()
        )

    def _want(
        self, lane: reconcilers.ApplicationReconciler, after: evictions.NextSteps, now: datetime
    ) -> run_requests.RunRequest | None:
        if after.shift is None:
            return None
        return run_requests.RunRequest(
            self.tenure.new_id(),
            moves.completed_commit(lane.standing, lane.record.running_commit),
            run_requests.RunKind.PLACEMENT,
            after.reason,
            now,
            by=_BY,
            shift=after.shift,
        )

    async def situation(
        self,
        standing: application_statuses.ApplicationStatus,
        project: projects.Project,
    ) -> decisions.Situation:
        """Return everything that a decision about an application looks at."""
        desk, policy = self.tenure.desk, project.application.failover
        seen = rebalancing.KnownClusters(self._known, self.tenure.register.rules)
        situation = rebalancing.situation(desk, project, standing, seen, self._now())
        if policy is None:
            return situation
        if policy.application is not None:
            here = situation.standing.chosen
            well = [each for each in here if situation.is_well(each)]
            found = await app_health.read_health(
                desk.clusters, desk.renderer, project, well, desk.patience
            )
            situation = replace(situation, health=_unhealthy(found, in_release=standing.under_way))
        if policy.cluster is not None and policy.witness is not None:
            answers = await self._ask(policy.witness, situation)
            refused = {name: each.refusal for name, each in answers.items() if each.refusal}
            self._refusals.tell(project.application.name, refused)
            asked = {name: each.served for name, each in answers.items() if not each.refusal}
            situation = replace(situation, served=asked, unasked=refused)
        return situation

    async def _ask(
        self, witness: failover_rules.ExternalProbe, situation: decisions.Situation
    ) -> Mapping[str, external_probe.ProbeAnswer]:
        """Ask about the clusters that carry a mark of a rule."""
        reach = self.tenure.desk.executor_options.permissions.reach
        no_execute = taints.Effect.NO_EXECUTE
        marked = [
            each
            for each in situation.targets
            if each.name in situation.standing.chosen
            and any(one.by == taints.BY_RULE and one.effect is no_execute for one in each.taints)
        ]
        async with asyncio.TaskGroup() as group:
            tasks = {
                each.name: group.create_task(external_probe.ask(witness, each, reach))
                for each in marked
            }
        return {name: task.result() for name, task in tasks.items()}

    def _recent(self) -> list[datetime]:
        """Return when moves began, of all applications: as it is kept, and those that ended."""
        kept = {
            (lane.name, each.cluster): each.since
            for lane in self.all_lanes()
            for each in lane.standing.placed.leaving
            if each.cause in (decisions.Cause.CLUSTER, decisions.Cause.APPLICATION)
        }
        now = self._now()
        self._begun = {key: at for key, at in self._begun.items() if now - at < _COUNTED}
        return list({**self._begun, **kept}.values())

    # A run under way.

    async def _make_room(
        self, lane: reconcilers.ApplicationReconciler, app: applications.Application
    ) -> None:
        """Interrupt a run that a move has waited for long enough."""
        run, move = lane.run_under_way, lane.standing.move
        if move is None or moves.is_moving(run):
            return
        patience = (app.failover or failover_rules.Failover()).patience
        answer = moves.decide_preemption(lane.standing, run, move, self._now(), patience)
        if answer.room is moves.Preemption.WAIT:
            await lane.amend(lambda each: moves.delayed(each, answer.reason))
        if run is None or answer.room is not moves.Preemption.INTERRUPT:
            return
        again = moves.request_resumption(run, move, self._now(), self.tenure.new_id())
        # First what comes after: a process that dies in between leaves a run too many, not too few.
        await lane.amend(lambda each: each if each.want else replace(each, want=again))
        reason = f"interrupted by a move: {move.reason}"
        event = events.Cancel(self._now(), _BY, rollback=False, reason=reason)
        refusal = await lane.request(run.id, event)
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
        raised = (
            eviction_limits.allowance(view, (), self.limits, self._now()).alarm if about else ""
        )
        if view.doubt or bool(raised) is bool(self.alarm):
            return
        self.alarm = raised
        if not raised:
            _LOG.warning("failover goes on: %s", view)
            return
        _LOG.error("failover is stopped: %s", raised)
        await self.tenure.note(_BY, "failover.stopped", {"reason": raised})
        for lane in about:
            subject = notices.Subject(lane.name, labels=lane.record.labels)
            self.tenure.notifier.announce(
                notices.Event.FAILOVER_STOPPED, subject, self._now(), raised
            )


def _unhealthy(
    found: Mapping[str, statuses.HealthStatus], *, in_release: bool
) -> Mapping[str, statuses.HealthStatus]:
    """Return how the application is; what is not complete is ill unless a release is under way.

    A Deployment whose pods die after its rollout never says that it is degraded.
    """
    ill = statuses.HealthStatus.DEGRADED
    progressing = statuses.HealthStatus.PROGRESSING
    return {
        name: ill if each is progressing and not in_release else each
        for name, each in found.items()
    }
