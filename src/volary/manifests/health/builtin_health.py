"""Health of kinds that run no pods themselves, of Jobs, and of custom resources."""

from volary.manifests import objects
from volary.manifests.health import conditions
from volary.model import json
from volary.model.objects import object_health


def job(body: json.JsonObject) -> object_health.Health:
    """Judge a Job: it is what it was asked for when it is complete."""
    if failed := conditions.find_true(body, "Failed"):
        return conditions.degraded(failed.explain("failed"), permanent=True)
    if conditions.find_true(body, "Complete"):
        return conditions.healthy("complete")
    if objects.value(body, "spec", "suspend") is True:
        return conditions.suspended("suspended")
    wanted = objects.number(body, "spec", "completions", default=1)
    done = objects.number(body, "status", "succeeded")
    failures = objects.number(body, "status", "failed")
    tail = f", {failures} failed" if failures else ""
    return conditions.progressing(f"{done} of {wanted} completions{tail}")


def cron_job(body: json.JsonObject) -> object_health.Health:
    """Judge a CronJob: it exists; its Jobs are not part of a rollout."""
    if objects.value(body, "spec", "suspend") is True:
        return conditions.healthy("suspended as written, no Jobs are started")
    return conditions.healthy("scheduled")


def service(body: json.JsonObject) -> object_health.Health:
    """Judge a Service: only a load balancer has to be waited for."""
    if objects.text(body, "spec", "type") != "LoadBalancer":
        return conditions.healthy("exists")
    ingress = objects.sequence(body, "status", "loadBalancer", "ingress")
    if not ingress:
        return conditions.progressing("the load balancer has no address yet")
    return conditions.healthy(f"load balancer at {_address(ingress[0])}")


def ingress(body: json.JsonObject) -> object_health.Health:
    """Judge an Ingress: healthy without an address too, many controllers never write one."""
    points = objects.sequence(body, "status", "loadBalancer", "ingress")
    if not points:
        return conditions.healthy("exists, no address is published")
    return conditions.healthy(f"reached at {_address(points[0])}")


def persistent_volume_claim(body: json.JsonObject) -> object_health.Health:
    """Judge a claim by its phase."""
    match objects.text(body, "status", "phase"):
        case "Bound":
            # Done when a pod mounts it next: nothing to wait for.
            resizing = conditions.find_true(body, "FileSystemResizePending")
            pending = ", resized when a pod mounts it next" if resizing else ""
            return conditions.healthy(f"bound{pending}")
        case "Lost":
            return conditions.degraded("lost its volume", permanent=True)
        case _:
            return conditions.progressing("not bound to a volume yet")


def persistent_volume(body: json.JsonObject) -> object_health.Health:
    """Judge a volume by its phase."""
    phase = objects.text(body, "status", "phase")
    match phase:
        case "Available" | "Bound":
            return conditions.healthy(phase.lower())
        case "Failed":
            message = conditions.shorten(objects.text(body, "status", "message"))
            return conditions.degraded(f"failed: {message}" if message else "failed")
        case _:
            return conditions.progressing(phase.lower() or "not available yet")


def namespace(body: json.JsonObject) -> object_health.Health:
    """Judge a namespace by its phase."""
    if objects.text(body, "status", "phase") == "Terminating":
        return conditions.progressing("is being deleted")
    return conditions.healthy("active")


def custom_resource_definition(body: json.JsonObject) -> object_health.Health:
    """Judge a definition: its kind can be used when it is established."""
    names = conditions.find(body, "NamesAccepted")
    if names and names.is_false:
        return conditions.degraded(names.explain("its names are taken"), permanent=True)
    if conditions.find_true(body, "Established"):
        return conditions.healthy("established")
    return conditions.progressing("not established yet")


def api_service(body: json.JsonObject) -> object_health.Health:
    """Judge an aggregated API by its availability."""
    available = conditions.find(body, "Available")
    if available and available.is_true:
        return conditions.healthy("available")
    if available and available.is_false:
        return conditions.progressing(available.explain())
    return conditions.progressing("not available yet")


def horizontal_pod_autoscaler(body: json.JsonObject) -> object_health.Health:
    """Judge an autoscaler: it is at fault when it cannot read metrics or scale."""
    for kind in ("AbleToScale", "ScalingActive"):
        condition = conditions.find(body, kind)
        if condition and condition.is_false and condition.reason == "ScalingDisabled":
            return conditions.suspended(condition.explain())
        if condition and condition.is_false:
            return conditions.degraded(condition.explain())
    current = objects.number(body, "status", "currentReplicas")
    return conditions.healthy(f"{current} replicas" if current else "exists")


def pod_disruption_budget(body: json.JsonObject) -> object_health.Health:
    """Judge a budget: allowing no disruption right now is not a fault."""
    if waiting := conditions.unobserved(body):
        return waiting
    allowed = objects.number(body, "status", "disruptionsAllowed")
    return conditions.healthy(f"{allowed} disruptions allowed" if allowed else "exists")


def _address(point: object) -> str:
    return objects.text(point, "hostname") or objects.text(point, "ip") or "an unknown address"
