"""What one Kubernetes object says about itself, and what users say about a kind."""

from dataclasses import dataclass
from typing import Annotated, Literal

from volary.model import options, statuses


@dataclass(frozen=True, slots=True)
class Health:
    """A status with the sentence that explains it (kstatus: status and message)."""

    status: statuses.HealthStatus
    #: One sentence without the object's name and without a full stop.
    reason: str
    #: Waiting longer cannot help: somebody has to change something first.
    permanent: bool = False
    #: A rule says how such an object is. Without one it is unknown, and stays it.
    ruled: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """When the objects of a kind are healthy. Expressions are written in CEL over `object`."""

    group: Annotated[
        str, options.Option("API group, such as `example.org`; empty: the core group.")
    ]
    kind: Annotated[options.Text, options.Option("Kind, such as `Database`.")]
    version: str = options.option("Version, such as `v1`; empty: every version.", "")
    healthy: str = options.option(
        "It is as it should be when this is true: `object.status.phase == 'Ready'`.", ""
    )
    degraded: str = options.option(
        "Something is wrong with it when this is true; checked first. A stage that waits for it "
        "fails when that lasts 20 seconds.",
        "",
    )
    suspended: str = options.option(
        "Somebody has stopped it when this is true; checked second.", ""
    )
    progressing: str = options.option(
        "It is on its way when this is true; checked last. It also is when nothing else is true.",
        "",
    )
    message: str = options.option("The reason to show, as text: `object.status.message`.", "")
    treat_as: Literal["", "healthy"] = options.option(
        "Instead of expressions: `healthy` for a kind that nobody writes a status for, whose "
        "objects are fine once they exist.",
        "",
    )
