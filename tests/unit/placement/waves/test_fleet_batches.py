"""Shares of the whole fleet: exact sums, bounds, and more never takes anything away."""

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model import errors
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.placement.waves import fleet_batches


def share(text: str) -> rollout_stages.Replicas:
    return rollout_stages.Replicas(int(text.removesuffix("%")), text.endswith("%"))


@pytest.mark.parametrize(
    ("wanted", "held", "most", "expected"),
    [
        # Five replicas on two clusters in batches of 20 %, 60 %, 100 %.
        ("20%", {"a": 3, "b": 2}, None, {"a": 1, "b": 0}),
        ("60%", {"a": 3, "b": 2}, None, {"a": 2, "b": 1}),
        ("100%", {"a": 3, "b": 2}, None, {"a": 3, "b": 2}),
        ("10%", {"us": 60, "eu": 30, "asia": 10}, None, {"us": 6, "eu": 3, "asia": 1}),
        # 10 % of 24 are 2.4, so 3.
        ("10%", {"us": 12, "eu": 8, "asia": 4}, None, {"us": 1, "eu": 1, "asia": 1}),
        ("1", {"a": 1, "b": 1, "c": 1}, None, {"a": 1, "b": 0, "c": 0}),
        # What does not fit goes to the others.
        ("50%", {"us": 18, "eu": 4, "asia": 2}, "25%", None),
        ("50%", {"us": 18, "eu": 4, "asia": 2}, "50%", {"us": 9, "eu": 2, "asia": 1}),
        ("6", {"us": 18, "eu": 4, "asia": 2}, "3", {"us": 3, "eu": 2, "asia": 1}),
        ("10%", {"a": 10, "none": 0}, None, {"a": 1, "none": 0}),
        ("0%", {"a": 10}, None, {"a": 0}),
        ("1", {"none": 0}, None, None),
    ],
)
def test_pods(
    wanted: str, held: Mapping[str, int], most: str | None, expected: Mapping[str, int] | None
) -> None:
    limit = share(most) if most else None
    if expected is None:
        with pytest.raises(errors.UserError, match="pods do not fit") as refused:
            fleet_batches.pods(share(wanted), held, limit)
        assert refused.value.problems[0].hint == "raise atMost, or ask for fewer"
        return
    assert fleet_batches.pods(share(wanted), held, limit) == expected


FLEETS = st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 40), min_size=1)


@given(FLEETS, st.integers(0, 100), st.integers(1, 100))
def test_pods_are_exact_bounded_and_grow(held: dict[str, int], percent: int, most: int) -> None:
    limit = rollout_stages.Replicas(most, is_percentage=True)
    try:
        found = fleet_batches.pods(
            rollout_stages.Replicas(percent, is_percentage=True), held, limit
        )
    except errors.UserError:
        assert sum(-(-most * each // 100) for each in held.values()) < -(
            -percent * sum(held.values()) // 100
        )
        return
    assert sum(found.values()) == -(-percent * sum(held.values()) // 100)
    assert all(found[name] <= -(-most * held[name] // 100) for name in held)
    if percent:
        less = fleet_batches.pods(
            rollout_stages.Replicas(percent - 1, is_percentage=True), held, limit
        )
        assert all(less[name] <= found[name] for name in held)


@pytest.mark.parametrize(
    ("wanted", "load", "pods", "weights", "reached"),
    [
        # Everybody has one: everybody gives the same.
        (10, {"us": 6, "eu": 3}, {"us": 6, "eu": 3}, {"us": 10, "eu": 10}, "10 %"),
        # Half of the traffic carries all of it.
        (10, {"us": 5, "eu": 5}, {"us": 1, "eu": 0}, {"us": 20, "eu": 0}, "10 %"),
        (
            10,
            {"us": 12, "eu": 8, "asia": 4},
            {"us": 2, "eu": 1},
            {"us": 13, "eu": 10, "asia": 0},
            "9.8 %",
        ),
        # As near as whole points come.
        (5, {"us": 7, "eu": 2}, {"us": 1, "eu": 0}, {"us": 6, "eu": 0}, "4.7 %"),
        (0, {"us": 7}, {"us": 1}, {"us": 0}, "0 %"),
    ],
)
def test_traffic(
    wanted: int,
    load: Mapping[str, int],
    pods: Mapping[str, int],
    weights: Mapping[str, int] | None,
    reached: str,
) -> None:
    found = fleet_batches.traffic(wanted, load, pods)
    assert found.told == reached
    assert weights is None or found.weights == weights


def test_traffic_that_cannot_be_reached_is_refused() -> None:
    with pytest.raises(errors.UserError, match=r"50 % .* have only 20 %"):
        fleet_batches.traffic(50, {"us": 2, "eu": 8}, {"us": 1})
    with pytest.raises(errors.UserError, match=r"there are 0\)"):
        fleet_batches.traffic(1, {"us": 0, "eu": 0}, {"us": 1})
    with pytest.raises(errors.UserError, match=r"have only 0 %"):
        fleet_batches.traffic(1, {"us": 2, "eu": 8}, {})
    # What another variant gets is not given twice.
    with pytest.raises(errors.UserError, match=r"have only 8 %"):
        fleet_batches.traffic(12, {"us": 2, "eu": 8}, {"us": 1}, {"us": 40, "eu": 100})


@given(FLEETS, st.integers(0, 100), st.data())
def test_traffic_is_near_bounded_and_grows(
    load: dict[str, int], wanted: int, data: st.DataObject
) -> None:
    pods = {name: data.draw(st.integers(0, load[name])) for name in load}
    total = sum(load.values())
    try:
        found = fleet_batches.traffic(wanted, load, pods)
    except errors.UserError:
        able = sum(load[name] for name in load if pods[name])
        assert 100 * able < wanted * total or not total
        return
    given_away = sum(found.weights[name] * load[name] for name in load)
    assert found.reached == Fraction(given_away, max(total, 1))
    assert 2 * abs(given_away - wanted * total) <= total
    assert all(0 <= weight <= 100 for weight in found.weights.values())
    assert all(pods[name] for name, weight in found.weights.items() if weight)
    if wanted:
        less = fleet_batches.traffic(wanted - 1, load, pods)
        assert all(less.weights[name] <= found.weights[name] for name in load)
