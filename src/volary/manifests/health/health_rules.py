"""Health as users say it: expressions in CEL over the object, or a word for the whole kind.

An expression that cannot be evaluated is never health: what nobody could find out is unknown,
and says why. `config.text.expressions` keeps them within bounds.
"""

from collections.abc import Iterable, Sequence

from volary.config.text import expressions
from volary.manifests.health import conditions
from volary.model import json, statuses
from volary.model.objects import manifest, object_health


def find(rules: Sequence[object_health.Rule], item: manifest.Manifest) -> object_health.Rule | None:
    """Return the first rule for an object's kind and version; None: there is none."""
    version = item.api_version.rpartition("/")[2]
    for rule in rules:
        if (rule.group, rule.kind) == (item.group, item.kind) and rule.version in ("", version):
            return rule
    return None


def assess(body: json.JsonObject, rule: object_health.Rule) -> object_health.Health:
    """Judge an object by a user's rule.

    An older generation's status says nothing. Then the first expression that is true decides,
    in this order: degraded, suspended, healthy, progressing. When none is, it is on its way.
    """
    if rule.treat_as:
        status = statuses.HealthStatus(rule.treat_as)
        return object_health.Health(status, f"exists, which counts as {rule.treat_as}")
    if waiting := conditions.unobserved(body):
        return waiting
    subject = expressions.Subject(body)
    try:
        outcome = _first_true(subject, _ordered(rule))
    except expressions.EvaluationError as error:
        return object_health.Health(statuses.HealthStatus.UNKNOWN, str(error))
    if outcome is None:
        return conditions.progressing(_reason(subject, rule) or f"not yet: {rule.healthy}")
    word, text = outcome
    return object_health.Health(word, _reason(subject, rule) or text)


def _ordered(rule: object_health.Rule) -> Iterable[tuple[statuses.HealthStatus, str]]:
    yield statuses.HealthStatus.DEGRADED, rule.degraded
    yield statuses.HealthStatus.SUSPENDED, rule.suspended
    yield statuses.HealthStatus.HEALTHY, rule.healthy
    yield statuses.HealthStatus.PROGRESSING, rule.progressing


def _first_true(
    subject: expressions.Subject, ordered: Iterable[tuple[statuses.HealthStatus, str]]
) -> tuple[statuses.HealthStatus, str] | None:
    """Return the first word whose expression is true.

    Raises:
        EvaluationError: One before it has no value, or is neither true nor false.
    """
    for word, text in ordered:
        if text and _holds(subject, word, text):
            return word, text
    return None


def _holds(subject: expressions.Subject, word: statuses.HealthStatus, text: str) -> bool:
    try:
        value = expressions.parse(text).evaluate(subject)
    except (expressions.EvaluationError, ValueError) as error:
        raise expressions.EvaluationError(f"{word.value} cannot be determined: {error}") from error
    if not isinstance(value, bool):
        raise expressions.EvaluationError(f"{word.value} is neither true nor false: {text}")
    return value


def _reason(subject: expressions.Subject, rule: object_health.Rule) -> str:
    """Return the reason that the rule gives; empty when it gives none."""
    if not rule.message:
        return ""
    try:
        value = expressions.parse(rule.message).evaluate(subject)
    except (expressions.EvaluationError, ValueError):
        # Only the wording is missing; the expression itself stands in for it.
        return ""
    return conditions.shorten(value) if isinstance(value, str) else ""
