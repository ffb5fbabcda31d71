"""The StatefulSet controller: numbered pods, made upwards and replaced downwards."""

from collections.abc import Sequence
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers.framework import actions, pods, view
from kube_sandbox.controllers.workloads import revisions

COMPONENT = "statefulset-controller"
_POD_NAME = "statefulset.kubernetes.io/pod-name"
_POD_INDEX = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True, slots=True)
class _Look:
    """A StatefulSet with its pods, for the length of one reconcile."""

    owner: json.JsonObject
    #: By ordinal, deleted ones included while they are there.
    pods: dict[int, json.JsonObject]
    #: Names of the revisions.
    current: str
    update: str
    #: Templates by revision name.
    templates: dict[str, json.JsonObject]
    #: Sandbox seconds until each pod is available; None for not ready.
    waits: dict[int, float | None]

    @property
    def first(self) -> int:
        return int((objects.spec(self.owner).get("ordinals") or {}).get("start") or 0)

    @property
    def wanted(self) -> range:
        return range(self.first, self.first + objects.replicas(self.owner))

    @property
    def partition(self) -> int:
        strategy = objects.spec(self.owner).get("updateStrategy") or {}
        return int((strategy.get("rollingUpdate") or {}).get("partition") or 0)

    @property
    def in_order(self) -> bool:
        return bool(objects.spec(self.owner).get("podManagementPolicy") != "Parallel")

    @property
    def rolls(self) -> bool:
        strategy = objects.spec(self.owner).get("updateStrategy") or {}
        return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")

    def is_available(self, ordinal: int) -> bool:
        pod = self.pods.get(ordinal)
        return pod is not None and not objects.is_deleting(pod) and self.waits.get(ordinal) == 0

    def revision_for(self, ordinal: int) -> str:
        """The revision a new pod of that number gets: below the partition the current one."""
        return self.current if self.rolls and ordinal - self.first < self.partition else self.update


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the next writes for the StatefulSet at `key`."""
    owner = cluster.get("StatefulSet", key.namespace, key.name)
    if owner is None:
        return actions.NOTHING
    known = revisions.history(cluster, owner)
    if not objects.is_deleting(owner) and (writes := revisions.recorded(owner, known)):
        return actions.Result(writes)
    mine, claims = pods.claim(cluster, owner)
    look = _look(cluster, owner, known, mine, at)
    writes = claims
    if not objects.is_deleting(owner):
        writes = (*claims, *_claimed_volumes(cluster, look), *_next(look))
    status = _counted(look)
    if status != objects.status(owner):
        writes = (*writes, actions.UpdateStatus({**owner, "status": status}))
    used = [look.current, *(_revision(each) for each in mine)]
    pending = [wait for wait in look.waits.values() if wait]
    return actions.Result(
        (*writes, *revisions.outdated(owner, known, used=used)),
        requeue_after=min(pending) if pending else None,
    )


def _look(
    cluster: view.View,
    owner: json.JsonObject,
    known: revisions.History,
    mine: Sequence[json.JsonObject],
    at: times.Instant,
) -> _Look:
    by_number = {}
    for pod in mine:
        number = ordinal(pod)
        if number is not None:
            by_number[number] = pod
    update = objects.name(known.update) if known.update is not None else ""
    names = {objects.name(each) for each in known.revisions}
    current = str(objects.status(owner).get("currentRevision") or "")
    minimum = int(objects.spec(owner).get("minReadySeconds") or 0)
    return _Look(
        owner,
        by_number,
        current if current in names else update,
        update,
        {objects.name(each): revisions.template(each) for each in known.revisions},
        {
            number: pods.available_after(cluster, pod, minimum=minimum, at=at)
            for number, pod in by_number.items()
        },
    )


def ordinal(pod: json.JsonObject) -> int | None:
    """The number at the end of the pod's name."""
    _, _, number = objects.name(pod).rpartition("-")
    return int(number) if number.isdecimal() else None


def _next(look: _Look) -> list[actions.Write]:
    """Grow or mend from the lowest number up, then shrink and update from the highest down."""
    writes = _mend(look)
    if writes and look.in_order:
        return writes
    if look.in_order and not all(look.is_available(each) for each in look.wanted):
        # So a revision that never becomes ready blocks also the next one, until somebody
        # deletes the pod: Kubernetes does the same and documents it as "forced rollback".
        return writes
    excess = sorted((each for each in look.pods if each not in look.wanted), reverse=True)
    if excess:
        doomed = excess[:1] if look.in_order else excess
        return [
            *writes,
            *(
                write
                for each in doomed
                if not objects.is_deleting(look.pods[each])
                for write in _stop(look, each)
            ),
        ]
    return [*writes, *_update(look)]


