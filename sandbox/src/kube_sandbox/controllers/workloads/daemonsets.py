"""The DaemonSet controller: a pod on every node that takes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers import scheduler
from kube_sandbox.controllers.framework import actions, pods, view
from kube_sandbox.controllers.workloads import revisions
from kube_sandbox.controllers.workloads.deployments import sizes

COMPONENT = "daemonset-controller"
#: What daemon pods tolerate beside what their template says.
_CONDITIONS = ("not-ready", "unreachable")
_PRESSURES = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


@dataclass(frozen=True, slots=True)
class _Look:
    owner: json.JsonObject
    #: Name of the revision of the present template, and its hash.
    update: str
    #: Nodes that should run the daemon.
    nodes: tuple[str, ...]
    #: Nodes whose daemon may stay: a ``NoSchedule`` taint that came later sends none away. Pods
    #: of nodes that are gone belong to the pod garbage collection.
    staying: frozenset[str]
    #: The living pods by node.
    pods: dict[str, list[json.JsonObject]]
    #: Sandbox seconds until each pod, by uid, is available; None for not ready.
    waits: dict[str, float | None]

    def is_updated(self, pod: json.JsonObject) -> bool:
        return objects.labels(pod).get(revisions.HASH_LABEL) == self.update

    def is_available(self, pod: json.JsonObject) -> bool:
        return self.waits.get(objects.uid(pod)) == 0


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the next writes for the DaemonSet at `key`."""
    owner = cluster.get("DaemonSet", key.namespace, key.name)
    if owner is None:
        return actions.NOTHING
    known = revisions.history(cluster, owner)
    if not objects.is_deleting(owner) and (writes := revisions.recorded(owner, known)):
        return actions.Result(writes)
    mine, claims = pods.claim(cluster, owner)
    look = _look(cluster, owner, known, mine, at)
    writes = claims
    if not objects.is_deleting(owner):
        writes = (*claims, *_placed(look), *_rolled(look, mine))
    status = _counted(look)
    if status != objects.status(owner):
        writes = (*writes, actions.UpdateStatus({**owner, "status": status}))
    hashes = {objects.labels(each).get(revisions.HASH_LABEL) for each in mine}
    used = [objects.name(each) for each in known.revisions if _hash(each) in hashes]
    pending = [wait for wait in look.waits.values() if wait]
    return actions.Result(
        (*writes, *revisions.outdated(owner, known, used=used)),
        requeue_after=min(pending) if pending else None,
    )


def _hash(revision: json.JsonObject | None) -> str:
    return objects.labels(revision or {}).get(revisions.HASH_LABEL, "")


def _look(
    cluster: view.View,
    owner: json.JsonObject,
    known: revisions.History,
    mine: Sequence[json.JsonObject],
    at: times.Instant,
) -> _Look:
    probe = _make_for(owner, "", _hash(known.update))
    present = cluster.list("Node")
    nodes = tuple(objects.name(each) for each in present if scheduler.fits(probe, each))
    staying = frozenset(objects.name(each) for each in present if scheduler.keeps(probe, each))
    names = {objects.name(each) for each in present}
    by_node: dict[str, list[json.JsonObject]] = {}
    for pod in sorted(mine, key=objects.created):
        is_lost = objects.spec(pod).get("nodeName") and _node(pod) not in names
        if not objects.is_deleting(pod) and not is_lost:
            by_node.setdefault(_node(pod), []).append(pod)
    minimum = int(objects.spec(owner).get("minReadySeconds") or 0)
    waits = {
        objects.uid(pod): pods.available_after(cluster, pod, minimum=minimum, at=at)
        for pod in mine
        if not objects.is_deleting(pod)
    }
    return _Look(owner, _hash(known.update), nodes, staying, by_node, waits)


