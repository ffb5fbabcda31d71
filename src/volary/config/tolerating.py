"""Reads taints of clusters and tolerations of applications."""

from collections.abc import Iterable

from volary.config import sections, shape, taint_sections, yaml
from volary.model import taints

PATH: yaml.Path = ("spec", "placement", "tolerations")


def of_spec(reading: shape.Reading, spec: sections.Spec) -> tuple[taints.Toleration, ...]:
    """Return what an application tolerates; only our own dialect can say.

    Problems are noted (Kubernetes: validation).
    """
    read = spec.placement.tolerations if isinstance(spec, sections.VolarySpec) else ()
    return tuple(_toleration(reading, each, (*PATH, place)) for place, each in enumerate(read))


def marks(
    reading: shape.Reading, read: Iterable[taint_sections.Taint], path: yaml.Path
) -> tuple[taints.Taint, ...]:
    """Return the marks of a cluster; one that is there twice is a problem."""
    found: dict[tuple[str, taints.Effect], taints.Taint] = {}
    for place, each in enumerate(read):
        mark = taints.Taint(each.key, each.value, each.effect)
        if mark.identity in found:
            message = f"{each.key}:{each.effect.value} is there twice"
            reading.error((*path, place), message, "keep one of them")
        found.setdefault(mark.identity, mark)
    return tuple(found.values())


def _toleration(
    reading: shape.Reading, read: taint_sections.Toleration, path: yaml.Path
) -> taints.Toleration:
    exists = read.operator is taints.TolerationOperator.EXISTS
    if not read.key and not exists:
        reading.error(path, "a toleration without a key is for all keys", "write operator: Exists")
    if exists and read.value:
        reading.error((*path, "value"), "Exists compares no value", "remove it, or write Equal")
    if read.toleration_seconds is not None and read.effect is taints.Effect.NO_SCHEDULE:
        message = "NoSchedule is tolerated or not, whatever the time"
        reading.error((*path, "tolerationSeconds"), message, "write effect: NoExecute")
    return taints.Toleration(
        read.key, read.operator, read.value, read.effect, read.toleration_seconds
    )
