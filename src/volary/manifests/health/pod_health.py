"""Health of a pod, and what is the matter with one that does not get ready."""

from collections.abc import Iterator
from dataclasses import dataclass

from volary.manifests import objects
from volary.manifests.health import conditions
from volary.model import json
from volary.model.objects import object_health

#: Reasons of waiting containers that stay until somebody changes the manifest or the cluster.
_STAYS = (
    *("CreateContainerConfigError", "CreateContainerError"),
    *("ErrImageNeverPull", "InvalidImageName"),
)
#: Reasons that often pass (a registry comes back, a dependency starts), beside all that end in
#: Error or BackOff.
_MAY_PASS = ("ErrImagePull", "RegistryUnavailable")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a pod does not get ready."""

    #: Kubernetes' own word, ``ImagePullBackOff``.
    reason: str
    #: The cluster's message on one line; may be empty.
    message: str = ""
    #: Container it is about; empty for the pod itself.
    container: str = ""
    #: It may pass by itself; otherwise somebody has to change something.
    heals: bool = True

    def __str__(self) -> str:
        """Return ``ImagePullBackOff (container web): Back-off pulling image …``."""
        place = f" (container {self.container})" if self.container else ""
        return f"{self.reason}{place}: {self.message}" if self.message else f"{self.reason}{place}"


def pod_trouble(body: json.JsonObject) -> Trouble | None:
    """Return what keeps a pod from getting ready; None when nothing is known to be wrong."""
    if objects.text(body, "status", "phase") == "Failed":
        reason = objects.text(body, "status", "reason") or "Failed"
        message = conditions.shorten(objects.text(body, "status", "message"))
        return _terminated(body) or Trouble(reason, message, heals=False)
    troubles = list(_container_troubles(body))
    if troubles:
        # What cannot heal is the better explanation.
        return min(troubles, key=lambda trouble: trouble.heals)
    scheduled = conditions.find(body, "PodScheduled")
    if scheduled and scheduled.is_false:
        return Trouble(scheduled.reason or "Unschedulable", conditions.shorten(scheduled.message))
    return None


def pod(body: json.JsonObject) -> object_health.Health:
    """Judge a pod by its phase, its readiness and its containers."""
    phase = objects.text(body, "status", "phase")
    if phase == "Succeeded":
        return conditions.healthy("finished successfully")
    trouble = pod_trouble(body)
    if trouble:
        return conditions.degraded(str(trouble), permanent=not trouble.heals)
    ready = conditions.find(body, "Ready")
    if phase == "Running" and ready and ready.is_true:
        return conditions.healthy("ready")
    if phase == "Running":
        count = sum(
            container.get("ready") is True
            for container in objects.mappings(body, "status", "containerStatuses")
        )
        total = len(objects.sequence(body, "spec", "containers"))
        return conditions.progressing(f"{count} of {total} containers ready")
    return conditions.progressing(phase.lower() or "not scheduled yet")


def _container_troubles(body: json.JsonObject) -> Iterator[Trouble]:
    for container in _all_statuses(body):
        waiting = objects.mapping(container, "state", "waiting")
        reason = objects.text(waiting, "reason")
        if not _is_trouble(reason):
            continue
        message = objects.text(waiting, "message")
        last = objects.mapping(container, "lastState", "terminated")
        if reason == "CrashLoopBackOff" and last:
            message = f"{_exit(last)}, {objects.number(container, 'restartCount')} restarts"
        name = objects.text(container, "name")
        yield Trouble(reason, conditions.shorten(message), name, reason not in _STAYS)


def _is_trouble(reason: str) -> bool:
    return reason in _STAYS or reason in _MAY_PASS or reason.endswith(("Error", "BackOff"))


def _terminated(body: json.JsonObject) -> Trouble | None:
    """Return how the first failed container of a failed pod ended."""
    for container in _all_statuses(body):
        state = objects.mapping(container, "state", "terminated")
        if state and objects.number(state, "exitCode"):
            reason = objects.text(state, "reason") or "Error"
            return Trouble(reason, _exit(state), objects.text(container, "name"), heals=False)
    return None


def _exit(state: json.JsonObject) -> str:
    reason = objects.text(state, "reason")
    word = f" ({reason})" if reason not in ("", "Error") else ""
    return f"ended with exit code {objects.number(state, 'exitCode')}{word}"


def _all_statuses(body: json.JsonObject) -> Iterator[json.JsonObject]:
    """Yield the status of init containers, then of containers."""
    yield from objects.mappings(body, "status", "initContainerStatuses")
    yield from objects.mappings(body, "status", "containerStatuses")
