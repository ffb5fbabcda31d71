"""What the beginning, the end and the refusal of a backfill change about its application."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import command_world
import git_feed
import reconciler_fixtures as given
from volary.controller.runs import backfills, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
    run_origins,
    run_requests,
)
from volary.engine.runs import policies, run_builder, state, updates
from volary.manifests import redaction
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.placement.failover import situations
from volary.store import records

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILE = """\
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: shop
  planner: {autoRollback: %s}
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: words, namespace: shop}
"""
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
BACKFILL = backfills.Backfill()
Release, Has = cluster_releases.ClusterRelease, cluster_releases.ReleaseState
REQUEST = run_requests.RunRequest(
    "b1", "c1", run_requests.KindName.BACKFILL, "eu missed it", NOW, targets=("eu",)
)
RELEASES = cluster_releases.ClusterReleases(
    "c1", {"us": Release("c1", Has.COVERED, "id"), "eu": Release("c0", Has.MISSED)}, "c0"
)
BEFORE = application_statuses.ApplicationStatus(releases=RELEASES, backfill=REQUEST)
ORIGIN = run_origins.Origin("shop", "volary.yaml", kind=run_requests.KindName.BACKFILL)


def application(
    status: application_statuses.ApplicationStatus = BEFORE, word: str = "failed"
) -> application_state.ApplicationState:
    return application_state.ApplicationState(
        records.ApplicationRecord("shop", status=word, reason="as it was"), status
    )


def run(*targets: str, commit: str = "c1", good: bool = True) -> state.Run:
    """Return a backfill that has ended on some clusters."""
    made = run_builder.RunSpec("shop", commit, run_builder.one_group(targets), (SYNC,))
    status = statuses.TaskStatus.SUCCEEDED if good else statuses.TaskStatus.FAILED
    begun = run_builder.new_run("b1", made, NOW)
    stage = updates.change_tasks(begun.current, lambda task: replace(task, status=status))
    return replace(updates.replace_current(begun, stage), reason="no image")


def concluded(
    ended: state.Run,
    status: application_statuses.ApplicationStatus = BEFORE,
    word: str = "failed",
) -> application_state.StateChange:
    return BACKFILL.concluded(
        run_kinds.EndedRun(application(status, word), ended, ORIGIN, lambda name: f"id-{name}", NOW)
    )


def test_what_begins_takes_its_request_only() -> None:
    other = replace(REQUEST, id="b2")
    for request, left in ((REQUEST, None), (other, other), (None, None)):
        status = replace(BEFORE, backfill=request)

        change = BACKFILL.begun(run_kinds.KeptRun(application(status), run("eu"), ORIGIN))

        assert change.status == replace(status, backfill=left, run="b1", under_way=True)
        assert (change.columns, change.commits) == ({}, ())


@pytest.mark.parametrize(
    ("word", "requested", "columns"),
    [
        ("failed", False, {"status": "synced", "reason": "every cluster has c1; eu came last"}),
        ("failed", True, {}),
        ("synced", False, {"reason": "every cluster has c1; eu came last"}),
        ("synced", True, {"reason": "every cluster has c1; eu came last"}),
        ("broken", False, {}),
    ],
)
def test_with_the_last_cluster_the_release_is_everywhere(
    word: str, requested: bool, columns: dict[str, object]
) -> None:
    newer = run_requests.RunRequest("r9", "c9", run_requests.KindName.RELEASE, "why", NOW)
    status = replace(BEFORE, run_request=newer if requested else None, under_way=True)

    change = concluded(run("eu"), status, word)

    assert dict(change.columns) == columns
    assert [(one.commit, one.status) for one in change.commits] == [("c1", "succeeded")]
    assert change.status.releases.running == "c1"
    assert change.status.releases.of("eu") == Release("c1", Has.COVERED, "id-eu")
    assert not change.status.under_way


def test_while_others_miss_it_the_release_is_not_everywhere() -> None:
    more = replace(RELEASES, clusters={**RELEASES.clusters, "ap": Release("c0", Has.MISSED)})

    change = concluded(run("eu"), replace(BEFORE, releases=more))

    assert (change.columns, change.commits) == ({}, ())
    assert change.status.releases.running == "c0"
    assert change.status.releases.missed == ("ap",)


def test_who_was_only_built_anew_changes_nothing_about_the_release() -> None:
    all_there = replace(RELEASES, clusters={"us": Release("c1", Has.COVERED, "old")}, running="c1")

    change = concluded(run("us"), replace(BEFORE, releases=all_there))

    assert (change.columns, change.commits) == ({}, ())
    assert change.status.releases.of("us").identity == "id-us"


def test_an_older_release_completes_nothing() -> None:
    change = concluded(run("eu", commit="c0"))

    assert (change.columns, change.commits) == ({}, ())
    assert change.status.releases.missed == ("eu",)


def test_where_it_failed_is_said_with_the_cluster() -> None:
    change = concluded(run("eu", good=False))

    assert change.status.releases.waiting == {"eu": "run b1: no image"}
    assert (change.columns, change.commits) == ({}, ())


def test_the_application_is_where_it_was_brought() -> None:
    placed = BEFORE.with_placement(replace(BEFORE.placed, chosen=("us",)))

    assert concluded(run("eu"), placed).status.placed.chosen == ("us", "eu")
    assert concluded(run("eu")).status.placed.chosen == (), "it was never decided"


def test_a_refusal_is_kept_with_each_cluster() -> None:
    waiting = RELEASES.with_reasons({"us": "it is cordoned"})
    status = replace(BEFORE, releases=waiting)

    requested = run_kinds.RequestedRun(application(status), REQUEST)

    refused = BACKFILL.refused(requested, "no repository")
    delayed = BACKFILL.delayed(requested, "no repository", "later")

    assert refused == delayed
    assert refused.status.backfill is None
    assert refused.status.releases.waiting == {"us": "it is cordoned", "eu": "no repository"}
    assert not BACKFILL.announces_refusals


@pytest.mark.parametrize(
    ("auto_rollback", "on_failure", "reason"),
    [
        ("true", policies.OnFailure.ROLLBACK, ""),
        ("false", policies.OnFailure.STOP, "autoRollback is off"),
    ],
)
async def test_clusters_get_the_release_by_a_quick_sync_from_what_they_run(
    tmp_path: Path, auto_rollback: str, on_failure: policies.OnFailure, reason: str
) -> None:
    (tmp_path / "app.pipecd.yaml").write_text(FILE % auto_rollback)
    (tmp_path / "config.yaml").write_text(CONFIG)
    commit = command_world.commit(tmp_path, "Add the shop")
    known = cluster_releases.ClusterReleases(
        commit,
        {"us": Release(commit, Has.COVERED, "id"), "eu": Release(commit, Has.MISSED)},
        commit,
    )
    status = replace(BEFORE, releases=known).with_placement(situations.PlacementState(("us", "eu")))
    async with given.leading(sources=git_feed.Feed(tmp_path)) as world:
        ready = await BACKFILL.prepare(
            run_kinds.Planning(
                application_state.ApplicationState(
                    records.ApplicationRecord("shop", "shop", "app.pipecd.yaml"), status
                ),
                replace(REQUEST, commit=commit, targets=("us", "eu")),
                world.leader.dependencies,
                world.store,
                redaction.Masker(),
            )
        )

    made = ready.run
    assert (made.id, made.application, made.commit, made.targets) == (
        "b1",
        "shop",
        commit,
        ("us", "eu"),
    )
    assert [(stage.stage.kind, stage.stage.targets) for stage in made.stages] == [
        (rollout_stages.SYNC, ("us", "eu"))
    ]
    # Who was built anew has nothing to go back to.
    assert [made.running_commit_of(name) for name in ("us", "eu")] == ["", commit]
    assert (made.policy.on_failure, made.policy.stop_reason) == (on_failure, reason)
    assert (ready.origin.kind, ready.origin.strategy, ready.origin.chosen) == (
        run_requests.KindName.BACKFILL,
        "quick_sync",
        ("us", "eu"),
    )
