"""Health as users say it: expressions in CEL over the object, or a word for the whole kind.

An expression that cannot be evaluated is never health: what nobody could find out is unknown,
and says why. `config.expressions` keeps them within bounds.
"""

from collections.abc import Iterable, Sequence

from volary.config import expressions
from volary.manifests import conditions
from volary.model import health, json, manifest, status


def find(rules: Sequence[health.Rule], item: manifest.Manifest) -> health.Rule | None:
    """Return the first rule for an object's kind and version; None: there is none."""
    version = item.api_version.rpartition("/")[2]
    for rule in rules:
        if (rule.group, rule.kind) == (item.group, item.kind) and rule.version in ("", version):
            return rule
    return None


def assess(body: json.JsonObject, rule: health.Rule) -> health.Health:
    """Judge an object by a user's rule.

    An older generation's status says nothing. Then the first expression that is true decides,
    in this order: degraded, suspended, healthy, progressing. When none is, it is on its way.
    """
    if rule.treat_as is not None:
        return health.Health(rule.treat_as, f"exists, which counts as {rule.treat_as.value}")
    if waiting := conditions.unobserved(body):
        return waiting
    subject = expressions.Subject(body)
    try:
        found = _first_true(subject, _ordered(rule))
    except expressions.EvaluationError as error:
        return health.Health(status.HealthStatus.UNKNOWN, str(error))
    if found is None:
        return conditions.progressing(_said(subject, rule) or f"not yet: {rule.healthy}")
    word, text = found
    return health.Health(word, _said(subject, rule) or text)


def _ordered(rule: health.Rule) -> Iterable[tuple[status.HealthStatus, str]]:
    yield status.HealthStatus.DEGRADED, rule.degraded
    yield status.HealthStatus.SUSPENDED, rule.suspended
    yield status.HealthStatus.HEALTHY, rule.healthy
    yield status.HealthStatus.PROGRESSING, rule.progressing


def _first_true(
    subject: expressions.Subject, ordered: Iterable[tuple[status.HealthStatus, str]]
) -> tuple[status.HealthStatus, str] | None:
    """Return the first word whose expression is true.

    Raises:
        EvaluationError: One before it has no value, or is neither true nor false.
    """
    for word, text in ordered:
        if text and _holds(subject, word, text):
            return word, text
    return None


def _holds(subject: expressions.Subject, word: status.HealthStatus, text: str) -> bool:
    try:
        value = expressions.parse(text).evaluate(subject)
    except (expressions.EvaluationError, ValueError) as error:
        raise expressions.EvaluationError(f"{word.value} cannot be told: {error}") from error
    if not isinstance(value, bool):
        raise expressions.EvaluationError(f"{word.value} is neither true nor false: {text}")
    return value


def _said(subject: expressions.Subject, rule: health.Rule) -> str:
    """Return the reason that the rule gives; empty when it gives none."""
    if not rule.message:
        return ""
    try:
        value = expressions.parse(rule.message).evaluate(subject)
    except (expressions.EvaluationError, ValueError):
        # Only the wording is missing; the expression itself stands in for it.
        return ""
    return conditions.shorten(value) if isinstance(value, str) else ""
