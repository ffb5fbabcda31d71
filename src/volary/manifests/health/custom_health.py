"""Health of kinds that Kubernetes does not bring along, by what their controllers write.

First the conditions that most of them share, then the Gateway API, whose conditions say for
which generation they hold, then well-known kinds: cert-manager, External and Sealed Secrets,
KEDA, Argo.
"""

from collections.abc import Iterable

from volary.manifests import objects
from volary.manifests.health import conditions
from volary.model import json, statuses
from volary.model.objects import object_health

#: Conditions that say it is well when they are true, the most telling first.
_GOOD = ("Ready", "Available", "Healthy", "Succeeded", "Complete", "Established", "Synced")
#: Conditions that say it is not when they are true.
_BAD = ("Stalled", "Degraded", "Failed")
#: Conditions that say work is under way when they are true.
_BUSY = ("Reconciling", "Progressing")


def by_conditions(body: json.JsonObject) -> object_health.Health:
    """Judge an object of a kind without a rule of its own by the usual conditions."""
    if waiting := conditions.unobserved(body):
        return waiting
    if bad := conditions.find_true(body, *_BAD):
        return conditions.degraded(bad.explain())
    good = next((condition for kind in _GOOD if (condition := conditions.find(body, kind))), None)
    if busy := _busy(body, good):
        return conditions.progressing(busy.explain())
    if good is not None:
        return _by_good(body, good)
    if conditions.has_stale(body, _GOOD):
        return conditions.progressing("the newest generation is not judged yet")
    return unassessed(body)


def _by_good(body: json.JsonObject, good: conditions.Condition) -> object_health.Health:
    if good.is_true:
        return conditions.healthy(f"{_phrase(good.type)}{_doubt(body, good)}")
    return conditions.progressing(good.explain())


def _busy(body: json.JsonObject, good: conditions.Condition | None) -> conditions.Condition | None:
    """Return the condition that says work is under way.

    Some leave Progressing true for ever, as Deployments do. Ready sums all up and outweighs
    it; Available does not, what is available may be the old version.
    """
    busy = conditions.find_true(body, *_BUSY)
    if busy and busy.type == "Progressing" and good and good.type == "Ready" and good.is_true:
        return None
    return busy


def by_ready(body: json.JsonObject) -> object_health.Health:
    """Judge an object whose controller is known to write ``Ready``, and to say when it failed."""
    if objects.value(body, "spec", "suspend") is True:
        return conditions.suspended("suspended, nothing is done until it is resumed")
    if waiting := conditions.unobserved(body):
        return waiting
    if stalled := conditions.find_true(body, "Stalled"):
        return conditions.degraded(stalled.explain())
    if busy := conditions.find_true(body, "Reconciling"):
        return conditions.progressing(busy.explain())
    return by_condition(body, "Ready")


def by_condition(body: json.JsonObject, kind: str) -> object_health.Health:
    """Judge by one condition: true is healthy, false degraded, anything else on its way."""
    condition = conditions.find(body, kind)
    if condition is None:
        return conditions.progressing(
            f"its controller has not said yet whether it is {_phrase(kind)}"
        )
    if condition.is_true:
        return conditions.healthy(f"{_phrase(kind)}{_doubt(body, condition)}")
    if condition.is_false and not condition.waits:
        return conditions.degraded(condition.explain(f"not {_phrase(kind)}"))
    return conditions.progressing(condition.explain(f"not {_phrase(kind)} yet"))


def by_existence(_body: json.JsonObject) -> object_health.Health:
    """Judge an object that is only read by others: it is as it was asked for once it exists."""
    return conditions.healthy("exists")


def unassessed(body: json.JsonObject) -> object_health.Health:
    """Say that nothing is known about objects of this kind."""
    kind, (group, _, _) = body.get("kind"), str(body.get("apiVersion", "")).rpartition("/")
    reason = f"no rule says when a {kind} ({group}) is healthy"
    return object_health.Health(statuses.HealthStatus.UNKNOWN, reason, ruled=False)


def _doubt(body: json.JsonObject, condition: conditions.Condition) -> str:
    """Add that an answer may be an old one, where the controller never says what it is about."""
    generation = objects.number(body, "metadata", "generation")
    told = condition.generation is not None or conditions.observed_generation(body) is not None
    return "" if told or generation <= 1 else ", for which generation is not said"


def _phrase(kind: str) -> str:
    return kind[0].lower() + kind[1:]


def gateway(body: json.JsonObject) -> object_health.Health:
    """Judge a Gateway: accepted, programmed, and each of its listeners too."""
    if trouble := _refused(body, objects.mapping(body, "status"), ("Accepted", "ResolvedRefs")):
        return trouble
    listeners = list(objects.mappings(body, "status", "listeners"))
    for listener in listeners:
        if trouble := _listener_trouble(body, listener):
            name = objects.text(listener, "name")
            return conditions.degraded(f"listener {name}: {trouble.reason}")
    programmed = conditions.find(body, "Programmed")
    if not programmed or not programmed.is_true:
        # For a while that is what a new one is: addresses take time.
        return conditions.progressing(programmed.explain() if programmed else "not programmed yet")
    for listener in listeners:
        condition = conditions.find_in(body, listener, "Programmed")
        if condition and not condition.is_true:
            name = objects.text(listener, "name")
            return conditions.progressing(f"listener {name}: {condition.explain()}")
    return conditions.healthy("programmed")


