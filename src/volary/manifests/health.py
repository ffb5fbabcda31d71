"""Is it there? The health of one live object, from the object alone.

Nothing is fetched here (kstatus: Compute). Healthy means observed: where a kind has
a status, the status speaks of the newest generation.
"""

from collections.abc import Callable, Mapping

from volary.manifests import conditions, health_others, health_pods, health_workloads, objects
from volary.model import health, json, manifest, status

_Rule = Callable[[json.JsonObject], health.Health]

_RULES: Mapping[tuple[str, str], _Rule] = {
    ("apps", "Deployment"): health_workloads.deployment,
    ("apps", "StatefulSet"): health_workloads.stateful_set,
    ("apps", "DaemonSet"): health_workloads.daemon_set,
    ("apps", "ReplicaSet"): health_workloads.replica_set,
    ("", "Pod"): health_pods.pod,
    ("batch", "Job"): health_others.job,
    ("batch", "CronJob"): health_others.cron_job,
    ("", "Service"): health_others.service,
    ("networking.k8s.io", "Ingress"): health_others.ingress,
    ("", "PersistentVolumeClaim"): health_others.persistent_volume_claim,
    ("", "PersistentVolume"): health_others.persistent_volume,
    ("", "Namespace"): health_others.namespace,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): health_others.custom_resource_definition,
    ("apiregistration.k8s.io", "APIService"): health_others.api_service,
    ("autoscaling", "HorizontalPodAutoscaler"): health_others.horizontal_pod_autoscaler,
    ("policy", "PodDisruptionBudget"): health_others.pod_disruption_budget,
}

MISSING = health.Health(status.HealthStatus.MISSING, "does not exist")


def assess(body: json.JsonObject | None) -> health.Health:
    """Return the health of a live object; "missing" for None.

    Kinds without a rule of their own are judged by the usual conditions, and are
    healthy once they exist when they have none (ConfigMaps, roles and the like).
    """
    if body is None:
        return MISSING
    if objects.value(body, "metadata", "deletionTimestamp"):
        return conditions.progressing(_deleting(body))
    item = manifest.Manifest(body)
    rule = _RULES.get((item.group, item.kind), health_others.custom_resource)
    return rule(body)


def pod_trouble(body: json.JsonObject) -> health_pods.Trouble | None:
    """Return what keeps a pod from getting ready; None when nothing is known to be wrong."""
    return health_pods.pod_trouble(body)


def _deleting(body: json.JsonObject) -> str:
    finalizers = [str(each) for each in objects.sequence(body, "metadata", "finalizers")]
    held = f", held by {', '.join(finalizers)}" if finalizers else ""
    return f"is being deleted{held}"
