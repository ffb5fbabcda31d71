"""Replicas that a HorizontalPodAutoscaler owns are left to it.

Two writers of ``spec.replicas`` would fight: each deployment would throw away what the
autoscaler decided, and a Service loses pods in the busiest minute.
"""

from collections.abc import Iterable

from volary.clusters import unchanged
from volary.model import json


def targets(autoscalers: Iterable[json.JsonObject]) -> frozenset[tuple[str, str, str]]:
    """Return (namespace, kind, name) of every workload that one of `autoscalers` scales."""
    found = set()
    for autoscaler in autoscalers:
        reference = autoscaler.get("spec", {}).get("scaleTargetRef", {})
        namespace = autoscaler["metadata"].get("namespace", "")
        found.add((namespace, reference.get("kind", ""), reference.get("name", "")))
    return frozenset(found)


def leave_replicas(
    body: json.JsonObject, live: json.JsonObject | None, *, manager: str
) -> json.JsonObject:
    """Return `body` so that applying it does not change how many pods `live` wants.

    A field that a manager stops naming goes back to its default when nobody else owns
    it, and the default of replicas is one pod. So while `manager` is still an owner the
    live number is repeated, also when Git has just stopped naming one; the autoscaler's
    first change takes the field over. A workload that is not live yet starts with the
    number in Git.
    """
    if live is None:
        return body
    spec = dict(body.get("spec", {}))
    if owns_replicas(live, manager=manager):
        spec["replicas"] = live["spec"]["replicas"]
    elif "replicas" in spec:
        del spec["replicas"]
    else:
        return body
    return {**body, "spec": spec}


def owns_replicas(live: json.JsonObject, *, manager: str) -> bool:
    """Say whether `live` would go back to one pod if `manager` stopped naming its replicas."""
    return "replicas" in live.get("spec", {}) and any(
        entry.get("manager") == manager
        and entry.get("operation") == "Apply"
        and "f:replicas" in entry.get("fieldsV1", {}).get("f:spec", {})
        for entry in unchanged.managers(live)
    )
