"""Health of well-known kinds by what their controllers write: cert-manager, KEDA and others."""

from volary.manifests import conditions, health_customs, objects
from volary.model import health, json, status

#: What Go reads as false.
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
#: Argo CD's words for the health of an Application.
_ARGO = {
    "Progressing": conditions.progressing,
    "Degraded": conditions.degraded,
    "Suspended": conditions.suspended,
    "Missing": conditions.progressing,
}


def certificate(body: json.JsonObject) -> health.Health:
    """Judge a Certificate (cert-manager); while one is issued, an old one may still be ready."""
    if waiting := conditions.unobserved(body):
        return waiting
    issuing = conditions.find(body, "Issuing")
    if issuing and issuing.is_true:
        return conditions.progressing(issuing.explain())
    if issuing and issuing.is_false and issuing.reason == "Failed":
        return conditions.degraded(issuing.explain())
    ready = conditions.find(body, "Ready")
    if ready and ready.is_false and ready.reason in ("DoesNotExist", "MissingData"):
        return conditions.progressing(ready.explain())
    return health_customs.by_condition(body, "Ready")


def scaled(body: json.JsonObject) -> health.Health:
    """Judge a ScaledObject or ScaledJob (KEDA); one without load is healthy and not active."""
    if waiting := conditions.unobserved(body):
        return waiting
    if pause := _pause(body):
        return conditions.suspended(pause)
    fallback = conditions.find(body, "Fallback")
    if fallback and fallback.is_true:
        return conditions.degraded(fallback.explain())
    judged = health_customs.by_condition(body, "Ready")
    active = conditions.find(body, "Active")
    if active is None or judged.status is not status.HealthStatus.HEALTHY:
        return judged
    return conditions.healthy("ready, active" if active.is_true else "ready, not active")


def _pause(body: json.JsonObject) -> str:
    """Say that it is paused; empty: it is not.

    Its annotations count too: older versions of KEDA write no condition, and newer ones only
    after they have looked. What is no boolean pauses as well (KEDA: NeedToBePausedByAnnotation).
    """
    found = conditions.find(body, "Paused")
    if found and found.is_true:
        return found.explain("paused")
    annotations = objects.mapping(body, "metadata", "annotations")
    if replicas := annotations.get("autoscaling.keda.sh/paused-replicas"):
        return f"paused at {replicas} replicas"
    word = annotations.get("autoscaling.keda.sh/paused")
    return "" if word is None or word in _FALSE else "paused"


def argo_application(body: json.JsonObject) -> health.Health:
    """Judge an Application (Argo CD): synced, and as healthy as it says."""
    word = objects.text(body, "status", "health", "status")
    message = conditions.shorten(objects.text(body, "status", "health", "message"))
    if judge := _ARGO.get(word):
        return judge(message or word.lower())
    sync = objects.text(body, "status", "sync", "status")
    if word != "Healthy" or sync != "Synced":
        return conditions.progressing(f"health {word or 'not known'}, sync {sync or 'not known'}")
    return conditions.healthy("healthy and synced")


def argo_workflow(body: json.JsonObject) -> health.Health:
    """Judge a Workflow (Argo Workflows): as a Job it is what it was asked for when it is done."""
    phase = objects.text(body, "status", "phase")
    message = conditions.shorten(objects.text(body, "status", "message"))
    if phase == "Succeeded":
        return conditions.healthy("succeeded")
    if phase in ("Failed", "Error"):
        return conditions.degraded(message or phase.lower(), permanent=True)
    if objects.value(body, "spec", "suspend") is True:
        return conditions.suspended("suspended")
    return conditions.progressing(message or phase.lower() or "not begun yet")
