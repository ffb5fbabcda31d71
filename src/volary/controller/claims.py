"""Which application file has which name, for one tenure: no two of them share a lane. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from volary.gitops import names
from volary.gitops import seen as sights

#: In names of those that stand in for a file whose name another one has; in no other name.
_MARK = "@"


def is_stand_in(name: str) -> bool:
    """Say whether an application is only there to say that its name is taken."""
    return _MARK in name


@dataclass(slots=True)
class Claims:
    """Who has which name."""

    places: dict[str, names.Place] = field(default_factory=dict)

    def of_seen(
        self,
        seen: sights.RepositorySeen,
        continued: Callable[[sights.FoundApplication], str] = lambda _: "",
    ) -> Mapping[str, sights.FoundApplication]:
        """Return what was found by what it is called here.

        Who had a name keeps it while its file is there; whole files come before broken ones.

        Args:
            seen: A repository and its files.
            continued: Says which application that lost its repository a file goes on with; empty:
                with none.
        """
        found_names: dict[str, sights.FoundApplication] = {}
        here = {found.path for found in seen.applications}
        for found in sorted(seen.applications, key=lambda each: each.application is None):
            mine = names.Place(seen.name, found.path)
            if name := continued(found):
                self.places[name] = mine
            name = self._name(found, mine)
            owner = self.places.get(name, mine)
            gone = owner.repository == seen.name and owner.path not in here
            if owner == mine or gone:
                self.places[name] = mine
                found_names[name] = found
            else:
                found_names[f"{found.name}{_MARK}{seen.name}/{found.path}"] = found
        return found_names

    def _name(self, found: sights.FoundApplication, mine: names.Place) -> str:
        """Return what a file is called; one that cannot be read as it was called before."""
        if found.application is not None:
            return found.name
        known = (name for name, place in self.places.items() if place == mine)
        return next(known, found.name)
