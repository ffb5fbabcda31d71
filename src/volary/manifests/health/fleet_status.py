"""Status of an application: in one cluster, and over all of them in one view.

Sums count only what was seen just now. A cluster that cannot be reached may still run
everything it ran, or nothing: its last known status stands beside the sums and is never
part of them, and while there is such a cluster the whole is not "healthy".
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from volary.manifests import objects
from volary.manifests.health import assessment, conditions, status_aggregation, workload_health
from volary.manifests.ownership import tracking
from volary.manifests.workloads import workloads
from volary.model import json, phrases
from volary.model.objects import manifest, object_health
from volary.model.pipeline import variant
from volary.model.statuses import HealthStatus

#: The worst first; what nobody knows is worse than what somebody has stopped.
SEVERITY = (
    HealthStatus.DEGRADED,
    HealthStatus.MISSING,
    HealthStatus.PROGRESSING,
    HealthStatus.UNKNOWN,
    HealthStatus.SUSPENDED,
    HealthStatus.HEALTHY,
)
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ObjectStatus:
    """One object in one cluster."""

    key: manifest.ResourceKey
    health: object_health.Health
    commit: str = ""
    variant: str = ""
    #: Pods of its newest revision; 0 of 0 for what runs none.
    ready: int = 0
    total: int = 0
    images: tuple[str, ...] = ()
    #: What `status_aggregation` needs of it; empty when it is missing.
    aggregated_fields: json.JsonObject = field(default_factory=dict)
    #: Its controller has seen the newest generation.
    observed: bool = True


@dataclass(frozen=True, slots=True)
class VariantStatus:
    """What a variant runs in one cluster, or in all."""

    name: str
    commits: tuple[str, ...]
    images: tuple[str, ...]
    ready: int
    total: int


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """What there is in one cluster."""

    health: object_health.Health
    objects: tuple[ObjectStatus, ...] = ()
    #: What runs, as its inventory says; else of primary's workloads, where more than one says that
    #: it is between two releases.
    commits: tuple[str, ...] = ()
    variants: tuple[VariantStatus, ...] = ()
    ready: int = 0
    total: int = 0
    #: What could not be looked at.
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """One cluster's part in the whole."""

    cluster: str
    #: As it is, or as it was last known; None: never seen.
    state: ClusterStatus | None = None
    #: When that was.
    seen: datetime | None = None
    #: Why it cannot be seen now; empty: it was seen just now.
    unreachable_reason: str = ""
    #: Since when.
    silent_since: datetime | None = None
    #: The application is for this cluster.
    wanted: bool = True

    @property
    def current(self) -> ClusterStatus | None:
        """What was seen just now; None: nothing was."""
        return None if self.unreachable_reason else self.state


@dataclass(frozen=True, slots=True)
class ObjectSummary:
    """One object over the clusters that have it."""

    key: manifest.ResourceKey
    clusters: tuple[str, ...]
    #: In how many of them its newest generation was seen by its controller.
    observed: int
    ready: int
    total: int
    #: As `status_aggregation` says for its kind.
    status: json.JsonObject
    #: How many clusters by health.
    health: Mapping[HealthStatus, int]


@dataclass(frozen=True, slots=True)
class Release:
    """A commit, and where it runs."""

    commit: str
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """An application over all its clusters."""

    health: object_health.Health
    releases: tuple[Release, ...]
    variants: tuple[VariantStatus, ...]
    objects: tuple[ObjectSummary, ...]
    ready: int
    total: int
    clusters: tuple[ClusterReport, ...]


