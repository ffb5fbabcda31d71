"""What the first screen says about applications, runs and clusters as they are kept. Pure.

What needs a person comes first: each with the sentence that `volary explain` says. Then the runs
under way, a line each, and what of each application runs where.
"""

import collections
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from volary.controller.api import cluster_service, conversions
from volary.controller.api.screens import overview_representations
from volary.controller.status import application_statuses, cluster_releases, run_admission
from volary.engine.observers import explanations
from volary.engine.runs import rollback, state
from volary.engine.state_machine import deadlines, failures
from volary.model import phrases, statuses
from volary.model.fleet import cluster_health, fleets
from volary.model.objects import ownership
from volary.model.statuses import RunStatus, TaskStatus
from volary.store import records

#: What a person has to do something about, the most urgent first.
KINDS = (
    "held",
    "approval",
    "failed",
    "clusterUnreachable",
    "rolledBack",
    "refusedCommit",
    "broken",
    "clusterNotReady",
    "outOfSync",
    "paused",
)
_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}
#: How runs are that have not ended.
UNFINISHED = frozenset(
    {
        RunStatus.PENDING,
        RunStatus.PLANNED,
        RunStatus.RUNNING,
        RunStatus.WAITING,
        RunStatus.ROLLING_BACK,
    }
)
#: Columns at most; what is in further ones is summed in the last.
_MOST_PLACES = 12
_OTHERS = "others"
#: Values of a facet at most.
_MOST_VALUES = 50
#: Labels by which clusters are of an environment.
_ENVIRONMENT = ("env", "environment")
_TEAM = "team"
#: So many characters of a commit are worth a search for one.
_SHORTEST_COMMIT = 4
_WORDS = application_statuses.StatusWord
#: By the status of an application: what kind of trouble it is in.
_TROUBLES = {
    _WORDS.FAILED.value: "failed",
    _WORDS.ROLLED_BACK.value: "rolledBack",
    _WORDS.OUT_OF_SYNC.value: "outOfSync",
    _WORDS.BROKEN.value: "broken",
    _WORDS.UNREADABLE.value: "broken",
    _WORDS.ORPHANED.value: "broken",
}
#: Of which it matters whether there is a run, and when it ended.
_OF_RUNS = (_WORDS.FAILED.value, _WORDS.ROLLED_BACK.value, _WORDS.OUT_OF_SYNC.value)
_CLUSTER_TROUBLES = {
    cluster_health.ClusterState.UNREACHABLE.value: "clusterUnreachable",
    cluster_health.ClusterState.NOT_READY.value: "clusterNotReady",
}
_GOOD_TASKS = (TaskStatus.SUCCEEDED, TaskStatus.SKIPPED)


@dataclass(frozen=True, slots=True)
class ApplicationLine:
    """What the overview needs to know of an application."""

    name: str
    project: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    status: str = _WORDS.UNKNOWN.value
    reason: str = ""
    head: str = ""
    #: Id of the run under way, or of the last one; it may have been refused before it existed.
    run: str = ""
    running_commit: str = ""
    updated: datetime | None = None
    pause: state.Pause | None = None
    #: Why nothing of it begins; empty: it may.
    unowned: str = ""
    #: The commit on each cluster that has one.
    commits: Mapping[str, str] = field(default_factory=dict)
    #: Where it is, or is to be.
    clusters: frozenset[str] = frozenset()
    #: Clusters that have not got the last completed release, and why.
    missing: Mapping[str, str] = field(default_factory=dict)
    #: By cluster: whose its objects are there.
    owners: Mapping[str, ownership.Owner] = field(default_factory=dict)
    #: Clusters that were not as Git says when they were compared last.
    drifted: frozenset[str] = frozenset()
    #: Since when it drifts, and is out of sync for nothing else; None: it is not.
    drifts_since: datetime | None = None

    @property
    def trouble(self) -> str:
        """The kind of trouble that it is in by itself; empty: in none."""
        if self.unowned:
            return "broken"
        return _TROUBLES.get(self.status, "") or ("paused" if self.pause else "")

    @property
    def asked_run(self) -> str:
        """The run that says more about the trouble it is in; empty: none does."""
        return self.run if self.status in _OF_RUNS else ""


