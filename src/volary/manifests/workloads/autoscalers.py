"""Objects that decide how many pods a workload has: HorizontalPodAutoscalers and KEDA's."""

from collections.abc import Sequence

from volary.manifests import objects
from volary.manifests.workloads import workloads
from volary.model.objects import manifest

#: The second is KEDA's, which makes one of the first.
KINDS = ("HorizontalPodAutoscaler", "ScaledObject")
#: Where the bounds are, by kind: the least, what it is when not written, and the most.
_BOUNDS = {
    "HorizontalPodAutoscaler": ("minReplicas", 1, "maxReplicas", 1),
    "ScaledObject": ("minReplicaCount", 0, "maxReplicaCount", 100),
}


def of(item: manifest.Manifest, among: Sequence[manifest.Manifest]) -> manifest.Manifest | None:
    """Return the autoscaler of a workload; None when no manifest is one."""
    for autoscaler in among:
        if autoscaler.kind in KINDS and is_for(autoscaler, item):
            return autoscaler
    return None


def is_for(scaler: manifest.Manifest, item: manifest.Manifest) -> bool:
    """Say whether an autoscaler scales a workload; a namespace that is not written fits any."""
    target = objects.mapping(scaler.body, "spec", "scaleTargetRef")
    named = (target.get("kind") or workloads.DEPLOYMENT, target.get("name"))
    near = not scaler.namespace or item.namespace in ("", scaler.namespace)
    return near and named == (item.kind, item.name)


def bounds(scaler: manifest.Manifest) -> tuple[int, int]:
    """Return the least and the most replicas, with their defaults."""
    least, least_default, most, most_default = _BOUNDS[scaler.kind]
    body = scaler.body
    return (
        objects.number(body, "spec", least, default=least_default),
        objects.number(body, "spec", most, default=most_default),
    )


def with_bounds(scaler: manifest.Manifest, least: int, most: int) -> manifest.Manifest:
    """Return an autoscaler with other bounds."""
    low, _, high, _ = _BOUNDS[scaler.kind]
    return scaler.with_spec({low: least, high: most})