def _listener_trouble(
    body: json.JsonObject, listener: json.JsonObject
) -> object_health.Health | None:
    """Return what is wrong with one listener; older controllers write no Programmed."""
    conflict = conditions.find_in(body, listener, "Conflicted")
    if conflict and conflict.is_true:
        return conditions.degraded(conflict.explain())
    return _refused(body, listener, ("Accepted", "ResolvedRefs", "Programmed"))


def route(body: json.JsonObject) -> object_health.Health:
    """Judge a route: every parent that speaks of this generation has taken it as it is."""
    parents = [
        parent
        for parent in objects.mappings(body, "status", "parents")
        if conditions.find_in(body, parent, "Accepted")
    ]
    for parent in parents:
        if trouble := _refused(body, parent, ("Accepted", "ResolvedRefs", "Programmed")):
            name = objects.text(parent, "parentRef", "name")
            return conditions.degraded(f"parent {name}: {trouble.reason}")
    wanted = len(objects.sequence(body, "spec", "parentRefs"))
    if len(parents) < max(wanted, 1):
        return conditions.progressing(f"taken by {len(parents)} of {max(wanted, 1)} parents")
    return conditions.healthy("taken by every parent")


def _refused(
    body: json.JsonObject, part: json.JsonObject, kinds: Iterable[str]
) -> object_health.Health | None:
    for kind in kinds:
        condition = conditions.find_in(body, part, kind)
        if condition and condition.is_false and not condition.waits:
            return conditions.degraded(condition.explain())
    return None


#: What Go reads as false.
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
#: Argo CD's words for the health of an Application.
_ARGO = {
    "Progressing": conditions.progressing,
    "Degraded": conditions.degraded,
    "Suspended": conditions.suspended,
    "Missing": conditions.progressing,
}


def certificate(body: json.JsonObject) -> object_health.Health:
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
    return by_condition(body, "Ready")


def external_secret(body: json.JsonObject) -> object_health.Health:
    """Judge an ExternalSecret (External Secrets): its Secret was fetched for this generation.

    Ready stays true from before while a newer generation is fetched. What was fetched last says
    for which generation; one that is fetched once and for all is never fetched anew.
    """
    judged = by_ready(body)
    if judged.status is not statuses.HealthStatus.HEALTHY:
        return judged
    if objects.text(body, "spec", "refreshPolicy") == "CreatedOnce":
        return conditions.healthy("ready")
    fetched, dash, _ = objects.text(body, "status", "syncedResourceVersion").partition("-")
    generation = objects.number(body, "metadata", "generation")
    if not dash or not fetched.isdecimal():
        return judged
    if int(fetched[:18]) < generation:
        return conditions.progressing(
            f"generation {generation} is not fetched yet, only {fetched[:18]}"
        )
    return conditions.healthy("ready")


def sealed_secret(body: json.JsonObject) -> object_health.Health:
    """Judge a SealedSecret (Sealed Secrets): its Secret was unsealed for this generation."""
    return conditions.unobserved(body) or by_condition(body, "Synced")


def scaled(body: json.JsonObject) -> object_health.Health:
    """Judge a ScaledObject or ScaledJob (KEDA); one without load is healthy and not active."""
    if waiting := conditions.unobserved(body):
        return waiting
    if pause := _pause(body):
        return conditions.suspended(pause)
    if fallback := conditions.find_true(body, "Fallback"):
        return conditions.degraded(fallback.explain())
    judged = by_condition(body, "Ready")
    active = conditions.find(body, "Active")
    if active is None or judged.status is not statuses.HealthStatus.HEALTHY:
        return judged
    return conditions.healthy("ready, active" if active.is_true else "ready, not active")


def _pause(body: json.JsonObject) -> str:
    """Say that it is paused; empty: it is not.

    Its annotations count too: older versions of KEDA write no condition, and newer ones only
    after they have looked. What is no boolean pauses as well (KEDA: NeedToBePausedByAnnotation).
    """
    if condition := conditions.find_true(body, "Paused"):
        return condition.explain("paused")
    annotations = objects.mapping(body, "metadata", "annotations")
    if replicas := annotations.get("autoscaling.keda.sh/paused-replicas"):
        return f"paused at {replicas} replicas"
    word = annotations.get("autoscaling.keda.sh/paused")
    return "" if word is None or word in _FALSE else "paused"


def argo_application(body: json.JsonObject) -> object_health.Health:
    """Judge an Application (Argo CD): synced, and as healthy as it says."""
    word = objects.text(body, "status", "health", "status")
    message = conditions.shorten(objects.text(body, "status", "health", "message"))
    if judge := _ARGO.get(word):
        return judge(message or word.lower())
    sync = objects.text(body, "status", "sync", "status")
    if word != "Healthy" or sync != "Synced":
        return conditions.progressing(f"health {word or 'not known'}, sync {sync or 'not known'}")
    return conditions.healthy("healthy and synced")


def argo_workflow(body: json.JsonObject) -> object_health.Health:
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
