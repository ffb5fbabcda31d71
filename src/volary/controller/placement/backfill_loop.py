"""Brings the last completed release to clusters that have missed it, by itself.

Looks after each round of probes at applications that nothing else is requested of: which of the
clusters they are on are ready and do not have it, because they joined, came back, were uncordoned
or were built anew. It waits for a run under way (which is pinned), for windows, for a pause, and
ever longer after each failure, so that a cluster that comes and goes causes no storm. What an
application waits for is kept with it. Before that it has rolled back what a rollback could not be
proven on, because a cluster did not answer, as soon as that does.

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
from volary.controller.placement import backfill_rules
from volary.controller.status import (
    application_statuses,
    cluster_releases,
    release_changes,
    run_requests,
)
from volary.engine.state_machine import events
from volary.model import applications, phrases
from volary.model.fleet import cluster_health, taints
from volary.model.runs import run_plans
from volary.placement.failover import destinations
from volary.tenancy import guards

_LOG = logging.getLogger(__name__)
#: Applications that are backfilled at the same time.
_MOST_AT_ONCE = 8
_BY = "volary"
#: How long a connection that nobody is given any more may still be in use.
_SWEEP = timedelta(hours=1)


@dataclass(slots=True)
class BackfillLoop:
    """One leader's.

    Args:
        leader: What is shared while this process is the leader.
        all_reconcilers: Those of the leader.
    """

    leader: context.LeaderContext
    all_reconcilers: Callable[[], Iterable[reconcilers.ApplicationReconciler]]
    _tries: backfill_rules.Attempts = field(default_factory=backfill_rules.Attempts, init=False)
    _rollbacks: backfill_rules.Attempts = field(default_factory=backfill_rules.Attempts, init=False)
    #: What was known when nothing was missing: as long as it is the same, nothing is.
    _settled: dict[str, tuple[object, ...]] = field(default_factory=dict, init=False)
    #: How each cluster was at the last look; another object whenever that changed.
    _seen: tuple[object, ...] = field(default=(), init=False)
    _swept: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count."""
        self._swept = self.leader.dependencies.clock.now()

    async def look(self, roll: cluster_health.FleetHealth) -> None:
        """Look at all applications after one round of probes, unless it is doubtful."""
        if roll.doubt:
            return
        known = {cluster.cluster: cluster for cluster in roll.clusters}
        seen = tuple(
            (cluster.cluster, cluster.state, cluster.identity) for cluster in roll.clusters
        )
        self._seen = self._seen if seen == self._seen else seen
        everybody = list(self.all_reconcilers())
        await self._let_go(everybody)
        busy = sum(_is_backfilling(reconciler) for reconciler in everybody)
        for reconciler in everybody:
            work = self._look(reconciler, known, may_begin=busy < _MOST_AT_ONCE)
            if await context.isolate_errors(work, reconciler.name, "is not backfilled now"):
                busy += 1

    async def _let_go(self, everybody: list[reconcilers.ApplicationReconciler]) -> None:
        """Let go of clusters that left and that no run under way is pinned to."""
        clusters, now = self.leader.register.clusters, self.leader.dependencies.clock.now()
        if clusters.former:
            under_way = [
                reconciler
                for reconciler in everybody
                if reconciler.status.under_way and not reconciler.why_orphaned
            ]
            runs = [reconciler.run_under_way for reconciler in under_way]
            if None not in runs:
                used = {name for run in runs if run is not None for name in run.targets}
                clusters.release(set(clusters.former) - used)
        if now - self._swept > _SWEEP:
            self._swept = now
            await clusters.sweep()

    async def _leave_out_cordoned(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        known: Mapping[str, cluster_health.ClusterHealth],
    ) -> None:
        run = reconciler.run_under_way
        if run is None or run.is_final or run.rollback is not None:
            return
        if reconciler.is_moving:
            return  # what leaves a drained cluster is no new work there
        for cluster in run.clusters:
            health = known.get(cluster.name)
            cordon = health.cordon if health else None
            if cordon is None or cluster.left_out or cluster.touched:
                continue
            if any(
                task and task.started for task in (one.task(cluster.name) for one in run.stages)
            ):
                continue
            app = (await self.leader.open(reconciler.place, run.commit)).application
            if not taints.untolerated((cordon,), app.tolerations):
                continue
            now = self.leader.dependencies.clock.now()
            event = events.SkipCluster(now, cordon.by, cluster.name, cordon.reason, cordoned=True)
            refused = await reconciler.request(run.id, event)
            if not refused:
                _LOG.info("run %s goes on without %s, which is cordoned", run.id, cluster.name)

    async def _look(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        known: Mapping[str, cluster_health.ClusterHealth],
        *,
        may_begin: bool,
    ) -> bool:
        """Look at one application; say whether a backfill of it begins."""
        await self._leave_out_cordoned(reconciler, known)
        await self._roll_back_again(reconciler, known)
        status = reconciler.status
        if status.backfill is not None:
            await self._withdraw(reconciler, status.backfill, known)
            return False
        # Without one, as after a rollback that left some clusters, nobody knows who misses what.
        commit = status.releases.completed
        if not commit or self._is_left_alone(reconciler):
            return False
        identity = self.leader.register.identity
        here = self.leader.dependencies.clusters.fleet.names
        # Who a cluster is that was not known when it got the release; and nothing waits for
        # clusters that left the fleet: who comes back is a newcomer.
        await _change_releases(
            reconciler,
            lambda releases: release_changes.restricted_to(
                release_changes.learned(releases, identity), here
            ),
        )
        app = (await self.leader.open(reconciler.place, commit)).application
        names = self._where(app, status, reconciler.record.project)
        missing = cluster_releases.missing_clusters(status.releases, names, identity)
        self._tries.forget(reconciler.name, missing)
        if not missing and not reconciler.status.releases.waiting:
            self._settled[reconciler.name] = self._looked_at(reconciler)
            return False
        why = {name: self._why_not_now(reconciler, app, name, known) for name in missing}
        ready = tuple(name for name in missing if not why[name]) if may_begin else ()
        if not ready:
            waiting = {name: told for name, told in why.items() if told}
            await _change_releases(reconciler, lambda releases: releases.with_reasons(waiting))
            return False
        await self._request_run(reconciler, commit, {name: missing[name] for name in ready})
        return True

    async def _roll_back_again(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        known: Mapping[str, cluster_health.ClusterHealth],
    ) -> None:
        """Request the rollback that was not proven, once all whom it left answer."""
        status, name = reconciler.status, reconciler.name
        unproven, now = status.unproven, self.leader.dependencies.clock.now()
        if unproven is None or status.under_way or status.next_request is not None:
            return
        if reconciler.record.removed is not None or reconciler.why_orphaned:
            return
        clusters = unproven.clusters
        is_back = all(backfill_rules.is_ready(known.get(cluster)) for cluster in clusters)
        if not is_back or any(self._rollbacks.why_wait(name, one, now) for one in clusters):
            return
        self._rollbacks.note(name, clusters, now)
        run_request = run_requests.RunRequest(
            id=self.leader.new_id(),
            commit=unproven.commit,
            kind=run_requests.KindName.ROLLBACK,
            reason=f"run {unproven.run} was not proven rolled back on"
            f" {phrases.join_names(clusters)}, which did not answer then",
            at=now,
            by=_BY,
            strategy=run_plans.Strategy.QUICK_SYNC,
            rollback_of=unproven.run,
        )
        _LOG.info("application %s: %s", name, run_request.reason)
        await reconciler.submit(run_request)

    def _is_left_alone(self, reconciler: reconcilers.ApplicationReconciler) -> bool:
        """Say whether there is something else to do, or nothing new since it was checked."""
        if (
            reconciler.record.removed is not None
            or not reconciler.record.repository
            or reconciler.why_orphaned
        ):
            return True
        if reconciler.status.under_way or reconciler.status.next_request is not None:
            return True
        before = self._settled.get(reconciler.name, ())
        return bool(before) and all(map(operator.is_, before, self._looked_at(reconciler)))

    def _looked_at(self, reconciler: reconcilers.ApplicationReconciler) -> tuple[object, ...]:
        return reconciler.status, self.leader.dependencies.clusters.fleet, self._seen

    async def _withdraw(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        run_request: run_requests.RunRequest,
        known: Mapping[str, cluster_health.ClusterHealth],
    ) -> None:
        """Withdraw a request that has not begun when one of its clusters is gone again."""
        gone = [
            name for name in run_request.targets if not backfill_rules.is_ready(known.get(name))
        ]
        if gone:
            await reconciler.amend(lambda now: _without_request(now, run_request))

    def _where(
        self,
        app: applications.Application,
        status: application_statuses.ApplicationStatus,
        project: str,
    ) -> tuple[str, ...]:
        """Return the clusters that the application is on and that take something new.

        A cluster that joins where its project may not deploy is none of them.
        """
        members = self.leader.dependencies.clusters.fleet
        standing = self.leader.dependencies.projects().standing(project)
        known = {*status.placed.chosen, *status.releases.clusters}
        there = [
            cluster
            for cluster in fleet_checks.deployment_targets(app, members)
            if cluster.name in known
            or not guards.Guard(lambda: standing, cluster).refusal_of_cluster()
        ]
        open_to = {
            cluster.name for cluster in there if not eligibility.exclusion_reason(app, cluster)
        }
        qualified = [
            cluster
            for cluster in there
            if cluster.name in open_to or cluster.name in status.placed.chosen
        ]
        leaving = {eviction.cluster for eviction in status.placed.leaving}
        chosen = destinations.choose(app, qualified, status.placed).names
        return tuple(name for name in chosen if name in open_to and name not in leaving)

    def _why_not_now(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        app: applications.Application,
        name: str,
        known: Mapping[str, cluster_health.ClusterHealth],
    ) -> str:
        now, member = (
            self.leader.dependencies.clock.now(),
            self.leader.dependencies.clusters.member(name),
        )
        if member is None:
            return "it left the fleet"
        told = backfill_rules.why_not_now(
            app,
            member,
            reconciler.status,
            known.get(name),
            now,
            self.leader.dependencies.projects().standing(reconciler.record.project),
        )
        wait = self._tries.why_wait(reconciler.name, name, now)
        return told or (wait and reconciler.status.releases.waiting.get(name, wait))

    async def _request_run(
        self, reconciler: reconcilers.ApplicationReconciler, commit: str, why: Mapping[str, str]
    ) -> None:
        now = self.leader.dependencies.clock.now()
        told = "; ".join(f"{name}: {reason}" for name, reason in why.items())
        run_request = run_requests.RunRequest(
            id=self.leader.new_id(),
            commit=commit,
            kind=run_requests.KindName.BACKFILL,
            reason=f"the last completed release, {commit[:7]}, for clusters that miss it ({told})",
            at=now,
            by=_BY,
            targets=tuple(why),
        )
        self._tries.note(reconciler.name, why, now)
        _LOG.info("application %s: %s", reconciler.name, run_request.reason)
        await reconciler.amend(lambda status: _with_request(status, run_request))


