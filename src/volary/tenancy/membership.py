"""Which project an application belongs to: decided by where its file is, by nothing it says alone.

The file is known by repository, branch and path as Git has them, so a file that is moved or
renamed belongs to whichever project takes it where it is now.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from volary.config.text import globs
from volary.model import projects


@dataclass(frozen=True, slots=True)
class Place:
    """Where an application's file is."""

    #: Name of the repository in the settings.
    repository: str
    #: Of the file, relative to the root of the repository.
    path: str
    branch: str


@dataclass(frozen=True, slots=True)
class Membership:
    """Whose an application is."""

    #: Empty: nobody's; `reason` says why.
    project: str
    reason: str = ""
    #: The projects that take its file, where they are too many. Teams do not learn each other's
    #: names, so these are for whoever runs the server.
    taking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known now of a project by its name."""

    #: None: there are no projects, so everything is permitted; unless there is a `reason`.
    project: projects.Project | None = None
    #: Why nothing is permitted, one sentence; empty: see `project`.
    reason: str = ""
    #: It may be known later.
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class Projects:
    """All projects of a server, as they are now."""

    by_name: Mapping[str, projects.Project] = field(default_factory=dict)
    #: Why it is not known which there are, one sentence; empty: it is known.
    unknown: str = ""

    @property
    def are_in_use(self) -> bool:
        """Whether applications need a project: not as long as it is known that there is none."""
        return bool(self.by_name or self.unknown)

    def membership(self, place: Place, wanted: str = "") -> Membership:
        """Return whose the application at a place is; `wanted` is what its file says, if at all.

        What a file says chooses between the projects that take it, and no other.
        """
        if not self.are_in_use and wanted in ("", projects.DEFAULT):
            return Membership(projects.DEFAULT)
        if self.unknown:
            return Membership("", f"it is not known which projects there are: {self.unknown}")
        taking = sorted(name for name, known in self.by_name.items() if takes(known, place))
        chosen = [name for name in taking if wanted in ("", name)]
        if len(chosen) == 1:
            return Membership(chosen[0])
        if chosen:
            reason = (
                f"several projects take {_sentence(place)}, and its `spec.project` does not say"
                " which it belongs to"
            )
            return Membership("", reason, tuple(chosen))
        named = f" {wanted}" if wanted else ""
        return Membership("", f"no project{named} takes {_sentence(place)}")

    def standing(self, name: str) -> Standing:
        """Return what is known of the project that an application belongs to; empty: to none."""
        if not self.are_in_use and name in ("", projects.DEFAULT):
            return Standing()
        if self.unknown:
            reason = f"it is not known which projects there are: {self.unknown}"
            return Standing(reason=reason, is_temporary=True)
        known = self.by_name.get(name)
        if known is not None:
            return Standing(known)
        if name in ("", projects.DEFAULT):
            return Standing(reason="it belongs to no project")
        return Standing(reason=f"there is no project {name} any more")


#: Nobody is kept apart.
NONE = Projects()


def takes(project: projects.Project, place: Place) -> bool:
    """Say whether a project takes an application file."""
    return any(
        _is_called(source.repository, place.repository)
        and _matches_any(source.paths, place.path)
        and _matches_any(source.branches, place.branch)
        for source in project.sources
    )


@lru_cache(maxsize=65_536)
def _is_called(pattern: str, name: str) -> bool:
    """Say whether a repository is meant; asked for every application and every source."""
    return globs.matches([pattern], name)


def _matches_any(patterns: tuple[str, ...], text: str) -> bool:
    return not patterns or globs.matches(patterns, text)


def _sentence(place: Place) -> str:
    return f"{place.path} of the repository {place.repository}, branch {place.branch}"
