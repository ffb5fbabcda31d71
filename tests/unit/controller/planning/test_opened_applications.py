"""What a command is pointed at: a directory, a repository, a fleet file or contexts."""

from dataclasses import replace
from pathlib import Path

import pygit2
import pytest

import command_world
from volary.config.crosscheck import fleet_checks
from volary.controller.planning import opened_applications
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import ownership
from volary.sources.git import repositories

FILE = "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: %s}\n"


def written(directory: Path, name: str = "shop", file: str = "volary.yaml") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / file).write_text(FILE % name)
    return directory


def said(error: pytest.ExceptionInfo[errors.UserError]) -> str:
    return str(error.value.problems[0])


async def test_a_plain_directory_stands_for_a_commit_by_its_content(tmp_path: Path) -> None:
    opened = await opened_applications.open_application(str(written(tmp_path / "shop")))

    assert opened.application.name == "shop"
    assert (opened.repository, opened.subject, opened.warnings) == (None, "", ())
    assert opened.commit.startswith(opened_applications.CONTENT_PREFIX)
    assert len(opened.commit) == len(opened_applications.CONTENT_PREFIX) + 12
    again = await opened_applications.open_application(str(tmp_path / "shop" / "volary.yaml"))
    assert again.application == opened.application
    written(tmp_path / "shop", "other")
    assert (
        await opened_applications.open_application(str(tmp_path / "shop"))
    ).commit != opened.commit


async def test_a_plain_directory_has_no_commits(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError) as caught:
        await opened_applications.open_application(str(written(tmp_path)), commit="abc")

    assert "is not in a Git repository, so it has no commit abc" in said(caught)
    assert caught.value.problems[0].hint == "leave --commit out, or point at a repository"


async def test_what_does_not_exist_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError) as caught:
        await opened_applications.open_application(str(tmp_path / "nowhere"))

    assert "nowhere does not exist" in said(caught)


async def test_what_runs_is_what_is_in_git(tmp_path: Path) -> None:
    commit = command_world.commit(written(tmp_path), "Add the shop\n\nwith a body")

    opened = await opened_applications.open_application(str(tmp_path))

    assert (opened.commit, opened.subject, opened.directory) == (commit, "Add the shop", "")
    assert opened.warnings == ()
    address = await opened_applications.open_application(f"file://{tmp_path}")
    assert (address.commit, address.application.name) == (commit, "shop")


@pytest.mark.parametrize("changed", [1, 3])
async def test_changes_that_are_not_committed_are_named_and_not_used(
    tmp_path: Path, changed: int
) -> None:
    for number in range(changed):
        (tmp_path / f"{number}.yaml").write_text("a: 1\n")
    commit = command_world.commit(written(tmp_path), "Add the shop")
    for number in range(changed):
        (tmp_path / f"{number}.yaml").write_text("a: 2\n")

    (warning,) = (await opened_applications.open_application(str(tmp_path))).warnings

    named = "0.yaml" if changed == 1 else f"0.yaml and {changed - 1} more"
    assert warning.message == (
        f"{named} differ from commit {commit[:7]}; the commit is what is used"
    )
    assert warning.severity is errors.Severity.WARNING
    at_commit = await opened_applications.open_application(str(tmp_path), commit=commit)
    assert at_commit.warnings == (), "somebody asked for that commit"


async def test_a_directory_of_a_repository_has_to_be_committed(tmp_path: Path) -> None:
    command_world.commit(written(tmp_path, "root"), "Add it")
    inner = written(tmp_path / "new")

    with pytest.raises(errors.UserError) as caught:
        await opened_applications.open_application(str(inner))

    assert "what runs is what is in Git" in said(caught)


async def test_a_directory_below_the_root_is_the_application(tmp_path: Path) -> None:
    written(tmp_path / "shop")
    commit = command_world.commit(tmp_path, "Add it")

    opened = await opened_applications.open_application(str(tmp_path / "shop"))

    assert (opened.commit, opened.directory) == (commit, "shop")


