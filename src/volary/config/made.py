"""Checks of what an application file adds to its manifests: objects, and a Service."""

from volary.config import shape, yaml
from volary.model import application


def check(reading: shape.Reading, app: application.Application, base: yaml.Path) -> None:
    """Note every problem of the objects and the Service that the file adds."""
    for i, each in enumerate(app.input.objects):
        _check_object(reading, each, (*base, "input", "objects", i))
    if app.made_service is None:
        return
    path = (*base, "service")
    if not app.service.name:
        reading.error(path, "the Service to make has no name", "write service.name")
    adds = app.quick_sync.add_variant_label_to_selector
    if not (app.variant_label.on_pods or adds):
        message = "the Service to make selects a label that primary's pods need not have"
        reading.warn((*path, "create"), message, "write variantLabel: {onPods: true}")
    names = [each.name for each in app.made_service.ports]
    if len(names) > 1 and len({name for name in names if name}) < len(names):
        here = (*path, "create", "ports")
        reading.error(here, "every port needs a name of its own when there are several")


def _check_object(reading: shape.Reading, item: dict[str, object], path: yaml.Path) -> None:
    for field in ("apiVersion", "kind"):
        if not isinstance(item.get(field), str) or not item[field]:
            reading.error((*path, field), "is required, as text")
    metadata = item.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        reading.error((*path, "metadata", "name"), "is required, as text")
