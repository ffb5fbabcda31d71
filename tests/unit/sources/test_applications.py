"""Which application file is meant."""

from collections.abc import Callable, Mapping

import pytest

from volary.model import errors
from volary.sources import applications, directory

Tree = Callable[[Mapping[str, str]], directory.DirectoryTree]
FILES = {
    "shop/volary.yaml": "",
    "shop/deployment.yaml": "",
    "teams/web/app.pipecd.yaml": "",
    "teams/web/canary.pipecd.yaml": "",
    "teams/data/queue/queue.pipecd.yaml": "",
    "teams/.hidden/volary.yaml": "",
    "teams/linked.pipecd.yaml": "-> web/app.pipecd.yaml",
}


def test_all_are_found_in_order(directory_tree: Tree) -> None:
    found = applications.find(directory_tree(FILES))

    assert [each.path for each in found] == [
        "shop/volary.yaml",
        "teams/data/queue/queue.pipecd.yaml",
        "teams/web/app.pipecd.yaml",
        "teams/web/canary.pipecd.yaml",
    ]
    assert (found[1].directory, found[1].name) == ("teams/data/queue", "queue.pipecd.yaml")


@pytest.mark.parametrize(
    ("directory_", "app", "path"),
    [
        ("shop", "", "shop/volary.yaml"),
        ("", "shop", "shop/volary.yaml"),
        ("teams/data", "", "teams/data/queue/queue.pipecd.yaml"),
        ("teams", "web/canary.pipecd.yaml", "teams/web/canary.pipecd.yaml"),
    ],
)
def test_the_one_that_is_meant(directory_tree: Tree, directory_: str, app: str, path: str) -> None:
    assert applications.choose(directory_tree(FILES), directory_, app=app).path == path


@pytest.mark.parametrize(
    ("directory_", "app", "message"),
    [
        ("", "", "4 application files in the root of the source: shop/volary.yaml, teams"),
        ("teams/web", "", "2 application files in teams/web"),
        ("", "none", "none does not exist"),
        ("", "../other", "leads outside the repository"),
    ],
)
def test_none_or_several_name_the_option(
    directory_tree: Tree, directory_: str, app: str, message: str
) -> None:
    with pytest.raises(errors.UserError, match=message) as caught:
        applications.choose(directory_tree(FILES), directory_, app=app)

    assert "--app" in str(caught.value) or "inside" in str(caught.value)


def test_a_source_without_an_application(directory_tree: Tree) -> None:
    with pytest.raises(errors.UserError, match="no application file in the root"):
        applications.choose(directory_tree({"a.yaml": ""}))