def of_record(known: records.ApplicationRecord) -> ApplicationLine:
    """Return what the overview needs to know of an application; of one that is unreadable, why."""
    if why := application_statuses.why_unreadable(known):
        return ApplicationLine(
            known.name,
            known.project,
            dict(known.labels),
            status=_WORDS.UNREADABLE.value,
            reason=why,
            updated=known.updated,
        )
    status = application_statuses.from_document(known.document)
    missing = cluster_releases.missing_reasons(status.releases)
    return ApplicationLine(
        known.name,
        known.project,
        dict(known.labels),
        known.status or _WORDS.UNKNOWN.value,
        known.reason,
        status.head,
        status.run,
        status.releases.running,
        known.updated,
        status.pause,
        status.unowned,
        {name: one.commit for name, one in status.releases.clusters.items() if one.commit},
        status.present_on | missing.keys(),
        missing,
        dict(status.owners),
        frozenset(status.drift.clusters),
        status.drift.since if status.drift.reason_before else None,
    )


class ClusterFacts(Protocol):
    """What is seen in clusters of applications, besides what was released."""

    def health(self, line: ApplicationLine, cluster: str) -> str:
        """Return how it is there, as in the live tree; ``unknown``: nobody looks."""

    def drift(self, line: ApplicationLine, cluster: str) -> str:
        """Return ``inSync``, ``outOfSync`` or ``unknown``."""


class NothingSeen:
    """Nobody looks into clusters here: what is there is not known."""

    def health(self, line: ApplicationLine, cluster: str) -> str:
        """Return that it is not known."""
        return "unknown"

    def drift(self, line: ApplicationLine, cluster: str) -> str:
        """Return that it is not known."""
        return "unknown"


# Where: columns.


@dataclass(frozen=True, slots=True)
class Places:
    """The columns that clusters are summed in."""

    #: ``environment``, ``region`` or ``cluster``.
    by: str = "cluster"
    names: tuple[str, ...] = ()
    #: By cluster; one that is not there is in none.
    of_clusters: Mapping[str, str] = field(default_factory=dict)


def places_of(members: Sequence[fleets.Cluster]) -> Places:
    """Return the columns: environments, where clusters say theirs, else regions, else clusters."""
    for by, place_of in (("environment", _environment), ("region", _region)):
        if any(map(place_of, members)):
            return _bounded(by, {one.name: place_of(one) or _OTHERS for one in members})
    return _bounded("cluster", {one.name: one.name for one in members})


def _environment(cluster: fleets.Cluster) -> str:
    return next((cluster.labels[key] for key in _ENVIRONMENT if cluster.labels.get(key)), "")


def _region(cluster: fleets.Cluster) -> str:
    return cluster.region or cluster.labels.get("region", "")


def _bounded(by: str, of_clusters: Mapping[str, str]) -> Places:
    names = [name for name in dict.fromkeys(of_clusters.values()) if name != _OTHERS]
    if len(names) > _MOST_PLACES:
        names = names[: _MOST_PLACES - 1]
    shown = {
        cluster: place if place in names else _OTHERS for cluster, place in of_clusters.items()
    }
    others = (_OTHERS,) if _OTHERS in shown.values() else ()
    return Places(by, (*names, *others), shown)


# What needs a person.


def attention_of(
    line: ApplicationLine, summary: records.RunSummary | None, run: state.Run | None
) -> overview_representations.Attention | None:
    """Return what a person has to do about an application; None: nothing.

    Args:
        line: The application.
        summary: Its run under way, or what its trouble is about; None: there is none.
        run: That run as a whole, where it waits; None: it does not, or cannot be read.
    """
    if summary is not None and summary.head.finished is None:
        asked = _of_run(line, summary, run)
        if asked is not None:
            return asked
    kind = line.trouble
    if kind in ("", "paused") and line.pause is not None:
        return _attention(
            "paused",
            line,
            f"the application is {run_admission.describe_pause(line.pause)}",
            since=line.pause.at,
            command=f"volary resume {line.name} --application",
        )
    if not kind:
        return None
    if kind == "outOfSync" and line.drifts_since is not None:
        return _attention(
            kind,
            line,
            line.reason,
            run=summary.head.id if summary else "",
            since=line.drifts_since,
            command=f"volary diff {line.name}",
            clusters=tuple(sorted(line.drifted)),
        )
    if kind == "failed" and (summary is None or summary.head.started is None):
        kind = "refusedCommit"
    ended = summary.head.finished if summary is not None else None
    return _attention(
        kind,
        line,
        line.unowned or line.reason,
        run=summary.head.id if summary else "",
        since=ended or line.updated,
        command=f"volary explain {line.name}" if summary else f"volary describe {line.name}",
        clusters=tuple(sorted(line.missing)) if kind == "outOfSync" else (),
    )


