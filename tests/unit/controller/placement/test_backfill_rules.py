"""A cluster waits for what holds its application up, and longer after each failure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.controller.placement import backfill_rules
from volary.controller.status import application_statuses, cluster_releases
from volary.engine.runs import state
from volary.model import applications, projects
from volary.model.fleet import cluster_health, fleets
from volary.model.objects import manifest
from volary.model.placement import overrides, rollouts
from volary.placement.replicas import assignment, divisible_workloads
from volary.tenancy import membership

NOW = datetime(2026, 12, 24, 12, tzinfo=UTC)
EU = fleets.Cluster("eu", labels={"env": "prod"})
READY = cluster_health.ClusterHealth("eu", cluster_health.ClusterState.READY)
SHOP = applications.Application("shop")
FROZEN = rollouts.Window("christmas", schedule="0 0 24 12 *", duration=timedelta(days=3))


NO_PROJECTS = membership.Standing()


def frozen(**labels: str) -> applications.Application:
    where = rollouts.ClusterSelector(match_labels=labels)
    windows = rollouts.Windows(deny=(rollouts.ClusterWindow(FROZEN, where),))
    return replace(SHOP, waves=rollouts.Waves(windows=windows))


def why(
    app: applications.Application = SHOP,
    found: cluster_health.ClusterHealth | None = READY,
    application_status: application_statuses.ApplicationStatus | None = None,
    standing: membership.Standing = NO_PROJECTS,
) -> str:
    known = application_status or application_statuses.ApplicationStatus()
    return backfill_rules.why_not_now(app, EU, known, found, NOW, standing)


def test_a_ready_cluster_gets_it_at_once() -> None:
    assert why() == ""


@pytest.mark.parametrize("which", list(cluster_health.ClusterState))
def test_only_a_ready_cluster_gets_it(which: cluster_health.ClusterState) -> None:
    told = why(found=replace(READY, state=which))

    assert bool(told) is (which is not cluster_health.ClusterState.READY)


def test_one_that_has_just_failed_waits() -> None:
    failing = cluster_health.PendingChange(cluster_health.ClusterState.UNREACHABLE, NOW)

    assert why(found=replace(READY, pending=failing)) == "it was just seen unreachable"
    assert why(found=None) == "it was not probed yet"


def test_a_freeze_window_of_the_cluster_holds_it_up() -> None:
    assert why(frozen(env="prod")).startswith("denied by christmas; opens ")
    assert why(frozen(env="dev")) == ""


def test_a_project_holds_it_up_with_windows_of_its_own_and_clusters_that_it_may_not_have() -> None:
    """No window of the application opens the project's."""
    always = rollouts.Window("always", schedule="0 0 * * *", duration=timedelta(days=1))
    office = rollouts.Window("office", schedule="0 8 * * *", duration=timedelta(hours=1))
    open_app = replace(
        SHOP,
        waves=rollouts.Waves(windows=rollouts.Windows(allow=(rollouts.ClusterWindow(always),))),
    )
    team = projects.Project(
        "team-a",
        destinations=(projects.Destination(namespaces=("shop",)),),
        windows=rollouts.Windows(allow=(rollouts.ClusterWindow(office),)),
    )
    away = replace(team, destinations=())

    assert why(open_app) == ""
    assert why(open_app, standing=membership.Standing(team)) == (
        "outside office of project team-a; opens Fri 2026-12-25 08:00 UTC"
    )
    assert why(standing=membership.Standing(away)) == (
        "project team-a may not deploy to cluster eu"
    )
    assert why(standing=membership.Standing(reason="there is no project team-a any more")) == (
        "there is no project team-a any more"
    )


def test_a_pause_holds_it_up() -> None:
    application_status = application_statuses.ApplicationStatus(
        pause=state.Pause("ana", NOW, "the shop is on television")
    )

    assert "paused by ana: the shop is on television" in why(application_status=application_status)


def test_a_newcomer_has_no_share_of_divided_replicas() -> None:
    divided = overrides.ReplicaDivision(overrides.Division.DIVIDED)
    app = replace(SHOP, differences=overrides.Differences(replicas=divided))
    key = manifest.ResourceKey("apps", "Deployment", "", "shop")
    elsewhere = assignment.WorkloadAssignment(key, {"us": divisible_workloads.Share(4)})
    application_status = application_statuses.ApplicationStatus(
        releases=cluster_releases.ClusterReleases().with_shares(
            assignment.Assignment((elsewhere,)), ("us",)
        )
    )

    assert "no share before the next run" in why(app, application_status=application_status)
    # What autoscalers scale is not divided, so nothing is missing that a next run would give it.
    assert why(app) == ""


def test_each_try_is_waited_for_longer_up_to_half_an_hour() -> None:
    """A cluster that comes and goes causes no storm."""
    tries, now, waits = backfill_rules.Attempts(), NOW, []
    for _ in range(9):
        tries.note("shop", ["eu"], now)
        before = now
        while tries.why_wait("shop", "eu", now):
            now += timedelta(seconds=30)
        waits.append((now - before).total_seconds())

    assert waits == [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]
    set_back = now - timedelta(hours=1)
    assert tries.why_wait("shop", "eu", set_back) == "", "nobody waits for that hour once more"
    assert tries.why_wait("cart", "eu", NOW) == ""
    tries.forget("shop", [])
    tries.note("shop", ["eu"], now)
    assert tries.why_wait("shop", "eu", now + timedelta(seconds=29)).startswith("tried again at")
    assert tries.why_wait("shop", "eu", now + timedelta(seconds=30)) == ""
