"""Crash loops of the revision that is waited for: pure, from pods and their workload.

A container that was started again several times since the wait began, and is waited for longer and
longer, does not get better by waiting. Only a pod that was made from the workload's present
template counts, field by field: what an older revision does says nothing about this one.
"""

from collections.abc import Iterable, Iterator, Mapping

from volary.manifests import objects
from volary.model import json

#: Starts again of one container, since the wait began, that are evidence enough.
RESTARTS = 3
#: What the cluster adds to a container by itself.
_ADDED_TO_CONTAINERS = ("volumeMounts", "imagePullPolicy")
#: What the cluster adds to a pod by itself, and to what a template says of it.
_ADDED_TO_PODS = frozenset(
    {
        *("affinity", "enableServiceLinks", "hostname", "imagePullSecrets", "nodeName"),
        *("overhead", "preemptionPolicy", "priority", "schedulerName", "subdomain"),
        *("tolerations", "volumes"),
    }
)
_ACCOUNT = ("serviceAccount", "serviceAccountName")
_LISTED = ("containers", "initContainers")

#: By uid of the pod and name of the container.
Restarts = Mapping[tuple[str, str], int]


def restarts(pods: Iterable[json.JsonObject]) -> dict[tuple[str, str], int]:
    """Return how often each container was started again."""
    return {
        (objects.uid(pod), objects.text(container, "name")): objects.number(
            container, "restartCount"
        )
        for pod in pods
        for container in _statuses(pod)
    }


def find(workload: json.JsonObject, pod: json.JsonObject, before: Restarts) -> str:
    """Say which container of a pod is in a crash loop; empty: none, or the pod is an old one.

    Args:
        workload: What the pod belongs to, as it is now.
        pod: One of its pods.
        before: How often containers had been started again when the wait began.
    """
    uid = objects.uid(pod)
    for container in _statuses(pod):
        name = objects.text(container, "name")
        count = objects.number(container, "restartCount") - before.get((uid, name), 0)
        waits = objects.text(container, "state", "waiting", "reason") == "CrashLoopBackOff"
        if waits and count >= RESTARTS and is_of_present_revision(workload, pod):
            last = objects.mapping(container, "lastState", "terminated")
            code = f", last with exit code {objects.number(last, 'exitCode')}" if last else ""
            return f"container {name} crashes: started again {count} times{code}"
    return ""


def is_of_present_revision(workload: json.JsonObject, pod: json.JsonObject) -> bool:
    """Say whether a pod was made from the workload's present template; in doubt it was not."""
    revision = objects.text(workload, "status", "updateRevision")
    label = objects.text(pod, "metadata", "labels", "controller-revision-hash")
    if revision and label and workload.get("kind") == "StatefulSet":
        return revision == label
    template = objects.mapping(workload, "spec", "template")
    made, wanted = objects.mapping(pod, "spec"), objects.mapping(template, "spec")
    return (
        _is_within(objects.mapping(template, "metadata", "annotations"), pod, "annotations")
        and _is_within(objects.mapping(template, "metadata", "labels"), pod, "labels")
        and all(_has_containers(wanted, made, kind) for kind in _LISTED)
        and all(
            volume in objects.mappings(made, "volumes")
            for volume in objects.mappings(wanted, "volumes")
        )
        and all(
            _is_same(key, wanted, made) for key in {*wanted, *made} - _ADDED_TO_PODS - {*_LISTED}
        )
    )


def _is_same(key: str, wanted: json.JsonObject, made: json.JsonObject) -> bool:
    default = "default" if key in _ACCOUNT else None
    return wanted.get(key) == made.get(key) or (key not in wanted and made[key] == default)


def _is_within(wanted: json.JsonObject, pod: json.JsonObject, where: str) -> bool:
    return wanted.items() <= objects.mapping(pod, "metadata", where).items()


def _has_containers(wanted: json.JsonObject, made: json.JsonObject, kind: str) -> bool:
    """Say whether each container of the template is in the pod as it is written."""
    there = {objects.text(one, "name"): one for one in objects.mappings(made, kind)}
    for container in objects.mappings(wanted, kind):
        other = there.get(objects.text(container, "name"), {})
        if _own(container) != _own(other) or not all(
            mount in objects.mappings(other, "volumeMounts")
            for mount in objects.mappings(container, "volumeMounts")
        ):
            return False
    return True


def _own(container: json.JsonObject) -> json.JsonObject:
    return {key: part for key, part in container.items() if key not in _ADDED_TO_CONTAINERS}


def _statuses(pod: json.JsonObject) -> Iterator[json.JsonObject]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from objects.mappings(pod, "status", kind)
