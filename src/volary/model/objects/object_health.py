"""What one Kubernetes object says about itself, and what users say about a kind."""

from dataclasses import dataclass

from volary.model import statuses


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
    """When objects of a kind are healthy, as a user says it in CEL; empty: not said."""

    group: str
    kind: str
    #: Empty: every version.
    version: str = ""
    #: Expressions that are true or false.
    healthy: str = ""
    degraded: str = ""
    progressing: str = ""
    suspended: str = ""
    #: Expression that gives the reason, as text.
    message: str = ""
    #: Instead of expressions: what every object of the kind is once it exists.
    treat_as: statuses.HealthStatus | None = None
