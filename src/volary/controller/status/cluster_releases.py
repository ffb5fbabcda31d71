"""What each cluster has of an application, and what a run's end changes about it. Pure.

The one place where it is kept: the release, the replica shares, and whether the application is on
the cluster, left it, or is leaving it. A release is *completed* once every stage is done on every
cluster that the run did not go on without, and those it went on without could not be reached, or
were cordoned. Whoever joins, comes back or was built anew gets it: never a release that stopped
half-way, and never simply what is in Git.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import msgspec
from msgspec import structs

from volary.engine.runs import coverage, rollback, state
from volary.model import statuses
from volary.placement.failover import decisions, observed_durations
from volary.placement.replicas import assignment

#: What tells a cluster from one built in its place; empty: not known.
Identity = Callable[[str], str]

_MISSED = (state.LeftOut.UNREACHABLE, state.LeftOut.CORDONED)
_GOOD = (statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.SKIPPED)


class ReleaseState(StrEnum):
    """What a cluster has of the last completed release."""

    #: It never had it: it joined later, or nobody knows.
    NONE = "none"
    #: It got it; it may be on a part of a newer one by now.
    COVERED = "covered"
    #: The release went on, or began, without it, and it has not got it since.
    MISSED = "missed"


class ClusterRelease(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one cluster has of the application."""

    #: The commit that it is on; empty: nothing, or nobody knows.
    commit: str = ""
    state: ReleaseState = ReleaseState.NONE
    #: What told the cluster from one built in its place when it got the completed release.
    identity: str = ""
    #: Why it has not got the completed release yet, one sentence; empty: nothing was said.
    reason: str = ""
    #: What it has of all that is divided, since the last run that gave it something.
    shares: tuple[assignment.ClusterShare, ...] = ()
    #: What it had before the last release that succeeded: where a rollback goes.
    shares_before: tuple[assignment.ClusterShare, ...] = ()
    #: The application is on it. On no cluster at all: that was never decided.
    chosen: bool = False
    #: Why the application left it: it is not chosen again until a rebalance. Empty: it did not.
    away: str = ""
    #: How the application is leaving it; None: it is not.
    leaving: decisions.Eviction | None = None
    #: Why nothing moves although there is a reason, one sentence; empty: there is none.
    staying: str = ""


_UNKNOWN = ClusterRelease()


@dataclass(frozen=True, slots=True)
class ClusterReleases:
    """What every cluster has of the application; kept with it."""

    #: The last completed release; empty: there is none, or nobody knows.
    completed: str = ""
    clusters: Mapping[str, ClusterRelease] = field(default_factory=dict)
    #: The last commit that succeeded, on clusters that are on no other one; empty: none did.
    running: str = ""

    def of(self, name: str) -> ClusterRelease:
        """Return what a cluster has."""
        return self.clusters.get(name, _UNKNOWN)

    @property
    def for_newcomers(self) -> str:
        """What a cluster gets that is new to the application; empty: nothing was released."""
        return self.completed or self.running

    @property
    def covered(self) -> tuple[str, ...]:
        """Clusters that got the completed release."""
        return self._in_state(ReleaseState.COVERED)

    @property
    def missed(self) -> tuple[str, ...]:
        """Clusters that the completed release went on without."""
        return self._in_state(ReleaseState.MISSED)

    def _in_state(self, wanted: ReleaseState) -> tuple[str, ...]:
        return tuple(name for name, one in self.clusters.items() if one.state is wanted)

    @property
    def waiting(self) -> dict[str, str]:
        """Why clusters have not got the completed release yet, where something was said."""
        return {name: one.reason for name, one in self.clusters.items() if one.reason}

    def exceptions(self, commit: str) -> dict[str, str]:
        """Return what clusters run that are on another commit than this one."""
        return {
            name: one.commit
            for name, one in self.clusters.items()
            if one.commit not in ("", commit)
        }

    @property
    def assigned(self) -> assignment.Assignment:
        """Who has how many replicas."""
        return assignment.of_clusters({name: one.shares for name, one in self.clusters.items()})

    @property
    def assigned_before(self) -> assignment.Assignment:
        """Who had how many replicas before the last release that succeeded."""
        had = {name: one.shares_before for name, one in self.clusters.items()}
        return assignment.of_clusters(had)

    @property
    def is_divided(self) -> bool:
        """Whether any cluster has a share of anything."""
        return any(one.shares for one in self.clusters.values())

    def placement(
        self, timers: Mapping[str, observed_durations.ObservedDuration]
    ) -> decisions.PlacementState:
        """Return where the application is, and what is moving."""
        known = self.clusters
        return decisions.PlacementState(
            tuple(name for name, one in known.items() if one.chosen),
            {name: one.away for name, one in known.items() if one.away},
            tuple(one.leaving for one in known.values() if one.leaving is not None),
            timers,
            {name: one.staying for name, one in known.items() if one.staying},
        )

    def with_placement(self, placed: decisions.PlacementState) -> "ClusterReleases":
        """Return them with where the application is, and what is moving."""
        leaving = {eviction.cluster: eviction for eviction in placed.leaving}
        # The order of the chosen ones, and of those that leave, is kept.
        names = dict.fromkeys(
            (*placed.chosen, *leaving, *placed.away, *placed.waiting, *self.clusters)
        )
        chosen = frozenset(placed.chosen)
        clusters = {
            name: structs.replace(
                self.of(name),
                chosen=name in chosen,
                away=placed.away.get(name, ""),
                leaving=leaving.get(name),
                staying=placed.waiting.get(name, ""),
            )
            for name in names
        }
        return replace(self, clusters={})._with(clusters)

    def with_shares(
        self, assigned: assignment.Assignment, names: Iterable[str]
    ) -> "ClusterReleases":
        """Return them with what an assignment gives to some clusters."""
        return self._with(
            {name: structs.replace(self.of(name), shares=assigned.of(name)) for name in names}
        )

    def with_reasons(self, reasons: Mapping[str, str]) -> "ClusterReleases":
        """Return them with why clusters have not got the release; of the others nothing is said."""
        names = dict.fromkeys((*self.clusters, *reasons))
        return self._with(
            {name: structs.replace(self.of(name), reason=reasons.get(name, "")) for name in names}
        )

    def _with(self, changed: Mapping[str, ClusterRelease]) -> "ClusterReleases":
        """Return them with some changed; of whom nothing is known nothing is kept."""
        both = {**self.clusters, **changed}
        return replace(self, clusters={name: one for name, one in both.items() if one != _UNKNOWN})


