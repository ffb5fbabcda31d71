"""Reads ``health``: when objects of kinds that nobody else knows are healthy."""

from collections.abc import Sequence

from volary.config import expressions, health_rule_sections, shape, yaml
from volary.model import health, status

_EXPRESSIONS = ("healthy", "degraded", "suspended", "progressing", "message")


def convert(
    reading: shape.Reading, read: Sequence[health_rule_sections.HealthRule], path: yaml.Path
) -> tuple[health.Rule, ...]:
    """Return the rules in order; problems are noted, those of expressions too."""
    seen: set[tuple[str, str, str]] = set()
    found = []
    for place, each in enumerate(read):
        here = (*path, place)
        key = (each.group, each.kind, each.version)
        if key in seen:
            reading.error(here, f"there is a rule for {each.kind} already", "keep one of them")
        seen.add(key)
        found.append(_rule(reading, each, here))
    return tuple(found)


def _rule(
    reading: shape.Reading, read: health_rule_sections.HealthRule, path: yaml.Path
) -> health.Rule:
    texts = {name: getattr(read, name).strip() for name in _EXPRESSIONS}
    given = [name for name, text in texts.items() if text]
    if read.treat_as and given:
        message = f"treatAs leaves nothing for {', '.join(given)} to decide"
        reading.error((*path, "treatAs"), message, "keep treatAs or the expressions")
    elif not read.treat_as and not texts["healthy"]:
        hint = "write healthy: with an expression in CEL, or treatAs: healthy"
        reading.error(path, "the rule does not say when it is healthy", hint)
    for name in given:
        _check(reading, texts[name], (*path, name))
    treat_as = status.HealthStatus(read.treat_as) if read.treat_as else None
    return health.Rule(read.group, read.kind, read.version, **texts, treat_as=treat_as)


def _check(reading: shape.Reading, text: str, path: yaml.Path) -> None:
    try:
        expressions.parse(text)
    except ValueError as error:
        hint = "an example: object.status.phase == 'Ready'; has(object.status.phase) asks first"
        reading.error(path, str(error), hint)
