"""What a stage may know and use of the run around it, beside its cluster."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from volary.stages import webhooks


@dataclass(frozen=True, slots=True)
class Workspace:
    """A fresh private directory with the files of an application; it goes away after use."""

    #: For a program's own files.
    home: Path
    #: The application's directory.
    directory: Path


#: Puts the application's files at a commit into a workspace.
Checkout = Callable[[str], AbstractAsyncContextManager[Workspace]]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The same for all stages of a run."""

    #: Who asked for the run; empty: a commit did.
    commander: str = ""
    #: As people name it.
    repository: str = ""
    #: What the plan says about itself.
    summary: str = ""
    #: None: there are no files, so no scripts.
    checkout: Checkout | None = None


@dataclass(frozen=True, slots=True)
class Permissions:
    """What whoever runs Volary lets stages do on this machine."""

    #: Run scripts of applications.
    scripts: bool = True
    #: What webhooks may connect to.
    reach: webhooks.Reach = field(default_factory=webhooks.Reach)


@dataclass(frozen=True, slots=True)
class Task:
    """Which task of which run a stage is carried out as."""

    run_id: str = ""
    stage_id: str = ""
    #: Counted from 1; above 1 it was begun before.
    attempt: int = 1
    #: Clusters on which this very stage has succeeded already.
    succeeded: tuple[str, ...] = ()
    #: When the run was planned.
    created: datetime | None = None
