"""How many pods of a workload's newest revision are ready, and how many it wants."""

from volary.manifests import conditions, objects, workloads
from volary.model import json


def of(body: json.JsonObject) -> tuple[int, int]:
    """Return how many pods of the newest revision are ready, and how many are wanted.

    0 are ready as long as the newest generation is not observed; 0 of 0 for other kinds.
    """
    state = objects.mapping(body, "status")
    observed = conditions.observed_generation(body) or 0
    current = observed >= objects.number(body, "metadata", "generation")
    match body.get("kind"):
        case "Deployment" | "Rollout" | "CloneSet":
            wanted = workloads.replicas(body)
            names = ("updatedReplicas", "availableReplicas")
        case "StatefulSet":
            wanted = workloads.replicas(body)
            names = ("updatedReplicas", "readyReplicas")
        case "ReplicaSet":
            wanted = workloads.replicas(body)
            names = ("readyReplicas", "availableReplicas")
        case "DaemonSet":
            wanted = objects.number(state, "desiredNumberScheduled")
            names = ("updatedNumberScheduled", "numberAvailable")
        case _:
            return 0, 0
    ready = min(objects.number(state, name) for name in names) if current else 0
    return min(ready, wanted), wanted
