"""The Job controller: pods that are meant to end, as often as asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, times
from kube_sandbox.controllers.framework import actions, pods, view

COMPONENT = "job-controller"
_INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class _Look:
    """A Job with its pods, for the length of one reconcile."""

    job: json.JsonObject
    active: tuple[json.JsonObject, ...]
    succeeded: tuple[json.JsonObject, ...]
    failed: tuple[json.JsonObject, ...]
    terminating: int

    @property
    def completions(self) -> int | None:
        value = objects.spec(self.job).get("completions")
        return None if value is None else int(value)

    @property
    def parallelism(self) -> int:
        value = objects.spec(self.job).get("parallelism")
        return 1 if value is None else int(value)

    @property
    def is_indexed(self) -> bool:
        return bool(objects.spec(self.job).get("completionMode") == "Indexed")

    @property
    def is_suspended(self) -> bool:
        return bool(objects.spec(self.job).get("suspend"))

    @property
    def succeeded_count(self) -> int:
        if self.is_indexed:
            return len({_index(each) for each in self.succeeded})
        return len(self.succeeded)


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the next writes for the Job at `key`."""
    job = cluster.get("Job", key.namespace, key.name)
    if job is None or objects.is_deleting(job):
        return actions.NOTHING
    if is_finished(job):
        return _expired(job, at)
    mine, claims = pods.claim(cluster, job)
    look = _look(job, mine)
    verdict = _verdict(look, at)
    writes = (*claims, *_next(look, over=verdict is not None))
    status = _counted(look, verdict, at)
    if status != objects.status(job):
        writes = (*writes, actions.UpdateStatus({**job, "status": status}))
        if verdict is not None:
            writes = (*writes, _told(job, verdict))
    return actions.Result(writes, requeue_after=_deadline_left(job, at))


def is_finished(job: json.JsonObject) -> bool:
    """Tell whether the Job is complete or has failed."""
    listed = objects.status(job).get("conditions") or ()
    return conditions.is_true(listed, "Complete") or conditions.is_true(listed, "Failed")


