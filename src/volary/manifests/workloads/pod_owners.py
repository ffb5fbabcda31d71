"""Whose a pod is: by owner references up to a workload, never by labels. Pure.

Anybody may give a pod the labels of somebody else's. Which controller made it, its
``ownerReferences`` say: that of a Deployment's pod is a ReplicaSet, whose controller is the
Deployment; other workloads make their pods themselves. A controller is told by its uid: another
object of the same name, made later, owns nothing of the first.

Pods of an older revision are not those of what is applied now, though they have the same owner:
while a rollout goes on, and as long as they take to end.
"""

from collections.abc import Iterable, Sequence

from volary.manifests import objects
from volary.manifests.workloads import workloads
from volary.model import json

#: What stands between a workload and its pods, or tells its newest revision, by the workload's
#: kind; all are of the group ``apps``.
BETWEEN = {
    workloads.DEPLOYMENT: "ReplicaSet",
    "Rollout": "ReplicaSet",
    workloads.DAEMON_SET: "ControllerRevision",
}
_TEMPLATE_HASH = "pod-template-hash"
_REVISION_HASH = "controller-revision-hash"


def controller(body: json.JsonObject) -> str:
    """Return the uid of the object that made this one and looks after it; empty: nothing does."""
    references = objects.mappings(body, "metadata", "ownerReferences")
    return next(
        (objects.text(one, "uid") for one in references if one.get("controller") is True), ""
    )


def may_own(workload: json.JsonObject, pod: json.JsonObject) -> bool:
    """Say whether a pod can be a workload's, as far as the pod alone tells.

    Of a Deployment's pod it tells which ReplicaSet made it, whose name the Deployment's controller
    makes of its own name and the pod's hash. Of kinds that are not known here any may be.
    """
    references = objects.mappings(pod, "metadata", "ownerReferences")
    owner = next((one for one in references if one.get("controller") is True), {})
    kind = workload.get("kind")
    if kind == workloads.DEPLOYMENT:
        name = objects.text(workload, "metadata", "name")
        made_of = f"{name}-{objects.text(pod, 'metadata', 'labels', _TEMPLATE_HASH)}"
        return owner.get("kind") == "ReplicaSet" and owner.get("name") == made_of
    if kind in (workloads.STATEFUL_SET, workloads.DAEMON_SET, "Job"):
        return objects.text(owner, "uid") == objects.uid(workload)
    return True


def owned(
    workload: json.JsonObject, between: Sequence[json.JsonObject], pods: Iterable[json.JsonObject]
) -> list[json.JsonObject]:
    """Return the pods of a workload's newest revision.

    Args:
        workload: As it is in the cluster, with its kind.
        between: Live objects of its kind's `BETWEEN`; those of others are passed over.
        pods: Live pods; those of others are passed over.
    """
    uid = objects.uid(workload)
    if not uid:
        return []
    made = [body for body in between if controller(body) == uid]
    if BETWEEN.get(str(workload.get("kind"))) == "ReplicaSet":
        makers = {objects.uid(body) for body in made if _is_newest(workload, body)} - {""}
        return [pod for pod in pods if controller(pod) in makers]
    return [
        pod
        for pod in pods
        if controller(pod) == uid and _is_of_newest_revision(workload, made, pod)
    ]


def _is_newest(workload: json.JsonObject, replica_set: json.JsonObject) -> bool:
    """Say whether a ReplicaSet is that of a Deployment's template, as its controller would.

    Of other kinds any is: what their controllers fill into a template is not known here.
    """
    if workload.get("kind") != workloads.DEPLOYMENT:
        return True
    return _template(workload) == _template(replica_set)


def _template(body: json.JsonObject) -> json.JsonObject:
    """Return a pod template without the label that tells one ReplicaSet from others."""
    template = objects.mapping(body, "spec", "template")
    metadata = objects.mapping(template, "metadata")
    labels = {**objects.mapping(metadata, "labels")}
    labels.pop(_TEMPLATE_HASH, None)
    return {**template, "metadata": {**metadata, "labels": labels}}


def _is_of_newest_revision(
    workload: json.JsonObject, revisions: Sequence[json.JsonObject], pod: json.JsonObject
) -> bool:
    kind, label = workload.get("kind"), objects.text(pod, "metadata", "labels", _REVISION_HASH)
    if kind not in (workloads.STATEFUL_SET, workloads.DAEMON_SET):
        return True
    seen = objects.number(workload, "status", "observedGeneration")
    if seen < objects.number(workload, "metadata", "generation"):
        # What its controller calls the newest one is not what is applied now.
        return False
    if kind == workloads.STATEFUL_SET:
        return label == objects.text(workload, "status", "updateRevision")
    newest = max(revisions, key=lambda body: objects.number(body, "revision"), default={})
    return label == objects.text(newest, "metadata", "labels", _REVISION_HASH)
