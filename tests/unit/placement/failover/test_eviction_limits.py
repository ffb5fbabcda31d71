"""How much may move: a loss of most of the fleet is ours, and moves come at a rate."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from failover_world import BY_HAND, LOST, NAMES, NOW, RULES, app, seen, situation
from volary.model.fleet import cluster_health
from volary.model.placement import failover_rules
from volary.placement.failover import decisions, eviction_limits, observed_durations, situations


def test_from_the_share_on_it_is_us_and_somebody_is_told() -> None:
    view = eviction_limits.assess(seen(NOW, ["us", "eu", "asia"]), NOW, RULES)

    allowance = eviction_limits.allowance(view, (), failover_rules.FailoverLimits(), NOW)

    assert (allowance.moves, allowance.is_closed) == (0, True)
    assert allowance.alarm == (
        "3 of 4 clusters look unreachable: us, eu, asia; failover suppressed: at least 55 %"
        " unreachable, so the controller's own network is suspected"
    )
    assert allowance.reason == allowance.alarm
    # Where teams are apart, applications name no clusters that are not theirs.
    apart = replace(view, names_clusters=False)
    unnamed = eviction_limits.allowance(apart, (), failover_rules.FailoverLimits(), NOW)
    assert unnamed.alarm == allowance.alarm
    assert unnamed.reason == allowance.alarm.replace(": us, eu, asia", "")


def test_clusters_nobody_looked_at_hold_moves_but_raise_no_alarm() -> None:
    view = eviction_limits.assess(seen(NOW - timedelta(hours=1)), NOW, RULES)

    allowance = eviction_limits.allowance(view, (), failover_rules.FailoverLimits(), NOW)

    assert (allowance.is_closed, allowance.alarm) == (True, "")


def test_a_look_that_failed_counts_before_the_cluster_does() -> None:
    found = seen(NOW, ["us"])
    for name in ("eu", "asia"):
        found[name] = replace(found[name], pending=cluster_health.PendingChange(LOST, NOW))

    assert eviction_limits.assess(found, NOW, RULES).percent == 75


def test_who_is_suspended_or_left_is_not_counted() -> None:
    found = seen(NOW, ["us", "asia", "sa"])
    found["asia"] = replace(found["asia"], state=cluster_health.ClusterState.SUSPENDED)
    found["sa"] = replace(found["sa"], left=NOW)

    view = eviction_limits.assess(found, NOW, RULES)

    assert (view.total, view.lost, view.unseen) == (2, ("us",), ())


def test_a_process_that_was_asleep_decides_nothing() -> None:
    view = eviction_limits.assess(seen(NOW, ["us"]), NOW, RULES, "the event loop stalled for 9 s")

    assert eviction_limits.allowance(view, (), failover_rules.FailoverLimits(), NOW).is_closed


@given(
    lost=st.sets(st.sampled_from(NAMES)),
    jobs=st.lists(st.sampled_from(NAMES), max_size=30),
    per_minute=st.integers(0, 5),
    gaps=st.lists(st.integers(0, 50), min_size=30, max_size=30),
)
def test_never_more_than_the_rate_moves_and_nothing_above_the_share(
    lost: set[str], jobs: list[str], per_minute: int, gaps: list[int]
) -> None:
    limits = failover_rules.FailoverLimits(
        moves_per_minute=per_minute, slow_moves_per_minute=min(per_minute, 2)
    )
    begun: list[datetime] = []
    now = NOW
    for name, gap in zip(jobs, gaps, strict=False):
        now += timedelta(seconds=gap)
        view = eviction_limits.assess(seen(now, sorted(lost)), now, RULES)
        allowance = eviction_limits.allowance(view, begun, limits, now)
        placement = situations.PlacementState(
            ("us", "eu"),
            timers={
                f"{name}/example.com/dead": observed_durations.ObservedDuration(
                    NOW, now, timedelta(hours=1)
                )
            },
        )
        looked = situation(
            app(), now, lost=sorted(lost), marks={name: BY_HAND}, placement=placement
        )
        decision = decisions.decide(looked, allowance)
        begun += [each.since for each in decision.leaving]

        assert not decision.leaving or view.percent < limits.stop_at_percent
        last_minute = [each for each in begun if now - each < timedelta(minutes=1)]
        most = (
            limits.slow_moves_per_minute if view.percent >= limits.slow_at_percent else per_minute
        )
        assert not decision.leaving or len(last_minute) <= most
