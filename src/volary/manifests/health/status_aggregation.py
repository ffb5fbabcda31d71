"""One status for one object in many clusters, in the words of its kind.

Sums and rules are Karmada's (AggregateStatus), without its StatefulSet rule: that compares
the wrong generations, and so is never observed. Here every workload counts as observed where
its controller has seen the newest generation.
"""

from collections.abc import Callable, Mapping, Sequence

from volary.manifests import objects
from volary.manifests.health import conditions
from volary.model import json
from volary.model.objects import manifest

#: An object by the name of its cluster.
Bodies = Mapping[str, json.JsonObject]
_Rule = Callable[[Bodies], json.JsonObject]

_DEPLOYMENT = (
    *("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"),
    "unavailableReplicas",
)
_REPLICA_SET = ("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas")
_STATEFUL_SET = (
    *("replicas", "readyReplicas", "availableReplicas", "currentReplicas"),
    "updatedReplicas",
)
_DAEMON_SET = (
    *("currentNumberScheduled", "desiredNumberScheduled", "numberReady", "numberAvailable"),
    *("updatedNumberScheduled", "numberUnavailable", "numberMisscheduled"),
)
_ROLLOUT = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
_CLONE_SET = (
    *("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"),
    *("updatedReadyReplicas", "updatedAvailableReplicas", "expectedUpdatedReplicas"),
)
_AUTOSCALER = ("currentReplicas", "desiredReplicas")
_BUDGET = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")

#: The worst first.
_POD_PHASES = ("Failed", "Pending", "Running", "Succeeded")
_VOLUME_PHASES = ("Failed", "Pending", "Available", "Bound", "Released")
_ROLLOUT_PHASES = ("Degraded", "Progressing", "Paused", "Healthy")


def aggregate(bodies: Bodies) -> json.JsonObject:
    """Return the status of one object over its clusters; empty for kinds without a rule.

    `bodies` are the same object in each cluster, of one kind.
    """
    if not bodies:
        return {}
    item = manifest.Manifest(next(iter(bodies.values())))
    rule = _RULES.get((item.group, item.kind))
    return rule(bodies) if rule else {}


def aggregated_fields(body: json.JsonObject) -> json.JsonObject:
    """Return what `aggregate` needs of an object: a status can be long, and is kept for each."""
    status = objects.mapping(body, "status")
    return {
        "apiVersion": body.get("apiVersion", ""),
        "kind": body.get("kind", ""),
        "spec": {"type": objects.text(body, "spec", "type")},
        "status": {name: status[name] for name in status if name in _NEEDED},
    }


def _sums(*names: str) -> _Rule:
    def rule(bodies: Bodies) -> json.JsonObject:
        return {name: _sum(bodies, name) for name in names}

    return rule


def _sum(bodies: Bodies, name: str) -> int:
    return sum(objects.number(body, "status", name) for body in bodies.values())


def _job(bodies: Bodies) -> json.JsonObject:
    aggregated = _sums("active", "succeeded", "failed")(bodies)
    started = _texts(bodies, "status", "startTime")
    if all(started):
        aggregated["startTime"] = min(started)
    failed = [name for name, body in bodies.items() if _is_true(body, "Failed")]
    if failed:
        message = f"failed in {', '.join(sorted(failed))}"
        aggregated["conditions"] = [{"type": "Failed", "status": "True", "message": message}]
    elif all(_is_true(body, "Complete") for body in bodies.values()):
        aggregated["conditions"] = [{"type": "Complete", "status": "True"}]
        completed = _texts(bodies, "status", "completionTime")
        if all(completed):
            aggregated["completionTime"] = max(completed)
    return aggregated


def _cron_job(bodies: Bodies) -> json.JsonObject:
    active = [job for body in bodies.values() for job in objects.sequence(body, "status", "active")]
    aggregated: json.JsonObject = {"active": active}
    for name in ("lastScheduleTime", "lastSuccessfulTime"):
        if latest := max(_texts(bodies, "status", name)):
            aggregated[name] = latest
    return aggregated


