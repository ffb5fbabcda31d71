"""The life of a pod on its node: init containers one by one, then all others together; pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers.kubelet import behaviours, containers

#: ``sleep 5``, ``/bin/sh -c "sleep 5"``.
_SLEEP = re.compile(r"(?:\S*sh -c )?(?:\S*/)?sleep (\d+(?:\.\d+)?)s?")


@dataclass(frozen=True, slots=True)
class Life:
    """What the node remembers about a pod."""

    #: The pod's address.
    address: str
    #: When the node took the pod, as a date.
    start_stamp: str
    runs: Mapping[str, containers.Run] = field(default_factory=dict)
    #: Sandbox seconds at which deletion was first seen; None while it lives.
    stopping_since: float | None = None
    #: All volumes have been mounted once.
    is_mounted: bool = False
    #: Failed tries to mount them, and sandbox seconds at which the next one is due.
    mount_tries: int = 0
    mount_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Setting:
    """What decides about pods beside themselves."""

    rules: behaviours.ImageRules
    timing: containers.Timing


@dataclass(frozen=True, slots=True)
class Step:
    """A container that has moved on, for the events."""

    container: str
    before: containers.Run | None
    after: containers.Run
    is_init: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """A pod's life after a look at it."""

    life: Life
    steps: tuple[Step, ...]
    #: Sandbox seconds at which something happens next; None for nothing.
    next_at: float | None


def advance(
    pod: json.JsonObject,
    life: Life,
    setting: Setting,
    at: times.Instant,
    problem_of: Callable[[json.JsonObject], str] = lambda _: "",
) -> Progress:
    """Let every container do what is due at `at`.

    `problem_of` says why a container's environment cannot be made, empty when it can.
    """
    runs = dict(life.runs)
    steps: list[Step] = []
    dues: list[float] = []
    for container, is_init in _present(pod, runs):
        name = str(container["name"])
        own = nature(pod, container, setting, is_init=is_init)
        before = runs.get(name)
        after = before or containers.created(at)
        moves_at = containers.due(after, own, setting.timing)
        if before is not None and moves_at is not None and moves_at <= at.seconds:
            own = replace(own, problem=problem_of(container))
            after = containers.moved(before, own, setting.timing, at)
            moves_at = containers.due(after, own, setting.timing)
        if after is not before:
            runs[name] = after
            steps.append(Step(name, before, after, is_init))
        ready = containers.ready_at(after, own, probe_delay(container, setting.timing))
        dues.extend(each for each in (moves_at, ready) if each is not None and each > at.seconds)
    again = min(dues) if dues else None
    if steps and _present(pod, life.runs) != _present(pod, runs):
        again = at.seconds  # the last init container has ended: the others begin at once
    return Progress(replace(life, runs=runs), tuple(steps), again)


def unmounted(life: Life, setting: Setting, at: times.Instant) -> Life:
    """Note a failed try to mount the pod's volumes."""
    timing = setting.timing
    wait = min(timing.mount_retry * 2.0 ** min(life.mount_tries, 32), timing.mount_limit)
    return replace(life, mount_tries=life.mount_tries + 1, mount_at=at.seconds + wait)


def nature(
    pod: json.JsonObject, container: json.JsonObject, setting: Setting, *, is_init: bool
) -> containers.Nature:
    """What the pod's spec, image and annotations make of a container."""
    behaviour = behaviours.of(
        str(container.get("image") or ""), objects.annotations(pod), setting.rules
    )
    policy = str(objects.spec(pod).get("restartPolicy") or "Always")
    sidecar = is_init and container.get("restartPolicy") == "Always"
    if is_init and not sidecar:
        # Annotations about the work are meant for the main containers.
        behaviour = replace(behaviour, start_delay=0.0)
        policy = "Never" if policy == "Never" else "OnFailure"
        return containers.Nature(behaviour, True, policy, setting.timing.initialise)
    work = setting.timing.run if behaviour.run_for is None else behaviour.run_for
    ends = policy != "Always" and not sidecar
    return containers.Nature(behaviour, ends, "Always" if sidecar else policy, work)


def probe_delay(container: json.JsonObject, timing: containers.Timing) -> float:
    """Seconds from running to ready that the container's probe asks for; 0 without one."""
    probe = container.get("readinessProbe")
    if not probe:
        return 0.0
    return float(probe.get("initialDelaySeconds") or 0) + timing.probe


def stop_window(pod: json.JsonObject, setting: Setting) -> tuple[float, float]:
    """Seconds after which a deleted pod is gone: with nothing left to do, and at the latest.

    First its containers' ``preStop`` hooks, then the delay of each; all of it at most its grace
    period.
    """
    own = [
        behaviours.of(
            str(each.get("image") or ""), objects.annotations(pod), setting.rules
        ).stop_delay
        for each in main_containers(pod)
    ]
    delay = max((each for each in own if each is not None), default=setting.timing.stop)
    soonest = before_stop(pod) + delay
    grace = objects.metadata(pod).get("deletionGracePeriodSeconds")
    latest = soonest if grace is None else float(grace)
    return min(soonest, latest), latest


def before_stop(pod: json.JsonObject) -> float:
    """Seconds that the ``preStop`` hooks of a pod sleep, before its processes are told to stop.

    Of commands, ``sleep`` is understood, also behind a shell; others take no time.
    """
    return max((_slept(each) for each in main_containers(pod)), default=0.0)


def _slept(container: json.JsonObject) -> float:
    hook = (container.get("lifecycle") or {}).get("preStop") or {}
    if "sleep" in hook:
        return float(hook["sleep"].get("seconds") or 0)
    words = " ".join(str(each) for each in (hook.get("exec") or {}).get("command") or ())
    found = _SLEEP.fullmatch(words)
    return float(found[1]) if found else 0.0


def main_containers(pod: json.JsonObject) -> Sequence[json.JsonObject]:
    """The pod's ordinary containers."""
    return list(objects.spec(pod).get("containers") or ())


def init_containers(pod: json.JsonObject) -> Sequence[json.JsonObject]:
    """The pod's init containers, sidecars among them."""
    return list(objects.spec(pod).get("initContainers") or ())


def _present(
    pod: json.JsonObject, runs: Mapping[str, containers.Run]
) -> list[tuple[json.JsonObject, bool]]:
    """The containers whose turn has come, with whether each is an init container."""
    present: list[tuple[json.JsonObject, bool]] = []
    for container in init_containers(pod):
        present.append((container, True))
        run = runs.get(str(container["name"]))
        if not _lets_pass(container, run):
            return present
    return [*present, *((each, False) for each in main_containers(pod))]


def _lets_pass(container: json.JsonObject, run: containers.Run | None) -> bool:
    if run is None:
        return False
    if container.get("restartPolicy") == "Always":
        return run.stage is containers.Stage.RUNNING
    return run.stage is containers.Stage.FINISHED and run.exit_code == 0
