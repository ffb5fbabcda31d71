"""What is still missing until a set of objects is ready: pure, from what was seen.

`waits` collects objects and pods from watches and asks here after each change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from volary.clusters.api import label_selectors
from volary.clusters.watching import crash_loops
from volary.manifests import objects
from volary.manifests.health import assessment, pod_health, workload_health
from volary.manifests.workloads import pod_owners
from volary.model import json, phrases, statuses
from volary.model.objects import manifest, object_health

#: Reasons for which the kubelet waits that another try seldom mends.
IMAGE_TROUBLE = frozenset(
    {
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
    }
)
_SHOWN = 3
#: Kinds whose suspension holds an update back; of others it is a state like any other.
_UPDATED = ("Deployment", "Rollout", "CloneSet")


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far a set of objects is."""

    #: Pods of workloads, plus one for each other object whose health can be known.
    ready: int
    total: int
    #: What is missing, or that nothing is, in one sentence.
    sentence: str
    is_complete: bool = False
    #: Why waiting longer cannot help; empty: it may.
    permanent_failure: str = ""
    #: What seldom mends by itself, such as an image that cannot be pulled; empty: nothing.
    stuck: str = ""
    #: Objects that no rule is for, and that count as ready for that reason alone.
    unassessed: tuple[str, ...] = ()
    #: One of those has a controller that may still say more.
    silent: bool = False


@dataclass(slots=True)
class Observed:
    """What the watches have seen so far; changed by `waits` only."""

    #: By the key of the manifest, with its namespace filled in.
    objects: dict[manifest.ResourceKey, json.JsonObject] = field(default_factory=dict)
    #: By namespace and name.
    pods: dict[tuple[str, str], json.JsonObject] = field(default_factory=dict)
    #: How often containers had been started again when their pods were seen first.
    restarts: dict[tuple[str, str], int] = field(default_factory=dict)
    #: Objects whose kind has a status of its own, which a controller writes.
    telling: frozenset[manifest.ResourceKey] = frozenset()


@dataclass(frozen=True, slots=True)
class _Part:
    """One object's share in the whole."""

    ready: int
    total: int
    missing: str = ""
    permanent_failure: str = ""
    stuck: str = ""
    unassessed: str = ""
    silent: bool = False


def assess(
    wanted: Sequence[manifest.Manifest], seen: Observed, rules: Sequence[object_health.Rule] = ()
) -> Readiness:
    """Say how far `wanted` is, given what was seen and the user's `rules` of health."""
    parts = [_part(item, seen, rules) for item in wanted]
    missing = [part.missing for part in parts if part.missing]
    permanent_failure = [part.permanent_failure for part in parts if part.permanent_failure]
    ready, total = sum(part.ready for part in parts), sum(part.total for part in parts)
    return Readiness(
        ready=ready,
        total=total,
        sentence=listed(missing)
        or _all_ready_sentence(ready, total, sum(bool(part.unassessed) for part in parts)),
        is_complete=not missing,
        permanent_failure=listed(permanent_failure),
        stuck=listed(part.stuck for part in parts if part.stuck),
        unassessed=tuple(part.unassessed for part in parts if part.unassessed),
        silent=any(part.silent for part in parts),
    )


def _all_ready_sentence(ready: int, total: int, unknown: int) -> str:
    if not unknown:
        return f"{ready} of {total} ready"
    said = f"{unknown} of unknown health"
    return f"{ready} of {total} ready, {said}" if total else f"there, {said}"


def listed(sentences: Iterable[str]) -> str:
    """Join sentences, the first few of them, and say how many more there are."""
    return phrases.first_of(sentences, _SHOWN, "; ")


def _part(item: manifest.Manifest, seen: Observed, rules: Sequence[object_health.Rule]) -> _Part:
    body = seen.objects.get(item.key)
    if body is None:
        return _Part(0, 1, f"{item.name}: is gone", permanent_failure=f"{item.key.title} is gone")
    judged = assessment.assess(body, rules)
    ready, total = workload_health.pod_counts(body)
    if not judged.ruled:
        # Nothing more will be known about it: it is there, and that is all that can be said.
        waits = item.key in seen.telling and not objects.mapping(body, "status")
        return _Part(0, 0, unassessed=f"{item.key.title}: {judged.reason}", silent=waits)
    if judged.status is statuses.HealthStatus.HEALTHY or _is_as_written(item, judged, rules):
        return _Part(ready, total) if total else _Part(1, 1)
    trouble, stuck = _pod_trouble(body, seen.pods)
    if not stuck and "." in item.group and judged.status is statuses.HealthStatus.DEGRADED:
        stuck = judged.reason
    missing = "; ".join(filter(None, (f"{item.name}: {judged.reason}", trouble)))
    crashes = _crash_loop(body, seen) if total else ""
    if crashes:
        missing = f"{item.name}: {judged.reason}; {crashes}"
    is_final = judged.permanent or bool(crashes) or _is_stopped(item, judged)
    return _Part(
        ready,
        total or 1,
        missing,
        permanent_failure=missing if is_final else "",
        stuck=_stuck(item, judged, stuck),
    )


