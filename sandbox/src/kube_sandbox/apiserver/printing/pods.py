"""The cells of pods: the one STATUS word made of phase, conditions and containers."""

from datetime import datetime

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects
from kube_sandbox.apiserver.printing import cells, durations


def ready(pod: json.JsonObject) -> str:
    """``1/2``: ready containers of all."""
    listed = objects.status(pod).get("containerStatuses") or ()
    done = sum(
        bool(each.get("ready")) and "running" in (each.get("state") or {}) for each in listed
    )
    return f"{done}/{len(objects.spec(pod).get('containers') or ())}"


def restarts(pod: json.JsonObject, now: datetime) -> str:
    """``3 (15s ago)``: restarts of all containers and when the last one was."""
    listed = objects.status(pod).get("containerStatuses") or ()
    count = sum(int(each.get("restartCount") or 0) for each in listed)
    ends = [
        terminated["finishedAt"]
        for each in listed
        if (terminated := (each.get("lastState") or {}).get("terminated"))
        and terminated.get("finishedAt")
    ]
    if not count or not ends:
        return str(count)
    return f"{count} ({durations.age(max(ends), now)} ago)"


def word(pod: json.JsonObject) -> str:
    """The STATUS word (Kubernetes: printPod)."""
    status = objects.status(pod)
    if objects.is_deleting(pod):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    initial = _init_word(pod)
    if initial:
        return initial
    found = str(status.get("reason") or status.get("phase") or "Unknown")
    running = False
    for each in reversed(status.get("containerStatuses") or ()):
        state = each.get("state") or {}
        found = _state_word(state) or found
        running = running or bool(each.get("ready") and "running" in state)
    if found == "Completed" and running:
        listed = status.get("conditions") or ()
        return "Running" if conditions.is_true(listed, "Ready") else "NotReady"
    return found


def _init_word(pod: json.JsonObject) -> str:
    """``Init:1/2`` while init containers run; empty once they are done."""
    specs = objects.spec(pod).get("initContainers") or ()
    sidecars = {each["name"] for each in specs if each.get("restartPolicy") == "Always"}
    for index, each in enumerate(objects.status(pod).get("initContainerStatuses") or ()):
        state = each.get("state") or {}
        terminated = state.get("terminated")
        if terminated is not None and terminated.get("exitCode") == 0:
            continue
        if each.get("name") in sidecars and each.get("started"):
            continue
        if terminated is not None:
            return f"Init:{_state_word(state)}"
        reason = (state.get("waiting") or {}).get("reason")
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{index}/{len(specs)}"
    return ""


def _state_word(state: json.JsonObject) -> str:
    if reason := (state.get("waiting") or {}).get("reason"):
        return str(reason)
    terminated = state.get("terminated")
    if terminated is None:
        return ""
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _gates(pod: json.JsonObject) -> str:
    gates = objects.spec(pod).get("readinessGates") or ()
    listed = objects.status(pod).get("conditions") or ()
    done = sum(conditions.is_true(listed, each.get("conditionType", "")) for each in gates)
    return f"{done}/{len(gates)}" if gates else cells.NONE


COLUMNS = (
    cells.NAME,
    cells.column("Ready", ready),
    cells.column("Status", word),
    cells.Column("Restarts", restarts),
    cells.AGE,
    cells.column("IP", lambda pod: objects.status(pod).get("podIP") or cells.NONE, wide=True),
    cells.column("Node", lambda pod: objects.spec(pod).get("nodeName") or cells.NONE, wide=True),
    cells.column(
        "Nominated Node",
        lambda pod: objects.status(pod).get("nominatedNodeName") or cells.NONE,
        wide=True,
    ),
    cells.column("Readiness Gates", _gates, wide=True),
)