def _node(pod: json.JsonObject) -> str:
    """The node a pod is on, or is meant for while it is not bound."""
    if bound := objects.spec(pod).get("nodeName"):
        return str(bound)
    affinity = (objects.spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str((field.get("values") or [""])[0])
    return ""


def _placed(look: _Look) -> list[actions.Write]:
    """Make missing pods, delete those on nodes that no longer want them and the ended ones."""
    writes: list[actions.Write] = []
    for node in look.nodes:
        living = [each for each in look.pods.get(node, ()) if not pods.is_finished(each)]
        if not living:
            writes.append(_create(look, node))
    for node, placed in look.pods.items():
        for pod in placed:
            if node not in look.staying or pods.is_finished(pod):
                writes.extend(_stop(look, pod))
    return writes


def _rolled(look: _Look, mine: Sequence[json.JsonObject]) -> list[actions.Write]:
    """Replace old pods within maxUnavailable, or beside the old ones within maxSurge."""
    strategy = objects.spec(look.owner).get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return []
    rolling = strategy.get("rollingUpdate") or {}
    surge = sizes.scaled(rolling.get("maxSurge", 0), len(look.nodes), up=True)
    unavailable = sizes.scaled(rolling.get("maxUnavailable", 1), len(look.nodes), up=True)
    if surge:
        return _surged(look, surge)
    return _replaced(look, max(unavailable, 1))


def _replaced(look: _Look, allowed: int) -> list[actions.Write]:
    writes: list[actions.Write] = []
    missing = sum(
        not any(look.is_available(pod) for pod in look.pods.get(node, ())) for node in look.nodes
    )
    for node in look.nodes:
        old = [each for each in look.pods.get(node, ()) if not look.is_updated(each)]
        for pod in old:
            if not look.is_available(pod):
                writes.extend(_stop(look, pod))  # it was missing already
            elif missing < allowed:
                missing += 1
                writes.extend(_stop(look, pod))
    return writes


def _surged(look: _Look, allowed: int) -> list[actions.Write]:
    writes: list[actions.Write] = []
    surging = 0
    for node in look.nodes:
        placed = look.pods.get(node, [])
        old = [each for each in placed if not look.is_updated(each)]
        new = [each for each in placed if look.is_updated(each)]
        if old and any(look.is_available(each) for each in new):
            writes.extend(write for each in old for write in _stop(look, each))
        elif old and new:
            surging += 1
    for node in look.nodes:
        placed = look.pods.get(node, [])
        if placed and not any(look.is_updated(each) for each in placed) and surging < allowed:
            surging += 1
            writes.append(_create(look, node))
    return writes


def _create(look: _Look, node: str) -> actions.Write:
    return pods.creation(_make_for(look.owner, node, look.update), look.owner, COMPONENT)


def _stop(look: _Look, pod: json.JsonObject) -> list[actions.Write]:
    message = f"Deleted pod: {objects.name(pod)}"
    return [
        actions.Delete(pod),
        actions.Emit(look.owner, "Normal", "SuccessfulDelete", message, COMPONENT),
    ]


def _make_for(owner: json.JsonObject, node: str, revision: str) -> json.JsonObject:
    """Build the pod for a node; without a node, one that shows which nodes would do."""
    generation = objects.annotations(owner).get("deprecated.daemonset.template.generation", "1")
    labels = {revisions.HASH_LABEL: revision, "pod-template-generation": generation}
    pod = pods.make(owner, objects.spec(owner)["template"], labels=labels)
    spec = pod["spec"]
    spec["tolerations"] = [*(spec.get("tolerations") or ()), *_tolerations()]
    if node:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"nodeSelectorTerms": [term]}
        affinity = {**(spec.get("affinity") or {})}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        spec["affinity"] = affinity
    return pod


def _tolerations() -> list[json.JsonObject]:
    prefix = "node.kubernetes.io"
    return [
        {"key": f"{prefix}/{name}", "operator": "Exists", "effect": effect}
        for names, effect in ((_CONDITIONS, "NoExecute"), (_PRESSURES, "NoSchedule"))
        for name in names
    ]


def _counted(look: _Look) -> json.JsonObject:
    def on_nodes(holds: object) -> int:
        assert callable(holds)
        return sum(any(holds(pod) for pod in look.pods.get(node, ())) for node in look.nodes)

    desired = len(look.nodes)
    available = on_nodes(look.is_available)
    counters = {
        "currentNumberScheduled": sum(bool(look.pods.get(node)) for node in look.nodes),
        "numberMisscheduled": sum(
            bool(placed) for node, placed in look.pods.items() if node not in look.nodes
        ),
        "desiredNumberScheduled": desired,
        "numberReady": on_nodes(lambda pod: look.waits[objects.uid(pod)] is not None),
        "observedGeneration": objects.generation(look.owner),
        "updatedNumberScheduled": on_nodes(look.is_updated),
        "numberAvailable": available,
        "numberUnavailable": desired - available,
        "collisionCount": objects.status(look.owner).get("collisionCount"),
        "conditions": objects.status(look.owner).get("conditions"),
    }
    keep = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
    )
    return objects.without_empty(counters, keep=keep)
