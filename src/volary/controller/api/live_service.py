"""An application's live objects as people see them: the part of the service that reads `livestate`.

What is shown belongs to the application by its owner, as the last run in each cluster found it out,
and lies where its project may have something. One object is read anew, on behalf of its project.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from volary.clusters.api import api_errors
from volary.clusters.client import client_pool, clients, resource_mapping
from volary.concurrency import single_flight
from volary.controller import refusals
from volary.controller.api import live_representations as shapes
from volary.controller.api import pod_logs, status_representations
from volary.controller.runs import ready_runs
from volary.controller.status import application_state, application_statuses
from volary.engine.observers import redaction as event_redaction
from volary.livestate import live_state, live_trees, nodes, secret_digests, views
from volary.manifests import objects, redaction
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import manifest, object_health, ownership
from volary.model.statuses import HealthStatus
from volary.store import records, stores
from volary.tenancy import restrictions

#: Seconds that a cluster gets to answer for one object and its events.
_PATIENCE = 5.0
#: Events of one object that are shown, the newest first.
_MOST_EVENTS = 50
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DriftWords:
    """How an application's objects in a cluster compare with Git: words of `LiveNode.drift`."""

    #: Of those that are not as Git says.
    drifted: Mapping[manifest.ResourceKey, str] = field(default_factory=dict)
    #: Of all others.
    others: str = _UNKNOWN


@dataclass(frozen=True, slots=True)
class Compared:
    """One object as Git says."""

    wanted: json.JsonObject = field(default_factory=dict)
    differences: tuple[shapes.FieldDifference, ...] = ()


class Comparison(Protocol):
    """What compares live objects with Git."""

    def words(self, known: records.ApplicationRecord, cluster: str) -> DriftWords:
        """Return how an application's objects in a cluster compared last."""
        ...

    async def compared(
        self, known: records.ApplicationRecord, cluster: str, key: manifest.ResourceKey
    ) -> Compared:
        """Return what Git says of one object, redacted, and what differs."""
        ...