def _mend(look: _Look) -> list[actions.Write]:
    writes: list[actions.Write] = []
    for number in look.wanted:
        pod = look.pods.get(number)
        if pod is None:
            writes.append(_make(look, number))
        elif pods.is_finished(pod) and not objects.is_deleting(pod):
            writes.append(actions.Delete(pod))
        if look.in_order and not look.is_available(number):
            return writes
    return writes


def _update(look: _Look) -> list[actions.Write]:
    """Delete the highest pod of another revision, once all above it are available."""
    if not look.rolls:
        return []
    for number in reversed(look.wanted):
        if number - look.first < look.partition:
            return []
        pod = look.pods.get(number)
        if pod is None or objects.is_deleting(pod):
            return []
        if _revision(pod) != look.update:
            return _stop(look, number)
        if not look.is_available(number):
            return []
    return []


def _stop(look: _Look, number: int) -> list[actions.Write]:
    pod = look.pods[number]
    title = f"{objects.name(pod)} in StatefulSet {objects.name(look.owner)} successful"
    return [
        actions.Delete(pod),
        actions.Emit(look.owner, "Normal", "SuccessfulDelete", f"delete Pod {title}", COMPONENT),
    ]


def _make(look: _Look, number: int) -> actions.Write:
    revision = look.revision_for(number)
    name = f"{objects.name(look.owner)}-{number}"
    labels = {revisions.HASH_LABEL: revision, _POD_NAME: name, _POD_INDEX: str(number)}
    pod = pods.make(look.owner, look.templates[revision], name=name, labels=labels)
    pod["spec"]["hostname"] = name
    if service := objects.spec(look.owner).get("serviceName"):
        pod["spec"]["subdomain"] = service
    volumes = [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": f"{template['metadata']['name']}-{name}"},
        }
        for template in _volume_templates(look)
    ]
    if volumes:
        names = {each["name"] for each in volumes}
        own = [each for each in pod["spec"].get("volumes") or () if each.get("name") not in names]
        pod["spec"]["volumes"] = [*volumes, *own]
    what = f"create Pod {name} in StatefulSet {objects.name(look.owner)}"

    def refused(message: str) -> tuple[actions.Write, ...]:
        text = f"{what} failed error: {message}"
        return (actions.Emit(look.owner, "Warning", "FailedCreate", text, COMPONENT),)

    done = actions.Emit(look.owner, "Normal", "SuccessfulCreate", f"{what} successful", COMPONENT)
    return actions.Create(pod, done, refused)


def _claimed_volumes(cluster: view.View, look: _Look) -> list[actions.Write]:
    writes: list[actions.Write] = []
    for number in look.wanted:
        for template in _volume_templates(look):
            name = f"{template['metadata']['name']}-{objects.name(look.owner)}-{number}"
            namespace = objects.namespace(look.owner)
            if cluster.get("PersistentVolumeClaim", namespace, name) is None:
                writes.append(actions.Create(_claim(look, template, name)))
    return writes


def _claim(look: _Look, template: json.JsonObject, name: str) -> json.JsonObject:
    selector = objects.spec(look.owner).get("selector") or {}
    metadata = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": objects.namespace(look.owner),
            "labels": {**(metadata.get("labels") or {}), **(selector.get("matchLabels") or {})},
        },
        "spec": dict(template.get("spec") or {}),
    }


def _volume_templates(look: _Look) -> list[json.JsonObject]:
    return list(objects.spec(look.owner).get("volumeClaimTemplates") or ())


def _counted(look: _Look) -> json.JsonObject:
    living = {number: pod for number, pod in look.pods.items() if not objects.is_deleting(pod)}
    updated = sum(_revision(pod) == look.update for pod in living.values())
    current = sum(_revision(pod) == look.current for pod in living.values())
    available = sum(look.is_available(number) for number in living)
    done = _is_done(look, updated=updated, available=available)
    counters = {
        "observedGeneration": objects.generation(look.owner),
        "replicas": len(look.pods),
        "readyReplicas": sum(look.waits[number] is not None for number in living),
        "currentReplicas": updated if done else current,
        "updatedReplicas": updated,
        "currentRevision": look.update if done else look.current,
        "updateRevision": look.update,
        "collisionCount": int(objects.status(look.owner).get("collisionCount") or 0),
        "availableReplicas": available,
        "conditions": objects.status(look.owner).get("conditions"),
    }
    return objects.without_empty(counters, keep=("replicas", "availableReplicas", "collisionCount"))


def _is_done(look: _Look, *, updated: int, available: int) -> bool:
    """The update revision becomes the current one when every pod has it and is available."""
    wanted = len(look.wanted)
    return look.rolls and updated == available == wanted == len(look.pods) and not look.partition


def _revision(pod: json.JsonObject) -> str:
    return objects.labels(pod).get(revisions.HASH_LABEL, "")
