"""What one Kubernetes object says about itself."""

from dataclasses import dataclass

from volary.model import status


@dataclass(frozen=True, slots=True)
class Health:
    """A status with the sentence that explains it (kstatus: status and message)."""

    status: status.HealthStatus
    #: One sentence without the object's name and without a full stop.
    reason: str
    #: Waiting longer cannot help: somebody has to change something first.
    permanent: bool = False
