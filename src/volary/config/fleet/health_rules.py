"""``health``: when objects of kinds that nobody else knows are healthy; its fields and how
they are read.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.config.text import expressions, yaml
from volary.model import statuses
from volary.model.objects import object_health


class HealthRule(base_sections.Section):
    """When the objects of a kind are healthy. Expressions are written in CEL over `object`."""

    group: str = Field(description="API group, such as `example.org`; empty: the core group.")
    kind: base_sections.Text = Field(description="Kind, such as `Database`.")
    version: str = Field(default="", description="Version, such as `v1`; empty: every version.")
    healthy: str = Field(
        default="",
        description="It is as it should be when this is true: `object.status.phase == 'Ready'`.",
    )
    degraded: str = Field(
        default="",
        description="Something is wrong with it when this is true; looked at first. A stage that "
        "waits for it fails when that lasts 20 seconds.",
    )
    suspended: str = Field(
        default="", description="Somebody has stopped it when this is true; looked at second."
    )
    progressing: str = Field(
        default="",
        description="It is on its way when this is true; looked at last. It also is when nothing "
        "else is true.",
    )
    message: str = Field(
        default="", description="The reason to show, as text: `object.status.message`."
    )
    treat_as: Literal["", "healthy"] = Field(
        default="",
        description="Instead of expressions: `healthy` for a kind that nobody writes a status for, "
        "whose objects are fine once they exist.",
    )


_EXPRESSIONS = ("healthy", "degraded", "suspended", "progressing", "message")


def convert(
    reading: readings.Reading, read: Sequence[HealthRule], path: yaml.Path
) -> tuple[object_health.Rule, ...]:
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


def _rule(reading: readings.Reading, read: HealthRule, path: yaml.Path) -> object_health.Rule:
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
    treat_as = statuses.HealthStatus(read.treat_as) if read.treat_as else None
    return object_health.Rule(read.group, read.kind, read.version, **texts, treat_as=treat_as)


def _check(reading: readings.Reading, text: str, path: yaml.Path) -> None:
    try:
        expressions.parse(text)
    except ValueError as error:
        hint = "an example: object.status.phase == 'Ready'; has(object.status.phase) asks first"
        reading.error(path, str(error), hint)
