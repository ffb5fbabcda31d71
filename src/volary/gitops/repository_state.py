"""What the watcher reports: what a repository looks like after something changed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from volary.model import applications, errors
from volary.sources.git import repositories

if TYPE_CHECKING:  # what makes these parts: who watches nothing needs neither
    from volary.gitops import project_discovery
    from volary.sources.git import mirrors


@dataclass(frozen=True, slots=True)
class DiscoveredApplication:
    """One application at a branch's head."""

    #: As its file says; where that cannot be read, as it said before.
    name: str
    #: Name of the repository in the settings.
    repository: str
    #: Of its file, relative to the root.
    path: str
    #: The commit that was read: the branch's head.
    commit: str
    #: None: it cannot be used; an error among `problems` says why.
    application: applications.Application | None
    #: Errors and warnings, in the order of the file.
    problems: tuple[errors.Problem, ...] = ()

    @property
    def directory(self) -> str:
        """The application directory, relative to the root; empty: the root."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """A repository as it is now; reported first and whenever something about it changes."""

    #: In the settings.
    name: str
    branch: str
    #: None: there is no such branch, or nothing was ever fetched.
    head: repositories.Commit | None
    #: All of them, by path; also those that did not change.
    applications: tuple[DiscoveredApplication, ...] = ()
    #: What happened to the branch since the last time; None: nothing did.
    update: "mirrors.RefUpdate | None" = None
    #: One sentence: why this may be out of date; empty: it is not. While the host is down,
    #: `head` and `applications` are those of the last good look.
    problem: str = ""
    #: Sentences about what was left out of the look.
    warnings: tuple[str, ...] = ()
    #: The project files at `head`, of the repository that has them; None: of any other, or they
    #: could not be looked for.
    project_files: "project_discovery.FoundFiles | None" = None
