"""Whose an application is, by where its file is."""

import pytest

from volary.model import projects
from volary.tenancy import membership

SOURCES = {
    "all": projects.Source("apps"),
    "directory": projects.Source("apps", ("teams/a", "!teams/a/old")),
    "branches": projects.Source("apps", (), ("main", "release/*")),
    "globs": projects.Source("team-*", ("**/volary.yaml",)),
}


@pytest.mark.parametrize(
    ("source", "place", "taken"),
    [
        ("all", ("apps", "x/volary.yaml", "dev"), True),
        ("all", ("apps2", "x/volary.yaml", "dev"), False),
        ("directory", ("apps", "teams/a/volary.yaml", "dev"), True),
        ("directory", ("apps", "teams/a/web/app.pipecd.yaml", "dev"), True),
        ("directory", ("apps", "teams/a/old/volary.yaml", "dev"), False),
        ("directory", ("apps", "teams/ab/volary.yaml", "dev"), False),
        ("directory", ("apps", "teams/b/teams/a/volary.yaml", "dev"), False),
        ("branches", ("apps", "volary.yaml", "main"), True),
        ("branches", ("apps", "volary.yaml", "release/1"), True),
        ("branches", ("apps", "volary.yaml", "maintenance"), False),
        ("globs", ("team-a", "volary.yaml", "dev"), True),
        ("globs", ("team-a", "deep/er/volary.yaml", "dev"), True),
        ("globs", ("team-a", "deep/app.pipecd.yaml", "dev"), False),
        ("globs", ("steam-a", "volary.yaml", "dev"), False),
    ],
)
def test_a_source_takes_what_it_says_and_no_more(
    source: str, place: tuple[str, str, str], taken: bool
) -> None:
    made = projects.Project("a", sources=(SOURCES[source],))

    assert membership.takes(made, membership.Place(*place)) is taken


def test_the_default_project_is_there_only_as_long_as_there_is_no_other() -> None:
    place = membership.Place("apps", "volary.yaml", "main")
    known = {"a": projects.Project("a", sources=(SOURCES["globs"],))}
    nothing, something = membership.Projects(), membership.Projects(known)
    unknown = membership.Projects({}, "the host is away")

    assert nothing.membership(place) == membership.Membership("default")
    assert nothing.membership(place, "default") == membership.Membership("default")
    assert nothing.membership(place, "a").project == ""
    assert something.membership(place, "default").project == ""
    assert unknown.membership(place) == membership.Membership(
        "", "it is not known which projects there are: the host is away"
    )