class NoComparison:
    """Nobody compares: what was applied is neither in sync nor out of it."""

    def words(self, known: records.ApplicationRecord, cluster: str) -> DriftWords:
        """Return that nothing is known."""
        return DriftWords()

    async def compared(
        self, known: records.ApplicationRecord, cluster: str, key: manifest.ResourceKey
    ) -> Compared:
        """Return nothing."""
        return Compared()


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose objects are shown."""

    known: records.ApplicationRecord
    #: By cluster, in the order of the fleet; None: nothing of it was applied there.
    owners: Mapping[str, ownership.Owner | None]


@dataclass(slots=True)
class LiveService:
    """See the module."""

    store: stores.Store
    dependencies: ready_runs.Dependencies
    live: live_state.LiveState
    #: Compares live objects with Git.
    comparison: Comparison = field(default_factory=NoComparison)
    _asked: single_flight.SingleFlight = field(
        default_factory=single_flight.SingleFlight, init=False
    )
    _logs: pod_logs.PodLogs = field(default_factory=pod_logs.PodLogs, init=False)

    async def tree(self, name: str, cluster: str = "") -> shapes.LiveTree:
        """Return an application's objects in its clusters, or in one.

        Raises:
            refusals.NotFound: There is no such application, or it is not on that cluster.
        """
        subject = await self._subject(name, cluster)
        await self._use_own_rules(subject)
        shown = tuple(self._shown(subject, one, self._view(subject, one)) for one in subject.owners)
        return shapes.LiveTree(name, self.live.version, shown)

    async def changes(
        self, name: str, after: int, cluster: str = ""
    ) -> shapes.LiveTree | tuple[shapes.LiveChange, ...]:
        """Return what changed after a version, in its order; the whole tree where that is unknown.

        What many ask at the same moment, as those who look at one tree do, is put together once.

        Raises:
            refusals.NotFound: as `tree`.
        """
        key = (name, after, cluster, self.live.version)
        shared = await self._asked.do(key, "", lambda: self._changes(name, after, cluster))
        assert shared is not None  # nobody stops waiting by a signal
        return shared.value

    async def _changes(
        self, name: str, after: int, cluster: str
    ) -> shapes.LiveTree | tuple[shapes.LiveChange, ...]:
        subject = await self._subject(name, cluster)
        owners = {one: owner for one, owner in subject.owners.items() if owner is not None}
        is_known = (self.live.is_known(one, owner, after) for one, owner in owners.items())
        if not after or not all(is_known):
            return await self.tree(name, cluster)
        changed = [
            view
            for one, owner in owners.items()
            if (view := self.live.changes(one, owner, after)) is not None
        ]
        return tuple(
            shapes.LiveChange(
                name, view.version, self._shown(subject, view.cluster, view), view.removed
            )
            for view in sorted(changed, key=lambda view: view.version)
        )

    async def object(self, name: str, cluster: str, key: manifest.ResourceKey) -> shapes.LiveObject:
        """Return one object of an application, read now on behalf of its project.

        A cluster that does not answer is asked for nothing more: then it is as it was seen last.

        Raises:
            refusals.NotFound: There is none of that name in the application's tree.
        """
        subject = await self._subject(name, cluster)
        node = self._find(subject, cluster, key)
        masker = self.dependencies.secrets.masker(name)
        body, events = await self._read(subject, cluster, node.node)
        compared = await self.comparison.compared(subject.known, cluster, key)
        return shapes.LiveObject(
            cluster=cluster,
            node=_node(node, masker, self._drift(subject, cluster, node.node)),
            live=shown_body(body, masker),
            wanted=compared.wanted,
            differences=compared.differences,
            events=_shown_events(events or node.events, masker),
            containers=_containers(body),
        )

    async def log(self, name: str, cluster: str, wanted: pod_logs.Wanted) -> pod_logs.PodLog:
        """Return the log of a container of one of an application's pods; it is read when followed.

        Raises:
            refusals.NotFound: The application has no such pod there.
            errors.TemporaryError: The cluster cannot be asked now.
        """
        subject = await self._subject(name, cluster)
        key = manifest.ResourceKey("", "Pod", wanted.namespace, wanted.pod)
        self._find(subject, cluster, key)
        client = await self._client(subject, cluster)
        masker = self.dependencies.secrets.masker(name)
        return self._logs.open((name, cluster), client, wanted, masker)

    # Inside.

    async def _use_own_rules(self, subject: Subject) -> None:
        """Have the health of what is shown judged as runs judge it: by the application's file."""
        state = application_state.ApplicationState(
            subject.known, application_statuses.of_record(subject.known)
        )
        commit = state.status.releases.running
        if state.status.under_way:
            run = await self.store.runs.load(state.status.run)
            commit = run.head.commit if run is not None else commit
        if not commit:
            return
        try:
            place = ready_runs.source_of(state)
            opened = await ready_runs.open_application(self.dependencies, place, commit)
            owners = (owner for owner in subject.owners.values() if owner is not None)
            await self.live.use_rules(owners, opened.application.health)
        except errors.VolaryError:
            return  # They count from when the file can be read again, and the fleet's till then.

    async def _subject(self, name: str, cluster: str) -> Subject:
        known = refusals.required(await self.store.applications.get(name), "application", name)
        status = application_statuses.of_record(known)
        fleet = self.dependencies.clusters.fleet.names
        present = [one for one in fleet if one in status.present_on]
        present += sorted(status.present_on - set(fleet))
        if cluster and cluster not in present:
            raise refusals.not_found(f"cluster that {name} is on, called", cluster)
        chosen = [cluster] if cluster else present
        return Subject(known, {one: status.owners.get(one) for one in chosen})

    def _view(self, subject: Subject, cluster: str) -> views.View | None:
        owner = subject.owners[cluster]
        return None if owner is None else self.live.tree(cluster, owner)

    def _find(
        self, subject: Subject, cluster: str, key: manifest.ResourceKey
    ) -> live_trees.TreeNode:
        view = self._view(subject, cluster)
        may_show = self._may_show(subject, cluster)
        for node in view.tree.nodes if view else ():
            if node.node.key == key and may_show(node.node):
                return node
        raise refusals.not_found(
            f"{key.kind} of {subject.known.name} in {cluster} called", key.title
        )

    def _may_show(self, subject: Subject, cluster: str) -> Callable[[nodes.Node], bool]:
        """Return what says whether a node is where the application's project may have something."""
        project = self.dependencies.projects().by_name.get(subject.known.project)
        member = self.dependencies.clusters.member(cluster)
        if project is None:
            return lambda _: True
        if member is None:
            return lambda _: False
        permitted: dict[str, bool] = {}

        def may_show(node: nodes.Node) -> bool:
            if node.namespace not in permitted:
                refusal = restrictions.refusal_of_place(project, member, node.namespace)
                permitted[node.namespace] = not refusal
            return permitted[node.namespace]

        return may_show

    def _shown(self, subject: Subject, cluster: str, view: views.View | None) -> shapes.LiveCluster:
        name = subject.known.name
        masker = self.dependencies.secrets.masker(name)
        if view is None:
            health = object_health.Health(HealthStatus.MISSING, "nothing was applied there yet")
            return shapes.LiveCluster(cluster, None, "", _health(health, masker), 0, 0, (), 0, ())
        may_show = self._may_show(subject, cluster)
        permitted = [node for node in view.tree.nodes if may_show(node.node)]
        words = self.comparison.words(subject.known, cluster)
        return shapes.LiveCluster(
            name=cluster,
            observed=self.live.observed(cluster),
            stale_reason=masker.clean(view.status.stale_reason),
            health=_health(view.tree.health, masker),
            ready=view.tree.ready,
            total=view.tree.total,
            nodes=tuple(_node(node, masker, _word(words, node.node)) for node in permitted),
            omitted=view.tree.omitted + len(view.tree.nodes) - len(permitted),
            warnings=tuple(map(masker.clean, view.status.warnings)),
        )

    def _drift(self, subject: Subject, cluster: str, node: nodes.Node) -> str:
        return _word(self.comparison.words(subject.known, cluster), node)

    async def _client(self, subject: Subject, cluster: str) -> clients.Client:
        clusters = self.dependencies.acting_for(subject.known.project).clusters
        client = await clusters.client(cluster)
        if isinstance(client, client_pool.Unavailable):
            raise errors.TemporaryError(f"cluster {cluster} cannot be asked: {client.reason}")
        return client

    async def _read(
        self, subject: Subject, cluster: str, node: nodes.Node
    ) -> tuple[json.JsonObject, tuple[nodes.Event, ...]]:
        """Return an object as it is now, and what was said of it lately."""
        owner = subject.owners[cluster]
        assert owner is not None
        try:
            async with asyncio.timeout(_PATIENCE):
                client = await self._client(subject, cluster)
                body = await _get(client, node)
                events = await _events(client, node)
        except (errors.VolaryError, TimeoutError):
            return self.live.find(cluster, owner, node.key) or {}, ()
        is_same = objects.uid(body) == node.uid or tracking.is_ours(body, owner)
        return (body if is_same else {}), events


