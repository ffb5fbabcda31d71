"""Status conditions, and the sentences around them."""

from collections.abc import Iterable
from dataclasses import dataclass

from volary.manifests import objects
from volary.model import json, statuses
from volary.model.objects import object_health

_LONGEST_MESSAGE = 300
_LONGEST_NUMBER = 18
#: Reasons of a condition that is false only for now.
_WAITS = frozenset(
    {
        *("Progressing", "ProgressingWithRetry", "DependencyNotReady", "Pending", "Reconciling"),
        *("Creating", "Provisioning", "Issuing", "Waiting", "Initializing", "InProgress"),
    }
)


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of ``status.conditions``."""

    type: str
    #: ``True``, ``False`` or ``Unknown``.
    status: str
    reason: str = ""
    message: str = ""
    #: The generation it speaks of; None: it does not say.
    generation: int | None = None

    @property
    def is_true(self) -> bool:
        """The condition holds."""
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        """The condition does not hold; unknown is neither."""
        return self.status == "False"

    @property
    def waits(self) -> bool:
        """Its reason says that the controller goes on by itself, or waits for another object."""
        return self.reason in _WAITS

    def explain(self, otherwise: str = "") -> str:
        """Return reason and message in one sentence, `otherwise` when there is neither."""
        parts = [part for part in (self.reason, shorten(self.message)) if part]
        return ": ".join(parts) or otherwise or f"condition {self.type} is {self.status}"


def find(body: json.JsonObject, kind: str) -> Condition | None:
    """Return the condition of a type that speaks of the current generation; None without."""
    return find_in(body, objects.mapping(body, "status"), kind)


def find_in(body: json.JsonObject, part: json.JsonObject, kind: str) -> Condition | None:
    """Return the like of a part of the status that has conditions of its own."""
    for entry in objects.mappings(part, "conditions"):
        if entry.get("type") == kind and not _is_stale(body, entry):
            return Condition(
                kind,
                objects.text(entry, "status"),
                objects.text(entry, "reason"),
                objects.text(entry, "message"),
                _generation(entry.get("observedGeneration")),
            )
    return None


def find_true(body: json.JsonObject, *kinds: str) -> Condition | None:
    """Return the first condition of these types that holds; None: none does."""
    candidates = (find(body, kind) for kind in kinds)
    return next((condition for condition in candidates if condition and condition.is_true), None)


def has_stale(body: json.JsonObject, kinds: Iterable[str]) -> bool:
    """Say whether there is a condition of a type that speaks of an older generation."""
    known = frozenset(kinds)
    return any(
        entry.get("type") in known and _is_stale(body, entry)
        for entry in objects.mappings(body, "status", "conditions")
    )


def observed_generation(body: json.JsonObject) -> int | None:
    """Return the generation that the status speaks of; None when it does not say.

    Argo Rollouts writes it as text.
    """
    return _generation(objects.value(body, "status", "observedGeneration"))


def unobserved(body: json.JsonObject) -> object_health.Health | None:
    """Return "progressing" while the controller has not seen the newest generation.

    Only where the kind tells: without an observed generation nothing can be said.
    """
    generation = objects.number(body, "metadata", "generation")
    observed = observed_generation(body)
    if observed is not None and observed < generation:
        return progressing(f"generation {generation} is not observed yet, only {observed}")
    return None


def shorten(text: str) -> str:
    """Return a cluster's message on one line and at a bearable length."""
    line = " ".join(text.split()).removesuffix(".")
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 1]}…"


def healthy(reason: str) -> object_health.Health:
    """It is as it was asked for."""
    return object_health.Health(statuses.HealthStatus.HEALTHY, reason)


def progressing(reason: str) -> object_health.Health:
    """It is on its way."""
    return object_health.Health(statuses.HealthStatus.PROGRESSING, reason)


def degraded(reason: str, *, permanent: bool = False) -> object_health.Health:
    """Something is wrong with it."""
    return object_health.Health(statuses.HealthStatus.DEGRADED, reason, permanent)


def suspended(reason: str) -> object_health.Health:
    """Somebody has stopped it on purpose."""
    return object_health.Health(statuses.HealthStatus.SUSPENDED, reason)


def _is_stale(body: json.JsonObject, entry: json.JsonObject) -> bool:
    seen = _generation(entry.get("observedGeneration"))
    return seen is not None and seen < objects.number(body, "metadata", "generation")


def _generation(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        return int(value[:_LONGEST_NUMBER])
    return value if isinstance(value, int) and not isinstance(value, bool) else None