def _look(job: json.JsonObject, mine: Sequence[json.JsonObject]) -> _Look:
    def in_phase(phase: str) -> tuple[json.JsonObject, ...]:
        return tuple(each for each in mine if objects.status(each).get("phase") == phase)

    return _Look(
        job,
        tuple(each for each in mine if pods.is_active(each)),
        in_phase("Succeeded"),
        in_phase("Failed"),
        sum(pods.is_terminating(each) for each in mine),
    )


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How the Job has ended."""

    succeeded: bool
    reason: str
    message: str


def _verdict(look: _Look, at: times.Instant) -> _Verdict | None:
    limit = int(objects.spec(look.job).get("backoffLimit", 6))
    retries = sum(pods.restarts(each) for each in look.active) + len(look.failed)
    if retries > limit:
        message = "Job has reached the specified backoff limit"
        return _Verdict(False, "BackoffLimitExceeded", message)
    left = _deadline_left(look.job, at)
    if left is not None and left <= 0:
        message = "Job was active longer than specified deadline"
        return _Verdict(False, "DeadlineExceeded", message)
    if look.completions is None:
        done = bool(look.succeeded) and not look.active
    else:
        done = look.succeeded_count >= look.completions and not look.active
    if done:
        return _Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def _next(look: _Look, *, over: bool) -> list[actions.Write]:
    if over or look.is_suspended:
        return [actions.Delete(each) for each in look.active]
    wanted = _wanted_active(look)
    excess = list(look.active)[wanted:]
    if excess:
        return [actions.Delete(each) for each in excess]
    return [_create(look, index) for index in _free(look, wanted - len(look.active))]


def _wanted_active(look: _Look) -> int:
    if look.completions is None:
        # Without a number of completions the first success ends the making of pods.
        return len(look.active) if look.succeeded else look.parallelism
    return min(look.parallelism, look.completions - look.succeeded_count)


def _free(look: _Look, number: int) -> list[int | None]:
    """What the next pods work on: the lowest indexes nobody has, or nothing in particular."""
    if not look.is_indexed:
        return [None] * number
    taken = {_index(each) for each in (*look.active, *look.succeeded)}
    free = [each for each in range(look.completions or 0) if each not in taken]
    return list(free[:number])


def _create(look: _Look, index: int | None) -> actions.Write:
    template = objects.spec(look.job).get("template") or {}
    pod = pods.make(look.job, template)
    if index is not None:
        name = objects.name(look.job)
        pod["metadata"]["generateName"] = f"{name}-{index}-"
        pod["metadata"]["labels"][_INDEX] = str(index)
        annotations = pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**annotations, _INDEX: str(index)}
        pod["spec"]["hostname"] = f"{name}-{index}"
    return pods.creation(pod, look.job, COMPONENT)


def _index(pod: json.JsonObject) -> int:
    return int(objects.annotations(pod).get(_INDEX, "-1"))


def _counted(look: _Look, verdict: _Verdict | None, at: times.Instant) -> json.JsonObject:
    before = objects.status(look.job)
    status: json.JsonObject = {
        "conditions": _conditions(before.get("conditions") or [], look, verdict, at),
        "startTime": None if look.is_suspended else before.get("startTime") or at.stamp,
        "completionTime": at.stamp if verdict is not None and verdict.succeeded else None,
        "active": 0 if verdict is not None or look.is_suspended else len(look.active),
        "succeeded": look.succeeded_count,
        "failed": len(look.failed),
        "ready": sum(pods.is_ready(each) for each in look.active) if verdict is None else 0,
        "terminating": look.terminating,
        "uncountedTerminatedPods": {},
    }
    if look.is_indexed and look.succeeded:
        status["completedIndexes"] = _ranges(sorted({_index(each) for each in look.succeeded}))
    keep = ("ready", "terminating", "uncountedTerminatedPods")
    return objects.without_empty(status, keep=keep)


def _conditions(
    before: list[json.JsonObject],
    look: _Look,
    verdict: _Verdict | None,
    at: times.Instant,
) -> list[json.JsonObject]:
    listed = before
    suspended = conditions.find(listed, "Suspended")
    if look.is_suspended:
        listed = conditions.put(
            listed, _condition("Suspended", "True", "JobSuspended", "Job suspended", at)
        )
    elif suspended is not None:
        listed = conditions.put(
            listed, _condition("Suspended", "False", "JobResumed", "Job resumed", at)
        )
    if verdict is None:
        return listed
    kinds = ("SuccessCriteriaMet", "Complete") if verdict.succeeded else ("FailureTarget", "Failed")
    for kind in kinds:
        listed = conditions.put(
            listed, _condition(kind, "True", verdict.reason, verdict.message, at)
        )
    return listed


def _condition(
    kind: str, status: str, reason: str, message: str, at: times.Instant
) -> json.JsonObject:
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": at.stamp,
        "lastTransitionTime": at.stamp,
        "reason": reason,
        "message": message,
    }


def _told(job: json.JsonObject, verdict: _Verdict) -> actions.Emit:
    if verdict.succeeded:
        return actions.Emit(job, "Normal", "Completed", "Job completed", COMPONENT)
    return actions.Emit(job, "Warning", verdict.reason, verdict.message, COMPONENT)


def _expired(job: json.JsonObject, at: times.Instant) -> actions.Result:
    """Delete a finished Job once its ``ttlSecondsAfterFinished`` has passed."""
    limit = objects.spec(job).get("ttlSecondsAfterFinished")
    if limit is None:
        return actions.NOTHING
    listed = objects.status(job).get("conditions") or ()
    ended = next(
        each["lastTransitionTime"]
        for each in listed
        if each["type"] in ("Complete", "Failed") and each["status"] == "True"
    )
    left = float(limit) - at.since(ended)
    if left > 0:
        return actions.Result(requeue_after=left)
    return actions.Result((actions.Delete(job, propagation="Foreground"),))


def _deadline_left(job: json.JsonObject, at: times.Instant) -> float | None:
    limit = objects.spec(job).get("activeDeadlineSeconds")
    started = objects.status(job).get("startTime")
    if limit is None or started is None:
        return None
    return float(limit) - at.since(str(started))


def _ranges(numbers: Sequence[int]) -> str:
    """Write 0,1,2,5 as ``0-2,5``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(str(each) for each in part) for part in parts)
