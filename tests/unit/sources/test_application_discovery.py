"""Which application file is meant."""

from collections.abc import Callable, Mapping

import pytest

from volary.model import errors, work_limits
from volary.sources import application_discovery
from volary.sources.trees import directories

Tree = Callable[[Mapping[str, str]], directories.DirectoryTree]
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
    found = application_discovery.find(directory_tree(FILES))

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
    assert application_discovery.choose(directory_tree(FILES), directory_, app=app).path == path


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
        application_discovery.choose(directory_tree(FILES), directory_, app=app)

    assert "--app" in str(caught.value) or "inside" in str(caught.value)


def test_a_source_without_an_application(directory_tree: Tree) -> None:
    with pytest.raises(errors.UserError, match="no application file in the root"):
        application_discovery.choose(directory_tree({"a.yaml": ""}))


CANARY = "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: shop}\n"
TEMPLATE = CANARY.replace("Canary", "MetricTemplate")
FLAGGERS = {
    "shop/canary.yaml": CANARY,
    "shop/deployment.yaml": "kind: Deployment",
    "shop/templates.yml": TEMPLATE,
    "shop/notes.txt": "kind: Canary",
    "told/our-canary.yaml": CANARY,
    "told/volary.yaml": "",
    "other/canary.yaml": "kind: Deployment\nmetadata: {name: canary}\n",
    "hidden-name/release.yaml": f"kind: ConfigMap\n---\n{CANARY}",
}


def test_a_canary_describes_its_directory_when_nothing_of_ours_does(directory_tree: Tree) -> None:
    found = application_discovery.find(directory_tree(FLAGGERS))

    assert [each.path for each in found] == ["shop/canary.yaml", "told/volary.yaml"]


@pytest.mark.parametrize(
    ("app", "path"),
    [
        ("shop", "shop/canary.yaml"),
        ("told", "told/volary.yaml"),
        ("told/our-canary.yaml", "told/our-canary.yaml"),
        ("hidden-name", "hidden-name/release.yaml"),
    ],
)
def test_a_directory_that_is_named_is_looked_through(
    directory_tree: Tree, app: str, path: str
) -> None:
    assert application_discovery.choose(directory_tree(FLAGGERS), app=app).path == path


def test_a_canary_has_neighbours(directory_tree: Tree) -> None:
    files = directory_tree(FLAGGERS)

    found = application_discovery.sibling_files(files, "shop/canary.yaml")

    assert found == {"shop/deployment.yaml": "kind: Deployment", "shop/templates.yml": TEMPLATE}
    assert application_discovery.sibling_files(files, "told/volary.yaml") == {}


POLICY = "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: shop}\n"
OVERRIDE = POLICY.replace("PropagationPolicy", "OverridePolicy")
PLACED = {
    "plain/a-policy.yaml": POLICY,
    "plain/b-policy.yaml": POLICY,
    "plain/overrides.yaml": OVERRIDE,
    "plain/web.yaml": "kind: Deployment\n",
    "ours/volary.yaml": "",
    "ours/web.yaml": "kind: Deployment\n",
    "ours/policies/policy.yaml": POLICY,
    "only/override-policy.yaml": OVERRIDE,
    "without/volary.yaml": "",
    "without/web.yaml": "kind: Deployment\n",
}


def test_policies_describe_their_directory_once(directory_tree: Tree) -> None:
    files = directory_tree(PLACED)

    found = [each.path for each in application_discovery.find(files)]

    assert found == ["ours/volary.yaml", "plain/a-policy.yaml", "without/volary.yaml"]
    assert application_discovery.in_directory(files, "plain") == "plain/a-policy.yaml"
    assert application_discovery.choose(files, "plain").path == "plain/a-policy.yaml"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "plain/a-policy.yaml",
            {"plain/b-policy.yaml", "plain/overrides.yaml", "plain/web.yaml"},
        ),
        ("ours/volary.yaml", {"ours/web.yaml", "ours/policies/policy.yaml"}),
        ("without/volary.yaml", set()),
    ],
)
def test_policies_have_neighbours(directory_tree: Tree, path: str, expected: set[str]) -> None:
    assert set(application_discovery.sibling_files(directory_tree(PLACED), path)) == expected


def test_neighbours_that_are_too_large_together_are_refused(
    directory_tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_limits, "SIBLING_BYTES", 2**20)
    many = {f"shop/{n}.yaml": "#" * 2**18 for n in range(5)}
    files = directory_tree({**FLAGGERS, **many})

    with pytest.raises(errors.UserError) as refused:
        application_discovery.sibling_files(files, "shop/canary.yaml")

    [problem] = refused.value.problems
    assert str(problem.where) == "shop/canary.yaml"
    assert problem.message.endswith("bytes together, at most 1 MiB are read")
