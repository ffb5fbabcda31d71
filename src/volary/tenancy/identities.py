"""As whom clusters are to take what is done for a project."""

from dataclasses import dataclass

from volary.config.text import yaml
from volary.model import errors, project_identities, projects
from volary.tenancy import membership


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
        errors.TemporaryError: Nothing may be done until it is known which projects there are.
    """
    standing = known.standing(name)
    refusal = f"nothing is done in clusters for the application: {standing.reason}"
    if standing.is_temporary:
        raise errors.TemporaryError(refusal)
    if standing.reason:
        raise errors.user_error(
            refusal,
            hint="a project's `sources` say which application files belong to it",
        )
    return standing.project


def identity_of(project: projects.Project) -> Identity:
    """Return as whom clusters are to take what is done for a project.

    Raises:
        errors.UserError: What it says cannot be.
    """
    problems = tuple(
        errors.Problem(
            f"project {project.name}: {yaml.dotted(fault.path)}: {fault.message}", hint=fault.hint
        )
        for fault in project_identities.faults(project)
    )
    if problems:
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
        return Identity(project_identities.user_of(account))
    return Identity(who.user, tuple(who.groups))