def begun_with(
    releases: ClusterReleases, commit: str, names: Iterable[str], identity: Identity
) -> ClusterReleases:
    """Return them with a release that was completed before anybody kept a record of it."""
    covered = {
        name: _covered(releases.of(name), releases.of(name).commit or commit, identity(name))
        for name in names
    }
    return replace(releases._with(covered), completed=commit)


def _covered(before: ClusterRelease, commit: str, identity: str) -> ClusterRelease:
    """Return what a cluster has once it got the completed release."""
    return structs.replace(
        before, commit=commit, state=ReleaseState.COVERED, identity=identity, reason=""
    )


def is_completed(run: state.Run) -> bool:
    """Say whether a run that has ended brought its release to all who were there."""
    if run.status is statuses.RunStatus.SUCCEEDED:
        return True
    if run.status is not statuses.RunStatus.FAILED or run.rollback is not None:
        return False
    left_out = [cluster for cluster in run.clusters if cluster.left_out]
    done = all(stage.status in _GOOD for stage in run.stages)
    missed = all(each.left_out_for in _MISSED for each in left_out)
    return done and missed and 0 < len(left_out) < len(run.clusters)


def after_release(releases: ClusterReleases, run: state.Run, identity: Identity) -> ClusterReleases:
    """Return what clusters run once a run that brought a release has ended."""
    if not is_completed(run):
        held = coverage.clusters_with_release(run)
        return releases._with(
            {name: structs.replace(releases.of(name), commit=run.commit) for name in held}
        )
    changed = {}
    for name, one in releases.clusters.items():
        is_none = one.state is ReleaseState.NONE
        changed[name] = structs.replace(
            one, state=one.state if is_none else ReleaseState.MISSED, identity="", reason=""
        )
    for cluster in run.clusters:
        before = releases.of(cluster.name)
        changed[cluster.name] = (
            structs.replace(
                before,
                commit=before.commit or run.running_commit_of(cluster.name),
                state=ReleaseState.MISSED,
                identity="",
                reason="",
            )
            if cluster.left_out
            else _covered(before, run.commit, identity(cluster.name))
        )
    succeeded = run.status is statuses.RunStatus.SUCCEEDED
    return replace(
        releases._with(changed),
        completed=run.commit,
        running=run.commit if succeeded else releases.running,
    )


def divided_by_release(
    releases: ClusterReleases, run: state.Run, assigned: assignment.Assignment
) -> ClusterReleases:
    """Return who has how many replicas once a run that brought a release has ended.

    Unless it succeeded only the clusters that hold the release have what it gave them.
    """
    if run.status is not statuses.RunStatus.SUCCEEDED:
        return releases.with_shares(assigned, coverage.clusters_with_release(run))
    had = {
        name: structs.replace(one, shares_before=one.shares)
        for name, one in releases.clusters.items()
    }
    return releases._with(had).with_shares(assigned, (*releases.clusters, *assigned.clusters))


def after_backfill(
    releases: ClusterReleases, run: state.Run, identity: Identity
) -> ClusterReleases:
    """Return what clusters run once a run that brought the release to some of them has ended."""
    done, changed = covered_by(run), {}
    for name in run.targets:
        before = releases.of(name)
        if name not in done:
            changed[name] = structs.replace(before, reason=f"run {run.id}: {run.reason}")
        elif run.commit == releases.completed:
            changed[name] = _covered(before, run.commit, identity(name))
        else:
            changed[name] = structs.replace(before, commit=run.commit)
    after = releases._with(changed)
    is_everywhere = releases.missed and not after.missed and run.commit == after.completed
    return replace(after, running=run.commit) if is_everywhere else after


