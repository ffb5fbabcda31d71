"""When a cluster gets the release that it has missed, and when it is tried again. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from volary.controller.planning import replica_assignment, run_waves
from volary.controller.status import application_statuses, run_admission
from volary.model import applications, backoffs, projects
from volary.model.fleet import cluster_health, fleets
from volary.placement import windows
from volary.tenancy import guards, membership

_BACKOFF = backoffs.Backoff(timedelta(seconds=30), timedelta(minutes=30))


def why_not_now(
    app: applications.Application,
    cluster: fleets.Cluster,
    status: application_statuses.ApplicationStatus,
    health: cluster_health.ClusterHealth | None,
    now: datetime,
    standing: membership.Standing,
) -> str:
    """Return why a cluster does not get the release now, in a clause; empty: it does.

    `standing` is that of the application's project. Nothing in it changes with every look, so that
    it is kept rarely.
    """
    if refusal := guards.Guard(lambda: standing, cluster).refusal_of_cluster():
        return refusal
    if health is None:
        return "it was not probed yet"
    if not is_ready(health):
        seen = health.pending
        return f"it was just seen {seen.state.value}" if seen else f"it is {health.state.value}"
    if replica_assignment.divides_replicas(app) and not _has_share(status, cluster.name):
        return "replicas are divided, and it has no share before the next run or rebalance"
    pinned = run_admission.why_blocked(status, None)
    if pinned:
        return pinned
    closed = _closure(app, standing.project, cluster, now)
    return f"{closed.why}; opens {closed.opening}" if closed else ""


def is_ready(health: cluster_health.ClusterHealth | None) -> bool:
    """Say whether a cluster is ready, and nothing else was seen since."""
    ready = cluster_health.ClusterState.READY
    return health is not None and health.state is ready and health.pending is None


def _has_share(status: application_statuses.ApplicationStatus, name: str) -> bool:
    """Where nothing was divided (autoscalers own all of it), everybody gets all of it."""
    releases = status.releases
    return bool(releases.of(name).shares) or not releases.is_divided


def _closure(
    app: applications.Application,
    project: projects.Project | None,
    cluster: fleets.Cluster,
    now: datetime,
) -> windows.Closure | None:
    rules = run_waves.windows_of(app, project, [cluster])
    return windows.closure(
        (),
        [rule.window for rule in rules if rule.deny],
        now,
        besides=[
            [rule.window for rule in rules if not rule.deny and bool(rule.project) is is_projects]
            for is_projects in (False, True)
        ],
    )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """How often a cluster was tried, and when it may be again."""

    times: int
    not_before: datetime


@dataclass(slots=True)
class Attempts:
    """How often clusters were tried, by application; each time they are waited for longer."""

    _known: dict[tuple[str, str], _Attempt] = field(default_factory=dict, init=False)

    def why_wait(self, application: str, cluster: str, now: datetime) -> str:
        """Return until when it has to wait, in a clause; empty: it may be tried."""
        tried = self._known.get((application, cluster))
        # More than a wait ago is a clock that was set back since.
        if tried is None or not timedelta() < tried.not_before - now <= _BACKOFF.after(tried.times):
            return ""
        return f"tried again at {tried.not_before:%H:%M:%S}"

    def note(self, application: str, clusters: Iterable[str], now: datetime) -> None:
        """Note that clusters are tried now."""
        for cluster_name in clusters:
            before = self._known.get((application, cluster_name))
            times = before.times + 1 if before else 1
            self._known[application, cluster_name] = _Attempt(times, now + _BACKOFF.after(times))

    def forget(self, application: str, missing: Iterable[str]) -> None:
        """Forget the clusters of an application that miss nothing any more."""
        still = set(missing)
        done = [key for key in self._known if key[0] == application and key[1] not in still]
        for key in done:
            del self._known[key]
