"""What runs is what the clusters say; memory counts for the silent, and tells the exceptions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

import pytest

import memory_client
from fixed_clock import FixedClock
from volary.clusters.client import client_pool, clients
from volary.clusters.inventory import inventory
from volary.controller.planning import cluster_questions, recognition, running_commit
from volary.controller.planning.running_commit import ObservedCommits, RunningCommits
from volary.model import applications, errors, json
from volary.model.fleet import fleets
from volary.model.objects import manifest, ownership

A, B, C = "a" * 40, "b" * 40, "c" * 40
SILENT = "no answer within 5 s"


def says(target: str, *commits: str) -> ObservedCommits:
    return ObservedCommits(target, frozenset(commits))


def silent(target: str) -> ObservedCommits:
    return ObservedCommits(target, trouble=SILENT)


def decide(
    *seen: ObservedCommits, remembered: str = "", exceptions: Mapping[str, str] | None = None
) -> RunningCommits:
    return running_commit.decide(seen, remembered=remembered, exceptions=exceptions or {})


@pytest.mark.parametrize("remembered", ["", A, B])
@pytest.mark.parametrize("exceptions", [{}, {"eu": B}])
def test_clusters_that_agree_count_more_than_memory(
    remembered: str, exceptions: Mapping[str, str]
) -> None:
    running = decide(
        says("us", A),
        says("eu", A),
        ObservedCommits("new"),
        remembered=remembered,
        exceptions=exceptions,
    )

    assert running == RunningCommits(A, "us, eu run it")


def test_clusters_that_disagree_are_named_with_what_to_pass() -> None:
    with pytest.raises(errors.UserError) as caught:
        decide(says("us", A), says("eu", B))

    assert f"us: {A[:12]}; eu: {B[:12]}" in str(caught.value)
    assert "--running COMMIT" in caught.value.problems[0].hint


def test_memory_tells_which_of_them_are_the_exceptions() -> None:
    running = decide(says("us", A), says("eu", B), says("asia", B), remembered=A)

    assert running.commit == A
    assert running.reason == "us runs it; but bbbbbbb on eu, asia"
    assert {name: running.of(name) for name in ("us", "eu", "asia", "new")} == {
        "us": A,
        "eu": B,
        "asia": B,
        "new": A,
    }


def test_memory_of_what_no_cluster_says_settles_nothing() -> None:
    with pytest.raises(errors.UserError, match="do not agree"):
        decide(says("us", A), says("eu", B), remembered=C)


def test_a_cluster_with_workloads_of_two_commits_is_a_disagreement() -> None:
    """One that was interrupted: nobody can say what it went from."""
    with pytest.raises(errors.UserError, match=f"eu: {A[:12]}, {B[:12]}"):
        decide(says("us", A), says("eu", A, B), remembered=A)


def test_silent_clusters_do_not_make_it_a_first_deployment() -> None:
    running = decide(silent("us"), ObservedCommits("new"), remembered=A)

    assert running.commit == A
    assert running.reason == (
        "the last commit that succeeded from here; no cluster says which it runs"
    )


def test_nothing_is_remembered_of_clusters_that_have_none_of_it() -> None:
    running = decide(ObservedCommits("us"), ObservedCommits("eu"), remembered=A)

    assert running == RunningCommits("", "no cluster says which commit it runs")


def test_what_silent_clusters_kept_is_remembered() -> None:
    kept = {"eu": B, "us": C, "gone": B}

    some = decide(says("us", A), silent("eu"), silent("asia"), remembered=A, exceptions=kept)
    none = decide(silent("eu"), silent("asia"), remembered=A, exceptions=kept)

    assert (some.commit, some.others) == (A, {"eu": B})
    assert some.reason == "us runs it; but bbbbbbb on eu"
    assert (none.commit, none.others) == (A, {"eu": B})


def test_a_silent_cluster_that_kept_what_runs_is_no_exception() -> None:
    assert decide(says("us", A), silent("eu"), exceptions={"eu": A}).others == {}


def test_workloads_of_somebody_else_are_mentioned() -> None:
    running = decide(ObservedCommits("us", unmarked=True))

    assert running.commit == ""
    assert "us runs what was there before Volary" in running.reason


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (ObservedCommits("eu", unmarked=True), "eu runs what was there before Volary"),
        (
            ObservedCommits("eu", unfinished=B),
            f"the first release, of {B[:7]}, has not succeeded on eu",
        ),
    ],
)
def test_what_was_there_before_is_no_release_of_other_clusters(
    before: ObservedCommits, words: str
) -> None:
    """It goes back to what it was, and not to what the others run."""
    new = ObservedCommits("new")
    known = decide(says("us", A), before, new)
    remembered = decide(silent("us"), before, new, remembered=A, exceptions={"us": C})

    assert (known.commit, remembered.commit) == (A, A)
    assert [known.of(name) for name in ("us", "eu", "new")] == [A, "", A]
    assert [remembered.of(name) for name in ("us", "eu", "new")] == [C, "", A]
    assert known.reason == f"us runs it; {words}"
    assert remembered.reason.endswith(f"says which it runs; but {C[:7]} on us; {words}")


async def test_an_inventory_says_what_runs_and_who_has_none_is_asked() -> None:
    """None of the clusters answers: what is known was read with the inventories."""
    application = applications.Application("shop", applications.Dialect.VOLARY)
    owner = application.owner
    stored = inventory.Inventory(owner, "default", begun=A, commit=B)
    begun = inventory.Inventory(owner, "default", begun=A)
    recognised = {
        "us": recognition.Recognised(owner, stored),
        "eu": recognition.Recognised(owner, begun),
        "asia": recognition.Recognised(ownership.Owner("shop", "1")),
    }
    members = fleets.Fleet(tuple(fleets.Cluster(name) for name in recognised))
    async with client_pool.open_pool(members, clock=FixedClock()) as clusters:
        questions = cluster_questions.ClusterQuestions(clusters, timedelta(seconds=5))
        us, *others = await running_commit.observe(
            questions, application, dict.fromkeys(recognised, ()), recognised
        )

    assert us == says("us", B)
    assert [one.target for one in others] == ["eu", "asia"]
    assert all(one.trouble and not one.commits for one in others)


def test_what_a_first_run_left_unfinished_does_not_run() -> None:
    running = decide(
        ObservedCommits("us", unfinished=A),
        ObservedCommits("eu", unfinished=A),
        ObservedCommits("asia", unmarked=True),
    )

    assert running == RunningCommits(
        "",
        "no cluster says which commit it runs; asia runs what was there before Volary;"
        f" the first release, of {A[:7]}, has not succeeded on us, eu",
    )


@dataclass
class Pool:
    """A cluster in memory."""

    cluster: memory_client.MemoryCluster

    async def client(self, name: str) -> clients.Client:
        assert name == self.cluster.name
        return self.cluster.client


def deployment(name: str, labels: Mapping[str, str]) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels)},
        "spec": {},
    }


@pytest.mark.parametrize("names", [("web",), ("web", "worker", "queue")])
async def test_what_was_there_before_is_seen_without_our_labels(names: Sequence[str]) -> None:
    """Several of one kind are listed by label, which others need not have given."""
    cluster = memory_client.MemoryCluster(name="eu")
    for name in names:
        cluster.put(memory_client.DEPLOYMENTS, deployment(name, {}))
    wanted = [manifest.Manifest(deployment(name, {"app": "shop"})) for name in names]
    questions = cluster_questions.ClusterQuestions(
        cast("client_pool.ClientPool", Pool(cluster)), timedelta(seconds=5)
    )
    owner = ownership.Owner("shop", "1")
    application = applications.Application("shop", applications.Dialect.VOLARY)

    seen = await running_commit.observe(
        questions, application, {"eu": wanted}, {"eu": recognition.Recognised(owner)}
    )

    assert seen == [ObservedCommits("eu", unmarked=True)]