def of_cluster(
    live: Iterable[json.JsonObject],
    missing: Iterable[manifest.ResourceKey] = (),
    *,
    rules: Sequence[object_health.Rule] = (),
    warnings: Sequence[str] = (),
    commit: str = "",
) -> ClusterStatus:
    """Return what there is in one cluster.

    Args:
        live: The application's objects, as they are.
        missing: What was applied and is not there.
        rules: The user's, of health.
        warnings: What could not be looked at.
        commit: The commit that runs, as the cluster's inventory says; empty: it does not.
    """
    entries = [_object(body, rules) for body in live]
    entries += [ObjectStatus(key, assessment.MISSING) for key in missing]
    ordered = tuple(sorted(entries, key=lambda entry: entry.key))
    return ClusterStatus(
        health=_worst_of(ordered),
        objects=ordered,
        commits=(commit,) if commit else _release(ordered),
        variants=_variants(ordered, commit),
        ready=sum(entry.ready for entry in ordered),
        total=sum(entry.total for entry in ordered),
        warnings=tuple(warnings),
    )


def of_fleet(reports: Sequence[ClusterReport]) -> FleetStatus:
    """Return the whole of what was seen, in the order of `reports`.

    Clusters that the application is not for count only where there is something of it.
    """
    shown = [
        report for report in reports if report.wanted or (report.state and report.state.objects)
    ]
    current = {
        report.cluster: cluster_status
        for report in shown
        if (cluster_status := report.current) is not None
    }
    return FleetStatus(
        health=_overall(shown),
        releases=_releases(current),
        variants=_all_variants(current),
        objects=_sums(current),
        ready=sum(state.ready for state in current.values()),
        total=sum(state.total for state in current.values()),
        clusters=tuple(shown),
    )


def numbers(cluster: str, entry: ObjectStatus) -> json.JsonObject:
    """Return the numbers of one object in one cluster, in the words of its kind."""
    return status_aggregation.aggregate(
        {cluster: entry.aggregated_fields} if entry.aggregated_fields else {}
    )


def _object(body: json.JsonObject, rules: Sequence[object_health.Rule]) -> ObjectStatus:
    item = manifest.Manifest(body)
    ready, total = workload_health.pod_counts(body)
    spec = workloads.pod_spec(body)
    images = (
        objects.text(container, "image") for container in objects.mappings(spec, "containers")
    )
    return ObjectStatus(
        item.key,
        assessment.assess(body, rules),
        tracking.commit_of(body),
        objects.text(body, "metadata", "annotations", tracking.VARIANT),
        ready,
        total,
        tuple(sorted({image for image in images if image})),
        status_aggregation.aggregated_fields(body),
        conditions.unobserved(body) is None,
    )


def _worst_of(entries: Sequence[ObjectStatus]) -> object_health.Health:
    if not entries:
        return object_health.Health(HealthStatus.MISSING, "nothing of it is there")
    worst = min((entry.health.status for entry in entries), key=SEVERITY.index)
    if worst is HealthStatus.HEALTHY:
        return object_health.Health(worst, f"{phrases.count(len(entries), 'object')} healthy")
    named = [
        f"{entry.key.title}: {entry.health.reason}"
        for entry in entries
        if entry.health.status is worst
    ]
    return object_health.Health(worst, phrases.first_of(named, _SHOWN, "; "))


def _overall(reports: Sequence[ClusterReport]) -> object_health.Health:
    """Return the worst health; where a cluster cannot be seen, at best unknown."""
    silent = [report.cluster for report in reports if report.unreachable_reason]
    current = {
        report.cluster: cluster_status.health
        for report in reports
        if (cluster_status := report.current)
    }
    if not current and not silent:
        return object_health.Health(HealthStatus.UNKNOWN, "no cluster is known for it")
    worst = min((health.status for health in current.values()), key=SEVERITY.index, default=None)
    if silent and (worst is None or SEVERITY.index(worst) >= SEVERITY.index(HealthStatus.UNKNOWN)):
        return object_health.Health(
            HealthStatus.UNKNOWN, f"{phrases.first_of(silent, _SHOWN)} cannot be seen"
        )
    if worst is None or worst is HealthStatus.HEALTHY:
        reason = f"healthy in {phrases.count(len(current), 'cluster')}"
        return object_health.Health(HealthStatus.HEALTHY, reason)
    named: dict[str, list[str]] = defaultdict(list)
    for name, cluster_health in current.items():
        if cluster_health.status is worst:
            named[cluster_health.reason].append(name)
    said = [f"{phrases.first_of(names, _SHOWN)}: {reason}" for reason, names in named.items()]
    return object_health.Health(worst, phrases.first_of(said, _SHOWN, "; "))


