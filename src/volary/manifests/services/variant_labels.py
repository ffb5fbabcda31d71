"""The variant label in selectors: put there, and checked to be there."""

from volary.manifests import objects
from volary.model import errors
from volary.model.objects import manifest

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


def label_pods(item: manifest.Manifest, key: str, value: str) -> manifest.Manifest:
    """Return the workload with the label on its pods alone."""
    body = objects.duplicate(item.body)
    objects.branch(body, *_POD_LABELS)[key] = value
    return item.with_body(body)


def select(item: manifest.Manifest, key: str, value: str) -> manifest.Manifest:
    """Return the Service with the label in its selector."""
    selector = {**objects.mapping(item.body, "spec", "selector"), key: value}
    return item.with_spec({"selector": selector})
