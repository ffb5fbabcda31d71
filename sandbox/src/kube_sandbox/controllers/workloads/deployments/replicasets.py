"""A Deployment's ReplicaSets: finding the new and the old ones, making, numbering."""

from collections.abc import Sequence
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import actions, hashes
from kube_sandbox.controllers.workloads.deployments import sizes

COMPONENT = "deployment-controller"
REVISION = "deployment.kubernetes.io/revision"
_HISTORY = "deployment.kubernetes.io/revision-history"
HASH_LABEL = "pod-template-hash"
_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        _HISTORY,
        sizes.DESIRED,
        sizes.MAXIMUM,
        "deprecated.deployment.rollback.to",
    }
)


@dataclass(frozen=True, slots=True)
class Family:
    """A Deployment's ReplicaSets, sorted by age."""

    #: The one with the Deployment's template; None until it is made.
    new: json.JsonObject | None
    old: tuple[json.JsonObject, ...]

    @property
    def all(self) -> tuple[json.JsonObject, ...]:
        """The old ones and the new one."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active_old(self) -> tuple[json.JsonObject, ...]:
        """The old ones that still ask for pods."""
        return active(self.old)


def family(deployment: json.JsonObject, replica_sets: Sequence[json.JsonObject]) -> Family:
    """Sort the ReplicaSets a Deployment controls into the new and the old ones."""
    by_age = sorted(replica_sets, key=_age)
    template = _bare_template(deployment)
    new = next((each for each in by_age if _bare_template(each) == template), None)
    return Family(new, tuple(each for each in by_age if each is not new))


def active(replica_sets: Sequence[json.JsonObject]) -> tuple[json.JsonObject, ...]:
    """Return those that ask for pods."""
    return tuple(each for each in replica_sets if objects.replicas(each) > 0)


def revision(obj: json.JsonObject) -> int:
    """The revision number in the annotations, 0 when missing."""
    text = objects.annotations(obj).get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def next_revision(old: Sequence[json.JsonObject]) -> int:
    """The number of the new ReplicaSet: one more than any old one."""
    return max((revision(each) for each in old), default=0) + 1


def make(deployment: json.JsonObject, found: Family) -> json.JsonObject:
    """Build the new ReplicaSet with the size it may have at first."""
    template = objects.spec(deployment)["template"]
    hashed = hashes.template_hash(template, objects.status(deployment).get("collisionCount"))
    labels = {**(template.get("metadata") or {}).get("labels", {}), HASH_LABEL: hashed}
    selector = dict(objects.spec(deployment)["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: hashed}
    spec: json.JsonObject = {
        "replicas": sizes.new_size(deployment, None, found.old),
        "selector": selector,
        "template": objects.changed(template, ("metadata", "labels"), labels),
    }
    if minimum := objects.spec(deployment).get("minReadySeconds"):
        spec["minReadySeconds"] = minimum
    annotations = {
        **_copied_annotations(deployment),
        **_size_annotations(deployment),
        REVISION: str(next_revision(found.old)),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{objects.name(deployment)}-{hashed}",
            "namespace": objects.namespace(deployment),
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [objects.controller_reference(deployment)],
        },
        "spec": spec,
    }


def refreshed(deployment: json.JsonObject, found: Family) -> json.JsonObject | None:
    """Return the existing new ReplicaSet with annotations brought up to date, None if they are.

    A ReplicaSet that is new *again* (a rollback) gets a new revision number and
    remembers the one it had.
    """
    assert found.new is not None
    before = objects.annotations(found.new)
    after = {**before, **_copied_annotations(deployment)}
    number = next_revision(found.old)
    if revision(found.new) < number:
        after[REVISION] = str(number)
        if old_number := before.get(REVISION):
            history = [each for each in before.get(_HISTORY, "").split(",") if each]
            after[_HISTORY] = ",".join([*history, old_number])
    minimum = objects.spec(deployment).get("minReadySeconds") or 0
    if after == before and minimum == (objects.spec(found.new).get("minReadySeconds") or 0):
        return None
    updated = objects.changed(found.new, ("metadata", "annotations"), after)
    return objects.changed(updated, ("spec", "minReadySeconds"), minimum)


def resize(
    deployment: json.JsonObject, replica_set: json.JsonObject, size: int
) -> tuple[actions.Write, ...]:
    """Give a ReplicaSet a size; no write when size and annotations are as wanted."""
    annotations = {**objects.annotations(replica_set), **_size_annotations(deployment)}
    before = objects.replicas(replica_set)
    if size == before and annotations == objects.annotations(replica_set):
        return ()
    updated = objects.changed(replica_set, ("metadata", "annotations"), annotations)
    writes: tuple[actions.Write, ...] = (
        actions.Update(objects.changed(updated, ("spec", "replicas"), size)),
    )
    return writes if size == before else (*writes, scaled_event(deployment, replica_set, size))


def scaled_event(
    deployment: json.JsonObject, replica_set: json.JsonObject, size: int, *, fresh: bool = False
) -> actions.Emit:
    """The event that tells about a new size."""
    before = 0 if fresh else objects.replicas(replica_set)
    direction = "up" if size > before else "down"
    message = f"Scaled {direction} replica set {objects.name(replica_set)} from {before} to {size}"
    return actions.Emit(deployment, "Normal", "ScalingReplicaSet", message, COMPONENT)


def outdated(deployment: json.JsonObject, old: Sequence[json.JsonObject]) -> list[actions.Write]:
    """Delete empty ReplicaSets beyond ``revisionHistoryLimit``, the oldest revisions first."""
    limit = objects.spec(deployment).get("revisionHistoryLimit")
    if limit is None:
        return []
    candidates = sorted((each for each in old if not objects.is_deleting(each)), key=revision)
    excess = candidates[: max(0, len(candidates) - int(limit))]
    return [actions.Delete(each) for each in excess if _is_retired(each)]


def _is_retired(replica_set: json.JsonObject) -> bool:
    observed = objects.count(replica_set, "observedGeneration")
    return (
        objects.replicas(replica_set) == 0
        and objects.count(replica_set, "replicas") == 0
        and objects.generation(replica_set) <= observed
    )


def _bare_template(obj: json.JsonObject) -> json.JsonObject:
    template = objects.spec(obj).get("template") or {}
    labels = {
        key: value
        for key, value in ((template.get("metadata") or {}).get("labels") or {}).items()
        if key != HASH_LABEL
    }
    return objects.changed(template, ("metadata", "labels"), labels)


def _age(replica_set: json.JsonObject) -> tuple[str, int, str]:
    # Dates have whole seconds only: the revision decides among those of one second.
    return objects.created(replica_set), revision(replica_set), objects.name(replica_set)


def _copied_annotations(deployment: json.JsonObject) -> dict[str, str]:
    return {
        key: value
        for key, value in objects.annotations(deployment).items()
        if key not in _NOT_COPIED
    }


def _size_annotations(deployment: json.JsonObject) -> dict[str, str]:
    wanted = objects.replicas(deployment)
    return {
        sizes.DESIRED: str(wanted),
        sizes.MAXIMUM: str(wanted + sizes.max_surge(deployment)),
    }
