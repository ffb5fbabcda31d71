"""Compares applications with Git: for the loop, and for people, who share what was found last.

Each cluster is compared with the commit that it is on, as it was rolled out: with its variants,
patches, overrides and its share of replicas. Clusters of a run under way are left alone, and of
those that cannot be read nothing is said but that.

What watches tell of a cluster is not asked for; one that was in sync, and of which they have told
nothing since, is not even compared.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.clusters.client import client_pool, clients
from volary.clusters.observe import drifts
from volary.concurrency import fan_out, work_threads
from volary.controller.drift import comparisons
from volary.controller.planning import (
    cluster_questions,
    opened_applications,
    replica_assignment,
    run_renderer,
    run_sources,
)
from volary.controller.runs import ready_runs
from volary.controller.status import application_state, drift_states, run_origins
from volary.livestate import live_objects
from volary.manifests import redaction
from volary.model import applications, drift_rules, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest, ownership
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering
from volary.store import stores

_Word = drift_states.SyncWord
#: Told of a cluster, of whom something is there, and of which objects; None: of all.
Tell = Callable[[str, ownership.Owner, frozenset[manifest.ResourceKey] | None], None]
#: Applications whose last answer is kept.
_MOST = 2000
#: Clusters that are asked at once for one application.
_AT_ONCE = 32
#: How long an answer is good enough for people.
_MEMORY = timedelta(seconds=10)
#: How long a cluster in sync need not be compared while nothing is heard of it: what nobody watches
#: counts too, as autoscalers that others made.
_QUIET = timedelta(minutes=20)


#: From what a comparison of a cluster was made: another one when anything of it has changed.
_Source = tuple[int, fleets.Fleet]


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    signature: object = None
    last: comparisons.Comparison | None = None
    #: By cluster: from what the last answer was made.
    sources: "Mapping[str, _Source]" = field(default_factory=dict)


class Comparer:
    """Asks clusters what is not as Git says; one per process.

    Args:
        store: Where runs under way are looked up.
        dependencies: What applications are opened, rendered and read with.
        default_mode: What is done where an application's file does not say so.
        is_away: Says that a cluster is known not to answer.
        live: What watches tell of clusters.
        tell: Told of each cluster and owner whose comparison has come to another result.
    """

    def __init__(
        self,
        store: stores.Store,
        dependencies: ready_runs.Dependencies,
        default_mode: drift_rules.DriftMode,
        is_away: Callable[[str], bool],
        live: live_objects.LiveObjects,
        tell: Tell = lambda _cluster, _owner, _objects: None,
    ) -> None:
        self._tell = tell
        self._store = store
        self._dependencies = dependencies
        self._default_mode = default_mode
        self._is_away = is_away
        self._live = live
        self._confirmations = drifts.Confirmations()
        #: By project and application.
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()

    async def compare(
        self, known: application_state.ApplicationState, *, memory: timedelta = _MEMORY
    ) -> comparisons.Comparison:
        """Return how an application compares with Git, found out within `memory`.

        What was seen on behalf of one project is not shown to another. Trouble, of clusters or with
        the application's file, is a part of the answer.
        """
        key = (known.record.project, known.record.name)
        entry = self._entries.setdefault(key, _Entry())
        self._entries.move_to_end(key)
        while len(self._entries) > _MOST:
            self._entries.popitem(last=False)
        signature = signature_of(known)
        # Whoever has the lock may be cancelled with their request; then the next one asks.
        async with entry.lock:
            now, last = self._dependencies.clock.now(), entry.last
            is_known = last is not None and entry.signature == signature
            if last is not None and is_known and timedelta() <= now - last.at < memory:
                return last
            quiet: dict[str, _Quiet] = {}
            if last is not None and is_known:
                quiet = _quiet(last, entry.sources, since=now - _QUIET)
            sources: dict[str, _Source] = {}
            entry.last = await self._compare(known, quiet, sources)
            entry.signature, entry.sources = signature, sources
            for cluster, objects in comparisons.changed(last, entry.last).items():
                owner = known.status.owners.get(cluster)
                if owner is not None:
                    self._tell(cluster, owner, objects)
            return entry.last

    def last(self, project: str, name: str) -> comparisons.Comparison | None:
        """Return what was found out last, however long ago; None: nothing yet in this process."""
        entry = self._entries.get((project, name))
        return entry.last if entry else None

    async def wanted(
        self, known: application_state.ApplicationState, cluster: str, key: manifest.ResourceKey
    ) -> tuple[manifest.Manifest, redaction.Masker] | None:
        """Return one object as Git says for a cluster, and what masks it; None: Git has it not.

        Raises:
            errors.UserError: The application's file cannot be read, or cannot be rendered.
            errors.TemporaryError: It may work later.
        """
        commit, owner = _commit_on(known, cluster), known.status.owners.get(cluster)
        if not commit or owner is None:
            return None
        dependencies = self._dependencies.acting_for(known.record.project)
        place = ready_runs.source_of(known)
        opened = await ready_runs.open_application(dependencies, place, commit)
        questions = cluster_questions.ClusterQuestions(dependencies.clusters, dependencies.patience)
        one = _One(
            dependencies, known, {commit: opened}, questions, self._confirmations, self._live
        )
        masker = ready_runs.masker(dependencies, application=known.record.name)
        sought = await one.sought(opened, cluster, owner, masker)
        for item in (item for each in sought.sets for item in each):
            if item.key == key or (
                not item.namespace and replace(item.key, namespace=key.namespace) == key
            ):
                return item, masker
        return None

    async def _compare(
        self,
        known: application_state.ApplicationState,
        quiet: "Mapping[str, _Quiet]",
        sources: dict[str, _Source],
    ) -> comparisons.Comparison:
        now, name, status = self._dependencies.clock.now(), known.record.name, known.status
        commit = status.releases.running
        default = drift_rules.DriftRules()
        nothing = comparisons.Comparison(name, commit, self._default_mode, default.window, now)
        if not commit:
            return replace(nothing, problem="no release of it has succeeded yet")
        dependencies = self._dependencies.acting_for(known.record.project)
        place = ready_runs.source_of(known)
        try:
            opened = await ready_runs.open_application(dependencies, place, commit)
        except (errors.UserError, errors.TemporaryError) as error:
            clean = ready_runs.masker(dependencies, application=name).clean
            return replace(nothing, problem=clean(f"its file cannot be read: {error}"))
        # Whoever looks at the tree sees what the run saw.
        await self._live.use_rules(known.status.owners.values(), opened.application.health)
        rules = opened.application.drift
        made = replace(nothing, mode=rules.mode or self._default_mode, window=rules.window)
        if made.mode is drift_rules.DriftMode.OFF:
            return replace(made, problem="nobody compares it: driftDetection is off")
        busy = await self._busy(known)
        questions = cluster_questions.ClusterQuestions(dependencies.clusters, dependencies.patience)
        sides = {commit: opened}
        names = _names(known, dependencies.clusters.fleet.names)
        for other in dict.fromkeys(_commit_on(known, name) for name in names):
            if other not in sides:
                try:
                    sides[other] = await ready_runs.open_application(dependencies, place, other)
                except (errors.UserError, errors.TemporaryError):
                    continue  # Those clusters are unknown.
        one = _One(
            dependencies,
            known,
            sides,
            questions,
            self._confirmations,
            self._live,
            quiet,
            sources,
        )
        compared = await fan_out.run_all(
            names,
            lambda cluster: self._cluster(one, cluster, is_busy=cluster in busy),
            at_once=_AT_ONCE,
        )
        return replace(made, clusters=tuple(compared))

    async def _busy(self, known: application_state.ApplicationState) -> frozenset[str]:
        """Return the clusters of the run under way."""
        if not known.status.under_way:
            return frozenset()
        stored = await self._store.runs.load(known.status.run)
        if stored is None:
            return frozenset(known.status.present_on)
        return frozenset(run_origins.from_document(stored.origin).targets)

    async def _cluster(
        self, one: "_One", name: str, *, is_busy: bool
    ) -> comparisons.ClusterComparison:
        if is_busy:
            return comparisons.ClusterComparison(
                name, _Word.RUNNING, f"run {one.known.status.run} is under way there"
            )
        if self._is_away(name):
            return comparisons.ClusterComparison(name, _Word.UNKNOWN, "it does not answer")
        return await one.compare(name)


@dataclass(frozen=True, slots=True)
class _One:
    """One comparison of one application."""

    dependencies: ready_runs.Dependencies
    known: application_state.ApplicationState
    #: The application by commit.
    sides: Mapping[str, opened_applications.OpenedApplication]
    questions: cluster_questions.ClusterQuestions
    confirmations: drifts.Confirmations
    live: live_objects.LiveObjects
    #: By cluster: what counts where nothing has changed since.
    quiet: "Mapping[str, _Quiet]" = field(default_factory=dict)
    #: By cluster: from what the answer is made; written when one is compared.
    sources: dict[str, _Source] = field(default_factory=dict)

    async def compare(self, name: str) -> comparisons.ClusterComparison:
        """Compare one cluster with its commit; its trouble is a part of the answer."""
        status, commit = self.known.status, _commit_on(self.known, name)
        opened, owner = self.sides.get(commit), status.owners.get(name)
        masker = ready_runs.masker(self.dependencies, application=self.known.record.name)
        if opened is None or owner is None:
            why = "its file cannot be read" if opened is None else "nobody knows what is there"
            return _unknown(name, f"{why} at {commit[:7]}", commit)
        objects = self.live.known_objects(name, owner)
        if objects is not None and objects.is_whole:
            source = self.sources[name] = (objects.stamp, self.dependencies.clusters.fleet)
            quiet = self.quiet.get(name)
            if quiet is not None and quiet.source == source:
                return quiet.compared
        divides = replica_assignment.divides_replicas(opened.application)
        if divides and status.releases.is_divided and not status.releases.of(name).shares:
            return _unknown(name, "replicas are divided, and it has no share yet", commit)
        try:
            sought = await self.sought(opened, name, owner, masker)
        except (errors.UserError, errors.TemporaryError) as error:
            return _unknown(name, masker.clean(str(error)), commit)

        async def ask(client: clients.Client) -> drifts.ClusterDrift:
            return await drifts.compare(client, sought, self.confirmations, objects)

        answer = await self.questions.ask(name, ask)
        if isinstance(answer, client_pool.Unavailable):
            return _unknown(name, masker.clean(answer.reason), commit)
        now = self.dependencies.clock.now()
        return await work_threads.run(
            "redacting what differs", _told, name, commit, answer, masker, now
        )

    async def sought(
        self,
        opened: opened_applications.OpenedApplication,
        name: str,
        owner: ownership.Owner,
        masker: redaction.Masker,
    ) -> drifts.Sought:
        """Return what a cluster is compared with.

        Raises:
            errors.UserError: It cannot be rendered.
            errors.TemporaryError: It may work later.
        """
        clusters = self.dependencies.clusters
        render = run_renderer.RunRenderer(
            {opened.commit: run_sources.of(opened)},
            self.dependencies.renderer,
            clusters.fleet,
            replica_assignment.ReplicaNumbers(self.known.status.releases.assigned),
            opened.commit,
        )
        manifests = await render.render(opened.commit, name)
        application = replace(opened.application, known_owner=owner)
        member = clusters.member(name)

        def prepare() -> tuple[tuple[manifest.Manifest, ...], ...]:
            masker.learn(manifests)
            return tuple(_sets(application, manifests, opened.commit, name))

        return drifts.Sought(
            owner,
            await work_threads.run_many(manifests, "making what is compared", prepare),
            application.variant_label,
            application.conflicts,
            application.drift.ignored,
            member.namespaces if member else (),
        )


def signature_of(known: application_state.ApplicationState) -> object:
    """Return what makes another comparison necessary, besides the clusters.

    The end of a pause as well: then what could not be repaired can be.
    """
    status = known.status
    return (status.releases, status.owners, status.run, status.under_way, status.pause)


@dataclass(frozen=True, slots=True)
class _Quiet:
    """A cluster that was in sync, and from what that was said."""

    compared: comparisons.ClusterComparison
    source: _Source


def _quiet(
    last: comparisons.Comparison, sources: Mapping[str, _Source], *, since: datetime
) -> dict[str, _Quiet]:
    return {
        one.name: _Quiet(one, sources[one.name])
        for one in last.clusters
        if one.status is _Word.IN_SYNC and one.name in sources
        if one.compared is not None and one.compared > since
    }


def _names(known: application_state.ApplicationState, fleet: Sequence[str]) -> tuple[str, ...]:
    """Return the clusters that are to have the application, in the fleet's order."""
    releases = known.status.releases
    return tuple(
        name
        for name in fleet
        if (one := releases.clusters.get(name)) is not None
        and (one.commit or one.chosen)
        and not one.away
        and one.leaving is None
    )


