"""What the controller is fed with: repositories, what was seen in them, and rules."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from volary.gitops import seen
from volary.model import controller
from volary.model import failover as moves
from volary.sources import repository as source_repository

#: Takes what was seen; returns when decisions are kept.
OnSeen = Callable[[seen.RepositorySeen], Coroutine[Any, Any, None]]
#: Looks at every repository again and again until it is cancelled.
Watch = Callable[[OnSeen], Coroutine[Any, Any, None]]


class Repositories(Protocol):
    """Opened repositories by the name in the settings."""

    async def repository(self, name: str) -> source_repository.Repository:
        """Return it.

        Raises:
            errors.UserError: There is none of that name, or it was never fetched.
            errors.TemporaryError: It cannot be read now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """How runs are driven."""

    supersede: controller.Supersede = controller.Supersede.QUEUE
    #: Seconds until a release that could not begin is tried again, at first and at most.
    first_delay: float = 5.0
    longest_delay: float = 120.0
    #: How long a cluster may take to answer while a run is prepared.
    patience: timedelta = timedelta(seconds=15)
    #: Applications that are looked at or planned at the same time.
    planners: int = 4
    #: How often requests that came in through other processes are looked for.
    look: timedelta = timedelta(seconds=0.5)
    #: Applications whose targets the settings name: repository, and directory or file.
    listed: frozenset[tuple[str, str]] = frozenset()
    #: How much is moved away from lost clusters.
    failover: moves.Limits = field(default_factory=moves.Limits)
    #: Values that must never be seen, besides those of the manifests.
    secrets: tuple[str, ...] = field(default=(), repr=False)