def _crash_loop(workload: json.JsonObject, seen: Observed) -> str:
    """Name the first pod of the newest revision that crashes again and again; empty: none."""
    return next(
        (
            f"pod {name}: {told}"
            for (_, name), pod in sorted(seen.pods.items())
            if _is_newest(workload, pod)
            and (told := crash_loops.find(workload, pod, seen.restarts))
        ),
        "",
    )


def _stuck(item: manifest.Manifest, judged: object_health.Health, stuck: str) -> str:
    if not stuck:
        return ""
    also = f"; {stuck}" if stuck != judged.reason else ""
    return f"{item.name}: {judged.reason}{also}"


def _is_as_written(
    item: manifest.Manifest, judged: object_health.Health, rules: Sequence[object_health.Rule]
) -> bool:
    """Whether something suspended was meant to be: waiting for it would never end."""
    if judged.status is not statuses.HealthStatus.SUSPENDED or item.kind in _UPDATED:
        return False
    if "." not in item.group:
        return True
    return assessment.assess(item.body, rules).status is statuses.HealthStatus.SUSPENDED


def _is_stopped(item: manifest.Manifest, judged: object_health.Health) -> bool:
    """Whether its pods are not updated because the manifest says so."""
    if judged.status is not statuses.HealthStatus.SUSPENDED or item.kind not in _UPDATED:
        return False
    return item.kind == "Deployment" or objects.value(item.body, "spec", "paused") is True


def _pod_trouble(
    workload: json.JsonObject, pods: Mapping[tuple[str, str], json.JsonObject]
) -> tuple[str, str]:
    """Return the first trouble of a pod of the newest revision, and the first that stays."""
    troubles = [
        (name, trouble)
        for (_, name), pod in sorted(pods.items())
        if _is_newest(workload, pod) and (trouble := pod_health.pod_trouble(pod))
    ]
    stuck = [
        f"pod {name}: {trouble}"
        for name, trouble in troubles
        if trouble.reason in IMAGE_TROUBLE or not trouble.heals
    ]
    return (
        next((f"pod {name}: {trouble.reason}" for name, trouble in troubles), ""),
        next(iter(stuck), ""),
    )


def is_ready_pod(pod: json.JsonObject) -> bool:
    """Whether `pod` can take traffic: ready and not on its way out."""
    return "deletionTimestamp" not in pod["metadata"] and any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in objects.mappings(pod, "status", "conditions")
    )


def pod_selector(workload: json.JsonObject) -> dict[str, str]:
    """Return the labels by which `workload` selects its pods; empty when it selects otherwise."""
    if workload.get("kind") == "Pod":
        return {}
    return dict(objects.mapping(workload, "spec", "selector", "matchLabels"))


def _is_newest(workload: json.JsonObject, pod: json.JsonObject) -> bool:
    """Whether `pod` is the workload's and made from its present template, judged by its images.

    The revision's hash, and the uid of the ReplicaSet, would take another list. Containers that
    were injected into the pod do not matter.
    """
    metadata = pod["metadata"]
    if (
        metadata.get("namespace") != workload["metadata"].get("namespace")
        or "deletionTimestamp" in metadata
        or not label_selectors.matches(pod_selector(workload), objects.mapping(metadata, "labels"))
        or not pod_owners.may_own(workload, pod)
    ):
        return False
    wanted = _images(objects.mapping(workload, "spec", "template", "spec"))
    return wanted.items() <= _images(objects.mapping(pod, "spec")).items()


def _images(spec: json.JsonObject) -> dict[str, str]:
    return {
        objects.text(container, "name"): objects.text(container, "image")
        for kind in ("initContainers", "containers")
        for container in objects.mappings(spec, kind)
    }
