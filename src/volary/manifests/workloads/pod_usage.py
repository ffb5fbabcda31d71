"""What a pod uses of what it may, from the pod and what the metrics API tells of it. Pure."""

from collections.abc import Iterator
from decimal import Decimal

from volary.manifests import objects
from volary.manifests.workloads import quantities
from volary.model import json

_MEMORY = "memory"
#: Nothing uses so much: API servers keep no quantity that is larger.
_MOST = 2**63


def total(told: json.JsonObject, resource: str) -> float | None:
    """Return what all containers of a ``PodMetrics`` use: cores of ``cpu``, bytes of ``memory``.

    None: it says nothing that can be.
    """
    every = [used for _, used in _used(told, resource)]
    return float(sum(every, Decimal())) if every else None


def share_of_memory(pod: json.JsonObject, told: json.JsonObject) -> float | None:
    """Return how full the memory of a pod is, as a share of its limit; None: it has none.

    Of its containers the fullest counts, as each of them is killed for itself; all of them
    together have a limit where the pod itself states one.
    """
    limits = _limits(pod)
    used = dict(_used(told, _MEMORY))
    shares = [used[name] / limit for name, limit in limits.items() if limit > 0 and name in used]
    whole = quantities.parse(objects.text(pod, "spec", "resources", "limits", _MEMORY))
    if whole:
        shares.append(sum(used.values(), Decimal()) / whole)
    return float(max(shares)) if shares else None


def _limits(pod: json.JsonObject) -> dict[str, Decimal]:
    """Return the memory limits of containers: those in force, as they may be changed in place."""
    told = [("spec", "initContainers"), ("spec", "containers")]
    told += [("status", "initContainerStatuses"), ("status", "containerStatuses")]
    limits: dict[str, Decimal] = {}
    for path in told:
        for container in objects.mappings(pod, *path):
            limit = objects.text(container, "resources", "limits", _MEMORY)
            if (read := quantities.parse(limit)) is not None:
                limits[objects.text(container, "name")] = read
    return limits


def _used(told: json.JsonObject, resource: str) -> Iterator[tuple[str, Decimal]]:
    for container in objects.mappings(told, "containers"):
        used = quantities.parse(objects.text(container, "usage", resource))
        if used is not None and 0 <= used < _MOST:
            yield objects.text(container, "name"), used
