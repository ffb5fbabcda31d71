"""What the controller is fed with, as it sees it: repositories, and what was seen in them.

Protocols, so that whoever watches repositories need not know who listens.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from volary.model import application as applications
from volary.model import problem
from volary.sources import repository


class Supersede(StrEnum):
    """What a newer commit does to a run that is under way."""

    #: It waits until the run has ended.
    QUEUE = "queue"
    #: It cancels the run as long as the run has not begun to change what serves users.
    CANCEL = "cancel"


class Found(Protocol):
    """An application that was found in a repository, or is listed by hand."""

    @property
    def name(self) -> str:
        """Its name, unique in the controller."""
        ...

    @property
    def path(self) -> str:
        """Its file, relative to the root of the repository."""
        ...

    @property
    def commit(self) -> str:
        """The commit it was read at: the branch's head."""
        ...

    @property
    def application(self) -> applications.Application | None:
        """What the file says; None: the file is broken."""
        ...

    @property
    def targets(self) -> applications.TargetSelector | None:
        """The clusters it is for, when the settings say so; None: as its file says."""
        ...

    @property
    def problems(self) -> Sequence[problem.Problem]:
        """What is wrong with the file, and warnings."""
        ...


class Seen(Protocol):
    """A repository as it was seen once."""

    @property
    def name(self) -> str:
        """Its name in the settings."""
        ...

    @property
    def branch(self) -> str:
        """The branch that is followed."""
        ...

    @property
    def head(self) -> str:
        """Where the branch points to; empty when it could not be read."""
        ...

    @property
    def applications(self) -> Sequence[Found]:
        """Every application of the repository; those that are missing were removed."""
        ...

    @property
    def problem(self) -> str:
        """Why it could not be looked at; then nothing else is to be believed."""
        ...


#: Takes what was seen; returns soon.
OnSeen = Callable[[Seen], Awaitable[None]]
#: Looks at every repository again and again until it is cancelled.
Watch = Callable[[OnSeen], Awaitable[None]]


class Repositories(Protocol):
    """Opened repositories by the name in the settings."""

    async def repository(self, name: str) -> repository.Repository:
        """Return it.

        Raises:
            errors.UserError: There is none of that name, or it was never fetched.
            errors.TemporaryError: It cannot be read now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """How runs are driven."""

    supersede: Supersede = Supersede.QUEUE
    #: Seconds until a release that could not begin is tried again, at first and at most.
    first_delay: float = 5.0
    longest_delay: float = 120.0
    #: Applications that are looked at or planned at the same time.
    planners: int = 4
    #: How often requests that came in through other processes are looked for.
    look: timedelta = timedelta(seconds=0.5)
    #: Values that must never be seen, besides those of the manifests.
    secrets: tuple[str, ...] = field(default=(), repr=False)
