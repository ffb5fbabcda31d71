"""What an application's project permits at the moment that it is asked.

A run is planned by the project as it is then, and may go on for days. So everything that it does
asks again: a guard looks its project up each time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import stage_kind
from volary.tenancy import membership, restrictions

_NOWHERE = fleets.Cluster("")
#: Looks the project of an application up.
LookUp = Callable[[], membership.Standing]


@dataclass(frozen=True, slots=True)
class Guard:
    """What the project of one application permits on one cluster, now."""

    standing: LookUp = membership.Standing
    cluster: fleets.Cluster = _NOWHERE

    @property
    def permits_everything(self) -> bool:
        """Whether there are no projects, so that nothing is asked."""
        known = self.standing()
        return known.project is None and not known.reason

    def refusal_of_cluster(self) -> str:
        """Return why nothing may be done here, one sentence; empty: something may."""
        known = self.standing()
        if known.project is None:
            return known.reason
        return restrictions.refusal_of_cluster(known.project, self.cluster)

    def refusal_of_stage(self, kind: stage_kind.StageKind[Any]) -> str:
        """Return why a stage may not go on here, one sentence; empty: it may."""
        known = self.standing()
        if known.project is None:
            return known.reason
        return self.refusal_of_cluster() or restrictions.refusal_of_stage(known.project, kind)

    def refusal_of_object(
        self, kind: restrictions.ObjectKind, *, namespace: str = "", name: str = ""
    ) -> str:
        """Return why an object may not be written, or deleted, here; empty: it may."""
        known = self.standing()
        if known.project is None:
            return known.reason
        return restrictions.refusal_of_object(
            known.project, self.cluster, kind, namespace=namespace, name=name
        )


#: Where there are no projects, as in `volary run`.
PERMITS_EVERYTHING = Guard()