def after_move(
    releases: ClusterReleases,
    run: state.Run,
    placed: Collection[str],
    removed: Collection[str],
    identity: Identity,
) -> ClusterReleases:
    """Return what clusters run once a run that moved the application has ended.

    Args:
        releases: As it was kept last.
        run: It has ended; brought each cluster what it runs, a new one the completed release.
        placed: Clusters that are proven to have their part.
        removed: Clusters where the application is gone.
        identity: What tells a cluster from one built in its place.
    """
    changed = {}
    for name in placed:
        before = releases.of(name)
        commit = before.commit or run.running_commit_of(name)
        if before.state is ReleaseState.NONE and commit == releases.completed:
            changed[name] = _covered(before, commit, identity(name))
        else:
            changed[name] = structs.replace(before, commit=commit)
    for name in removed:
        before = releases.of(name)
        changed[name] = ClusterRelease(
            chosen=before.chosen, away=before.away, leaving=before.leaving, staying=before.staying
        )
    return releases._with(changed)


def after_rollback(
    releases: ClusterReleases,
    run: state.Run,
    assigned_before: assignment.Assignment,
    identity: Identity,
) -> ClusterReleases:
    """Return what clusters have once a run that rolled another one back has ended.

    A release counts as completed only if every cluster is proven back at the same one; else none
    does, so that none is brought to clusters that miss it.

    Args:
        releases: As it was kept last.
        run: It has ended.
        assigned_before: Who had how many replicas before the release that is rolled back.
        identity: What tells a cluster from one built in its place.
    """
    held = rollback.commits_after(run)
    left = dict.fromkeys(rollback.clusters_left(run), run.commit)
    commits = {**held, **left}
    after = releases._with(
        {name: structs.replace(releases.of(name), commit=one) for name, one in commits.items()}
    )
    if run.status is statuses.RunStatus.SUCCEEDED:
        names = (*releases.clusters, *assigned_before.clusters)
        after = replace(after, running=run.running_commit).with_shares(assigned_before, names)
        if after.running and not after.exceptions(after.running):
            covered = {
                name: _covered(after.of(name), after.running, identity(name)) for name in held
            }
            return replace(after._with(covered), completed=after.running)
    else:
        after = after.with_shares(assigned_before, rollback.clusters_rolled_back(run))
    uncovered = {
        name: structs.replace(one, state=ReleaseState.NONE, identity="", reason="")
        for name, one in after.clusters.items()
    }
    return replace(after._with(uncovered), completed="")


def covered_by(run: state.Run) -> tuple[str, ...]:
    """Return the clusters on which every stage of a run succeeded and was not rolled back."""
    back = {task.target for task in run.rollback.tasks} if run.rollback else set()
    done = []
    for name in run.targets:
        tasks = [task for stage in run.stages if (task := stage.task(name)) is not None]
        good = all(task.status is statuses.TaskStatus.SUCCEEDED for task in tasks)
        if tasks and good and name not in back:
            done.append(name)
    return tuple(done)


def missing_clusters(
    releases: ClusterReleases, names: Iterable[str], identity: Identity
) -> dict[str, str]:
    """Return the clusters among `names` that have not got the release, with the reason of each."""
    missing = {}
    for name in names:
        had, now = releases.of(name), identity(name)
        if had.state is ReleaseState.MISSED:
            missing[name] = "the release went on without it"
        elif had.state is ReleaseState.NONE:
            missing[name] = "it was not there"
        elif had.identity and now and had.identity != now:
            missing[name] = "it was built anew"
    return missing


def commit_before_backfill(releases: ClusterReleases, name: str) -> str:
    """Return what a cluster runs that misses the release; empty: nothing.

    One that had it misses it because it was built anew.
    """
    had = releases.of(name)
    return "" if had.state is ReleaseState.COVERED else had.commit


def learned(releases: ClusterReleases, identity: Identity) -> ClusterReleases:
    """Return them with who clusters are that were not known when they got the release."""
    return releases._with(
        {
            name: structs.replace(releases.of(name), identity=identity(name))
            for name in releases.covered
            if not releases.of(name).identity and identity(name)
        }
    )


def restricted_to(releases: ClusterReleases, names: Collection[str]) -> ClusterReleases:
    """Return them without the clusters that left the fleet missing anything."""
    changed = {}
    for name, one in releases.clusters.items():
        if name not in names:
            missed = one.state is ReleaseState.MISSED
            changed[name] = structs.replace(
                one, state=ReleaseState.NONE if missed else one.state, reason=""
            )
    return releases._with(changed)


def missing_reasons(releases: ClusterReleases) -> dict[str, str]:
    """Return the clusters that have not got the release, and what each waits for."""
    missed = dict.fromkeys(releases.missed, "the release went on without it")
    return {**missed, **releases.waiting}