async def _get(client: clients.Client, node: nodes.Node) -> json.JsonObject:
    kind = await resource_mapping.require(client, node.group, node.kind)
    return await client.get(kind, node.name, namespace=node.namespace) or {}


async def _events(client: clients.Client, node: nodes.Node) -> tuple[nodes.Event, ...]:
    kind = await resource_mapping.require(client, "", "Event")
    place = f"involvedObject.uid={node.uid}"
    try:
        listed = await client.list(
            kind, namespace=node.namespace, field_selector=place, page_size=_MOST_EVENTS
        )
    except api_errors.RequestError:
        return ()  # who may not read events sees the object all the same
    read = [nodes.event_of(body) for body in listed.items]
    mine = [event for event in read if event.about == node.uid]
    newest = sorted(mine, key=lambda one: (one.last_seen is not None, one.last_seen), reverse=True)
    return tuple(newest[:_MOST_EVENTS])


def _word(words: DriftWords, node: nodes.Node) -> str:
    """Return the drift of a node: nothing of what was not applied."""
    if node.health is HealthStatus.MISSING:
        return words.drifted.get(node.key, "missing")
    return words.drifted.get(node.key, words.others) if node.commit else ""


def _health(
    health: object_health.Health, masker: redaction.Masker
) -> status_representations.Health:
    return status_representations.Health(health.status.value, masker.clean(health.reason))


def _node(placed: live_trees.TreeNode, masker: redaction.Masker, drift: str) -> shapes.LiveNode:
    node = placed.node
    return shapes.LiveNode(
        uid=node.uid,
        parent=placed.parent,
        group=node.group,
        version=node.version,
        kind=node.kind,
        namespace=node.namespace,
        name=node.name,
        health=status_representations.Health(node.health.value, masker.clean(node.reason)),
        created=node.created,
        deleted=node.deleted,
        ready=node.ready,
        total=node.total,
        restarts=placed.restarts,
        images=node.images,
        variant=placed.variant,
        commit=node.commit,
        drift=drift,
        node=node.node,
        events=_shown_events(placed.events, masker),
    )


def _shown_events(
    events: Iterable[nodes.Event], masker: redaction.Masker
) -> tuple[shapes.ObjectEvent, ...]:
    return tuple(
        shapes.ObjectEvent(
            type=masker.clean(event.type),
            reason=masker.clean(event.reason),
            message=masker.clean(event.message),
            count=event.count,
            last_seen=event.last_seen,
        )
        for event in events
    )


def shown_body(body: json.JsonObject, masker: redaction.Masker) -> json.JsonObject:
    """Return an object as people may see it."""
    if not body:
        return {}
    bare = secret_digests.without_values(body)
    metadata = {
        name: part
        for name, part in objects.mapping(bare, "metadata").items()
        if name != "managedFields"
    }
    return event_redaction.clean_everything(masker, {**bare, "metadata": metadata})


def _containers(body: json.JsonObject) -> tuple[str, ...]:
    """Return the containers of a pod, in the order in which they are started."""
    if body.get("kind") != "Pod":
        return ()
    spec = objects.mapping(body, "spec")
    listed = (*objects.mappings(spec, "initContainers"), *objects.mappings(spec, "containers"))
    return tuple(name for one in listed if (name := objects.text(one, "name")))
