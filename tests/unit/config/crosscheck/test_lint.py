"""Which files ``volary lint`` has something to say about."""

import pytest

from volary.config.crosscheck import lint
from volary.model import errors

SETTINGS = "apiVersion: volary.dev/v1\nkind: Controller\nfleet: fleet.yaml\nnonsense: 1\n"
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
