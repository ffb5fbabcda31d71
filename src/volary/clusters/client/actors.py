"""On whose behalf something is done in clusters, and how clusters are to know it."""

from dataclasses import dataclass
from typing import Protocol

from volary.clusters.client import write_rules
from volary.clusters.kubeconfig import connections
from volary.model.fleet import fleets


@dataclass(frozen=True, slots=True)
class Identity:
    """How requests say on whose behalf they are sent; nothing: as the server itself."""

    #: Sent with the fleet's credentials.
    impersonation: connections.Impersonation | None = None
    #: Files of credentials that are used instead of the fleet's; their contexts are called as the
    #: clusters.
    kubeconfig: tuple[str, ...] = ()


class Actor(Protocol):
    """Who something is done for: asked each time anew. Equal ones get the same clients."""

    @property
    def title(self) -> str:
        """How it is called in sentences: ``project team-a``."""
        ...

    def identity(self) -> Identity:
        """Return how clusters know it now.

        Raises:
            errors.UserError: Nothing may be done on its behalf.
            errors.TemporaryError: It is not known now whether something may be.
        """
        ...

    def refusal(self, cluster: fleets.Cluster, write: write_rules.Write) -> str:
        """Return why a write may not be sent to a cluster now, a sentence; empty: it may."""
        ...

    def __hash__(self) -> int:
        """Return the same for equal ones."""
        ...
