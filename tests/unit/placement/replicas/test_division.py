"""Shares of replicas, by the tables of Karmada's own tests (spec: replica division)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model import errors
from volary.model.fleet import fleets
from volary.model.placement import overrides, rollouts
from volary.placement.replicas import division

CLUSTERS = tuple(fleets.Cluster(name) for name in ("m1", "m2", "m3"))


def weight(number: int, *names: str) -> overrides.Weight:
    return overrides.Weight(rollouts.ClusterSelector(names=names), number)


def static(replicas: int, *weights: int) -> list[int]:
    rules = [weight(each, f"m{place}") for place, each in enumerate(weights, start=1)]
    found = division.by_weights(replicas, rules, CLUSTERS[: len(weights)])
    return list(found.values())


@pytest.mark.parametrize(
    ("replicas", "weights", "expected"),
    [
        (12, (3, 2, 1), [6, 4, 2]),
        (13, (3, 2, 1), [7, 4, 2]),
        (14, (3, 2, 1), [7, 5, 2]),
        (13, (1, 2, 3), [2, 4, 7]),
        (9, (1, 2), [3, 6]),
        (9, (1, 3), [2, 7]),
    ],
)
def test_static_weights(replicas: int, weights: tuple[int, ...], expected: list[int]) -> None:
    assert static(replicas, *weights) == expected


def test_the_heaviest_rule_counts() -> None:
    rules = [weight(1, "m1"), weight(2, "m1"), weight(1, "m2")]

    assert division.by_weights(3, rules, CLUSTERS[:2]) == {"m1": 2, "m2": 1}


def test_without_preference_all_weigh_the_same() -> None:
    assert list(division.by_weights(13, (), CLUSTERS).values()) == [5, 4, 4]
    assert static(13, 0, 0, 0) == [5, 4, 4]


def test_who_weighs_nothing_gets_nothing() -> None:
    assert division.by_weights(5, [weight(1, "m2")], CLUSTERS) == {"m1": 0, "m2": 5, "m3": 0}
    assert static(5, 0, 3) == [0, 5]


def test_the_fewest_clusters_have_room_for_all() -> None:
    found = division.by_capacity(6, {"m1": 5, "m2": 3}, {}, aggregated=True)

    assert found == {"m1": 4, "m2": 2}
    used = division.by_capacity(8, {"m1": 9, "m3": 7}, {"m3": 1}, aggregated=True)
    assert used == {"m3": 8}


@pytest.mark.parametrize(("more", "expected"), [(6, [2, 4, 6]), (3, [2, 3, 4]), (2, [1, 3, 4])])
def test_what_is_held_stays(more: int, expected: list[int]) -> None:
    held = {"m1": 1, "m2": 2, "m3": 3}

    assert list(division.webster(more, held, held).values()) == expected


def test_of_equals_the_first_by_name_has_the_odd_one() -> None:
    assert division.webster(5, {"B": 1, "A": 1}) == {"A": 3, "B": 2}


@pytest.mark.parametrize(("seats", "expected"), [(5, [2, 2, 1]), (6, [3, 2, 1])])
def test_more_seats(seats: int, expected: list[int]) -> None:
    assert list(division.webster(seats, {"a": 170, "b": 110, "c": 60}).values()) == expected


VOTES = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 50), min_size=1)


@given(st.integers(0, 60), VOTES)
def test_all_seats_are_given_and_one_more_takes_none_away(
    seats: int, votes: dict[str, int]
) -> None:
    before = division.webster(seats, votes)
    after = division.webster(seats + 1, votes)

    assert sum(before.values()) == seats
    assert all(after[name] >= before[name] for name in votes)
    assert sum(after.values()) == seats + 1


@given(st.integers(0, 40), VOTES)
def test_the_queue_gives_what_looking_at_all_gives(seats: int, votes: dict[str, int]) -> None:
    had = dict.fromkeys(votes, 0)
    for _ in range(seats):
        had[
            max(sorted(votes), key=lambda each: (votes[each] / (2 * had[each] + 1), -had[each]))
        ] += 1

    assert division.webster(seats, votes) == dict(sorted(had.items()))


def test_growing_by_capacity_adds_to_what_runs() -> None:
    prior = {"m1": 2, "m2": 2, "gone": 3}

    assert division.by_capacity(8, {"m1": 10, "m2": 10}, prior) == {"m1": 4, "m2": 4}


def test_shrinking_takes_from_all_by_what_they_hold() -> None:
    assert division.by_capacity(3, {"m1": 9, "m2": 9}, {"m1": 4, "m2": 2}) == {"m1": 2, "m2": 1}


def test_aggregated_fills_as_few_clusters_as_hold_it() -> None:
    room = {"m1": 3, "m2": 9, "m3": 9}

    assert division.by_capacity(6, room, {}, aggregated=True) == {"m2": 6}
    assert division.by_capacity(6, room, {"m3": 2}, aggregated=True) == {"m3": 6}


def test_too_little_room_is_an_error_with_the_numbers() -> None:
    with pytest.raises(errors.UserError, match="available replicas 4 are not enough for 5"):
        division.by_capacity(5, {"m1": 4}, {})
