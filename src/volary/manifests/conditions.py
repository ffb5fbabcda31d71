"""Status conditions, and the sentences around them."""

from dataclasses import dataclass

from volary.manifests import objects
from volary.model import health, json, status

_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of ``status.conditions``."""

    type: str
    #: ``True``, ``False`` or ``Unknown``.
    status: str
    reason: str = ""
    message: str = ""

    @property
    def is_true(self) -> bool:
        """The condition holds."""
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        """The condition does not hold; unknown is neither."""
        return self.status == "False"

    def explain(self, otherwise: str = "") -> str:
        """Return reason and message in one sentence, `otherwise` when there is neither."""
        parts = [part for part in (self.reason, shorten(self.message)) if part]
        return ": ".join(parts) or otherwise or f"condition {self.type} is {self.status}"


def find(body: json.JsonObject, kind: str) -> Condition | None:
    """Return the condition of a type that speaks of the current generation; None without."""
    for entry in objects.mappings(body, "status", "conditions"):
        if entry.get("type") == kind and not _is_stale(body, entry):
            return Condition(
                kind,
                objects.text(entry, "status"),
                objects.text(entry, "reason"),
                objects.text(entry, "message"),
            )
    return None


def has_any(body: json.JsonObject) -> bool:
    """Say whether there are conditions at all, stale ones too."""
    return bool(objects.sequence(body, "status", "conditions"))


def unobserved(body: json.JsonObject) -> health.Health | None:
    """Return "progressing" while the controller has not seen the newest generation.

    Only where the kind tells: without an observed generation nothing can be said.
    """
    generation = objects.number(body, "metadata", "generation")
    observed = objects.value(body, "status", "observedGeneration")
    if isinstance(observed, int) and observed < generation:
        return progressing(f"generation {generation} is not observed yet, only {observed}")
    return None


def shorten(text: str) -> str:
    """Return a cluster's message on one line and at a bearable length."""
    line = " ".join(text.split()).removesuffix(".")
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 1]}…"


def healthy(reason: str) -> health.Health:
    """It is as it was asked for."""
    return health.Health(status.HealthStatus.HEALTHY, reason)


def progressing(reason: str) -> health.Health:
    """It is on its way."""
    return health.Health(status.HealthStatus.PROGRESSING, reason)


def degraded(reason: str, *, permanent: bool = False) -> health.Health:
    """Something is wrong with it."""
    return health.Health(status.HealthStatus.DEGRADED, reason, permanent)


def suspended(reason: str) -> health.Health:
    """Somebody has stopped it on purpose."""
    return health.Health(status.HealthStatus.SUSPENDED, reason)


def _is_stale(body: json.JsonObject, entry: json.JsonObject) -> bool:
    seen = entry.get("observedGeneration")
    return isinstance(seen, int) and seen < objects.number(body, "metadata", "generation")
