"""Rebalance: what would be if an application were placed anew; a silent cluster keeps its place."""

from dataclasses import replace
from datetime import UTC, datetime

from volary.model import applications
from volary.model.fleet import cluster_health, fleets, taints
from volary.model.placement import failover_rules, spread_constraints
from volary.placement.failover import move_plans, rebalance, situations

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = ("us", "eu", "asia")
READY, LOST = cluster_health.ClusterState.READY, cluster_health.ClusterState.UNREACHABLE
TWO = applications.Application(
    "shop", spread=(spread_constraints.Constraint(min_groups=2, max_groups=2),)
)


def situation(
    placement: situations.PlacementState,
    app: applications.Application = TWO,
    *,
    lost: str = "",
    marked: str = "",
) -> situations.Situation:
    mark = (taints.Taint("example.com/full"),)
    clusters = tuple(fleets.Cluster(name, taints=mark if name == marked else ()) for name in NAMES)
    known = {
        name: cluster_health.ClusterHealth(name, LOST if name == lost else READY, NOW, observed=NOW)
        for name in NAMES
    }
    return situations.Situation(app, clusters, known, placement, NOW)


def planned(looked: situations.Situation, **after: int) -> rebalance.Rebalance:
    before = dict.fromkeys(looked.placement.chosen, 2) if after else {}
    return rebalance.plan(looked, rebalance.choose(looked), before, after, by="ana")


def test_what_moved_away_may_come_back_and_goes_where_it_is_not_needed_any_more() -> None:
    made = planned(situation(situations.PlacementState(("us", "eu"), away={"asia": "flood"})))

    assert made.chosen == ("eu", "asia")
    assert made.shift == move_plans.MovePlan((), ("asia",), (), ("us",), fresh=True)
    assert [(each.cluster, each.cause) for each in made.leaving] == [
        ("us", situations.Cause.REBALANCE)
    ]
    assert made.reason == "ana rebalances: new on asia; off us"
    assert made.left_out == {"us": "at most 2 by cluster: eu, asia come first"}


def test_where_it_would_be_placed_anew_nothing_moves() -> None:
    made = planned(situation(situations.PlacementState(("eu", "asia"))))

    assert made.is_empty
    assert made.reason == "ana rebalances: nothing moves"


def test_a_cluster_that_does_not_answer_keeps_its_place_and_a_marked_one_gets_none() -> None:
    silent = planned(situation(situations.PlacementState(("us", "eu")), lost="us"))
    marked = planned(situation(situations.PlacementState(("us", "eu")), marked="asia"))

    assert silent.chosen == ("us", "asia")
    assert silent.shift.clusters == ("asia", "eu")
    assert marked.is_empty
    assert marked.left_out == {"asia": "tainted example.com/full:NoSchedule"}


def test_who_gets_more_comes_before_who_has_less() -> None:
    made = planned(situation(situations.PlacementState(("eu", "asia"))), eu=3, asia=1)

    assert made.shift == move_plans.MovePlan((), ("eu",), ("asia",), (), fresh=True)
    assert made.reason == "ana rebalances: more on eu; less on asia"


def test_what_was_kept_on_purpose_goes_and_what_is_unreachable_is_left_for_later() -> None:
    never = situations.Eviction(
        "us", situations.Cause.CLUSTER, "flood", NOW, failover_rules.Purge.NEVER, replaced=True
    )
    placement = situations.PlacementState(("eu", "asia"), away={"us": "flood"}, leaving=(never,))

    there = planned(situation(placement))
    lost = planned(situation(placement, lost="us"))

    assert there.shift == move_plans.MovePlan((), ("eu", "asia"), (), ("us",), fresh=True)
    assert lost.is_empty
    (left,) = lost.leaving
    assert (left.cluster, left.purge, left.lost) == ("us", failover_rules.Purge.GRACEFULLY, True)
    assert replace(left, reason="") != never
