"""Which files ``volary lint`` has something to say about."""

import pytest

from volary.config.crosscheck import lint
from volary.model import errors

SETTINGS = "apiVersion: volary.dev/v1\nkind: Controller\nfleet: fleet.yaml\nnonsense: 1\n"
PROJECT = """\
apiVersion: volary.dev/v1
kind: Project
metadata: {name: shop}
spec:
  sources: [{repository: shop}]
  destinations: [{namespaces: [shop]}]
"""
WORKSPACE = """\
apiVersion: volary.dev/v1
kind: Workspace
metadata: {name: shop}
spec:
  project: shop
  namespaces: [{name: shop}]
"""
FLEET = "apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{name: us, zone: a}]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [(SETTINGS, "unknown field nonsense"), (FLEET, "unknown field zone")],
    ids=["settings", "fleet"],
)
def test_settings_and_fleets_are_known_by_their_kind(text: str, message: str) -> None:
    found = lint.check({"any-name.yaml": text})

    assert message in [each.message for each in found]
    assert lint.is_checked("any-name.yaml", {"any-name.yaml": text})


def test_projects_and_workspaces_are_read_together() -> None:
    found = lint.check({"teams/a.yaml": PROJECT, "teams/b.yaml": f"{WORKSPACE}  nonsense: 1\n"})

    assert [str(each).splitlines()[0] for each in found] == [
        "teams/b.yaml:7: spec.nonsense: unknown field nonsense"
    ]
    assert lint.is_checked("teams/b.yaml", {"teams/b.yaml": WORKSPACE})


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"w.yaml": WORKSPACE}, False),
        ({"w.yaml": WORKSPACE, "p.yaml": PROJECT}, False),
        ({"w.yaml": WORKSPACE, "p.yaml": PROJECT.replace("shop", "pay")}, True),
        ({"w.yaml": f"{PROJECT.replace('shop', 'pay')}---\n{WORKSPACE}"}, True),
    ],
    ids=["alone", "there", "another", "in-one-file"],
)
def test_the_project_of_a_workspace_is_missed_where_projects_are_there(
    files: dict[str, str], missing: bool
) -> None:
    found = [each.message for each in lint.check(files)]

    assert found == (["workspace shop is of project shop, which is not there"] if missing else [])


def test_a_name_is_there_once_in_all_files() -> None:
    (problem,) = lint.check({"a.yaml": PROJECT, "b/a.yaml": PROJECT})

    assert "the project shop is there already, at a.yaml" in problem.message


@pytest.mark.parametrize(
    "text",
    ["kind: Deployment\napiVersion: apps/v1\n", "apiVersion: other.dev/v1\nkind: Fleet\n", "- ["],
)
def test_other_files_alone_are_not_looked_at(text: str) -> None:
    assert not lint.is_checked("web.yaml", {"web.yaml": text})
    assert lint.check({"web.yaml": text}) == ()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("b/x.pipecd.yaml", []),
        ("a/x.pipecd.yaml", ["the application web is also described by a/w.pipecd.yaml"]),
    ],
)
def test_two_of_one_name_are_others_in_other_directories(place: str, said: list[str]) -> None:
    text = "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: web\n"

    found = lint.check({"a/w.pipecd.yaml": text, place: text})

    assert [each.message for each in found if each.severity is errors.Severity.ERROR] == said