def _of_run(
    line: ApplicationLine, summary: records.RunSummary, run: state.Run | None
) -> overview_representations.Attention | None:
    """Return what a run under way wants of a person; None: nothing."""
    if summary.unreadable:
        return _attention(
            "broken",
            line,
            f"what is stored of run {summary.head.id} cannot be read: {summary.unreadable}",
            run=summary.head.id,
            since=summary.head.started or summary.head.created,
            command=f"volary abandon {summary.head.id} --reason TEXT",
        )
    if run is None or run.is_final or not deadlines.is_waiting_for_person(run):
        return None
    group = deadlines.waiting_group(run)
    stage, since, clusters = run.current, run.clock_stopped, tuple[str, ...]()
    if run.held:
        kind, clusters = "held", tuple(task.target for task in failures.of_stage(run))
    elif run.pause:
        kind, since = "paused", run.pause.at
    else:
        kind = "approval"
        if group is not None:
            since, clusters = group.asked, tuple(task.target for task in group.tasks)
    return _attention(
        kind,
        line,
        explanations.waiting_reason(run),
        run=run.id,
        stage=stage.id,
        wave=stage.wave,
        clusters=clusters,
        since=since,
        command=explanations.next_commands(run)[0],
    )


def _attention(
    kind: str,
    line: ApplicationLine,
    sentence: str,
    *,
    run: str = "",
    stage: str = "",
    wave: str = "",
    clusters: tuple[str, ...] = (),
    since: datetime | None = None,
    command: str = "",
) -> overview_representations.Attention:
    return overview_representations.Attention(
        kind=kind,
        rank=_RANKS[kind],
        application=line.name,
        run=run,
        stage=stage,
        wave=wave,
        clusters=clusters,
        sentence=sentence,
        since=since,
        command=command,
        applications=0,
    )


def attention_of_cluster(
    cluster: cluster_service.Cluster,
    lines: Iterable[ApplicationLine],
    targets: Mapping[str, Collection[str]],
) -> overview_representations.Attention | None:
    """Return what a person has to do about a cluster; None: nothing.

    Args:
        cluster: As it is known.
        lines: Applications of which it is counted how many wait for it.
        targets: By application: the clusters of its run under way.
    """
    kind = _CLUSTER_TROUBLES.get(cluster.status)
    if kind is None:
        return None
    there, held_up = 0, 0
    for line in lines:
        there += cluster.name in line.clusters
        held_up += cluster.name in line.missing or cluster.name in targets.get(line.name, ())
    what = "unreachable" if kind == "clusterUnreachable" else "not ready"
    why = f": {cluster.reason}" if cluster.reason else ""
    return overview_representations.Attention(
        kind=kind,
        rank=_RANKS[kind],
        application="",
        run="",
        stage="",
        wave="",
        clusters=(cluster.name,),
        sentence=(
            f"{cluster.name} is {what}{why}; {phrases.count(there, 'application')} there,"
            f" {held_up} held up by it"
        ),
        since=cluster.since,
        command=f"volary cluster get {cluster.name}",
        applications=held_up,
    )


def by_urgency(
    attention: overview_representations.Attention,
) -> tuple[int, float, str, tuple[str, ...]]:
    """Return what attention is sorted by: the most urgent kind, then what waits longest."""
    since = attention.since.timestamp() if attention.since else 0.0
    return (attention.rank, since, attention.application, attention.clusters)


# What is under way.


def running_line(
    summary: records.RunSummary, run: state.Run | None
) -> overview_representations.RunningRun:
    """Return a run under way as a line; None: it cannot be read, so its head has to do."""
    head = summary.head
    stages = run.stages if run else ()
    weight = canary_weight(run) if run else None
    return overview_representations.RunningRun(
        run=head.id,
        application=head.application,
        commit=head.commit,
        subject=conversions.of_summary(summary).subject,
        status=head.status.value,
        sentence=explanations.waiting_reason(run) if run else head.reason,
        stages_done=sum(stage.status in _GOOD_TASKS for stage in stages),
        stages_total=len(stages),
        clusters_done=sum(1 for name in run.targets if _is_done(run, name)) if run else 0,
        clusters_total=len(run.clusters) if run else 0,
        clusters_failed=len(_failed(run)) if run else 0,
        canary_weight=weight,
        started=head.started,
    )


def targets_of(summary: records.RunSummary) -> tuple[str, ...]:
    """Return the clusters of a run, without reading it as a whole."""
    return conversions.of_summary(summary).targets


