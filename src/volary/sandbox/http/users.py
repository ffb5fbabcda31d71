"""Who may do what: bearer tokens and simple permissions, so that 401 and 403 can happen."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Permission:
    """What is allowed; ``*`` stands for everything."""

    verbs: frozenset[str] = frozenset(("*",))
    #: Plural names, with ``/status`` and the like for subresources.
    resources: frozenset[str] = frozenset(("*",))
    groups: frozenset[str] = frozenset(("*",))
    namespaces: frozenset[str] = frozenset(("*",))


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a token."""

    name: str
    token: str
    groups: tuple[str, ...] = ("system:authenticated",)
    permissions: tuple[Permission, ...] = ()

    @property
    def administrator(self) -> bool:
        """Everything is allowed."""
        return "system:masters" in self.groups


def administrator(token: str) -> User:
    """Return the user a cluster's own kubeconfig names."""
    return User("volary-admin", token, groups=("system:masters", "system:authenticated"))