async def test_a_bare_repository_is_opened_as_well(tmp_path: Path) -> None:
    commit = command_world.commit(written(tmp_path / "work"), "Add the shop")
    bare = tmp_path / "bare.git"
    pygit2.clone_repository(str(tmp_path / "work"), str(bare), bare=True)

    opened = await opened_applications.open_application(str(bare))

    assert (opened.commit, opened.application.name) == (commit, "shop")


async def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "volary.yaml").write_bytes(b"\xff\xfe")

    with pytest.raises(errors.UserError) as caught:
        await opened_applications.open_application(str(tmp_path))

    assert "the application file is not UTF-8 text" in said(caught)


async def test_without_a_name_the_directory_gives_it(tmp_path: Path) -> None:
    bare = "apiVersion: pipecd.dev/v1beta1\nkind: KubernetesApp\nspec: {}\n"
    (tmp_path / "market").mkdir()
    (tmp_path / "market" / "app.pipecd.yaml").write_text(bare)

    assert (
        await opened_applications.open_application(str(tmp_path / "market"))
    ).application.name == "market"


async def test_the_settings_say_for_which_clusters_it_is(tmp_path: Path) -> None:
    opened = await opened_applications.open_application(str(written(tmp_path)))
    selector = applications.TargetSelector(("us",))

    assert opened_applications.with_targets(opened, None) is opened
    assert opened_applications.with_targets(opened, selector).application.targets == selector


async def test_the_settings_choose_among_the_deploy_targets_of_the_plugin(tmp_path: Path) -> None:
    text = "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec: {plugins: {%s: {}}}\n"
    (tmp_path / "app.pipecd.yaml").write_text(text % "kubernetes_multicluster")
    members = fleets.Fleet(
        (
            fleets.Cluster("dev", {"region": "us"}, plugins=("kubernetes",)),
            fleets.Cluster("us", {"region": "us"}, plugins=("kubernetes_multicluster",)),
            fleets.Cluster("west", {"region": "us"}, plugins=("kubernetes_multicluster",)),
            fleets.Cluster("eu", {"region": "eu"}, plugins=("kubernetes_multicluster",)),
        )
    )
    opened = await opened_applications.open_application(str(tmp_path))
    selector = applications.TargetSelector(match_labels={"region": "us"})

    aimed = opened_applications.with_targets(opened, selector)

    chosen = fleet_checks.deployment_targets(aimed.application, members)
    assert [cluster.name for cluster in chosen] == ["us", "west"]
    assert opened_applications.check_fleet(aimed, members) == ()


async def test_what_runs_of_a_plain_directory_is_another_directory(tmp_path: Path) -> None:
    opened = await opened_applications.open_application(str(written(tmp_path / "new")))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.yaml").write_text("a: 1\n")

    files = await opened_applications.at_commit(opened, str(tmp_path / "old"))

    assert files.read("a.yaml") == b"a: 1\n"
    with pytest.raises(errors.UserError) as caught:
        await opened_applications.at_commit(opened, str(tmp_path / "none"))
    assert "is not a directory" in said(caught)


@pytest.mark.parametrize(("file", "contexts"), [("", ""), ("fleet.yaml", "us,eu")])
def test_clusters_are_named_exactly_once(file: str, contexts: str) -> None:
    with pytest.raises(errors.UserError) as caught:
        opened_applications.load_fleet(file, contexts)

    assert "name the clusters once" in said(caught)


def test_a_fleet_comes_from_contexts_or_a_file(tmp_path: Path) -> None:
    assert opened_applications.load_fleet(contexts="us,eu").names == ("us", "eu")
    with pytest.raises(errors.UserError) as missing:
        opened_applications.load_fleet(str(tmp_path / "none.yaml"))
    assert "cannot be read: no such file or directory" in said(missing)
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(errors.UserError) as strange:
        opened_applications.load_fleet(str(tmp_path / "bytes.yaml"))
    assert "cannot be read: it is not text" in said(strange)


async def test_an_application_that_fits_no_cluster_is_refused(tmp_path: Path) -> None:
    opened = await opened_applications.open_application(str(written(tmp_path)))
    nowhere = applications.TargetSelector(("mars",))
    lost = replace(opened, application=replace(opened.application, targets=nowhere))
    members = fleets.Fleet((fleets.Cluster("us"),))

    assert opened_applications.check_fleet(opened, members) == ()
    with pytest.raises(errors.UserError) as caught:
        opened_applications.check_fleet(lost, members)
    assert "mars" in said(caught)


