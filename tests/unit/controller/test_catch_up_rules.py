"""A cluster waits for what holds its application up, and longer after each failure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.controller import catch_up_rules, standings
from volary.engine import state
from volary.model import application, attendance, fleet, freeze, overrides, placement, resource
from volary.placement import assignment

NOW = datetime(2026, 12, 24, 12, tzinfo=UTC)
EU = fleet.Cluster("eu", labels={"env": "prod"})
READY = attendance.Attendance("eu", attendance.ClusterState.READY)
SHOP = application.Application("shop")
FROZEN = freeze.Window("christmas", schedule="0 0 24 12 *", duration=timedelta(days=3))


def frozen(**labels: str) -> application.Application:
    where = placement.ClusterSelector(match_labels=labels)
    windows = placement.Windows(deny=(placement.ClusterWindow(FROZEN, where),))
    return replace(SHOP, waves=placement.Waves(windows=windows))


def why(
    app: application.Application = SHOP,
    found: attendance.Attendance | None = READY,
    standing: standings.Standing | None = None,
) -> str:
    return catch_up_rules.why_not_now(app, EU, standing or standings.Standing(), found, NOW)


def test_a_ready_cluster_gets_it_at_once() -> None:
    assert why() == ""


@pytest.mark.parametrize("which", list(attendance.ClusterState))
def test_only_a_ready_cluster_gets_it(which: attendance.ClusterState) -> None:
    told = why(found=replace(READY, state=which))

    assert bool(told) is (which is not attendance.ClusterState.READY)


def test_one_that_has_just_failed_waits() -> None:
    failing = attendance.Change(attendance.ClusterState.UNREACHABLE, NOW)

    assert why(found=replace(READY, pending=failing)) == "it was just seen unreachable"
    assert why(found=None) == "it was not looked at yet"


def test_a_freeze_window_of_the_cluster_holds_it_up() -> None:
    assert why(frozen(env="prod")).startswith("denied by christmas; opens ")
    assert why(frozen(env="dev")) == ""


def test_a_pause_holds_it_up() -> None:
    standing = standings.Standing(pause=state.Pause("ana", NOW, "the shop is on television"))

    assert "paused by ana: the shop is on television" in why(standing=standing)


def test_a_newcomer_has_no_share_of_divided_replicas() -> None:
    divided = overrides.ReplicaDivision(overrides.Division.DIVIDED)
    app = replace(SHOP, differences=overrides.Differences(replicas=divided))
    key = resource.ResourceKey("apps", "Deployment", "", "shop")
    elsewhere = assignment.Divided(key, {"us": assignment.Share(4)})
    standing = standings.Standing(assigned=assignment.Assignment((elsewhere,)))

    assert "no share before the next run" in why(app, standing=standing)
    # What autoscalers scale is not divided, so nothing is missing that a next run would give it.
    assert why(app) == ""


def test_each_try_is_waited_for_longer_up_to_half_an_hour() -> None:
    """A cluster that comes and goes causes no storm."""
    tries, now, waits = catch_up_rules.Tries(), NOW, []
    for _ in range(9):
        tries.note("shop", ["eu"], now)
        before = now
        while tries.why_wait("shop", "eu", now):
            now += timedelta(seconds=30)
        waits.append((now - before).total_seconds())

    assert waits == [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert tries.why_wait("cart", "eu", NOW) == ""
    tries.forget("shop", [])
    tries.note("shop", ["eu"], now)
    assert tries.why_wait("shop", "eu", now + timedelta(seconds=29)).startswith("tried again at")
    assert tries.why_wait("shop", "eu", now + timedelta(seconds=30)) == ""
