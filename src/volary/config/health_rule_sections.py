"""The fields of ``health``: when objects of kinds that nobody else knows are healthy."""

from typing import Literal

from pydantic import Field

from volary.config import section


class HealthRule(section.Section):
    """When the objects of a kind are healthy. Expressions are written in CEL over `object`."""

    group: str = Field(description="API group, such as `example.org`; empty: the core group.")
    kind: section.Text = Field(description="Kind, such as `Database`.")
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