async def test_a_plain_directory_has_no_other_commit(tmp_path: Path) -> None:
    opened = await opened_applications.open_application(str(written(tmp_path / "shop")))

    with pytest.raises(errors.UserError) as caught:
        await opened_applications.at_commit(opened, str(tmp_path / "nowhere"))

    assert "nowhere is not a directory" in said(caught)
    assert "what runs is one as well" in caught.value.problems[0].hint


async def test_what_is_opened_by_its_path_says_where_it_came_from(tmp_path: Path) -> None:
    commit = command_world.commit(written(tmp_path), "Add the shop")
    repository = await repositories.open_repository(str(tmp_path))

    opened = await opened_applications.open_pinned(repository, "volary.yaml", commit, name="other")

    assert opened.repository is repository
    assert (opened.application.name, opened.commit, opened.subject) == (
        "other",
        commit,
        "Add the shop",
    )


@pytest.mark.parametrize(
    ("remote", "repository"),
    [
        ("", ""),
        ("git@git.example.com:team/shop.git", "git.example.com/team/shop"),
        ("https://git.example.com/team/shop", "git.example.com/team/shop"),
        ("/srv/shop.git", ""),
    ],
)
async def test_where_an_application_is_described_is_the_same_from_everywhere(
    tmp_path: Path, remote: str, repository: str
) -> None:
    written(tmp_path / "deploy")
    commit = command_world.commit(tmp_path, "Add it")
    if remote:
        pygit2.Repository(str(tmp_path)).remotes.create("origin", remote)
    opened = await repositories.open_repository(str(tmp_path))

    here = await opened_applications.open_application(str(tmp_path / "deploy"))
    pinned = await opened_applications.open_pinned(
        opened, "deploy/volary.yaml", commit, name="other"
    )

    assert here.application.origin == ownership.Origin(repository, "deploy")
    assert pinned.application.origin == here.application.origin
    assert (pinned.application.name, pinned.application.declared_name) == ("other", "shop")
    assert pinned.application.owner == here.application.owner


async def test_a_server_names_a_repository_by_the_address_that_it_fetches(tmp_path: Path) -> None:
    commit = command_world.commit(written(tmp_path), "Add it")
    mirror = repositories.Repository(
        "ssh://git@git.example.com/team/shop.git", pygit2.Repository(str(tmp_path))
    )

    pinned = await opened_applications.open_pinned(mirror, "volary.yaml", commit)

    assert pinned.application.origin == ownership.Origin("git.example.com/team/shop")


async def test_a_plain_directory_is_from_no_repository(tmp_path: Path) -> None:
    opened = await opened_applications.open_application(str(written(tmp_path)))

    assert opened.application.origin == ownership.Origin()
    assert await opened.holds(opened.commit)
    assert await opened.holds(f"{opened_applications.CONTENT_PREFIX}0123456789ab"), (
        "nobody can tell"
    )
    assert not await opened.holds("0" * 40)
    assert await opened.describes("")
    assert not await opened.describes("nowhere")


async def test_a_repository_holds_its_commits_and_no_others(tmp_path: Path) -> None:
    commit = command_world.commit(written(tmp_path), "Add it")
    opened = await opened_applications.open_application(str(tmp_path))

    assert await opened.holds(commit)
    assert not await opened.holds("0" * 40)
    assert not await opened.holds(f"{opened_applications.CONTENT_PREFIX}0123456789ab")


async def test_a_directory_describes_the_application_while_one_of_its_name_is_in_it(
    tmp_path: Path,
) -> None:
    for directory, name in (("shop", "shop"), ("copy", "shop"), ("cart", "cart")):
        written(tmp_path / directory, name)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "volary.yaml").write_text(FILE % "shop" + "spec: nonsense\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "readme").write_text("nothing")
    command_world.commit(tmp_path, "Add them")
    opened = await opened_applications.open_application(str(tmp_path / "shop"))

    asked = ("shop", "copy", "cart", "broken", "empty", "nowhere", "../shop")
    described = [directory for directory in asked if await opened.describes(directory)]

    assert described == ["shop", "copy", "broken"]
