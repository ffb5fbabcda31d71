"""``pods/log``: emulated pods run no process, and the log says so instead of making lines up."""

from kube_sandbox import json, status


def read(pod: json.JsonObject, container: str) -> str:
    """Return the log of a container.

    Raises:
        status.StatusError: 400, there is no such container or it has not started.
    """
    name = pod["metadata"]["name"]
    containers = [each["name"] for each in pod["spec"]["containers"]]
    if not container:
        if len(containers) > 1:
            choices = " ".join(containers)
            raise status.bad_request(
                f"a container name must be specified for pod {name}, choose one of: [{choices}]"
            )
        container = containers[0]
    known = [*containers, *(each["name"] for each in pod["spec"].get("initContainers") or ())]
    if container not in known:
        raise status.bad_request(f"container {container} is not valid for pod {name}")
    state = _state(pod, container)
    if "waiting" in state or not state:
        reason = (state.get("waiting") or {}).get("reason", "ContainerCreating")
        raise status.bad_request(
            f'container "{container}" in pod "{name}" is waiting to start: {reason}'
        )
    return f"kube-sandbox: pod {name} is emulated; container {container} writes no log\n"


def _state(pod: json.JsonObject, container: str) -> json.JsonObject:
    told = pod.get("status") or {}
    for listed in ("containerStatuses", "initContainerStatuses"):
        for each in told.get(listed) or ():
            if each.get("name") == container:
                found: json.JsonObject = each.get("state") or {}
                return found
    return {}
