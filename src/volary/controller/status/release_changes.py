"""What the end of a run changes about what clusters have of an application. Pure."""

from collections.abc import Collection
from dataclasses import replace

from msgspec import structs

from volary.controller.status import cluster_releases
from volary.engine.runs import rollback, state
from volary.model import statuses
from volary.placement.replicas import assignment

_MISSED = (state.LeftOut.UNREACHABLE, state.LeftOut.CORDONED)
_GOOD = (statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.SKIPPED)


def _covered(
    before: cluster_releases.ClusterRelease, commit: str, identity: str
) -> cluster_releases.ClusterRelease:
    """Return what a cluster has once it got the completed release."""
    return structs.replace(
        before,
        commit=commit,
        state=cluster_releases.ReleaseState.COVERED,
        identity=identity,
        reason="",
    )


def _uncovered(before: cluster_releases.ClusterRelease) -> cluster_releases.ClusterRelease:
    """Return what a cluster has that is not said to have the completed release any more."""
    return structs.replace(before, state=cluster_releases.ReleaseState.NONE, identity="", reason="")


def is_completed(run: state.Run) -> bool:
    """Say whether a run that has ended brought its release to all who were there."""
    if run.is_everywhere:
        return True
    if run.status is not statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS:
        return False
    left_out = [cluster for cluster in run.clusters if cluster.left_out]
    done = all(stage.status in _GOOD for stage in run.stages)
    missed = all(each.left_out_for in _MISSED for each in left_out)
    return done and missed and 0 < len(left_out) < len(run.clusters)


def after_release(
    releases: cluster_releases.ClusterReleases, run: state.Run, identity: cluster_releases.Identity
) -> cluster_releases.ClusterReleases:
    """Return what clusters run once a run that brought a release has ended."""
    if not is_completed(run):
        held = rollback.clusters_with_release(run)
        return releases.with_changed(
            {name: structs.replace(releases.of(name), commit=run.commit) for name in held}
        )
    changed = {}
    for name, one in releases.clusters.items():
        is_none = one.state is cluster_releases.ReleaseState.NONE
        changed[name] = structs.replace(
            one,
            state=one.state if is_none else cluster_releases.ReleaseState.MISSED,
            identity="",
            reason="",
        )
    for cluster in run.clusters:
        before = releases.of(cluster.name)
        changed[cluster.name] = (
            structs.replace(
                before,
                commit=before.commit or run.running_commit_of(cluster.name),
                state=cluster_releases.ReleaseState.MISSED,
                identity="",
                reason="",
            )
            if cluster.left_out
            else _covered(before, run.commit, identity(cluster.name))
        )
    return replace(
        releases.with_changed(changed),
        completed=run.commit,
        running=run.commit if run.is_everywhere else releases.running,
    )


def divided_by_release(
    releases: cluster_releases.ClusterReleases, run: state.Run, assigned: assignment.Assignment
) -> cluster_releases.ClusterReleases:
    """Return who has how many replicas once a run that brought a release has ended.

    Unless it succeeded only the clusters that hold the release have what it gave them.
    """
    if not run.is_everywhere:
        return releases.with_shares(assigned, rollback.clusters_with_release(run))
    had = {
        name: structs.replace(one, shares_before=one.shares)
        for name, one in releases.clusters.items()
    }
    return releases.with_changed(had).with_shares(
        assigned, (*releases.clusters, *assigned.clusters)
    )


def after_backfill(
    releases: cluster_releases.ClusterReleases, run: state.Run, identity: cluster_releases.Identity
) -> cluster_releases.ClusterReleases:
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
    after = releases.with_changed(changed)
    # Only by the release itself does a cluster miss it no longer.
    is_everywhere = releases.missed and not after.missed
    return replace(after, running=run.commit) if is_everywhere else after


def after_move(
    releases: cluster_releases.ClusterReleases,
    run: state.Run,
    placed: Collection[str],
    removed: Collection[str],
    identity: cluster_releases.Identity,
) -> cluster_releases.ClusterReleases:
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
        if before.state is cluster_releases.ReleaseState.NONE and commit == releases.completed:
            changed[name] = _covered(before, commit, identity(name))
        else:
            changed[name] = structs.replace(before, commit=commit)
    for name in removed:
        before = releases.of(name)
        changed[name] = cluster_releases.ClusterRelease(
            chosen=before.chosen, away=before.away, leaving=before.leaving, staying=before.staying
        )
    return releases.with_changed(changed)


def after_rollback(
    releases: cluster_releases.ClusterReleases,
    run: state.Run,
    assigned_before: assignment.Assignment,
    identity: cluster_releases.Identity,
) -> cluster_releases.ClusterReleases:
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
    after = releases.with_changed(
        {name: structs.replace(releases.of(name), commit=one) for name, one in commits.items()}
    )
    if run.status is statuses.RunStatus.SUCCEEDED:
        names = (*releases.clusters, *assigned_before.clusters)
        after = replace(after, running=run.running_commit).with_shares(assigned_before, names)
        if after.running and not after.exceptions(after.running):
            covered = {
                name: _covered(after.of(name), after.running, identity(name))
                if one
                else _uncovered(after.of(name))
                for name, one in held.items()
            }
            return replace(after.with_changed(covered), completed=after.running)
    else:
        after = after.with_shares(assigned_before, rollback.clusters_rolled_back(run))
    uncovered = {name: _uncovered(one) for name, one in after.clusters.items()}
    return replace(after.with_changed(uncovered), completed="")


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


def learned(
    releases: cluster_releases.ClusterReleases, identity: cluster_releases.Identity
) -> cluster_releases.ClusterReleases:
    """Return them with who clusters are that were not known when they got the release."""
    return releases.with_changed(
        {
            name: structs.replace(releases.of(name), identity=identity(name))
            for name in releases.covered
            if not releases.of(name).identity and identity(name)
        }
    )


def restricted_to(
    releases: cluster_releases.ClusterReleases, names: Collection[str]
) -> cluster_releases.ClusterReleases:
    """Return them without the clusters that left the fleet missing anything."""
    changed = {}
    for name, one in releases.clusters.items():
        if name not in names:
            missed = one.state is cluster_releases.ReleaseState.MISSED
            changed[name] = structs.replace(
                one, state=cluster_releases.ReleaseState.NONE if missed else one.state, reason=""
            )
    return releases.with_changed(changed)
