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
        (projects.Impersonation(), "needs a user or a serviceAccount"),
        (projects.Impersonation("", ("sre",)), "needs a user or a serviceAccount"),
        (projects.Impersonation("system:admin"), "user: system:admin is kept for"),
        (projects.Impersonation("ana", ("system:masters",)), "system:masters is kept for"),
        (projects.Impersonation("ana", ("system:serviceaccounts:b",)), "is kept for the cluster"),
        (projects.Impersonation("ana", (" system:masters",)), r"groups\[0\]: must be printable"),
        (projects.Impersonation("ana", ("",)), "a group has a name"),
        (projects.Impersonation("ana", ("a\r\nImpersonate-Group: b",)), "must be printable"),
        (projects.Impersonation("ana\nImpersonate-User: root"), "user: must be printable"),
        (projects.Impersonation("ana\0"), "user: must be printable"),
        (projects.Impersonation("a" * 513), "user: must be printable, at most 512"),
        (
            projects.Impersonation(service_account=projects.ServiceAccount("team-a", "x:y")),
            "is not a name of an object",
        ),
        (
            projects.Impersonation(service_account=projects.ServiceAccount("a\n", "x")),
            "is not a name of an object",
        ),
        (projects.Impersonation("ana", service_account=ACCOUNT), "one of them"),
        (projects.Impersonation("", ("sre",), ACCOUNT), "and no others"),
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

    with pytest.raises(errors.UserError, match="impersonate and credentials are both given"):
        identities.identity_of(both)


def test_without_credentials_the_fleets_are_not_used() -> None:
    with pytest.raises(errors.UserError, match="no file is named"):
        identities.identity_of(project(credentials=projects.ProjectCredentials(())))


@pytest.mark.parametrize("name", ["", "default"])
def test_without_projects_none_is_needed(name: str) -> None:
    assert identities.find(known(), name) is None


def test_a_project_is_found_as_it_is_now() -> None:
    assert identities.find(known(project()), "team-a") == project()


@pytest.mark.parametrize(
    ("there", "name", "said"),
    [
        (known(project()), "", "it belongs to no project"),
        (known(project()), "default", "it belongs to no project"),
        (known(project()), "team-b", "there is no project team-b any more"),
        (known(), "team-b", "there is no project team-b any more"),
    ],
)
def test_nothing_is_done_for_who_has_none(there: membership.Projects, name: str, said: str) -> None:
    with pytest.raises(errors.UserError, match=said):
        identities.find(there, name)


@pytest.mark.parametrize("name", ["", "default", "team-a", "team-b"])
def test_what_is_not_known_now_may_be_known_later(name: str) -> None:
    there = known(project(), unknown="no answer")

    with pytest.raises(
        errors.TemporaryError, match="not known which projects there are: no answer"
    ):
        identities.find(there, name)
