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

from volary.controller import (
    driving,
    lanes,
    moves,
    pinning,
    projects,
    rebalancing,
    rounds,
    standings,
    wants,
    wellness,
    witnesses,
)
from volary.engine import events
from volary.model import application as applications
from volary.model import attendance, failover, taints
from volary.model import status as words
from volary.notifying import notices
from volary.placement import failover as decisions
from volary.placement import following, losses

_LOG = logging.getLogger(__name__)
_BY = "failover"
#: Longer than the time in which moves are counted.
_MEMORY = timedelta(minutes=2)


@dataclass(slots=True)
class Mover:
    """One tenure's.

    Args:
        tenure: What everything that drives shares.
        all_lanes: Those of the tenure.
        limits: How much may be moved.
    """

    tenure: driving.Driving
    all_lanes: Callable[[], Iterable[lanes.Lane]]
    limits: failover.Limits = field(default_factory=failover.Limits)
    #: Why nothing is moved at all; empty: it is.
    alarm: str = field(default="", init=False)
    #: When moves began, by application and cluster; of the last minutes.
    _begun: dict[tuple[str, str], datetime] = field(default_factory=dict, init=False)
    _refusals: witnesses.Refusals = field(default_factory=witnesses.Refusals, init=False)

    async def look(self, roll: attendance.Roll) -> None:
        """Decide for all applications after one roll call."""
        concerned = []
        for lane in tuple(self.all_lanes()):
            work = self._consider(lane, roll.doubt)
            if await rounds.guarded(work, lane.name, "cannot be looked at"):
                concerned.append(lane)
        await self._tell(self._view(roll.doubt), concerned)

    @property
    def _known(self) -> Mapping[str, attendance.Attendance]:
        """All clusters of the fleet, as they are known in this moment."""
        register = self.tenure.register
        return {name: register.of(name) for name in register.members.names}

    def _view(self, doubt: str) -> losses.View:
        return losses.look(self._known, self._now(), self.tenure.register.rules, doubt)

    def _now(self) -> datetime:
        return self.tenure.desk.clock.now()

    # One application.

    async def _consider(self, lane: lanes.Lane, doubt: str) -> bool:
        """Look at one application; say whether it may be moved by itself."""
        record = lane.record
        commit = moves.completed(lane.standing, record.running_commit)
        if record.removed is not None or lane.why_gone or not commit:
            return False
        project = await self._project(lane, commit)
        app = project.application
        if await self._is_of_interest(lane, app):
            await self._take_back(lane, project)
            await self._decide(lane, project, doubt)
            await self._make_room(lane, app)
        return app.failover is not None

    async def _project(self, lane: lanes.Lane, commit: str) -> projects.Project:
        """Return the application as it was released last; its own word about failover counts."""
        tenure = self.tenure
        return await tenure.opened.open(tenure.desk, lane.place, commit, tenure.planners)

    async def _is_of_interest(self, lane: lanes.Lane, app: applications.Application) -> bool:
        placed = lane.standing.placed
        drained = any(each.drain for each in self._known.values())
        if app.failover is not None or placed.leaving or lane.standing.move or drained:
            return True
        if placed.waiting or placed.timers:
            await lane.change({"placed": replace(placed, waiting={}, timers={})})
        return False

    async def _decide(self, lane: lanes.Lane, project: projects.Project, doubt: str) -> None:
        before = lane.standing.placed
        if lane.standing.move is not None or moves.is_moving(lane.run_under_way):
            return
        situation = await self.situation(lane.standing, project)
        allowance = self._allowance(lane, doubt)
        decision = decisions.decide(situation, allowance)
        here = self.tenure.register.members.names
        # Of a cluster that left the fleet nobody can tell any more what it has.
        left = tuple(each for each in before.leaving if each.cluster in here)
        after = following.follow(situation, (*left, *decision.leaving), decision.chosen)
        if pinned := pinning.why(lane.standing, lane.run_under_way):
            after = following.held(left, pinned)
        away = {name: why for name, why in before.away.items() if name in here}
        placed = decisions.Standing(
            decision.chosen if decision.leaving else before.chosen,
            before.coming,
            {**away, **{each.cluster: each.reason for each in decision.leaving}},
            after.leaving,
            decision.timers,
            {**decision.waiting, **after.waiting},
        )
        move = self._want(lane, after, situation.now)

        def kept(standing: standings.Standing) -> standings.Standing:
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

    async def _take_back(self, lane: lanes.Lane, project: projects.Project) -> None:
        """Take a move back that has not begun and that nothing speaks for any more."""
        move, before = lane.standing.move, lane.standing.placed
        if move is None or move.by != _BY:
            return
        after = following.taken_back(await self.situation(lane.standing, project))
        if after is None:
            return

        def kept(standing: standings.Standing) -> standings.Standing:
            is_same = standing.move == move and standing.placed == before
            return replace(standing, placed=after, move=None) if is_same else standing

        await lane.amend(kept)
        _LOG.warning("application %s stays where it is: %s", lane.name, "the reason has gone")

    async def _note(
        self, lane: lanes.Lane, decision: decisions.Decision, placed: decisions.Standing
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

    def _allowance(self, lane: lanes.Lane, doubt: str) -> losses.Allowance:
        """Return how much may begin to move; nothing of what somebody has paused."""
        pinned = pinning.why(lane.standing, lane.run_under_way)
        if pinned:
            return losses.Allowance(0, f"{pinned}, which pins where it is as well", is_closed=True)
        return losses.allow(self._view(doubt), self._recent(), self.limits, self._now())

    def _want(
        self, lane: lanes.Lane, after: following.Following, now: datetime
    ) -> wants.Want | None:
        if after.shift is None:
            return None
        return wants.Want(
            self.tenure.new_id(),
            moves.completed(lane.standing, lane.record.running_commit),
            wants.Kind.PLACEMENT,
            after.reason,
            now,
            by=_BY,
            shift=after.shift,
        )

    async def situation(
        self,
        standing: standings.Standing,
        project: projects.Project,
    ) -> decisions.Situation:
        """Return everything that a decision about an application looks at."""
        desk, policy = self.tenure.desk, project.application.failover
        seen = rebalancing.Known(self._known, self.tenure.register.rules)
        situation = rebalancing.situation(desk, project, standing, seen, self._now())
        if policy is None:
            return situation
        if policy.application is not None:
            here = situation.standing.chosen
            well = [each for each in here if situation.is_well(each)]
            found = await wellness.look(desk.clusters, desk.renderer, project, well, desk.patience)
            situation = replace(situation, health=_ills(found, in_release=standing.under_way))
        if policy.cluster is not None and policy.witness is not None:
            answers = await self._ask(policy.witness, situation)
            refused = {name: each.refusal for name, each in answers.items() if each.refusal}
            self._refusals.tell(project.application.name, refused)
            asked = {name: each.served for name, each in answers.items() if not each.refusal}
            situation = replace(situation, served=asked, unasked=refused)
        return situation

    async def _ask(
        self, witness: failover.Witness, situation: decisions.Situation
    ) -> Mapping[str, witnesses.Answer]:
        """Ask about the clusters that carry a mark of a rule."""
        reach = self.tenure.desk.executor_options.permissions.reach
        no_execute = taints.Effect.NO_EXECUTE
        marked = [
            each
            for each in situation.targets
            if each.name in situation.standing.chosen
            and any(one.by == taints.RULE and one.effect is no_execute for one in each.taints)
        ]
        async with asyncio.TaskGroup() as group:
            tasks = {
                each.name: group.create_task(witnesses.ask(witness, each, reach)) for each in marked
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
        self._begun = {key: at for key, at in self._begun.items() if now - at < _MEMORY}
        return list({**self._begun, **kept}.values())

    # A run under way.

    async def _make_room(self, lane: lanes.Lane, app: applications.Application) -> None:
        """Interrupt a run that a move has waited for long enough."""
        run, move = lane.run_under_way, lane.standing.move
        if move is None or moves.is_moving(run):
            return
        patience = (app.failover or failover.Failover()).patience
        answer = moves.room(lane.standing, run, move, self._now(), patience)
        if answer.room is moves.Room.WAIT:
            await lane.amend(lambda each: moves.held_up(each, answer.reason))
        if run is None or answer.room is not moves.Room.INTERRUPT:
            return
        again = moves.again(run, move, self._now(), self.tenure.new_id())
        # First what comes after: a process that dies in between leaves a run too many, not too few.
        await lane.amend(lambda each: each if each.want else replace(each, want=again))
        reason = f"interrupted by a move: {move.reason}"
        event = events.Cancel(self._now(), _BY, rollback=False, reason=reason)
        refusal = await lane.request(run.id, event)
        if refusal:
            _LOG.warning("run %s goes on before a move: %s", run.id, refusal)

    # Everybody.

    async def _tell(self, view: losses.View, concerned: Iterable[lanes.Lane]) -> None:
        """Raise or end the alarm; told once, and only where something could be moved."""
        about = tuple(concerned)
        raised = losses.allow(view, (), self.limits, self._now()).alarm if about else ""
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


def _ills(
    found: Mapping[str, words.HealthStatus], *, in_release: bool
) -> Mapping[str, words.HealthStatus]:
    """Return how the application is; what is not complete is ill unless a release is under way.

    A Deployment whose pods die after its rollout never says that it is degraded.
    """
    ill = words.HealthStatus.DEGRADED
    progressing = words.HealthStatus.PROGRESSING
    return {
        name: ill if each is progressing and not in_release else each
        for name, each in found.items()
    }
