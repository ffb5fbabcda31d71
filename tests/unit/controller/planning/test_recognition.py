"""Which of the applications of one name in a cluster is ours."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from fixed_clock import FixedClock
from volary.clusters.client import client_pool
from volary.clusters.inventory import inventory
from volary.controller.planning import cluster_questions, recognition
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest, ownership

TEAM = "git.example.com/team/shop"
HERE = ownership.Origin(TEAM, "deploy")
SHOP = applications.Application("shop", origin=HERE)
BEGUN, RUNS = "1" * 40, "2" * 40
#: What is rolled out now.
RELEASED = "3" * 40
FILES = "files-0123456789ab"
OWNER = ownership.Owner("shop", "0123456789abcdef")
WEB = manifest.ResourceKey("apps", "Deployment", "web", "shop")
ROLE = manifest.ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "", "shop")


@dataclass
class Repository:
    """Ours: the commits that it holds, and the directories that describe the shop now."""

    commits: Collection[str] = ()
    directories: Collection[str] = ("deploy",)

    async def holds(self, commit: str) -> bool:
        return commit in self.commits

    async def describes(self, directory: str) -> bool:
        return directory in self.directories


def stored(
    origin: ownership.Origin = HERE, owner: ownership.Owner = OWNER, namespace: str = "web"
) -> inventory.Inventory:
    """Return the inventory of a shop that was deployed before."""
    references = {
        inventory.Reference(replace(WEB, namespace=namespace), "v1"),
        inventory.Reference(ROLE, "v1"),
    }
    return inventory.Inventory(owner, namespace, frozenset(references), origin, BEGUN, RUNS)


async def recognise(
    *inventories: inventory.Inventory,
    application: applications.Application = SHOP,
    repository: Repository | None = None,
    remembered: ownership.Owner | None = None,
    namespaces: tuple[str, ...] = ("web",),
) -> recognition.Recognised:
    ours = repository or Repository()
    return await recognition.recognise(
        application,
        recognition.KnownApplications("us", inventories, namespaces),
        recognition.History(RELEASED, ours.holds, ours.describes),
        remembered,
    )


async def test_the_same_directory_of_the_same_repository_is_ours() -> None:
    """Whatever the history: it may have been rewritten, or fetched only in part."""
    known = stored()

    found = await recognise(known)

    assert found == recognition.Recognised(OWNER, known)


@pytest.mark.parametrize("held", [BEGUN, RUNS])
@pytest.mark.parametrize("before", ["", "git.example.com/old/name"])
@pytest.mark.parametrize("now", ["", TEAM])
async def test_a_repository_that_holds_its_commits_was_renamed_or_is_a_copy(
    before: str, now: str, held: str
) -> None:
    known = stored(ownership.Origin(before, "deploy"))
    application = replace(SHOP, origin=ownership.Origin(now, "deploy"))

    found = await recognise(known, application=application, repository=Repository({held}))

    assert (found.owner, found.stored) == (OWNER, known)


async def test_another_repository_that_lacks_its_commits_has_another_application() -> None:
    known = stored(ownership.Origin("git.example.com/other/shop", "deploy"))

    found = await recognise(known)

    assert found.stored is None
    assert found.others == (known,)
    assert found.owner.id != OWNER.id


async def test_two_repositories_without_remotes_are_told_apart_by_their_commits() -> None:
    known = stored(ownership.Origin("", "deploy"))
    application = replace(SHOP, origin=ownership.Origin("", "deploy"))

    theirs = await recognise(known, application=application)
    ours = await recognise(known, application=application, repository=Repository({BEGUN}))

    assert (theirs.stored, theirs.others) == (None, (known,))
    assert ours.stored == known


async def test_plain_directories_stand_for_each_other() -> None:
    nowhere = ownership.Origin("", "")
    known = replace(stored(nowhere), begun=FILES, commit="files-other")
    application = replace(SHOP, origin=nowhere)
    plain = Repository({FILES, "files-other"}, {""})

    assert (await recognise(known, application=application, repository=plain)).stored == known


@pytest.mark.parametrize(("still_there", "ours"), [(False, True), (True, False)])
@pytest.mark.parametrize("repository", [TEAM, "git.example.com/old/name"])
async def test_a_directory_has_moved_if_nothing_of_its_name_is_where_it_was(
    repository: str, still_there: bool, ours: bool
) -> None:
    known = stored(ownership.Origin(repository, "before"))
    directories = {"deploy", "before"} if still_there else {"deploy"}

    found = await recognise(known, repository=Repository({RUNS}, directories))

    assert (found.stored == known, found.others == (known,)) == (ours, not ours)


async def test_the_same_directory_for_another_namespace_is_another_application() -> None:
    """One directory may be deployed twice, such as for two stages."""
    known = stored(namespace="stage")

    found = await recognise(known)

    assert (found.stored, found.others) == (None, (known,))


async def test_one_shared_namespace_is_enough() -> None:
    known = stored(namespace="stage")

    assert (await recognise(known, namespaces=("stage", "web"))).stored == known


async def test_what_has_nothing_in_a_namespace_is_told_by_its_origin() -> None:
    only_role = stored().without([WEB])

    assert (await recognise(only_role, namespaces=("elsewhere",))).stored == only_role


@pytest.mark.parametrize(("then", "now"), [("", TEAM), (TEAM, "")])
async def test_what_nothing_shows_is_asked(then: str, now: str) -> None:
    known = stored(ownership.Origin(then, "deploy"))
    application = replace(SHOP, origin=ownership.Origin(now, "deploy"))

    with pytest.raises(errors.UserError) as caught:
        await recognise(known, application=application)

    (problem,) = caught.value.problems
    assert problem.message.startswith("cluster us has an application shop from ")
    assert f"at commit {RUNS[:12]}" in problem.message
    assert "fetch the history that holds its commit" in problem.hint
    command, *annotations = re.findall(r"`(.*)`", problem.hint)[0].partition(" volary.dev/")
    assert command == (
        "kubectl annotate --overwrite configmap -n web volary-inventory-0123456789abcdef"
    )
    # Who does as the hint says is understood.
    body = inventory.to_object(known)
    body["metadata"]["annotations"] |= dict(re.findall(r"(\S+)=(\S*)", "".join(annotations)))
    (said,) = inventory.read_all([body], "shop")
    ours = Repository({RELEASED})
    assert (await recognise(said, application=application, repository=ours)).stored == said


async def test_where_teams_are_apart_what_is_unclear_is_not_described() -> None:
    known = stored(ownership.Origin("", "deploy-of-theirs"))
    apart = replace(SHOP, names_others=False)

    with pytest.raises(errors.UserError) as refused:
        await recognise(known, application=apart)

    (problem,) = refused.value.problems
    said = f"{problem.message} {problem.hint}"
    assert "nothing shows whether it is this one" in said
    for hidden in ("deploy-of-theirs", known.owner.id, RELEASED, "kubectl"):
        assert hidden not in said


@pytest.mark.parametrize("is_first", [True, False])
async def test_what_is_unclear_is_not_asked_where_ours_is_known(is_first: bool) -> None:
    unclear = stored(ownership.Origin("", "deploy"), ownership.Owner("shop", "1"))
    ours = stored()

    found = await recognise(*((unclear, ours) if is_first else (ours, unclear)))

    assert found == recognition.Recognised(OWNER, ours, "", (unclear,))


async def test_what_began_and_never_succeeded_is_asked_with_its_first_commit() -> None:
    known = replace(stored(ownership.Origin("", "deploy")), commit="")

    with pytest.raises(errors.UserError, match=f"at commit {BEGUN[:12]}, and nothing shows"):
        await recognise(known)


async def test_ours_is_found_among_others_of_its_name() -> None:
    theirs = stored(ownership.Origin("git.example.com/x/shop"), ownership.Owner("shop", "1"))
    elsewhere = stored(HERE, ownership.Owner("shop", "2"), namespace="stage")
    ours = stored()

    found = await recognise(theirs, elsewhere, ours, remembered=ownership.Owner("shop", "9"))

    assert found == recognition.Recognised(OWNER, ours, "", (theirs, elsewhere))


async def test_a_copy_knows_its_own_where_it_holds_the_commits_of_both() -> None:
    origin = ownership.Origin("", "deploy", "cafe")
    copied = stored(origin, ownership.Owner("shop", "1"))
    ours = replace(stored(origin), checkout="cafe")
    application = replace(SHOP, origin=origin)
    copy = Repository({BEGUN, RUNS})

    found = await recognise(copied, ours, application=application, repository=copy)

    assert found == recognition.Recognised(OWNER, ours, "", (copied,))


async def test_one_that_the_cluster_does_not_know_keeps_the_id_that_is_remembered() -> None:
    """Its objects may have been deleted, and must be known again in other clusters."""
    other = stored(ownership.Origin("git.example.com/x/shop"), ownership.Owner("shop", "1"))

    found = await recognise(other, remembered=OWNER)

    assert found == recognition.Recognised(OWNER, None, "", (other,))


@pytest.mark.parametrize("is_remembered", [False, True])
async def test_an_id_that_another_application_has_is_not_taken(is_remembered: bool) -> None:
    first = (await recognise()).owner
    other = stored(ownership.Origin("git.example.com/x/shop"), first)

    found = await recognise(other, remembered=first if is_remembered else None)

    assert found.owner.name == "shop"
    assert found.owner.id != first.id
    assert found == await recognise(other), "everybody makes the same one"


async def test_an_application_of_several_namespaces_has_the_id_of_its_home() -> None:
    asked = await recognise(namespaces=("a", "b"))
    wished = applications.Input(namespace="a")

    named = await recognise(application=replace(SHOP, input=wished), namespaces=("b", "c"))

    assert asked.owner == named.owner
    assert asked.owner != (await recognise(namespaces=("b",))).owner


async def test_an_application_that_goes_by_another_name_here_keeps_that_of_its_file() -> None:
    registered = replace(SHOP, name="shop-of-the-team", declared="shop")

    assert (await recognise(application=registered)).owner == (await recognise()).owner


async def test_a_cluster_that_cannot_be_asked_is_in_trouble() -> None:
    items = [manifest.Manifest({"kind": "ConfigMap", "metadata": {"name": "a"}})]
    members = fleets.Fleet((fleets.Cluster("us"),))
    async with client_pool.open_pool(members, clock=FixedClock()) as clusters:
        questions = cluster_questions.ClusterQuestions(clusters, timedelta(seconds=5))
        (known,) = await recognition.observe(questions, SHOP, {"us": items})
        history = recognition.History(RELEASED, Repository().holds, Repository().describes)
        found = await recognition.recognise(SHOP, known, history, OWNER)

    assert (known.target, known.inventories) == ("us", ())
    assert known.trouble
    assert found == recognition.Recognised(OWNER, None, known.trouble)
