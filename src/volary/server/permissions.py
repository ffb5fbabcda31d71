"""Who may do what: permissions, the roles that give them, and people with their grants. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from volary.model import server_settings


class Permission(StrEnum):
    """What a route needs."""

    #: Anybody, without a word about who they are.
    PUBLIC = "public"
    #: Anybody whose credentials are valid, also without a role.
    KNOWN = "known"
    VIEW = "view"
    DEPLOY = "deploy"
    APPROVE = "approve"
    #: Let a run change clusters whose windows are closed.
    BREAK_GLASS = "unfreeze"
    ADMINISTER = "administer"


#: Deploying and approving are apart, so that nobody approves what they rolled out themselves.
ROLES: Mapping[server_settings.Role, frozenset[Permission]] = {
    server_settings.Role.VIEWER: frozenset({Permission.VIEW}),
    server_settings.Role.DEPLOYER: frozenset({Permission.VIEW, Permission.DEPLOY}),
    server_settings.Role.APPROVER: frozenset({Permission.VIEW, Permission.APPROVE}),
    server_settings.Role.RESPONDER: frozenset(
        {Permission.VIEW, Permission.DEPLOY, Permission.BREAK_GLASS}
    ),
    server_settings.Role.ADMIN: frozenset(Permission) - {Permission.PUBLIC, Permission.KNOWN},
}


@dataclass(frozen=True, slots=True)
class Grant:
    """A role, for applications with certain labels."""

    role: server_settings.Role
    #: All must be there; empty: every application.
    match_labels: tuple[tuple[str, str], ...] = ()

    def covers(self, labels: Mapping[str, str]) -> bool:
        """Say whether an application with `labels` is meant."""
        return all(labels.get(key) == value for key, value in self.match_labels)


class Source(StrEnum):
    """Who says who somebody is."""

    TOKEN = "token"
    OIDC = "oidc"
    #: Nobody: they are on the server's machine, and it asks for no credentials.
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever a request comes from.

    Names of different sources differ by how they begin, so that no issuer can give somebody the
    name of an API token.
    """

    #: As audit, approvals and roles have it: ``token:ci``, ``oidc:ana@example.org``, ``local``.
    name: str
    grants: tuple[Grant, ...] = ()
    source: Source = Source.LOCAL
    #: When the credentials end; None: never.
    expires: datetime | None = None

    def may(self, permission: Permission, labels: Mapping[str, str]) -> bool:
        """Say whether this person has a permission for an application with `labels`."""
        return any(
            permission in ROLES[grant.role] and grant.covers(labels) for grant in self.grants
        )

    def may_everywhere(self, permission: Permission) -> bool:
        """Say whether this person has a permission for every application there is."""
        return any(
            permission in ROLES[grant.role] and not grant.match_labels for grant in self.grants
        )

    def may_somewhere(self, permission: Permission) -> bool:
        """Say whether this person has a permission for some applications."""
        return any(permission in ROLES[grant.role] for grant in self.grants)


def grants_of(
    bindings: Iterable[server_settings.RoleBinding], subject: str, groups: Iterable[str] = ()
) -> tuple[Grant, ...]:
    """Return what the settings give to a subject and its groups."""
    known = frozenset(groups)
    return tuple(
        Grant(binding.role, tuple(sorted(binding.applications.match_labels.items())))
        for binding in bindings
        if (binding.subject and binding.subject == subject)
        or (binding.group and binding.group in known)
    )
