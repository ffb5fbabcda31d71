"""As whom a project is known to clusters, and who is never meant by a project."""

from collections.abc import Callable

import pytest

from volary.model import errors, projects
from volary.tenancy import identities, membership

ACCOUNT = projects.ServiceAccount("team-a", "deployer")


def project(**given: object) -> projects.Project:
    made: Callable[..., projects.Project] = projects.Project
    return made("team-a", **given)


def known(*several: projects.Project, unknown: str = "") -> membership.Projects:
    return membership.Projects({one.name: one for one in several}, unknown)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (project(), identities.OWN),
        (
            project(impersonate=projects.Impersonation(service_account=ACCOUNT)),
            identities.Identity("system:serviceaccount:team-a:deployer"),
        ),
        (
            project(impersonate=projects.Impersonation("ana", ("Platform team", "sre"))),
            identities.Identity("ana", ("Platform team", "sre")),
        ),
        (
            project(impersonate=projects.Impersonation("ana", ("system:authenticated",))),
            identities.Identity("ana", ("system:authenticated",)),
        ),
        (
            project(credentials=projects.ProjectCredentials(("/keys/team-a",))),
            identities.Identity(kubeconfig=("/keys/team-a",)),
        ),
    ],
    ids=["nothing", "account", "groups", "everybody", "credentials"],
)
def test_identities(given: projects.Project, expected: identities.Identity) -> None:
    assert identities.identity_of(given) == expected


@pytest.mark.parametrize(
    ("who", "said"),
    [
        (projects.Impersonation(), "impersonate names nobody"),
        (projects.Impersonation("", ("sre",)), "impersonate names nobody"),
        (projects.Impersonation("system:admin"), "the user system:admin is one of Kubernetes"),
        (projects.Impersonation("ana", ("system:masters",)), "the group system:masters is one of"),
        (projects.Impersonation("ana", (" system:masters",)), "a group may not"),
        (projects.Impersonation("ana", ("",)), "a group may not"),
        (projects.Impersonation("ana", ("a\r\nImpersonate-Group: b",)), "a group may not"),
        (projects.Impersonation("ana\nImpersonate-User: root"), "a user may not"),
        (projects.Impersonation("ana\0"), "a user may not"),
        (projects.Impersonation("a" * 513), "a user may not"),
        (
            projects.Impersonation(service_account=projects.ServiceAccount("team-a", "x:y")),
            "no ServiceAccount can be called so",
        ),
        (
            projects.Impersonation(service_account=projects.ServiceAccount("a\n", "x")),
            "no ServiceAccount can be called so",
        ),
        (projects.Impersonation("ana", service_account=ACCOUNT), "and user or groups besides"),
        (projects.Impersonation("", ("sre",), ACCOUNT), "and user or groups besides"),
    ],
)
def test_nobody_else_can_be_named(who: projects.Impersonation, said: str) -> None:
    """Not the parts of Kubernetes, and no second header."""
    with pytest.raises(errors.UserError, match=f"project team-a: .*{said}"):
        identities.identity_of(project(impersonate=who))


def test_two_identities_are_none() -> None:
    both = project(
        impersonate=projects.Impersonation("ana"),
        credentials=projects.ProjectCredentials(("/keys",)),
    )

    with pytest.raises(errors.UserError, match="both impersonate and credentials"):
        identities.identity_of(both)


def test_without_credentials_the_fleets_are_not_used() -> None:
    with pytest.raises(errors.UserError, match="credentials names no kubeconfig"):
        identities.identity_of(project(credentials=projects.ProjectCredentials(())))


@pytest.mark.parametrize("name", ["", "default"])
def test_without_projects_none_is_needed(name: str) -> None:
    assert identities.find(known(), name) is None


def test_a_project_is_found_as_it_is_now() -> None:
    assert identities.find(known(project()), "team-a") == project()


@pytest.mark.parametrize(
    ("there", "name", "said"),
    [
        (known(project()), "", "the application belongs to no project"),
        (known(project()), "default", "the application belongs to no project"),
        (known(project()), "team-b", "belongs to project team-b, which there is not any more"),
        (known(), "team-b", "belongs to project team-b, which there is not any more"),
        (known(unknown="no answer"), "default", "not known which projects there are: no answer"),
        (known(project(), unknown="no answer"), "team-a", "not known which projects there are"),
    ],
)
def test_nothing_is_done_for_who_has_none(there: membership.Projects, name: str, said: str) -> None:
    with pytest.raises(errors.UserError, match=said):
        identities.find(there, name)