def _commit_on(known: application_state.ApplicationState, name: str) -> str:
    releases = known.status.releases
    return releases.of(name).commit or releases.running


def _unknown(name: str, reason: str, commit: str) -> comparisons.ClusterComparison:
    return comparisons.ClusterComparison(name, _Word.UNKNOWN, reason, commit)


def _told(
    name: str,
    commit: str,
    found: drifts.ClusterDrift,
    masker: redaction.Masker,
    now: datetime,
) -> comparisons.ClusterComparison:
    masker.learn(manifest.Manifest(one.live) for one in found.objects if one.live is not None)
    return comparisons.of_cluster(name, commit, found, masker, now)


def _sets(
    application: applications.Application,
    manifests: Sequence[manifest.Manifest],
    commit: str,
    target: str,
) -> list[tuple[manifest.Manifest, ...]]:
    """Return what a quick sync applies, and what the stages of the pipeline that promote do.

    Raises:
        errors.UserError: The manifests do not allow it.
    """
    options: list[rollout_stages.SyncOptions | rollout_stages.PrimaryRolloutOptions] = [
        application.quick_sync
    ]
    for stage in application.pipeline:
        made = stage.options.on(target)
        if isinstance(made, rollout_stages.SyncOptions | rollout_stages.PrimaryRolloutOptions):
            options.append(made)
    sets: list[tuple[manifest.Manifest, ...]] = []
    for one in options:
        rendered = tuple(rendering.primary(manifests, application, one, commit=commit))
        if rendered not in sets:
            sets.append(rendered)
    return sets
