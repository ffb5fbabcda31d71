"""Kinds whose pods clusters can share, and kinds whose pods nobody here can divide."""

from collections.abc import Mapping

from volary.model import json

_JOB = ("batch", "Job")
#: Kinds whose ``spec.replicas`` is the number of their pods, by group.
_WITH_REPLICAS: Mapping[str, tuple[str, ...]] = {
    "": ("ReplicationController",),
    "apps": ("Deployment", "StatefulSet", "ReplicaSet"),
    "apps.kruise.io": ("CloneSet", "StatefulSet"),
    "argoproj.io": ("Rollout",),
}
#: Groups of kinds that say in places of their own how many pods they have.
_ELSEWHERE = (
    "batch.volcano.sh",
    "flink.apache.org",
    "kubeflow.org",
    "ray.io",
    "sparkoperator.k8s.io",
)
#: Runs as one pod that nobody has asked for twice: a chart's tests and the like.
_HOOK = "helm.sh/hook"


def is_job(group: str, kind: str) -> bool:
    """Say whether what is divided are the pods that run at once, and the completions."""
    return (group, kind) == _JOB


def has_replicas(group: str, kind: str) -> bool:
    """Say whether what is divided is ``spec.replicas``."""
    return kind in _WITH_REPLICAS.get(group, ())


def has_undivided_pods(body: json.JsonObject) -> bool:
    """Say whether an object has a number of pods that is not divided, whoever asks for it."""
    group, kind = _type(body)
    if is_job(group, kind) or has_replicas(group, kind):
        return False
    if (group, kind) == ("", "Pod"):
        metadata = body.get("metadata")
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        return _HOOK not in (annotations or {})
    if group in _ELSEWHERE:
        return True
    spec = body.get("spec")
    return isinstance(spec, dict) and isinstance(spec.get("replicas"), int)


def has_pods(body: json.JsonObject) -> bool:
    """Say whether clusters that share pods have a say in an object, or cannot have one."""
    group, kind = _type(body)
    return is_job(group, kind) or has_replicas(group, kind) or has_undivided_pods(body)


def _type(body: json.JsonObject) -> tuple[str, str]:
    return str(body.get("apiVersion", "")).rpartition("/")[0], str(body.get("kind", ""))
