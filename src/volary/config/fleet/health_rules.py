"""``health``: when objects of kinds that nobody else knows are healthy; what is wrong with it."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from volary.config.decoding import readings
from volary.config.text import expressions, yaml
from volary.model.objects import object_health

_EXPRESSIONS = ("healthy", "degraded", "suspended", "progressing", "message")


def convert(
    reading: readings.Reading, read: Sequence[object_health.Rule], path: yaml.Path
) -> tuple[object_health.Rule, ...]:
    """Return the rules in order; problems are noted, those of expressions too."""
    seen: set[tuple[str, str, str]] = set()
    rules = []
    for place, rule in enumerate(read):
        here = (*path, place)
        key = (rule.group, rule.kind, rule.version)
        if key in seen:
            reading.error(here, f"there is a rule for {rule.kind} already", "keep one of them")
        seen.add(key)
        rules.append(_rule(reading, rule, here))
    return tuple(rules)


def _rule(
    reading: readings.Reading, read: object_health.Rule, path: yaml.Path
) -> object_health.Rule:
    texts: dict[str, Any] = {name: getattr(read, name).strip() for name in _EXPRESSIONS}
    given = [name for name, text in texts.items() if text]
    if read.treat_as and given:
        message = f"treatAs leaves nothing for {', '.join(given)} to decide"
        reading.error((*path, "treatAs"), message, "keep treatAs or the expressions")
    elif not read.treat_as and not texts["healthy"]:
        hint = "write healthy: with an expression in CEL, or treatAs: healthy"
        reading.error(path, "the rule does not say when it is healthy", hint)
    for name in given:
        hint = "an example: object.status.phase == 'Ready'; has(object.status.phase) asks first"
        reading.accepts((*path, name), functools.partial(expressions.parse, texts[name]), hint)
    return replace(read, **texts)