def _is_done(run: state.Run, cluster: str) -> bool:
    """Say whether a run has nothing left to do on a cluster, and did all of it well."""
    tasks = [task for stage in run.stages if (task := stage.task(cluster)) is not None]
    return bool(tasks) and all(task.status in _GOOD_TASKS for task in tasks)


def _failed(run: state.Run) -> frozenset[str]:
    """Return the clusters on which something failed, or that the run went on without for it."""
    left = {
        cluster.name
        for cluster in run.clusters
        if cluster.left_out_for in (state.LeftOut.FAILED, state.LeftOut.UNREACHABLE)
    }
    return frozenset(left | {task.target for task in failures.of_stage(run)})


def canary_weight(run: state.Run) -> int | None:
    """Return the largest share of traffic that the canary has on a cluster; None: not routed.

    As read back where it was, else as asked for; of the last stage that routed anything.
    """
    for stage in reversed(run.stages[: run.position + 1]):
        weights = [
            (task.progress.observed_weights or task.progress.wanted_weights).get("canary", 0)
            for task in stage.tasks
            if task.progress is not None and task.progress.wanted_weights
        ]
        if weights:
            return max(weights)
    return None


def by_trouble(line: overview_representations.RunningRun) -> tuple[bool, float, str]:
    """Return what runs under way are sorted by: those with failures, then the newest."""
    started = line.started.timestamp() if line.started else 0.0
    return (line.clusters_failed == 0, -started, line.run)