async def _change_releases(
    reconciler: reconcilers.ApplicationReconciler,
    change: Callable[[cluster_releases.ClusterReleases], cluster_releases.ClusterReleases],
) -> None:
    """Keep what `change` makes of what the clusters have, unless that is what they have."""
    if change(reconciler.status.releases) != reconciler.status.releases:
        await reconciler.amend(lambda now: replace(now, releases=change(now.releases)))


def _is_backfilling(reconciler: reconcilers.ApplicationReconciler) -> bool:
    under_way = reconciler.kind_under_way is run_requests.KindName.BACKFILL
    return under_way or reconciler.status.backfill is not None


def _with_request(
    status: application_statuses.ApplicationStatus, run_request: run_requests.RunRequest
) -> application_statuses.ApplicationStatus:
    """Return the status with a request, unless something else came up meanwhile."""
    if status.under_way or status.next_request is not None:
        return status
    waiting = {
        name: why
        for name, why in status.releases.waiting.items()
        if name not in run_request.targets
    }
    return replace(
        status,
        backfill=run_request,
        releases=status.releases.with_reasons(waiting),
    )


def _without_request(
    status: application_statuses.ApplicationStatus, run_request: run_requests.RunRequest
) -> application_statuses.ApplicationStatus:
    wanted = status.backfill
    if wanted is None or wanted.id != run_request.id:
        return status
    return replace(status, backfill=None)
