"""Brings the last completed release to clusters that have missed it, by itself.

Looks after each roll call at applications that nothing else is wanted of: which of the clusters
they are on are ready and do not have it, because they joined, came back, were uncordoned or were
built anew. It waits for a run under way (which is pinned), for windows, for a pause, and ever
longer after each failure, so that a cluster that comes and goes causes no storm. What an
application waits for is kept with it.

A cluster that is cordoned in the middle of a run is left out of it where nothing has begun.
"""

import logging
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.config.crosscheck import eligibility, fleet_checks
from volary.controller.applications import reconcilers
from volary.controller.leadership import context
from volary.controller.placement import backfill_rules, probe_rounds
from volary.controller.runs import moves
from volary.controller.status import application_statuses, release_coverage, run_requests
from volary.engine.state_machine import events
from volary.model import applications, statuses
from volary.model.fleet import cluster_health, taints
from volary.placement.failover import destinations
from volary.store import records

_LOG = logging.getLogger(__name__)
#: Applications that catch up at the same time.
_MOST_AT_ONCE = 8
_BY = "volary"
#: How long a connection that nobody is given any more may still be in use.
_SWEEP = timedelta(hours=1)


@dataclass(slots=True)
class BackfillLoop:
    """One tenure's.

    Args:
        tenure: What everything that drives shares.
        all_lanes: Those of the tenure.
    """

    tenure: context.LeaderContext
    all_lanes: Callable[[], Iterable[reconcilers.ApplicationReconciler]]
    _tries: backfill_rules.Attempts = field(default_factory=backfill_rules.Attempts, init=False)
    #: What was looked at when nothing was missing: as long as it is the same, nothing is.
    _settled: dict[str, tuple[object, ...]] = field(default_factory=dict, init=False)
    #: How each cluster was at the last look; another object whenever that changed.
    _seen: tuple[object, ...] = field(default=(), init=False)
    _swept: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count."""
        self._swept = self.tenure.desk.clock.now()

    async def look(self, roll: cluster_health.FleetHealth) -> None:
        """Look at all applications after one roll call, unless it is doubtful."""
        if roll.doubt:
            return
        known = {each.cluster: each for each in roll.clusters}
        seen = tuple((each.cluster, each.state, each.identity) for each in roll.clusters)
        self._seen = self._seen if seen == self._seen else seen
        everybody = list(self.all_lanes())
        await self._let_go(everybody)
        busy = sum(_is_backfilling(each.standing) for each in everybody)
        for lane in everybody:
            work = self._look_at(lane, known, may_begin=busy < _MOST_AT_ONCE)
            busy += await probe_rounds.isolate_errors(work, lane.name, "is not caught up now")

    async def _look_at(
        self,
        lane: reconcilers.ApplicationReconciler,
        known: Mapping[str, cluster_health.ClusterHealth],
        *,
        may_begin: bool,
    ) -> bool:
        await self._leave_out_cordoned(lane, known)
        return await self._look(lane, known, may_begin=may_begin)

    async def _let_go(self, everybody: list[reconcilers.ApplicationReconciler]) -> None:
        """Let go of clusters that left and that no run under way is pinned to."""
        clusters, now = self.tenure.desk.clusters, self.tenure.desk.clock.now()
        if clusters.former:
            under_way = [
                each for each in everybody if each.standing.under_way and not each.why_gone
            ]
            runs = [each.run_under_way for each in under_way]
            if None not in runs:
                used = {name for run in runs if run is not None for name in run.targets}
                clusters.release(set(clusters.former) - used)
        if now - self._swept > _SWEEP:
            self._swept = now
            await clusters.sweep()

    async def _leave_out_cordoned(
        self,
        lane: reconcilers.ApplicationReconciler,
        known: Mapping[str, cluster_health.ClusterHealth],
    ) -> None:
        run = lane.run_under_way
        if run is None or run.is_final or run.rollback is not None:
            return
        if moves.is_move(run):
            return  # what leaves a drained cluster is no new work there
        for each in run.clusters:
            found = known.get(each.name)
            cordon = found.cordon if found else None
            if cordon is None or each.left_out or each.touched:
                continue
            if any(task and task.started for task in (one.task(each.name) for one in run.stages)):
                continue
            app = await self._application(lane, run.commit)
            if not taints.untolerated((cordon,), app.tolerations):
                continue
            now = self.tenure.desk.clock.now()
            event = events.SkipCluster(now, each.name, cordon.by, cordon.reason, cordoned=True)
            refused = await lane.request(run.id, event)
            if not refused:
                _LOG.info("run %s goes on without %s, which is cordoned", run.id, each.name)

    async def _look(
        self,
        lane: reconcilers.ApplicationReconciler,
        known: Mapping[str, cluster_health.ClusterHealth],
        *,
        may_begin: bool,
    ) -> bool:
        """Look at one application; say whether it begins to catch up."""
        standing = lane.standing
        if standing.catch_up is not None:
            await self._withdraw(lane, standing.catch_up, known)
            return False
        commit = standing.reached.commit or lane.record.running_commit
        if not commit or self._is_left_alone(lane):
            return False
        if not standing.reached.commit:
            await self._begin_with(lane, commit)
            standing = lane.standing
        await self._learn_identities(lane)
        await self._forget_leavers(lane)
        app = await self._application(lane, commit)
        names = self._where(app, standing)
        missing = release_coverage.missing_clusters(
            standing.reached, names, self.tenure.register.identity
        )
        self._tries.forget(lane.name, missing)
        if not missing and not lane.standing.reached.waiting:
            self._settled[lane.name] = self._looked_at(lane)
            return False
        why = {name: self._why_not_now(lane, app, name, known) for name in missing}
        ready = tuple(name for name in missing if not why[name]) if may_begin else ()
        if not ready:
            await self._note(lane, {name: told for name, told in why.items() if told})
            return False
        await self._want(lane, commit, {name: missing[name] for name in ready})
        return True

    def _is_left_alone(self, lane: reconcilers.ApplicationReconciler) -> bool:
        """Say whether there is something else to do, or nothing since it was looked at."""
        if lane.record.removed is not None or not lane.record.repository or lane.why_gone:
            return True
        if lane.standing.under_way or lane.standing.next_want is not None:
            return True
        before = self._settled.get(lane.name, ())
        return bool(before) and all(map(operator.is_, before, self._looked_at(lane)))

    def _looked_at(self, lane: reconcilers.ApplicationReconciler) -> tuple[object, ...]:
        return lane.standing, self.tenure.desk.clusters.fleet, self._seen

    async def _withdraw(
        self,
        lane: reconcilers.ApplicationReconciler,
        want: run_requests.RunRequest,
        known: Mapping[str, cluster_health.ClusterHealth],
    ) -> None:
        """Take a want back that has not begun when one of its clusters is gone again."""
        gone = [name for name in want.targets if not backfill_rules.is_ready(known.get(name))]
        if gone:
            await lane.amend(lambda now: _without_request(now, want))

    async def _begin_with(self, lane: reconcilers.ApplicationReconciler, commit: str) -> None:
        """Find out who has a release that was completed before anybody kept a record of it."""
        wanted = records.RunFilter(
            applications=frozenset({lane.name}), statuses=frozenset({statuses.RunStatus.SUCCEEDED})
        )
        page = await self.tenure.store.runs.list(wanted, limit=1)
        names = lane.standing.placed.chosen
        for summary in page.items:
            names = names or tuple(summary.origin.get("targets") or ())
        if not names:
            names = self._where(await self._application(lane, commit), lane.standing)
        identity = self.tenure.register.identity
        reached = release_coverage.ReleaseCoverage(commit, {name: identity(name) for name in names})
        await lane.amend(lambda now: now if now.reached.commit else replace(now, reached=reached))

    async def _learn_identities(self, lane: reconcilers.ApplicationReconciler) -> None:
        """Keep who a cluster is that was not known when it got the release."""
        identity = self.tenure.register.identity
        had = lane.standing.reached.clusters
        learned = {name: identity(name) for name, one in had.items() if not one and identity(name)}
        if learned:
            await lane.amend(
                lambda now: replace(
                    now,
                    reached=replace(now.reached, clusters={**now.reached.clusters, **learned}),
                )
            )

    async def _forget_leavers(self, lane: reconcilers.ApplicationReconciler) -> None:
        """Have nothing wait for clusters that left the fleet; who comes back is a newcomer."""
        names = self.tenure.desk.clusters.fleet.names
        if release_coverage.restricted_to(lane.standing.reached, names) != lane.standing.reached:
            await lane.amend(
                lambda now: replace(now, reached=release_coverage.restricted_to(now.reached, names))
            )

    def _where(
        self, app: applications.Application, standing: application_statuses.ApplicationStatus
    ) -> tuple[str, ...]:
        """Return the clusters that the application is on and that take something new."""
        members = self.tenure.desk.clusters.fleet
        there = fleet_checks.deployment_targets(app, members)
        open_to = {each.name for each in there if not eligibility.exclusion_reason(app, each)}
        qualified = [
            each for each in there if each.name in open_to or each.name in standing.placed.chosen
        ]
        leaving = {each.cluster for each in standing.placed.leaving}
        chosen = destinations.choose(app, qualified, standing.placed).names
        return tuple(name for name in chosen if name in open_to and name not in leaving)

    def _why_not_now(
        self,
        lane: reconcilers.ApplicationReconciler,
        app: applications.Application,
        name: str,
        known: Mapping[str, cluster_health.ClusterHealth],
    ) -> str:
        now, member = self.tenure.desk.clock.now(), self.tenure.desk.clusters.member(name)
        if member is None:
            return "it left the fleet"
        told = backfill_rules.why_not_now(app, member, lane.standing, known.get(name), now)
        wait = self._tries.why_wait(lane.name, name, now)
        return told or (wait and lane.standing.reached.waiting.get(name, wait))

    async def _want(
        self, lane: reconcilers.ApplicationReconciler, commit: str, why: Mapping[str, str]
    ) -> None:
        now = self.tenure.desk.clock.now()
        told = "; ".join(f"{name}: {reason}" for name, reason in why.items())
        want = run_requests.RunRequest(
            id=self.tenure.new_id(),
            commit=commit,
            kind=run_requests.RunKind.CATCH_UP,
            reason=f"the last completed release, {commit[:7]}, for clusters that miss it ({told})",
            at=now,
            by=_BY,
            targets=tuple(why),
        )
        self._tries.note(lane.name, why, now)
        _LOG.info("application %s: %s", lane.name, want.reason)
        await lane.amend(lambda standing: _with_request(standing, want))

    async def _note(
        self, lane: reconcilers.ApplicationReconciler, waiting: Mapping[str, str]
    ) -> None:
        """Keep why clusters wait, when that changed."""
        if waiting == lane.standing.reached.waiting:
            return
        await lane.amend(
            lambda now: replace(now, reached=replace(now.reached, waiting=dict(waiting)))
        )

    async def _application(
        self, lane: reconcilers.ApplicationReconciler, commit: str
    ) -> applications.Application:
        tenure = self.tenure
        project = await tenure.opened.open(tenure.desk, lane.place, commit, tenure.planners)
        return project.application


def _is_backfilling(standing: application_statuses.ApplicationStatus) -> bool:
    under_way = standing.under_way and standing.reached.run == standing.run != ""
    return under_way or standing.catch_up is not None


def _with_request(
    standing: application_statuses.ApplicationStatus, want: run_requests.RunRequest
) -> application_statuses.ApplicationStatus:
    """Return the standing with a want, unless something else came up meanwhile."""
    if standing.under_way or standing.next_want is not None:
        return standing
    waiting = {
        name: why for name, why in standing.reached.waiting.items() if name not in want.targets
    }
    return replace(standing, catch_up=want, reached=replace(standing.reached, waiting=waiting))


def _without_request(
    standing: application_statuses.ApplicationStatus, want: run_requests.RunRequest
) -> application_statuses.ApplicationStatus:
    wanted = standing.catch_up
    if wanted is None or wanted.id != want.id:
        return standing
    return replace(standing, catch_up=None)
