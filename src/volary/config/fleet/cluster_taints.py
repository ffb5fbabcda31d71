"""Taints of clusters and tolerations of applications, as Kubernetes writes them: fields and
reading.
"""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from volary.config.decoding import base_sections, readings, values
from volary.config.text import yaml
from volary.model.fleet import taints

_KEY = "Such as `example.com/gpu`."


class Taint(base_sections.Section):
    """A mark that keeps applications away from a cluster."""

    key: Annotated[values.LabelKey, Field(min_length=1)] = Field(description=_KEY)
    value: values.LabelValue = Field(default="", description="What tolerations may ask for.")
    effect: taints.Effect = Field(
        description="`NoSchedule`: nothing new begins there; `NoExecute`: besides, what runs "
        "there is to be moved, for applications with `placement.failover`."
    )


class Toleration(base_sections.Section):
    """Marks that do not keep the application away."""

    key: values.LabelKey = Field(
        default="", description=f"{_KEY} Empty, with `operator: Exists`: every key."
    )
    operator: taints.TolerationOperator = Field(
        default=taints.TolerationOperator.EQUAL, description="`Equal` or `Exists`."
    )
    value: values.LabelValue = Field(default="", description="The value, with `Equal`.")
    effect: taints.Effect | None = Field(
        default=None, description="`NoSchedule` or `NoExecute`; not given: both."
    )
    toleration_seconds: Annotated[int, Field(ge=0, strict=True)] | None = Field(
        default=None,
        description="How long a `NoExecute` taint is tolerated before the application is moved; "
        "not given: for ever.",
    )


TOLERATIONS: yaml.Path = ("spec", "placement", "tolerations")


def tolerations(
    reading: readings.Reading, read: Iterable[Toleration]
) -> tuple[taints.Toleration, ...]:
    """Return what an application tolerates; problems are noted (Kubernetes: validation)."""
    return tuple(
        _toleration(reading, each, (*TOLERATIONS, place)) for place, each in enumerate(read)
    )


def taints_of_cluster(
    reading: readings.Reading, read: Iterable[Taint], path: yaml.Path
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


def _toleration(reading: readings.Reading, read: Toleration, path: yaml.Path) -> taints.Toleration:
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