def _balancer(bodies: Bodies) -> json.JsonObject:
    """Return every address of load balancers, each once, in order."""
    addresses_by_key = {
        (objects.text(address, "ip"), objects.text(address, "hostname")): address
        for body in bodies.values()
        for address in objects.mappings(body, "status", "loadBalancer", "ingress")
    }
    addresses = [addresses_by_key[key] for key in sorted(addresses_by_key)]
    return {"loadBalancer": {"ingress": addresses}} if addresses else {}


def _service(bodies: Bodies) -> json.JsonObject:
    return _balancer(
        {
            name: body
            for name, body in bodies.items()
            if objects.text(body, "spec", "type") == "LoadBalancer"
        }
    )


def _worst(phases: Sequence[str], otherwise: str = "") -> _Rule:
    """Return the rule that the first of `phases` that any cluster has counts."""

    def rule(bodies: Bodies) -> json.JsonObject:
        seen_phases = {phase or otherwise for phase in _texts(bodies, "status", "phase")} - {""}
        known = (phase for phase in (*phases, *sorted(seen_phases)) if phase in seen_phases)
        worst = next(known, "")
        return {"phase": worst} if worst else {}

    return rule


def _claim(bodies: Bodies) -> json.JsonObject:
    phases = [phase or "Pending" for phase in _texts(bodies, "status", "phase")]
    if "Lost" in phases:
        return {"phase": "Lost"}
    return {"phase": next((phase for phase in phases if phase != "Bound"), "Bound")}


def _budget(bodies: Bodies) -> json.JsonObject:
    disrupted = {
        f"{name}/{pod}": since
        for name, body in bodies.items()
        for pod, since in objects.mapping(body, "status", "disruptedPods").items()
    }
    aggregated = _sums(*_BUDGET)(bodies)
    return {**aggregated, "disruptedPods": disrupted} if disrupted else aggregated


def _rollout(bodies: Bodies) -> json.JsonObject:
    return {**_sums(*_ROLLOUT)(bodies), **_worst(_ROLLOUT_PHASES)(bodies)}


def _clone_set(bodies: Bodies) -> json.JsonObject:
    aggregated = _sums(*_CLONE_SET)(bodies)
    for name in ("updateRevision", "currentRevision"):
        given = [revision for revision in _texts(bodies, "status", name) if revision]
        if given:
            aggregated[name] = given[-1]
    return aggregated


def _texts(bodies: Bodies, *path: str) -> list[str]:
    return [objects.text(body, *path) for body in bodies.values()]


def _is_true(body: json.JsonObject, kind: str) -> bool:
    condition = conditions.find(body, kind)
    return condition is not None and condition.is_true


_RULES: Mapping[tuple[str, str], _Rule] = {
    ("apps", "Deployment"): _sums(*_DEPLOYMENT),
    ("apps", "ReplicaSet"): _sums(*_REPLICA_SET),
    ("apps", "StatefulSet"): _sums(*_STATEFUL_SET),
    ("apps", "DaemonSet"): _sums(*_DAEMON_SET),
    ("apps.kruise.io", "CloneSet"): _clone_set,
    ("apps.kruise.io", "StatefulSet"): _sums(*_STATEFUL_SET),
    ("apps.kruise.io", "DaemonSet"): _sums(*_DAEMON_SET),
    ("argoproj.io", "Rollout"): _rollout,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("", "Pod"): _worst(_POD_PHASES, otherwise="Pending"),
    ("", "Service"): _service,
    ("networking.k8s.io", "Ingress"): _balancer,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _worst(_VOLUME_PHASES),
    ("autoscaling", "HorizontalPodAutoscaler"): _sums(*_AUTOSCALER),
    ("policy", "PodDisruptionBudget"): _budget,
}
_NEEDED = frozenset(
    {
        *(*_DEPLOYMENT, *_REPLICA_SET, *_STATEFUL_SET, *_DAEMON_SET, *_CLONE_SET),
        *(*_AUTOSCALER, *_BUDGET, "disruptedPods", "updateRevision", "currentRevision"),
        *("active", "succeeded", "failed", "startTime", "completionTime", "conditions"),
        *("lastScheduleTime", "lastSuccessfulTime", "loadBalancer", "phase"),
    }
)
