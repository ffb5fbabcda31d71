"""What is known of a project by its name, as the projects are now."""

import pytest

from volary.model import projects
from volary.tenancy import membership

TEAM_A = projects.Project("team-a")


def test_without_projects_everything_is_permitted() -> None:
    known = membership.Projects()

    assert known.standing("") == known.standing("default") == membership.Standing()


def test_a_project_is_found_by_its_name() -> None:
    known = membership.Projects({"team-a": TEAM_A})

    assert known.standing("team-a") == membership.Standing(TEAM_A)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("team-b", "there is no project team-b any more"),
        ("", "it belongs to no project"),
        ("default", "it belongs to no project"),
    ],
)
def test_nothing_is_permitted_to_who_has_none(name: str, reason: str) -> None:
    known = membership.Projects({"team-a": TEAM_A})

    assert known.standing(name) == membership.Standing(reason=reason)


def test_who_had_one_is_not_free_once_there_are_none() -> None:
    known = membership.Projects()

    assert known.standing("team-a").reason == "there is no project team-a any more"


@pytest.mark.parametrize("name", ["", "default", "team-a"])
def test_while_it_is_not_known_nothing_is_permitted_yet(name: str) -> None:
    known = membership.Projects({"team-a": TEAM_A}, unknown="the host is away")

    found = known.standing(name)

    assert found.is_temporary
    assert found.project is None
    assert found.reason == "it is not known which projects there are: the host is away"
