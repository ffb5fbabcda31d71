"""Who may do what: permissions, the roles that give them, and people with their grants. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from volary.model import projects, server_settings


class Permission(StrEnum):
    """What a route needs."""

    #: Anybody, without a word about who they are.
    PUBLIC = "public"
    #: Anybody whose credentials are valid, also without a role.
    KNOWN = "known"
    #: Agents beside clusters, by tokens of their own, and nobody else.
    AGENT = "agent"
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
    server_settings.Role.ADMIN: frozenset(Permission)
    - {Permission.PUBLIC, Permission.KNOWN, Permission.AGENT},
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a permission is asked about: an application, by what roles are given by."""

    #: Its own file says so.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The project that it belongs to; empty: to none.
    project: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A role, for applications with certain labels in certain projects."""

    role: server_settings.Role
    #: All must be there; empty: every application.
    match_labels: tuple[tuple[str, str], ...] = ()
    #: One of them; empty: every project, and what belongs to none.
    projects: tuple[str, ...] = ()

    @property
    def permissions(self) -> frozenset[Permission]:
        """What the role permits."""
        return ROLES[self.role]

    @property
    def is_for_everything(self) -> bool:
        """Whether it holds for every application there is."""
        return not self.match_labels and not self.projects

    def covers(self, subject: Subject) -> bool:
        """Say whether an application is meant."""
        return (not self.projects or subject.project in self.projects) and all(
            subject.labels.get(key) == value for key, value in self.match_labels
        )


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

    def may(self, permission: Permission, subject: Subject) -> bool:
        """Say whether this person has a permission for an application."""
        return any(
            permission in grant.permissions and grant.covers(subject) for grant in self.grants
        )

    def may_everywhere(self, permission: Permission) -> bool:
        """Say whether this person has a permission for every application there is."""
        return any(
            permission in grant.permissions and grant.is_for_everything for grant in self.grants
        )

    def may_somewhere(self, permission: Permission) -> bool:
        """Say whether this person has a permission for some applications."""
        return any(permission in grant.permissions for grant in self.grants)

    def may_in_all_of(self, permission: Permission, project: str) -> bool:
        """Say whether this person has a permission for every application of a project.

        Empty: for what belongs to no project, which is everybody's.
        """
        return self.may_everywhere(permission) or project in self.projects(permission)

    def projects(self, permission: Permission) -> frozenset[str]:
        """Return the projects with a permission for every application, as roles name them.

        Who has the permission everywhere has it in others, too.
        """
        return frozenset(
            name
            for grant in self.grants
            if permission in grant.permissions and not grant.match_labels
            for name in grant.projects
        )


def grants_of(
    bindings: Iterable[server_settings.RoleBinding], subject: str, groups: Iterable[str] = ()
) -> tuple[Grant, ...]:
    """Return what the settings give to a subject and its groups."""
    known = frozenset(groups)
    return tuple(
        Grant(
            binding.role,
            tuple(sorted(binding.applications.match_labels.items())),
            tuple(sorted(set(binding.applications.projects))),
        )
        for binding in bindings
        if (binding.subject and binding.subject == subject)
        or (binding.group and binding.group in known)
    )


def grants_by_projects(
    all_projects: Iterable[projects.Project], subject: str, groups: Iterable[str] = ()
) -> tuple[Grant, ...]:
    """Return what projects give to a subject and its groups: never more than in themselves."""
    known = frozenset(groups)
    return tuple(
        Grant(binding.role, projects=(project.name,))
        for project in all_projects
        # One without a name is no project, and would hold for every one.
        if project.name
        for binding in project.roles
        if (subject and subject in binding.subjects) or not known.isdisjoint(binding.groups)
    )
