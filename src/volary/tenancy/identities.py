"""As whom clusters are to take what is done for a project.

Kubernetes keeps names that begin with `system:` for its own parts and gives them rights by that,
`system:masters` all of them. So nobody writes such a name into a project, except a ServiceAccount
by its namespace and name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from volary.model import errors, projects
from volary.tenancy import membership

_OF_KUBERNETES = "system:"
#: Everybody whom an API server knows is in it; it gives nothing to anybody.
_EVERYBODY = "system:authenticated"
#: Characters of a name; headers are bounded, and so are the names of Kubernetes' own objects.
_LONGEST = 512
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom; nothing: as the server itself."""

    user: str = ""
    groups: tuple[str, ...] = ()
    #: Files of credentials of its own, instead of the fleet's.
    kubeconfig: tuple[str, ...] = ()


#: The server's own.
OWN = Identity()


def find(known: membership.Projects, name: str) -> projects.Project | None:
    """Return the project of an application as it is now; None: there is none, and none is needed.

    Raises:
        errors.UserError: Nothing may be done for the application.
    """
    is_default = name in ("", projects.DEFAULT)
    if is_default and not known.are_in_use:
        return None
    if known.unknown:
        raise errors.user_error(f"it is not known which projects there are: {known.unknown}")
    project = known.by_name.get(name)
    if project is None:
        whose = "no project" if is_default else f"project {name}, which there is not any more"
        raise errors.user_error(
            f"the application belongs to {whose}",
            hint="a project's `sources` say which application files belong to it",
        )
    return project


def identity_of(project: projects.Project) -> Identity:
    """Return as whom clusters are to take what is done for a project.

    Raises:
        errors.UserError: What it says cannot be.
    """
    if problems := tuple(problems_of(project)):
        raise errors.UserError(*problems)
    if project.credentials is not None:
        return Identity(kubeconfig=tuple(project.credentials.kubeconfig))
    who = project.impersonate
    if who is None:
        return OWN
    if who.service_account is not None:
        account = who.service_account
        # Without groups in the request the API server adds those of every ServiceAccount; with
        # them, the server would need the right to impersonate each.
        return Identity(f"system:serviceaccount:{account.namespace}:{account.name}")
    return Identity(who.user, tuple(who.groups))


def problems_of(project: projects.Project) -> Iterator[errors.Problem]:
    """Yield what of a project's identity cannot be."""
    who, own = project.impersonate, project.credentials
    name = f"project {project.name}"
    if who is not None and own is not None:
        yield errors.Problem(f"{name} has both impersonate and credentials", hint="keep one")
    if own is not None and not own.kubeconfig:
        yield errors.Problem(f"{name}: credentials names no kubeconfig")
    if who is not None:
        yield from _problems_of(name, who)


def _problems_of(name: str, who: projects.Impersonation) -> Iterator[errors.Problem]:
    account = who.service_account
    if account is not None:
        if who.user or who.groups:
            yield errors.Problem(
                f"{name}: impersonate has a serviceAccount, and user or groups besides",
                hint="keep one; a ServiceAccount has the groups that every one has",
            )
        if not all(
            len(part) <= _LONGEST and _SUBDOMAIN.fullmatch(part)
            for part in (account.namespace, account.name)
        ):
            yield errors.Problem(f"{name}: no ServiceAccount can be called so")
        return
    if not who.user:
        yield errors.Problem(
            f"{name}: impersonate names nobody",
            hint="give it a serviceAccount, or a user with or without groups",
        )
    for title, text in (("user", who.user), *(("group", group) for group in who.groups)):
        if title == "group" and text == _EVERYBODY:
            continue
        if text.startswith(_OF_KUBERNETES):
            yield errors.Problem(
                f"{name}: the {title} {text} is one of Kubernetes itself",
                hint="name people or groups of yours, or a serviceAccount",
            )
        elif (title == "group" and not text) or not _is_name(text):
            yield errors.Problem(
                f"{name}: a {title} may not be empty, be longer than {_LONGEST} characters,"
                " begin or end with a blank, or have characters that cannot be seen"
            )


def _is_name(text: str) -> bool:
    """Say whether a text can be sent in a header and is read there as it is written here."""
    return len(text) <= _LONGEST and text.isprintable() and text == text.strip()
