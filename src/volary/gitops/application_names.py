"""Names of applications: each belongs to one file of all watched repositories.

Whoever has a name keeps it; a second file that claims it is refused, until the first one
is gone. So a new file never takes over what another application runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ApplicationLocation:
    """Where an application's file is."""

    #: In the settings.
    repository: str
    #: Relative to the root.
    path: str

    def __str__(self) -> str:
        return f"{self.path} of {self.repository}"


@dataclass(slots=True)
class ApplicationNames:
    """Who has which name."""

    #: Known from before; a place that turns out to be gone loses its name.
    owners: dict[str, ApplicationLocation] = field(default_factory=dict)
    #: Repositories that were refused a name, by that name.
    _waiting: dict[str, set[str]] = field(default_factory=dict)

    def claim(self, name: str, place: ApplicationLocation) -> ApplicationLocation:
        """Return who has the name now: `place`, or somebody else who had it before."""
        owner = self.owners.setdefault(name, place)
        if owner != place:
            self._waiting.setdefault(name, set()).add(place.repository)
        return owner

    def of(self, place: ApplicationLocation) -> str:
        """Return the name a file has, by what was known before; empty: none."""
        return next((name for name, owner in self.owners.items() if owner == place), "")

    def keep(self, repository: str, present: Mapping[str, str]) -> set[str]:
        """Take names away from files of a repository that are gone or renamed.

        `present` are the names of the files that are there, by path. Returns the repositories
        that were refused one of the freed names before.
        """
        gone = [
            name
            for name, place in self.owners.items()
            if place.repository == repository and present.get(place.path) != name
        ]
        freed: set[str] = set()
        for name in gone:
            del self.owners[name]
            freed |= self._waiting.pop(name, set())
        return freed
