"""What a node tells about containers, in the words of the real kubelet."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import actions
from kube_sandbox.controllers.kubelet import containers, lifecycle, report

COMPONENT = "kubelet"


def of(pod: json.JsonObject, step: lifecycle.Step, *, node: str) -> list[actions.Write]:
    """Return the events of a container's step."""
    image = _image(pod, step)
    told = {
        containers.Stage.CREATING: [("Normal", "Pulling", f'Pulling image "{image}"')],
        containers.Stage.PULL_ERROR: [
            ("Warning", "Failed", f'Failed to pull image "{image}": {report.pull_failure(image)}'),
            ("Warning", "Failed", "Error: ErrImagePull"),
        ],
        containers.Stage.PULL_BACKOFF: [
            ("Normal", "BackOff", f'Back-off pulling image "{image}"'),
            ("Warning", "Failed", "Error: ImagePullBackOff"),
        ],
        containers.Stage.BACKOFF: [
            (
                "Warning",
                "BackOff",
                f"Back-off restarting failed container {step.container} in pod {_title(pod)}",
            )
        ],
        containers.Stage.CONFIG_ERROR: [
            _pulled(step, image),
            ("Warning", "Failed", f"Error: {step.after.problem}"),
        ],
        containers.Stage.RUNNING: _started(step, image),
        containers.Stage.EXITED: [],
        containers.Stage.FINISHED: [],
    }[step.after.stage]
    group = "initContainers" if step.is_init else "containers"
    path = f"spec.{group}{{{step.container}}}"
    return [
        actions.Emit(pod, kind, reason, message, COMPONENT, field_path=path, host=node)
        for kind, reason, message in told
    ]


def killing(pod: json.JsonObject, *, node: str) -> list[actions.Write]:
    """Return the events of a pod's stopping."""
    return [
        actions.Emit(
            pod,
            "Normal",
            "Killing",
            f"Stopping container {each['name']}",
            COMPONENT,
            field_path=f"spec.containers{{{each['name']}}}",
            host=node,
        )
        for each in lifecycle.main_containers(pod)
    ]


def unmounted(pod: json.JsonObject, problem: str, *, node: str) -> actions.Emit:
    """The event of a volume that cannot be mounted."""
    return actions.Emit(pod, "Warning", "FailedMount", problem, COMPONENT, host=node)


def unhealthy(pod: json.JsonObject, container: str, *, node: str) -> actions.Emit:
    """The event of a readiness probe that fails."""
    return actions.Emit(
        pod,
        "Warning",
        "Unhealthy",
        "Readiness probe failed: the sandbox was told to keep this container unready",
        COMPONENT,
        field_path=f"spec.containers{{{container}}}",
        host=node,
    )


def _started(step: lifecycle.Step, image: str) -> list[tuple[str, str, str]]:
    return [
        _pulled(step, image),
        ("Normal", "Created", f"Created container: {step.container}"),
        ("Normal", "Started", f"Started container {step.container}"),
    ]


def _pulled(step: lifecycle.Step, image: str) -> tuple[str, str, str]:
    if step.before is None or step.before.stage in containers.NOT_PULLED:
        return "Normal", "Pulled", f'Successfully pulled image "{image}"'
    return "Normal", "Pulled", f'Container image "{image}" already present on machine'


def _image(pod: json.JsonObject, step: lifecycle.Step) -> str:
    listed = lifecycle.init_containers(pod) if step.is_init else lifecycle.main_containers(pod)
    return next(
        (str(each.get("image") or "") for each in listed if each["name"] == step.container), ""
    )


def _title(pod: json.JsonObject) -> str:
    return f"{objects.name(pod)}_{objects.namespace(pod)}({objects.uid(pod)})"
