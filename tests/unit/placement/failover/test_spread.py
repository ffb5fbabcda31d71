"""Spread constraints: Karmada's rows, what is promised of them, and what is told."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model.fleet import fleets
from volary.model.placement import spread_constraints
from volary.placement.failover import spread

REGION, ZONE = spread_constraints.Field.REGION, spread_constraints.Field.ZONE
#: Groups as name, clusters and weight; least, most and target; the answer (Karmada's tests).
GROUPS = [
    (
        [("R1", 1, 80), ("R3", 1, 80), ("R2", 1, 60), ("R5", 2, 60), ("R4", 5, 50), ("R6", 3, 50)],
        (1, 3, 10),
        ["R5", "R4", "R6"],
    ),
    (
        [("R1", 1, 80), ("R2", 4, 40), ("R3", 1, 30), ("R4", 3, 30), ("R5", 3, 20), ("R6", 5, 10)],
        (2, 6, 5),
        ["R1", "R2"],
    ),
    (
        [("R1", 1, 60), ("R2", 1, 50), ("R3", 1, 40), ("R4", 3, 30), ("R5", 3, 20), ("R6", 3, 10)],
        (1, 3, 6),
        ["R1", "R4", "R5"],
    ),
    ([("R1", 1, 60)], (1, 1, 2), None),
    # Of two that weigh the same, the one with more clusters.
    ([("R1", 1, 50), ("R2", 3, 50)], (1, 1, 1), ["R2"]),
]


def cluster(name: str, region: str = "", **labels: str) -> fleets.Cluster:
    return fleets.Cluster(name, labels, region=region or name.partition("-")[0])


def of(*names: str) -> list[fleets.Cluster]:
    return [cluster(each) for each in names]


def by(
    field: spread_constraints.Field, least: int = 1, most: int = 0, label: str = ""
) -> spread_constraints.Constraint:
    return spread_constraints.Constraint(field, label, least, most)


def by_cluster(least: int = 1, most: int = 0) -> spread_constraints.Constraint:
    return by(spread_constraints.Field.CLUSTER, least, most)


@pytest.mark.parametrize(("groups", "limits", "expected"), GROUPS)
def test_groups_are_selected_as_karmada_does(
    groups: list[tuple[str, int, int]], limits: tuple[int, int, int], expected: list[str] | None
) -> None:
    assert spread.select_groups(groups, *limits) == expected


def test_without_constraints_all_are_chosen() -> None:
    assert spread.choose(of("us", "eu"), ()).names == ("us", "eu")


def test_by_cluster_the_first_by_name_are_chosen_and_the_others_are_told_why() -> None:
    found = spread.choose(of("us", "eu", "asia"), [by_cluster(1, 2)])

    assert found.names == ("eu", "asia")
    assert found.left_out == {"us": "at most 2 by cluster: eu, asia come first"}


def test_clusters_it_is_on_come_first() -> None:
    found = spread.choose(of("us", "eu", "asia"), [by_cluster(1, 2)], ["us"])

    assert found.names == ("us", "asia")


def test_too_few_are_a_failure_that_names_those_that_there_are() -> None:
    found = spread.choose(of("us", "eu"), [by_cluster(3)])

    assert found.names == ()
    assert found.failure == "at least 3 by cluster are needed, 2 qualify: eu, us"


def test_regions_with_more_clusters_weigh_more_and_each_gives_its_best_first() -> None:
    clusters = of("us-1", "eu-1", "eu-2", "asia-1", "asia-2", "asia-3")

    found = spread.choose(clusters, [by(REGION, 2, 2), by_cluster(1, 3)])

    assert found.names == ("eu-1", "asia-1", "asia-2")
    assert found.left_out["us-1"] == "region us is not needed: at most 2 by region, asia, eu"
    assert found.left_out["eu-2"] == "at most 3 by cluster: eu-1, asia-1, asia-2 come first"


@pytest.mark.parametrize(
    ("names", "failure"),
    [
        (("eu-1",), "no group by region has 3 clusters"),
        (("eu-1", "us-1"), "no 2 groups by region have 3 clusters"),
        (("eu-1", "us-1", "asia-1"), "no 2 groups by region have 3 clusters"),
    ],
)
def test_groups_that_are_too_small_are_said_to_be(names: tuple[str, ...], failure: str) -> None:
    assert spread.choose(of(*names), [by(REGION, 1, 2), by_cluster(3)]).failure == failure


def test_without_a_limit_all_groups_together_are_too_small() -> None:
    found = spread.choose(of("eu-1", "us-1"), [by(REGION, 1), by_cluster(3)])

    assert found.failure == "no 2 groups by region have 3 clusters"


def test_what_cannot_be_counted_is_left_out() -> None:
    clusters = [cluster("us", ring="a"), cluster("eu")]

    found = spread.choose(clusters, [by(ZONE, label="ring")])

    assert found.names == ("us",)
    assert found.left_out == {"eu": "it has no label ring, by which the application is spread"}


def test_a_region_is_not_left_because_another_one_grew() -> None:
    before = spread.choose(of("us-1", "eu-1"), [by(REGION, 1, 1)]).names
    grown = of("us-1", "us-2", "us-3", "eu-1")

    assert before == ("eu-1",)
    assert spread.choose(grown, [by(REGION, 1, 1)]).names == ("us-1", "us-2", "us-3")
    assert spread.choose(grown, [by(REGION, 1, 1)], before).names == before


def test_a_lost_region_is_replaced_by_the_best_of_the_others() -> None:
    left = of("us-1", "asia-1", "asia-2")

    found = spread.choose(left, [by(REGION, 2, 2), by_cluster(2, 2)], ["us-1"])

    assert found.names == ("us-1", "asia-1")


NAMES = st.lists(
    st.tuples(st.sampled_from(["us", "eu", "asia", "sa"]), st.integers(1, 5)), unique=True
)


@given(
    names=NAMES,
    regions=st.tuples(st.integers(1, 3), st.integers(0, 3)),
    counts=st.tuples(st.integers(1, 5), st.integers(0, 6)),
    lost=st.integers(0, 19),
)
def test_the_choice_meets_its_constraints_and_keeps_what_still_qualifies(
    names: Sequence[tuple[str, int]],
    regions: tuple[int, int],
    counts: tuple[int, int],
    lost: int,
) -> None:
    clusters = of(*(f"{region}-{number}" for region, number in names))
    constraints = [
        by(REGION, regions[0], max(regions) if regions[1] else 0),
        by_cluster(counts[0], max(counts) if counts[1] else 0),
    ]

    first = spread.choose(clusters, constraints)

    assert spread.choose(list(reversed(clusters)), constraints).names == first.names[::-1]
    _check(first, clusters, constraints)
    again = spread.choose(clusters, constraints, first.names)
    assert again.names == first.names, "who is on enough stays there"
    if not first.names:
        return
    gone = first.names[lost % len(first.names)]
    left = [each for each in clusters if each.name != gone]
    second = spread.choose(left, constraints, [name for name in first.names if name != gone])
    _check(second, left, constraints)
    if not second.failure:
        assert set(first.names) - {gone} <= set(second.names), "nobody else has to move"


def _check(
    found: spread.Choice,
    clusters: Sequence[fleets.Cluster],
    constraints: Sequence[spread_constraints.Constraint],
) -> None:
    regions, counts = constraints
    assert set(found.names) | set(found.left_out) == {each.name for each in clusters}
    if found.failure:
        assert found.names == ()
        return
    groups = {each.region for each in found.clusters}
    assert regions.least <= len(groups) <= (regions.max_groups or len(groups))
    assert counts.least <= len(found.names) <= (counts.max_groups or len(found.names))


def test_of_very_many_groups_the_heaviest_that_hold_enough_are_taken() -> None:
    many = [(f"R{number:02}", 2 if number < 3 else 1, 100 - number) for number in range(40)]

    assert spread.select_groups(many, 1, 40, 5) == ["R00", "R01", "R02"]
    assert spread.select_groups(many, 4, 40, 5) == ["R00", "R01", "R02", "R03"]
    assert spread.select_groups(many, 1, 2, 5) is None
    # The heaviest are too small, and the largest are enough.
    small = [(f"R{number:02}", 5 if number == 39 else 1, 100 - number) for number in range(40)]
    assert spread.select_groups(small, 1, 1, 5) == ["R39"]
