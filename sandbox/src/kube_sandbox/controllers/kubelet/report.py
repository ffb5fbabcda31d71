"""A pod's status, told from its life on the node; pure."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, times
from kube_sandbox.controllers.kubelet import containers, lifecycle

_CREATING = "ContainerCreating"
_INITIALISING = "PodInitializing"


def status(
    pod: json.JsonObject,
    life: lifecycle.Life,
    setting: lifecycle.Setting,
    *,
    host: str,
    at: times.Instant,
) -> json.JsonObject:
    """Return the status the node reports for the pod at `at`."""
    inits = [_told(pod, each, life, setting, at, True) for each in lifecycle.init_containers(pod)]
    mains = [_told(pod, each, life, setting, at, False) for each in lifecycle.main_containers(pod)]
    phase = _phase(pod, life)
    told: json.JsonObject = {
        **objects.status(pod),
        "phase": phase,
        "conditions": _conditions(pod, inits, mains, phase=phase, at=at),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "startTime": life.start_stamp,
        "containerStatuses": mains,
    }
    if inits:
        told["initContainerStatuses"] = inits
    if any(each.stage is not containers.Stage.CREATING for each in life.runs.values()):
        told["podIP"] = life.address
        told["podIPs"] = [{"ip": life.address}]
    return told


def _told(
    pod: json.JsonObject,
    container: json.JsonObject,
    life: lifecycle.Life,
    setting: lifecycle.Setting,
    at: times.Instant,
    is_init: bool,
) -> json.JsonObject:
    name, image = str(container["name"]), str(container.get("image") or "")
    run = life.runs.get(name)
    own = lifecycle.nature(pod, container, setting, is_init=is_init)
    delay = lifecycle.probe_delay(container, setting.timing)
    ready_at = containers.ready_at(run, own, delay) if run is not None else None
    running = run is not None and run.stage is containers.Stage.RUNNING
    finished = run is not None and run.stage is containers.Stage.FINISHED and run.exit_code == 0
    ready = finished if is_init and own.ends else ready_at is not None and ready_at <= at.seconds
    pulled = run is not None and run.stage not in containers.NOT_PULLED
    return {
        "name": name,
        "state": _state(run, pod, container, setting.timing),
        "lastState": {"terminated": run.last} if run is not None and run.last else {},
        "ready": ready,
        "restartCount": run.restarts if run is not None else 0,
        "image": image,
        "imageID": image if pulled else "",
        "started": running,
    }


_NOT_STARTED = (*containers.NOT_PULLED, containers.Stage.CONFIG_ERROR)


def _state(
    run: containers.Run | None,
    pod: json.JsonObject,
    container: json.JsonObject,
    timing: containers.Timing,
) -> json.JsonObject:
    if run is None or run.stage is containers.Stage.CREATING:
        reason = _INITIALISING if lifecycle.init_containers(pod) else _CREATING
        return {"waiting": {"reason": reason}}
    if run.stage is containers.Stage.RUNNING:
        return {"running": {"startedAt": run.stamp}}
    if run.stage in (containers.Stage.EXITED, containers.Stage.FINISHED):
        return {"terminated": run.terminated}
    message = _wait_message(run, pod, container, timing)
    return {"waiting": {"reason": run.stage.value, "message": message}}


def _wait_message(
    run: containers.Run,
    pod: json.JsonObject,
    container: json.JsonObject,
    timing: containers.Timing,
) -> str:
    image = str(container.get("image") or "")
    match run.stage:
        case containers.Stage.PULL_ERROR:
            return pull_failure(image)
        case containers.Stage.PULL_BACKOFF:
            return f'Back-off pulling image "{image}"'
        case containers.Stage.BACKOFF:
            return restart_backoff(pod, str(container["name"]), run, timing)
        case _:
            return run.problem


def pull_failure(image: str) -> str:
    """What a node says about an image that is not there."""
    return (
        f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '
        f"{image}: not found"
    )


def restart_backoff(
    pod: json.JsonObject, container: str, run: containers.Run, timing: containers.Timing
) -> str:
    """What a node says about a container it waits to start again."""
    minutes, seconds = divmod(int(containers.restart_wait(run, timing)), 60)
    wait = f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
    title = f"{objects.name(pod)}_{objects.namespace(pod)}({objects.uid(pod)})"
    return f"back-off {wait} restarting failed container={container} pod={title}"


def _phase(pod: json.JsonObject, life: lifecycle.Life) -> str:
    runs = [life.runs.get(str(each["name"])) for each in lifecycle.main_containers(pod)]
    known = [each for each in runs if each is not None]
    failed_init = [
        run
        for each in lifecycle.init_containers(pod)
        if (run := life.runs.get(str(each["name"]))) is not None
        and run.stage is containers.Stage.FINISHED
        and run.exit_code
    ]
    if failed_init:
        return "Failed"
    if len(known) < len(runs) or any(_has_not_started(each) for each in known):
        return "Pending"
    if all(each.stage is containers.Stage.FINISHED for each in known):
        return "Failed" if any(each.exit_code for each in known) else "Succeeded"
    return "Running"


def _has_not_started(run: containers.Run) -> bool:
    return run.stage in _NOT_STARTED and run.restarts == 0 and run.last is None


def _conditions(
    pod: json.JsonObject,
    inits: Sequence[json.JsonObject],
    mains: Sequence[json.JsonObject],
    *,
    phase: str,
    at: times.Instant,
) -> list[json.JsonObject]:
    before = objects.status(pod).get("conditions") or []
    initialised = all(each["ready"] for each in inits)
    done = phase in ("Succeeded", "Failed")
    unready = [str(each["name"]) for each in mains if not each["ready"]]
    containers_ready = not unready and initialised and not done
    gates = [
        str(each.get("conditionType"))
        for each in objects.spec(pod).get("readinessGates") or ()
        if not conditions.is_true(before, str(each.get("conditionType")))
    ]
    unready_reason = _unready(unready, phase)
    uninitialised = [str(each["name"]) for each in inits if not each["ready"]]
    told = [
        _condition("Initialized", initialised, _incomplete(uninitialised)),
        _condition("Ready", containers_ready and not gates, unready_reason or _gates(gates)),
        _condition("ContainersReady", containers_ready, unready_reason),
        _condition("PodScheduled", True, None),
    ]
    own = {str(each["type"]) for each in told}
    others = [each for each in before if each.get("type") not in own]
    return [_timed(each, before, at) for each in told] + others


def _condition(kind: str, holds: bool, otherwise: tuple[str, str] | None) -> json.JsonObject:
    told: json.JsonObject = {"type": kind, "status": "True" if holds else "False"}
    if not holds and otherwise is not None:
        told["reason"], told["message"] = otherwise
    return told


def _timed(
    told: json.JsonObject, before: Sequence[json.JsonObject], at: times.Instant
) -> json.JsonObject:
    earlier = conditions.find(before, told["type"])
    same = earlier is not None and earlier.get("status") == told["status"]
    stamp = earlier.get("lastTransitionTime") if same and earlier is not None else at.stamp
    return {**told, "lastProbeTime": None, "lastTransitionTime": stamp}


def _unready(names: Sequence[str], phase: str) -> tuple[str, str] | None:
    if phase == "Succeeded":
        return "PodCompleted", ""
    if phase == "Failed":
        return "PodFailed", ""
    if not names:
        return None
    return "ContainersNotReady", f"containers with unready status: [{' '.join(names)}]"


def _incomplete(names: Sequence[str]) -> tuple[str, str] | None:
    if not names:
        return None
    message = f"containers with incomplete status: [{' '.join(names)}]"
    return "ContainersNotInitialized", message


def _gates(missing: Sequence[str]) -> tuple[str, str] | None:
    if not missing:
        return None
    message = f'the status of pod readiness gate "{missing[0]}" is not "True", but False'
    return "ReadinessGatesNotReady", message
