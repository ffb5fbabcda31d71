"""From a run request to a run: what is refused, what is remembered, what counts as a revert."""

from collections.abc import Callable
from pathlib import Path

import pytest

import command_world
import git_feed
import reconciler_fixtures as given
from volary.controller.planning import preparation
from volary.controller.runs import ready_runs, release_plans
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
    run_origins,
)
from volary.engine.runs import run_builder, state
from volary.model import applications, errors
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import external_stages
from volary.model.runs import run_plans
from volary.placement.replicas import assignment, divisible_workloads
from volary.store import records

FILE = """\
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: shop
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {version: '%s'}\n"
PLACE = ready_runs.ApplicationSource("shop", git_feed.NAME, "shop/app.pipecd.yaml")


@pytest.mark.parametrize(
    ("word", "strategy"),
    [
        ("", None),
        ("quick", run_plans.Strategy.QUICK_SYNC),
        ("quick_sync", run_plans.Strategy.QUICK_SYNC),
        ("pipeline", run_plans.Strategy.PIPELINE),
    ],
)
def test_a_strategy_is_read_as_people_name_it(
    word: str, strategy: run_plans.Strategy | None
) -> None:
    assert release_plans.parse_strategy(word) is strategy


def test_what_is_no_strategy_is_refused() -> None:
    with pytest.raises(errors.UserError, match="slow is no strategy"):
        release_plans.parse_strategy("slow")


def test_scripts_run_only_where_they_are_allowed() -> None:
    script = pipelines.Stage(
        external_stages.SCRIPT_RUN.name, external_stages.ScriptOptions("true"), index=1
    )

    release_plans.refuse_scripts((given.SYNC, script), allowed=True)
    release_plans.refuse_scripts((given.SYNC,), allowed=False)
    with pytest.raises(errors.UserError, match="stage 2 is a SCRIPT_RUN, and this server runs no"):
        release_plans.refuse_scripts((given.SYNC, script), allowed=False)


def test_what_earlier_runs_left_is_remembered() -> None:
    web = manifest.ResourceKey("apps", "Deployment", "shop", "web")
    divided = assignment.Assignment(
        (assignment.WorkloadAssignment(web, {"us": divisible_workloads.Share(2)}),)
    )
    known = {"eu": cluster_releases.ClusterRelease("c0")}
    releases = cluster_releases.ClusterReleases("c1", known, "c1")
    wish = preparation.RunOptions("shop")

    def remembered(releases: cluster_releases.ClusterReleases) -> preparation.RunOptions:
        status = application_statuses.ApplicationStatus(releases=releases)
        return release_plans.remembering(wish, status)

    plain = remembered(releases)
    assert (plain.remembered, plain.kept, plain.assigned) == ("c1", {"eu": "c0"}, None)
    assert remembered(releases.with_shares(divided, ("us",))).assigned == divided


Commits = Callable[[str], str]


@pytest.fixture
def commits(tmp_path: Path) -> Commits:
    """Commits a version of the application; or, by a name alone, something elsewhere."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "app.pipecd.yaml").write_text(FILE)

    def commit(version: str) -> str:
        if version.startswith("v"):
            (tmp_path / "shop" / "config.yaml").write_text(CONFIG % version)
        else:
            (tmp_path / version).write_text(version)
        return command_world.commit(tmp_path, f"Set {version}")

    return commit


def run_of(commit: str, before: str) -> state.Run:
    groups = run_builder.one_group(("us",))
    made = run_builder.RunSpec("shop", commit, groups, (given.SYNC,), running_commit=before)
    return run_builder.new_run("r1", made, given.AT)


async def test_a_commit_reverts_a_run_when_it_brings_back_what_ran_before(
    tmp_path: Path, commits: Commits
) -> None:
    one, two = commits("v1"), commits("v2")
    elsewhere, back, three = commits("README"), commits("v1"), commits("v3")
    run = run_of(two, one)
    async with given.leading(sources=git_feed.Feed(tmp_path)) as world:
        dependencies = world.leader.dependencies

        async def reverts(commit: str, run: state.Run = run) -> bool:
            return await release_plans.reverts(dependencies, PLACE, commit, run)

        assert await reverts(back), "together with a change elsewhere"
        assert not await reverts(three)
        assert not await reverts(two), "it is the run's own commit"
        assert not await reverts(elsewhere), "it brings what the run brings"
        assert not await reverts(back, run_of(two, "")), "nothing ran before"
        assert not await reverts("0" * 40), "there is no such commit"
        assert not await reverts(elsewhere, run_of(two, two)), "the run changed nothing"


async def test_what_a_run_is_for_says_what_a_revert_reverts(
    tmp_path: Path, commits: Commits
) -> None:
    one = commits("v1")
    commits("v2")
    (tmp_path / "shop" / "config.yaml").write_text(CONFIG % "v1")
    back = command_world.commit(tmp_path, 'Revert "Set v2"')
    status = application_statuses.ApplicationStatus(releases=cluster_releases.ClusterReleases(one))
    record = records.ApplicationRecord("shop", PLACE.repository, PLACE.path)
    application = application_state.ApplicationState(record, status)
    async with given.leading(sources=git_feed.Feed(tmp_path)) as world:
        dependencies, request = world.leader.dependencies, given.request("r1", back)

        prepared = await release_plans.plan(dependencies, application, request)
        made = await release_plans.ready(dependencies, PLACE, request, prepared, ())

    assert made.origin.reason == "reverts Set v2"
    assert (made.run.id, made.run.commit) == ("r1", back)


async def test_an_application_is_opened_at_a_commit(tmp_path: Path, commits: Commits) -> None:
    one = commits("v1")
    async with given.leading(sources=git_feed.Feed(tmp_path)) as world:
        opened = await ready_runs.open_application(world.leader.dependencies, PLACE, one)

        assert (opened.commit, opened.application.name) == (one, "shop")


ONLY_EU = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  targets: {names: [eu]}
  placement:
    overrides:
    - targets: {names: [us]}
      resources: [{kind: ConfigMap}]
      patches: [{path: /data/where, operator: add, value: here}]
"""


async def test_a_run_keeps_the_clusters_that_the_settings_named_when_it_was_planned(
    tmp_path: Path, commits: Commits
) -> None:
    """For what it goes back to as well, and whatever the settings and the file say by now."""
    (tmp_path / "shop" / "app.pipecd.yaml").unlink()
    (tmp_path / "shop" / "volary.yaml").write_text(ONLY_EU)
    one, two = commits("v1"), commits("v2")
    targets = applications.TargetSelector(("us",))
    runs = cluster_releases.ClusterReleases(one, {}, one)
    status = application_statuses.ApplicationStatus(releases=runs, targets=targets)
    record = records.ApplicationRecord("shop", git_feed.NAME, "shop/volary.yaml")
    application = application_state.ApplicationState(record, status)
    async with given.leading(sources=git_feed.Feed(tmp_path)) as world:
        dependencies, request = world.leader.dependencies, given.request("r1", two)
        prepared = await release_plans.plan(dependencies, application, request)
        place = ready_runs.source_of(application)
        ready = await release_plans.ready(dependencies, place, request, prepared, ())
        origin = run_origins.from_document(run_origins.to_document(ready.origin))

        again = await ready_runs.take_up(
            dependencies, "shop", ready.run, origin, ready_runs.PlannedInputs()
        )

        assert again.rendering is not None
        now = await again.rendering.render(two, "us")
        before = await again.rendering.render_before(one, "us")
    assert [item.body["data"] for item in (*now, *before)] == [
        {"version": "v2", "where": "here"},
        {"version": "v1", "where": "here"},
    ]
