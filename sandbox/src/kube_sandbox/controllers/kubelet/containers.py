"""The state machine of one container; pure, time comes in.

CREATING ──> RUNNING ──> FINISHED
    │          │ ^
    │          v │
    │        EXITED ──> BACKOFF ──> RUNNING
    v
PULL_ERROR <──> PULL_BACKOFF ──> RUNNING

The first exit is followed by a restart at once, later ones by a back-off that doubles. Where
RUNNING is next and the environment cannot be made, CONFIG_ERROR comes first.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import times
from kube_sandbox.controllers.kubelet import behaviours


class Stage(StrEnum):
    """Where a container is in its life."""

    CREATING = "ContainerCreating"
    PULL_ERROR = "ErrImagePull"
    PULL_BACKOFF = "ImagePullBackOff"
    CONFIG_ERROR = "CreateContainerConfigError"
    RUNNING = "Running"
    EXITED = "Exited"
    BACKOFF = "CrashLoopBackOff"
    FINISHED = "Finished"


#: The stages before the image is on the node.
NOT_PULLED = (Stage.CREATING, Stage.PULL_ERROR, Stage.PULL_BACKOFF)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things take on a node, in sandbox seconds."""

    #: Pulling the image and creating the container.
    pull: float = 0.8
    #: From running to ready where a readiness probe is set, after its initial delay.
    probe: float = 0.3
    #: An init container's work.
    initialise: float = 0.4
    #: The work of a container that is meant to end.
    run: float = 1.0
    #: From the request to stop until the container is gone.
    stop: float = 0.6
    #: From a failed pull to the first back-off message.
    pull_error: float = 0.5
    #: From a container's exit until the node restarts it or backs off.
    restart: float = 0.5
    #: Until a container whose environment could not be made is tried again.
    config_retry: float = 10.0
    #: First wait before another try to mount a volume; doubled up to `mount_limit`.
    mount_retry: float = 0.5
    mount_limit: float = 122.0
    #: First wait before another try; doubled up to `backoff_limit` (Kubernetes: 10 s).
    backoff: float = 10.0
    backoff_limit: float = 300.0


@dataclass(frozen=True, slots=True)
class Run:
    """A container's life so far."""

    stage: Stage
    #: Sandbox seconds at which it entered the stage.
    since: float
    #: The same as a date.
    stamp: str
    restarts: int = 0
    #: Exits that count for the back-off: it is forgotten after a long run.
    exits: int = 0
    #: Failed pulls in a row.
    pulls: int = 0
    exit_code: int = 0
    #: What was missing when it was last to start.
    problem: str = ""
    #: The ``terminated`` state of the run before this one.
    last: json.JsonObject | None = None
    #: The ``terminated`` state when exited or finished.
    terminated: json.JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Nature:
    """What decides about a container's life beside time."""

    behaviour: behaviours.Behaviour
    #: Meant to end: an init container, or one of a pod that is not restarted always.
    ends: bool
    #: ``Always``, ``OnFailure`` or ``Never``.
    restart_policy: str
    #: Seconds of work of one that ends.
    work: float
    #: Why its environment cannot be made; empty when it can.
    problem: str = ""


def created(at: times.Instant) -> Run:
    """A container that is about to be made."""
    return Run(Stage.CREATING, at.seconds, at.stamp)


def due(run: Run, nature: Nature, timing: Timing) -> float | None:
    """Sandbox seconds at which the container moves on by itself; None for never."""
    wait: float | None
    match run.stage:
        case Stage.CREATING:
            wait = nature.behaviour.start_delay + timing.pull
        case Stage.PULL_ERROR:
            wait = timing.pull_error
        case Stage.PULL_BACKOFF:
            wait = _backoff(run.pulls, timing)
        case Stage.CONFIG_ERROR:
            wait = timing.config_retry
        case Stage.EXITED:
            wait = timing.restart
        case Stage.BACKOFF:
            wait = restart_wait(run, timing)
        case Stage.RUNNING:
            wait = _lifetime(nature)
        case Stage.FINISHED:
            wait = None
        case _:
            assert_never(run.stage)
    return None if wait is None else run.since + wait


def moved(run: Run, nature: Nature, timing: Timing, at: times.Instant) -> Run:
    """Return the container in its next stage; call it when `due`."""
    match run.stage:
        case Stage.CREATING | Stage.PULL_BACKOFF:
            if nature.behaviour.pull_fails:
                return _enter(run, Stage.PULL_ERROR, at, pulls=run.pulls + 1)
            return _started(replace(run, pulls=0), nature, at)
        case Stage.PULL_ERROR:
            return _enter(run, Stage.PULL_BACKOFF, at)
        case Stage.CONFIG_ERROR | Stage.EXITED | Stage.BACKOFF:
            return _restarted(run, nature, at)
        case Stage.RUNNING:
            return _ended(run, nature, timing, at)
        case Stage.FINISHED:
            return run
        case _:
            assert_never(run.stage)


def restart_wait(run: Run, timing: Timing) -> float:
    """Sandbox seconds that a container in back-off waits for its restart."""
    return _backoff(run.exits - 1, timing)


def ready_at(run: Run, nature: Nature, delay: float) -> float | None:
    """Sandbox seconds at which a running container is ready; None when it will not be."""
    if run.stage is not Stage.RUNNING or nature.behaviour.never_ready:
        return None
    own = nature.behaviour.ready_delay
    return run.since + (delay if own is None else own)


def _lifetime(nature: Nature) -> float | None:
    if nature.behaviour.crash_after is not None:
        return nature.behaviour.crash_after
    return nature.work if nature.ends else None


def _started(run: Run, nature: Nature, at: times.Instant) -> Run:
    if nature.problem:
        return _enter(run, Stage.CONFIG_ERROR, at, problem=nature.problem)
    restarts = run.restarts if run.last is None else run.restarts + 1
    return _enter(run, Stage.RUNNING, at, restarts=restarts)


def _ended(run: Run, nature: Nature, timing: Timing, at: times.Instant) -> Run:
    code, reason = 0, "Completed"
    if nature.behaviour.crash_after is not None:
        code, reason = (137, "OOMKilled") if nature.behaviour.out_of_memory else (1, "Error")
    terminated: json.JsonObject = {
        "exitCode": code,
        "reason": reason,
        "startedAt": run.stamp,
        "finishedAt": at.stamp,
    }
    again = nature.restart_policy == "Always" or (nature.restart_policy == "OnFailure" and code)
    stage = Stage.EXITED if again else Stage.FINISHED
    is_long = at.seconds - run.since > 2 * timing.backoff_limit
    exits = 1 if is_long else run.exits + 1
    return _enter(run, stage, at, terminated=terminated, exit_code=code, exits=exits)


def _restarted(run: Run, nature: Nature, at: times.Instant) -> Run:
    if run.stage is Stage.EXITED:
        run = replace(run, last=run.terminated, terminated=None)
        if run.exits > 1:
            return _enter(run, Stage.BACKOFF, at)
    return _started(run, nature, at)


def _enter(run: Run, stage: Stage, at: times.Instant, **changes: object) -> Run:
    return replace(run, stage=stage, since=at.seconds, stamp=at.stamp, **changes)  # type: ignore[arg-type] # fields of Run


def _backoff(tries: int, timing: Timing) -> float:
    return min(timing.backoff * float(2 ** max(0, tries - 1)), timing.backoff_limit)