def _release(entries: Sequence[ObjectStatus]) -> tuple[str, ...]:
    """Return the commits of primary's workloads; without workloads those of all objects."""
    ours = [
        entry
        for entry in entries
        if entry.commit and entry.variant in ("", variant.Variant.PRIMARY)
    ]
    running = [our for our in ours if our.total or our.images]
    return tuple(sorted({entry.commit for entry in running or ours}))


def _releases(current: Mapping[str, ClusterStatus]) -> tuple[Release, ...]:
    by_commit: dict[str, list[str]] = defaultdict(list)
    for name, state in current.items():
        for commit in state.commits:
            by_commit[commit].append(name)
    ordered = sorted(by_commit.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return tuple(Release(commit, tuple(names)) for commit, names in ordered)


def _variants(entries: Sequence[ObjectStatus], commit: str = "") -> tuple[VariantStatus, ...]:
    """Return what each variant runs; objects say who changed them last, `commit` what runs."""
    running = [entry for entry in entries if entry.total or entry.images]
    names = sorted({entry.variant for entry in running}, key=_place)
    return tuple(
        _variant(name, [entry for entry in running if entry.variant == name], commit)
        for name in names
    )


def _variant(name: str, entries: Sequence[ObjectStatus], commit: str) -> VariantStatus:
    is_primary = name in ("", variant.Variant.PRIMARY)
    commits = {commit} if commit and is_primary else {entry.commit for entry in entries}
    return VariantStatus(
        name or variant.Variant.PRIMARY.value,
        tuple(sorted(commits - {""})),
        tuple(sorted({image for entry in entries for image in entry.images})),
        sum(entry.ready for entry in entries),
        sum(entry.total for entry in entries),
    )


def _all_variants(current: Mapping[str, ClusterStatus]) -> tuple[VariantStatus, ...]:
    """Return the variants of all clusters, those of one name together."""
    by_name: dict[str, list[VariantStatus]] = defaultdict(list)
    for state in current.values():
        for known in state.variants:
            by_name[known.name].append(known)
    return tuple(
        VariantStatus(
            name,
            tuple(sorted({commit for known in by_name[name] for commit in known.commits})),
            tuple(sorted({image for known in by_name[name] for image in known.images})),
            sum(known.ready for known in by_name[name]),
            sum(known.total for known in by_name[name]),
        )
        for name in sorted(by_name, key=_place)
    )


def _place(name: str) -> tuple[int, str]:
    known = [known_variant.value for known_variant in variant.Variant]
    return (known.index(name) if name in known else len(known), name)


def _sums(current: Mapping[str, ClusterStatus]) -> tuple[ObjectSummary, ...]:
    by_key: dict[manifest.ResourceKey, dict[str, ObjectStatus]] = defaultdict(dict)
    for name, state in current.items():
        for entry in state.objects:
            by_key[entry.key][name] = entry
    return tuple(_sum(key, by_key[key]) for key in sorted(by_key))


def _sum(
    key: manifest.ResourceKey, statuses_by_cluster: Mapping[str, ObjectStatus]
) -> ObjectSummary:
    entries = statuses_by_cluster.values()
    return ObjectSummary(
        key,
        tuple(statuses_by_cluster),
        sum(entry.observed for entry in entries),
        sum(entry.ready for entry in entries),
        sum(entry.total for entry in entries),
        status_aggregation.aggregate(
            {
                name: entry.aggregated_fields
                for name, entry in statuses_by_cluster.items()
                if entry.aggregated_fields
            }
        ),
        Counter(sorted((entry.health.status for entry in entries), key=SEVERITY.index)),
    )
