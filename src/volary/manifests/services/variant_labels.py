"""The variant label in selectors: put there, and checked to be there."""

from collections.abc import Sequence

from volary.manifests import objects
from volary.model import errors
from volary.model.objects import manifest
from volary.model.pipeline import variant

_SELECTOR = ("spec", "selector", "matchLabels")
_POD_LABELS = ("spec", "template", "metadata", "labels")


def label_workload(item: manifest.Manifest, key: str, value: str) -> manifest.Manifest:
    """Return the workload with the label in its selector and on its pods, nowhere else.

    Raises:
        UserError: When labels are there but are no object (PipeCD: Unable to check/set).
    """
    for path in (_SELECTOR, _POD_LABELS):
        written = objects.value(item.body, *path)
        if not isinstance(written, dict | None):
            raise errors.user_error(
                f'unable to set "{key}: {value}" in selector of workload {item.name}: '
                f"{'.'.join(path)} must be an object",
                where=item.origin,
            )
    body = objects.duplicate(item.body)
    objects.branch(body, *_SELECTOR)[key] = value
    objects.branch(body, *_POD_LABELS)[key] = value
    return item.with_body(body)


def label_workloads(
    manifests: Sequence[manifest.Manifest],
    chosen: Sequence[manifest.Manifest],
    key: str,
    value: str,
) -> list[manifest.Manifest]:
    """Return the manifests with the label put into those of them that are `chosen`."""
    return [label_workload(item, key, value) if item in chosen else item for item in manifests]


def label_pods(
    manifests: Sequence[manifest.Manifest],
    chosen: Sequence[manifest.Manifest],
    key: str,
    value: str,
) -> list[manifest.Manifest]:
    """Return the manifests with the label on the pods of those of them that are `chosen`."""
    return [_label_pods(item, key, value) if item in chosen else item for item in manifests]


def _label_pods(item: manifest.Manifest, key: str, value: str) -> manifest.Manifest:
    body = objects.duplicate(item.body)
    objects.branch(body, *_POD_LABELS)[key] = value
    return item.with_body(body)


def unlabelled(
    chosen: Sequence[manifest.Manifest], key: str, value: str
) -> list[manifest.Manifest]:
    """Return the workloads whose selector or pods lack the label."""
    return [
        item
        for item in chosen
        if objects.mapping(item.body, *_SELECTOR).get(key) != value
        or objects.mapping(item.body, *_POD_LABELS).get(key) != value
    ]


def select(item: manifest.Manifest, key: str, value: str) -> manifest.Manifest:
    """Return the Service with the label in its selector."""
    selector = {**objects.mapping(item.body, "spec", "selector"), key: value}
    spec = {**objects.mapping(item.body, "spec"), "selector": selector}
    return item.with_body({**item.body, "spec": spec})


def selected(body: object, key: str) -> str:
    """Return the value that a Service selects for the label; empty when it does not."""
    return objects.text(body, "spec", "selector", key)


def service_problem(item: manifest.Manifest, label: variant.VariantLabel) -> str:
    """Return why a Service cannot be switched between variants; empty when it can.

    The texts are PipeCD's (K8S_MULTI_TRAFFIC_ROUTING, podselector).
    """
    selector = objects.value(item.body, "spec", "selector")
    if not isinstance(selector, dict) or not selector:
        return "missing spec.selector"
    if label.key not in selector:
        return f"missing {label.key} key in spec.selector"
    found = selector[label.key]
    if found != label.primary_value:
        return f"require {label.primary_value} but got {found} for {label.key} key in spec.selector"
    return ""


def check_service(item: manifest.Manifest, label: variant.VariantLabel) -> None:
    """Check that the Service as written sends traffic to primary by the variant label.

    Raises:
        UserError: When it does not.
    """
    if wrong := service_problem(item, label):
        raise errors.user_error(
            f"service validation failed: {wrong}",
            where=item.origin,
            hint=f'add "{label.key}: {label.primary_value}" to spec.selector of the Service '
            f"{item.name}; the traffic stage changes that value",
        )


def check_workloads(chosen: Sequence[manifest.Manifest], label: variant.VariantLabel) -> None:
    """Check that the primary's workloads carry the variant label.

    A Service that selects the label would find no pods otherwise.

    Raises:
        UserError: With a problem for each that does not.
    """
    missing = unlabelled(chosen, label.key, label.primary_value)
    if missing:
        raise errors.UserError(*(_missing(item, label) for item in missing))


def _missing(item: manifest.Manifest, label: variant.VariantLabel) -> errors.Problem:
    pair = f"{label.key}: {label.primary_value}"
    return errors.Problem(
        f'missing "{pair}" in selector of workload {item.name}',
        item.origin,
        hint="add it to spec.selector.matchLabels and to the labels of the pod template, "
        "or set addVariantLabelToSelector",
    )
