"""Which application an object belongs to, and what it may take from others."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

#: How a workspace's objects name it; no application's name has a slash.
WORKSPACE_PREFIX = "workspace/"
_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Owner:
    """An application, as its objects name it."""

    #: As its file calls it, for people.
    name: str
    #: What tells it from others of the same name; a label value.
    id: str

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an application is described, as far as that can be told from everywhere."""

    #: Host and path of the repository; empty: a plain directory, or a repository without a remote.
    repository: str = ""
    #: The application's directory in it.
    directory: str = ""
    #: What tells checkouts of a machine apart: a digest of where a repository without a remote is.
    #: Elsewhere the same repository has another, so commits decide where there are some; empty:
    #: unknown.
    checkout: str = field(default="", compare=False)

    def __str__(self) -> str:
        return ":".join(filter(None, (self.repository, self.directory))) or "a plain directory"


def make_id(name: str, origin: Origin, namespace: str, taken: Collection[str] = ()) -> str:
    """Return the id of an application that no cluster knows yet.

    Everybody who begins with the same application makes the same id; two repositories that begin
    at once do not. `namespace` is where it goes, `taken` the ids of others that are there.
    """
    repository = origin.repository or origin.checkout
    for attempt in range(len(taken) + 1):
        content = "\0".join((name, repository, origin.directory, namespace, str(attempt)))
        digest = hashlib.sha256(content.encode()).hexdigest()[:_LENGTH]
        if digest not in taken:
            return digest
    raise AssertionError("more ids than attempts cannot be taken")


class ConflictPolicy(StrEnum):
    """What happens to fields that people's tools, or tools that are replaced, own."""

    TAKE_BACK = "takeBack"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Which fields of others are taken back, and which stop a run."""

    policy: ConflictPolicy = ConflictPolicy.TAKE_BACK
    #: Field paths (with what is below them) and field managers for which the opposite holds.
    exceptions: tuple[str, ...] = ()

    def is_exception(self, manager: str, path: str) -> bool:
        """Say whether the opposite of the rule holds for a field of a manager."""
        return any(
            manager == exception
            or path == exception
            or path.startswith((f"{exception}.", f"{exception}["))
            for exception in self.exceptions
        )
