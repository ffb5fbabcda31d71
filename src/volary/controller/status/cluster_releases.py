"""Which release each cluster of an application is on, and what a run's end changes about it. Pure.

The one place where this is kept. A release is *completed* once every stage is done on every
cluster that the run did not go on without, and those it went on without could not be reached, or
were cordoned. Whoever joins, comes back or was built anew gets it: never a release that stopped
half-way, and never simply what is in Git.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from volary.engine.runs import coverage, rollback, state
from volary.model import statuses

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


@dataclass(frozen=True, slots=True)
class ClusterRelease:
    """What one cluster runs of the application."""

    #: The commit that it is on; empty: nothing, or nobody knows.
    commit: str = ""
    state: ReleaseState = ReleaseState.NONE
    #: What told the cluster from one built in its place when it got the completed release.
    identity: str = ""
    #: Why it has not got the completed release yet, one sentence; empty: nothing was said.
    reason: str = ""


_UNKNOWN = ClusterRelease()


@dataclass(frozen=True, slots=True)
class ClusterReleases:
    """What every cluster runs of the application; kept with it."""

    #: The last completed release; empty: there is none, or it was never looked at.
    completed: str = ""
    clusters: Mapping[str, ClusterRelease] = field(default_factory=dict)

    def of(self, name: str) -> ClusterRelease:
        """Return what a cluster runs."""
        return self.clusters.get(name, _UNKNOWN)

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

    def with_reasons(self, reasons: Mapping[str, str]) -> "ClusterReleases":
        """Return them with why clusters have not got the release; of the others nothing is said."""
        names = dict.fromkeys((*self.clusters, *reasons))
        return self._with(
            {name: replace(self.of(name), reason=reasons.get(name, "")) for name in names}
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
        name: ClusterRelease(
            releases.of(name).commit or commit, ReleaseState.COVERED, identity(name)
        )
        for name in names
    }
    return replace(releases._with(covered), completed=commit)


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
            {name: replace(releases.of(name), commit=run.commit) for name in held}
        )
    changed = {}
    for name, one in releases.clusters.items():
        is_none = one.state is ReleaseState.NONE
        changed[name] = replace(
            one, state=one.state if is_none else ReleaseState.MISSED, identity="", reason=""
        )
    for cluster in run.clusters:
        before = releases.of(cluster.name).commit or run.running_commit_of(cluster.name)
        changed[cluster.name] = (
            ClusterRelease(before, ReleaseState.MISSED)
            if cluster.left_out
            else ClusterRelease(run.commit, ReleaseState.COVERED, identity(cluster.name))
        )
    return replace(releases._with(changed), completed=run.commit)


def after_backfill(
    releases: ClusterReleases, run: state.Run, identity: Identity
) -> ClusterReleases:
    """Return what clusters run once a run that brought the release to some of them has ended."""
    done, changed = covered_by(run), {}
    for name in run.targets:
        before = releases.of(name)
        if name not in done:
            changed[name] = replace(before, reason=f"run {run.id}: {run.reason}")
        elif run.commit == releases.completed:
            changed[name] = ClusterRelease(run.commit, ReleaseState.COVERED, identity(name))
        else:
            changed[name] = replace(before, commit=run.commit)
    return releases._with(changed)


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
            changed[name] = ClusterRelease(commit, ReleaseState.COVERED, identity(name))
        else:
            changed[name] = replace(before, commit=commit)
    changed |= dict.fromkeys(removed, _UNKNOWN)
    return releases._with(changed)


def after_rollback(
    releases: ClusterReleases, run: state.Run, commit: str, identity: Identity
) -> ClusterReleases:
    """Return what clusters run once a run that rolled another one back has ended.

    A release counts as completed only if every cluster is proven back at the same one; else none
    does, so that none is brought to clusters that miss it.

    Args:
        releases: As it was kept last.
        run: It has ended.
        commit: What runs by then, where nothing else is known.
        identity: What tells a cluster from one built in its place.
    """
    held = rollback.commits_after(run)
    left = dict.fromkeys(rollback.clusters_left(run), run.commit)
    after = releases._with(
        {name: replace(releases.of(name), commit=one) for name, one in {**held, **left}.items()}
    )
    back = run.status is statuses.RunStatus.SUCCEEDED
    if back and commit and not after.exceptions(commit):
        covered = {
            name: ClusterRelease(commit, ReleaseState.COVERED, identity(name)) for name in held
        }
        return replace(after._with(covered), completed=commit)
    uncovered = {name: ClusterRelease(one.commit) for name, one in after.clusters.items()}
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
            name: replace(releases.of(name), identity=identity(name))
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
            changed[name] = replace(
                one, state=ReleaseState.NONE if missed else one.state, reason=""
            )
    return releases._with(changed)


def missing_reasons(releases: ClusterReleases) -> dict[str, str]:
    """Return the clusters that have not got the release, and what each waits for."""
    missed = dict.fromkeys(releases.missed, "the release went on without it")
    return {**missed, **releases.waiting}
