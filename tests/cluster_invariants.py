"""What must hold in every cluster after every change, whoever brought it about."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import route_weights
from kube_sandbox import fleet, traffic
from kube_sandbox.apimachinery.meta import selectors
from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers.framework import pods
from kube_sandbox.faults import faults
from volary.clusters.inventory import inventory
from volary.manifests.ownership import tracking

Body = Mapping[str, Any]
#: Kinds whose annotations say which commit a cluster has.
_COMMITTED = ("Deployment", "Service", "ConfigMap")
#: Written all the time, and nothing of ours.
_NOISE = ("Event", "Lease")


@dataclass
class Clusters:
    """Looks at one application in all clusters of a fleet."""

    running: Mapping[str, fleet.Cluster]
    application: str
    #: As many clusters of a wave may not have a release when a later one gets it.
    most_missing: int
    #: The clusters of each wave of the run that is under way.
    waves: Callable[[], Sequence[Sequence[str]]]
    #: Somebody takes the cluster for lost.
    is_unreachable: Callable[[str], bool] = lambda _: False
    #: A run goes on without the cluster; None: nobody tells, so as many as may be missing may be.
    is_excused: Callable[[str], bool] | None = None
    broken: list[str] = field(default_factory=list)
    #: How many changes were looked at.
    changes: int = 0
    #: How many states of routes.
    routes: int = 0
    _known: dict[str, set[str]] = field(default_factory=dict)
    #: Clusters whose Service led to a pod that is ready.
    _served: set[str] = field(default_factory=set)

    def watch(self) -> list[Callable[[], None]]:
        """Look at every change from now on; returns what ends that."""
        for name in self.running:
            self._known[name] = {commit for commit in map(_commit, self._ours(name)) if commit}
            self._look_at_requests(name)
        return [
            cluster.registry.subscribe(functools.partial(self.changed, name))
            for name, cluster in self.running.items()
        ]

    def changed(self, name: str, change: storage.Change) -> None:
        """Look at a cluster after a change there."""
        body = change.item.body
        if body.get("kind") in _NOISE:
            return
        self.changes += 1
        if _is_asked_to_go(change):
            self._look_at_deletion(name, body)
        elif change.event is not storage.Event.DELETED and self._is_ours(body):
            self._look_at_order(name, body)
            self._look_at_weights(name, body, change.previous)
        self._look_at_requests(name)

    def _look_at_order(self, name: str, body: Body) -> None:
        """The first object of a commit comes once it holds wherever it has to be before."""
        commit, known = _commit(body), self._known.setdefault(name, set())
        if body["kind"] not in _COMMITTED or not commit or commit in known:
            return
        known.add(commit)
        most = 0 if self.is_excused else self.most_missing
        for place, targets in enumerate(self._earlier(name), start=1):
            missing = [each for each in targets if not self._holds(each, commit)]
            missing = [each for each in missing if not (self.is_excused and self.is_excused(each))]
            if len(missing) > most:
                self._break(
                    f"{name} gets {commit[:7]}, but {', '.join(missing)} of wave {place} does not"
                    f" hold it, and {most} may not"
                )

    def _earlier(self, name: str) -> Sequence[Sequence[str]]:
        waves = self.waves()
        place = next((place for place, each in enumerate(waves) if name in each), 0)
        return waves[:place]

    def _holds(self, name: str, commit: str) -> bool:
        """Its primary is ready in its newest generation, and of the commit.

        The inventory says so where the commit changes nothing of it.
        """
        primary = [
            each
            for each in self._ours(name)
            if each["kind"] == "Deployment"
            and each["metadata"]["annotations"].get(tracking.VARIANT) == "primary"
        ]
        has = self._recorded(name) == commit
        return bool(primary) and all(
            (has or _commit(each) == commit) and _ready(each) for each in primary
        )

    def _recorded(self, name: str) -> str:
        """The commit that runs, as the inventory says."""
        inventories = (
            each
            for each in self.running[name].view.list("ConfigMap")
            if inventory.LABEL in (each["metadata"].get("labels") or {})
            and each["metadata"]["annotations"][tracking.APPLICATION] == self.application
        )
        return next((_commit(each) for each in inventories), "")

    def _look_at_deletion(self, name: str, body: Body) -> None:
        lost = self.running[name].faults.current.lost is not faults.Lost.NO
        why = "is lost" if lost else "a run takes for lost" if self.is_unreachable(name) else ""
        if why and self._is_ours(body):
            self._break(
                f"{body['kind']} {body['metadata']['name']} was deleted on {name}, which {why}"
            )

    def _look_at_weights(self, name: str, body: Body, previous: storage.Item | None) -> None:
        self.routes += body["kind"] in route_weights.KINDS
        before = previous.body if previous is not None else None
        for each in route_weights.wrong(body, before, self.application):
            self._break(f"{body['kind']} {body['metadata']['name']} on {name}: {each}")

    def _look_at_requests(self, name: str) -> None:
        """Once somebody answered, somebody always does: no request is lost at any moment."""
        cluster = self.running[name]
        places = [
            each["metadata"]["namespace"]
            for each in cluster.view.list("Service")
            if each["metadata"]["name"] == self.application and self._is_ours(each)
        ]
        for place in places:
            seen = traffic.resolve(
                cluster.view, place, self.application, rules=cluster.faults.images
            )
            if not seen.lost:
                self._served.add(name)
            elif name in self._served:
                self._break(f"{name} lost {seen.lost:.0%} of its requests: {seen.reasons}")
            self._look_at_selector(name, place)

    def _look_at_selector(self, name: str, namespace: str) -> None:
        view = self.running[name].view
        service = view.get("Service", namespace, self.application)
        wanted = {"matchLabels": (service or {}).get("spec", {}).get("selector") or {}}
        if name in self._served and not any(
            pods.is_ready(each) and selectors.matches(wanted, each["metadata"].get("labels") or {})
            for each in view.list("Pod", namespace)
        ):
            self._break(f"Service {self.application} on {name} selects no pod that is ready")

    def _ours(self, name: str) -> Iterator[Body]:
        view = self.running[name].view
        for kind in _COMMITTED:
            yield from (each for each in view.list(kind) if self._is_ours(each))

    def _is_ours(self, body: Body) -> bool:
        """Labels select, annotations prove: clusters copy either of them to their own objects."""
        metadata = body["metadata"]
        return (metadata.get("annotations") or {}).get(
            tracking.APPLICATION
        ) == self.application and tracking.APPLICATION in (metadata.get("labels") or {})

    def _break(self, sentence: str) -> None:
        if sentence not in self.broken:
            self.broken.append(sentence)


def _is_asked_to_go(change: storage.Change) -> bool:
    """It is deleted, or marked to be once its dependents are gone: the cluster does the rest."""
    before = change.previous.body["metadata"] if change.previous is not None else {}
    if "deletionTimestamp" in before:
        return False
    marked = "deletionTimestamp" in change.item.body["metadata"]
    return marked or change.event is storage.Event.DELETED


def _commit(body: Body) -> str:
    return str((body["metadata"].get("annotations") or {}).get(tracking.COMMIT, ""))


def _ready(body: Body) -> bool:
    wanted, status = body["spec"].get("replicas", 1), body.get("status") or {}
    return status.get("observedGeneration") == body["metadata"].get("generation") and all(
        status.get(each, 0) == wanted for each in ("replicas", "updatedReplicas", "readyReplicas")
    )
