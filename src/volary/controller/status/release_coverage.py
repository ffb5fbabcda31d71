"""Which clusters have the last completed release, and what a run's end changes about it. Pure.

A release is *completed* once every stage is done on every cluster that the run did not go on
without, and those it went on without could not be reached, or were cordoned. Whoever joins, comes
back or was built anew gets it: never a release that stopped half-way, and never simply what is in
Git.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from volary.engine.runs import state
from volary.model import json, statuses

#: What tells a cluster from one built in its place; empty: not known.
Identity = Callable[[str], str]

_MISSED = (state.LeftOut.UNREACHABLE, state.LeftOut.CORDONED)
_GOOD = (statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.SKIPPED)


@dataclass(frozen=True, slots=True)
class ReleaseCoverage:
    """What is remembered; kept with the application."""

    #: The last completed release; empty: there is none, or it was never looked at.
    commit: str = ""
    #: Clusters that have it, with the identity of each at that time.
    clusters: Mapping[str, str] = field(default_factory=dict)
    #: Clusters that its run went, or began, without although they had the one before, and that
    #: have not got it since.
    behind: tuple[str, ...] = ()
    #: Why clusters have not got it yet, one sentence each.
    waiting: Mapping[str, str] = field(default_factory=dict)


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


def after_release(coverage: ReleaseCoverage, run: state.Run, identity: Identity) -> ReleaseCoverage:
    """Return what is known once a run that brought a release has ended."""
    if not is_completed(run):
        return coverage
    there = [cluster.name for cluster in run.clusters if not cluster.left_out]
    behind = [cluster.name for cluster in run.clusters if cluster.left_out]
    behind += [name for name in (*coverage.clusters, *coverage.behind) if name not in run.targets]
    clusters = {name: identity(name) for name in there}
    return ReleaseCoverage(run.commit, clusters, tuple(dict.fromkeys(behind)))


def commits_of_absent(coverage: ReleaseCoverage, run: state.Run) -> Mapping[str, str]:
    """Return what clusters run that had the last release and were no targets of this one."""
    if run.status is not statuses.RunStatus.SUCCEEDED or coverage.commit in ("", run.commit):
        return {}
    return dict.fromkeys(coverage.clusters.keys() - set(run.targets), coverage.commit)


def after_backfill(
    coverage: ReleaseCoverage, run: state.Run, identity: Identity
) -> ReleaseCoverage:
    """Return what is known once a run that brought the release to single clusters has ended."""
    if run.commit != coverage.commit:
        return coverage
    done = covered_by(run)
    clusters = {**coverage.clusters, **{name: identity(name) for name in done}}
    behind = tuple(name for name in coverage.behind if name not in done)
    waiting = {name: why for name, why in coverage.waiting.items() if name not in done}
    return replace(coverage, clusters=clusters, behind=behind, waiting=waiting)


def covered_by(run: state.Run) -> tuple[str, ...]:
    """Return the clusters on which every stage of a run succeeded and that it did not take back."""
    back = {task.target for task in run.rollback.tasks} if run.rollback else set()
    done = []
    for name in run.targets:
        tasks = [task for stage in run.stages if (task := stage.task(name)) is not None]
        good = all(task.status is statuses.TaskStatus.SUCCEEDED for task in tasks)
        if tasks and good and name not in back:
            done.append(name)
    return tuple(done)


def missing_clusters(
    coverage: ReleaseCoverage, names: Iterable[str], identity: Identity
) -> dict[str, str]:
    """Return the clusters among `names` that have not got the release, with the reason of each."""
    found = {}
    for name in names:
        had, now = coverage.clusters.get(name), identity(name)
        if had is None:
            absent = "the release went on without it"
            found[name] = absent if name in coverage.behind else "it was not there"
        elif had and now and had != now:
            found[name] = "it was built anew"
    return found


def restricted_to(coverage: ReleaseCoverage, names: Collection[str]) -> ReleaseCoverage:
    """Return what is known without the clusters that left the fleet missing anything."""
    behind = tuple(name for name in coverage.behind if name in names)
    waiting = {name: why for name, why in coverage.waiting.items() if name in names}
    return replace(coverage, behind=behind, waiting=waiting)


def missing_reasons(coverage: ReleaseCoverage) -> dict[str, str]:
    """Return the clusters that have not got the release, and what each waits for."""
    behind = dict.fromkeys(coverage.behind, "the release went on without it")
    return {**behind, **coverage.waiting}


def to_document(coverage: ReleaseCoverage) -> json.JsonObject:
    """Return it as JSON."""
    return {
        "commit": coverage.commit,
        "clusters": dict(coverage.clusters),
        "behind": list(coverage.behind),
        "waiting": dict(coverage.waiting),
    }


def from_document(document: json.JsonObject | None) -> ReleaseCoverage:
    """Read it; what an earlier version did not write is empty."""
    found = document or {}
    return ReleaseCoverage(
        found.get("commit", ""),
        dict(found.get("clusters") or {}),
        tuple(found.get("behind") or ()),
        dict(found.get("waiting") or {}),
    )