# What runs where.


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which applications are wanted; what is empty does not narrow it."""

    #: Part of a name, a project or a label, or the beginning of a commit.
    search: str = ""
    project: str = ""
    status: str = ""
    team: str = ""
    cluster: str = ""
    region: str = ""
    #: Labels with their values, all of them.
    labels: tuple[tuple[str, str], ...] = ()

    def takes(self, line: ApplicationLine, regions: Mapping[str, str]) -> bool:
        """Say whether an application is wanted; `regions` are those of clusters."""
        return (
            self.project in ("", line.project)
            and self.status in ("", line.status)
            and self.team in ("", line.labels.get(_TEAM))
            and (not self.cluster or self.cluster in line.clusters)
            and (not self.region or any(regions.get(one) == self.region for one in line.clusters))
            and set(self.labels) <= line.labels.items()
            and (not self.search or _matches(line, self.search.lower()))
        )


def _matches(line: ApplicationLine, text: str) -> bool:
    words = (line.name, line.project, *(f"{key}={value}" for key, value in line.labels.items()))
    if any(text in word.lower() for word in words):
        return True
    commits = (line.head, line.running_commit, *line.commits.values())
    return len(text) >= _SHORTEST_COMMIT and any(one.startswith(text) for one in commits)


def row_key(line: ApplicationLine, kind: str) -> tuple[int, str]:
    """Return what rows are sorted by: what needs a person, then what moves, then by name."""
    if kind:
        return (0, line.name)
    moves = line.status in (_WORDS.RUNNING.value, _WORDS.WAITING.value)
    return (1 if moves or line.status == _WORDS.CANCELLED.value else 2, line.name)


def row(
    line: ApplicationLine,
    run: state.Run | None,
    places: Places,
    *,
    released: datetime | None,
    seen: ClusterFacts,
) -> overview_representations.ApplicationRow:
    """Return an application as a line of the overview.

    Args:
        line: The application.
        run: The one under way; None: none is, or it cannot be read.
        places: The columns.
        released: When a run of it ended well last.
        seen: What is seen in the clusters.
    """
    commits = dict(line.commits)
    if run is not None:
        commits |= dict.fromkeys(rollback.clusters_promoted(run), run.commit)
    newest = run.commit if run is not None and run.rollback is None else line.running_commit
    facts = _WhileRemoving(seen, _removing(run)) if run is not None else seen
    by_place: dict[str, list[str]] = {}
    for cluster in sorted(line.clusters | commits.keys()):
        if place := places.of_clusters.get(cluster):
            by_place.setdefault(place, []).append(cluster)
    return overview_representations.ApplicationRow(
        name=line.name,
        project=line.project,
        labels=line.labels,
        status=line.status,
        reason=line.reason,
        running_commit=line.running_commit,
        head=line.head,
        run=line.run,
        run_status=run.status.value if run is not None else "",
        released=released,
        places=tuple(
            _place(line, place, by_place[place], commits, newest, facts)
            for place in places.names
            if place in by_place
        ),
    )


def _removing(run: state.Run) -> frozenset[str]:
    """Return the clusters where a run is taking objects away: that is written down afterwards."""
    if not run.stages or (run.rollback is None and run.current.stage.kind.removes is None):
        return frozenset()
    return frozenset(task.target for task in run.current.running)


@dataclass(frozen=True, slots=True)
class _WhileRemoving:
    """What is seen in clusters while a run takes objects away: those are not missing."""

    seen: ClusterFacts
    clusters: frozenset[str]

    def health(self, line: ApplicationLine, cluster: str) -> str:
        word = self.seen.health(line, cluster)
        is_removed = word == statuses.HealthStatus.MISSING.value and cluster in self.clusters
        return statuses.HealthStatus.PROGRESSING.value if is_removed else word

    def drift(self, line: ApplicationLine, cluster: str) -> str:
        return self.seen.drift(line, cluster)


def _place(
    line: ApplicationLine,
    place: str,
    clusters: Sequence[str],
    commits: Mapping[str, str],
    newest: str,
    seen: ClusterFacts,
) -> overview_representations.PlaceCommit:
    counted = collections.Counter(commits[one] for one in clusters if commits.get(one))
    # Of as many clusters each, the newer one first.
    order = sorted(counted, key=lambda commit: (-counted[commit], commit != newest, commit))
    latest = newest if newest in counted else next(iter(order), "")
    return overview_representations.PlaceCommit(
        place=place,
        commits=tuple(order),
        clusters=len(clusters),
        current=counted[latest] if latest else 0,
        health=_worst((seen.health(line, one) for one in clusters), _WORST_HEALTH),
        drift=_worst((seen.drift(line, one) for one in clusters), _WORST_DRIFT),
    )


_WORST_HEALTH = (
    statuses.HealthStatus.DEGRADED.value,
    statuses.HealthStatus.MISSING.value,
    statuses.HealthStatus.UNKNOWN.value,
    statuses.HealthStatus.PROGRESSING.value,
    statuses.HealthStatus.SUSPENDED.value,
    statuses.HealthStatus.HEALTHY.value,
)
_WORST_DRIFT = ("outOfSync", "unknown", "inSync")


def _worst(words: Iterable[str], order: Sequence[str]) -> str:
    """Return the word of some that comes first in an order; unknown: there is none."""
    there = set(words)
    return next((word for word in order if word in there), "unknown")


# What it can be narrowed to.


def facets_of(
    lines: Sequence[ApplicationLine], regions: Mapping[str, str]
) -> dict[str, tuple[overview_representations.Facet, ...]]:
    """Return by what applications can be narrowed, the values in most of them first.

    Args:
        lines: The applications.
        regions: Of the clusters that may be named.
    """
    values: dict[str, Callable[[ApplicationLine], Iterable[str]]] = {
        "project": lambda line: (line.project,),
        "status": lambda line: (line.status,),
        "region": lambda line: {regions.get(one, "") for one in line.clusters},
        "cluster": lambda line: (one for one in line.clusters if one in regions),
        "team": lambda line: (line.labels.get(_TEAM, ""),),
    }
    return {
        name: _facet(value for line in lines for value in of(line)) for name, of in values.items()
    }


def _facet(values: Iterable[str]) -> tuple[overview_representations.Facet, ...]:
    counted = collections.Counter(value for value in values if value)
    first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:_MOST_VALUES]
    return tuple(overview_representations.Facet(value, count) for value, count in first)


def regions_of(members: Iterable[fleets.Cluster]) -> dict[str, str]:
    """Return the region of each cluster; empty: it says none."""
    return {member.name: _region(member) for member in members}


def sentence(
    attention: Iterable[overview_representations.Attention], applications: int, running: int
) -> str:
    """Return how it is altogether: ``2 of 41 applications need you; 3 runs are under way``."""
    needed = {one.application or one.clusters[0]: one for one in attention}
    clusters = sum(1 for one in needed.values() if not one.application)
    many = len(needed) - clusters
    parts = [
        f"{many} of {phrases.count(applications, 'application')}"
        f" {'needs' if many == 1 else 'need'} you"
        if many
        else f"none of {phrases.count(applications, 'application')} needs you"
    ]
    if clusters:
        are = "is" if clusters == 1 else "are"
        parts.append(f"{phrases.count(clusters, 'cluster')} {are} not ready")
    if running:
        parts.append(f"{phrases.count(running, 'run')} {'is' if running == 1 else 'are'} under way")
    return "; ".join(parts)
