"""which kinds one cluster serves now: the built-in ones and its custom resources."""

from collections.abc import Iterable, Sequence

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds

_PATHS = {(each.group, each.version, each.plural): each for each in kinds.BUILT_IN}
_NAMES = {(each.api_version, each.name): each for each in kinds.BUILT_IN}


class Served:
    """Look-up of kinds by path and by name; built-in kinds are shared by all clusters."""

    def __init__(self) -> None:
        self._custom: dict[str, tuple[kinds.Kind, ...]] = {}
        self._paths: dict[tuple[str, str, str], kinds.Kind] = {}
        self._names: dict[tuple[str, str], kinds.Kind] = {}
        self._all: Sequence[kinds.Kind] = kinds.BUILT_IN
        #: Counts changes, so that documents made of the kinds can be kept.
        self.generation = 0

    def at(self, group: str, version: str, plural: str) -> kinds.Kind | None:
        """Return the kind served at a path."""
        key = (group, version, plural)
        return _PATHS.get(key) or self._paths.get(key)

    def named(self, api_version: str, name: str) -> kinds.Kind | None:
        """Return a kind by apiVersion and name."""
        key = (api_version, name)
        return _NAMES.get(key) or self._names.get(key)

    def require(self, api_version: str, name: str) -> kinds.Kind:
        """Return a kind by apiVersion and name, or raise 404."""
        found = self.named(api_version, name)
        if found is None:
            raise api_errors.no_such_path()
        return found

    def all(self) -> Sequence[kinds.Kind]:
        """Every kind served now, in the order of discovery."""
        return self._all

    def versions(self, group: str) -> Sequence[str]:
        """The versions of a group, the preferred one first; empty: there is no such group."""
        return tuple(dict.fromkeys(each.version for each in self.all() if each.group == group))

    def groups(self) -> Sequence[str]:
        """All groups, the core group first."""
        return tuple(dict.fromkeys(each.group for each in self.all()))

    def set_custom(self, definition: str, served: Iterable[kinds.Kind]) -> None:
        """Serve the versions of a custom resource instead of what `definition` stood for."""
        self._custom[definition] = tuple(served)
        self._index()

    def drop_custom(self, definition: str) -> None:
        """Stop to serve a custom resource."""
        if self._custom.pop(definition, None) is not None:
            self._index()

    def custom(self, definition: str) -> tuple[kinds.Kind, ...]:
        """Return the served versions of a custom resource."""
        return self._custom.get(definition, ())

    def _index(self) -> None:
        listed = sorted(
            (each for found in self._custom.values() for each in found),
            key=lambda each: each.group,
        )
        self._paths = {(each.group, each.version, each.plural): each for each in listed}
        self._names = {(each.api_version, each.name): each for each in listed}
        self._all = (*kinds.BUILT_IN, *self._paths.values())
        self.generation += 1
