"""Taints of clusters and tolerations of applications: what is wrong with them."""

from collections.abc import Iterable

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model.fleet import taints

TOLERATIONS: yaml.Path = ("spec", "placement", "tolerations")


def check_tolerations(reading: readings.Reading, read: Iterable[taints.Toleration]) -> None:
    """Note what is wrong with what an application tolerates (Kubernetes: validation)."""
    for place, toleration in enumerate(read):
        _check(reading, toleration, (*TOLERATIONS, place))


def check_taints(reading: readings.Reading, read: Iterable[taints.Taint], path: yaml.Path) -> None:
    """Note marks of a cluster that are there twice."""
    known: set[tuple[str, taints.Effect]] = set()
    for place, taint in enumerate(read):
        if taint.identity in known:
            message = f"{taint.key}:{taint.effect.value} is there twice"
            reading.error((*path, place), message, "keep one of them")
        known.add(taint.identity)


def _check(reading: readings.Reading, read: taints.Toleration, path: yaml.Path) -> None:
    exists = read.operator is taints.TolerationOperator.EXISTS
    if not read.key and not exists:
        reading.error(path, "a toleration without a key is for all keys", "write operator: Exists")
    if exists and read.value:
        reading.error((*path, "value"), "Exists compares no value", "remove it, or write Equal")
    if read.toleration_seconds is not None and read.effect is taints.Effect.NO_SCHEDULE:
        message = "NoSchedule is tolerated or not, whatever the time"
        reading.error((*path, "tolerationSeconds"), message, "write effect: NoExecute")
