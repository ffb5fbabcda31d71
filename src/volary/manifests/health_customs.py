"""Health of kinds that Kubernetes does not bring along, by what most of their controllers write.

Two sources: the conditions that many share (kstatus: generic rules), and for a kind
without them the honest answer that nothing is known. "It exists" is health for a
ConfigMap; of a custom object it says nothing (Karmada: healthy once applied).
"""

from volary.manifests import conditions, objects
from volary.model import health, json, status

#: Conditions that say it is well when they are true, the most telling first.
_GOOD = ("Ready", "Available", "Healthy", "Succeeded", "Complete", "Established", "Synced")
#: Conditions that say it is not when they are true.
_BAD = ("Stalled", "Degraded", "Failed")
#: Conditions that say work is under way when they are true.
_BUSY = ("Reconciling", "Progressing")


def by_conditions(body: json.JsonObject) -> health.Health:
    """Judge an object of a kind without a rule of its own by the usual conditions."""
    if waiting := conditions.unobserved(body):
        return waiting
    if bad := _first_true(body, _BAD):
        return conditions.degraded(bad.explain())
    good = next((found for kind in _GOOD if (found := conditions.find(body, kind))), None)
    if busy := _busy(body, good):
        return conditions.progressing(busy.explain())
    if good is not None:
        return _by_good(body, good)
    if conditions.has_stale(body, _GOOD):
        return conditions.progressing("the newest generation is not judged yet")
    return unruled(body)


def _by_good(body: json.JsonObject, good: conditions.Condition) -> health.Health:
    if good.is_true:
        return conditions.healthy(f"{_word(good.type)}{_doubt(body, good)}")
    return conditions.progressing(good.explain())


def _busy(body: json.JsonObject, good: conditions.Condition | None) -> conditions.Condition | None:
    """Return the condition that says work is under way.

    Some leave Progressing true for ever, as Deployments do. Ready sums all up and outweighs
    it; Available does not, what is available may be the old version.
    """
    busy = _first_true(body, _BUSY)
    if busy and busy.type == "Progressing" and good and good.type == "Ready" and good.is_true:
        return None
    return busy


def ready(body: json.JsonObject) -> health.Health:
    """Judge an object whose controller is known to write ``Ready``, and to say when it failed."""
    if objects.value(body, "spec", "suspend") is True:
        return conditions.suspended("suspended, nothing is done until it is resumed")
    if waiting := conditions.unobserved(body):
        return waiting
    stalled = conditions.find(body, "Stalled")
    if stalled and stalled.is_true:
        return conditions.degraded(stalled.explain())
    busy = conditions.find(body, "Reconciling")
    if busy and busy.is_true:
        return conditions.progressing(busy.explain())
    return by_condition(body, "Ready")


def by_condition(body: json.JsonObject, kind: str) -> health.Health:
    """Judge by one condition: true is healthy, false degraded, anything else on its way."""
    found = conditions.find(body, kind)
    if found is None:
        return conditions.progressing(
            f"its controller has not said yet whether it is {_word(kind)}"
        )
    if found.is_true:
        return conditions.healthy(f"{_word(kind)}{_doubt(body, found)}")
    if found.is_false and not found.waits:
        return conditions.degraded(found.explain(f"not {_word(kind)}"))
    return conditions.progressing(found.explain(f"not {_word(kind)} yet"))


def at_once(_body: json.JsonObject) -> health.Health:
    """Judge an object that is only read by others: it is as it was asked for once it exists."""
    return conditions.healthy("exists")


def unruled(body: json.JsonObject) -> health.Health:
    """Say that nothing is known about objects of this kind."""
    kind, (group, _, _) = body.get("kind"), str(body.get("apiVersion", "")).rpartition("/")
    reason = f"no rule says when a {kind} ({group}) is healthy"
    return health.Health(status.HealthStatus.UNKNOWN, reason, ruled=False)


def _first_true(body: json.JsonObject, kinds: tuple[str, ...]) -> conditions.Condition | None:
    found = (conditions.find(body, kind) for kind in kinds)
    return next((each for each in found if each and each.is_true), None)


def _doubt(body: json.JsonObject, found: conditions.Condition) -> str:
    """Add that an answer may be an old one, where the controller never says what it is about."""
    generation = objects.number(body, "metadata", "generation")
    told = found.generation is not None or conditions.observed_generation(body) is not None
    return "" if told or generation <= 1 else ", for which generation is not said"


def _word(kind: str) -> str:
    return kind[0].lower() + kind[1:]
