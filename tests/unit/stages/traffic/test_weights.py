"""What routes say together, and which variants get more than before."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from volary.model.pipeline import traffic, variant
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.traffic import division, weights

V = variant.Variant
AFFINITY = traffic.SessionAffinity("cookie")
MATCH = traffic.RequestMatch(headers={"x": traffic.TextMatch("1")})


def route(
    shares: Mapping[V, int],
    *,
    name: str = "",
    editable: bool = True,
    copies: int = 0,
    made: bool = False,
) -> weights.RouteWeights:
    return weights.RouteWeights(name, editable, shares, copies, made)


PLAIN = route({V.PRIMARY: 100})


def test_a_title_leaves_out_who_gets_nothing() -> None:
    assert (
        weights.title({V.CANARY: 10, V.PRIMARY: 90, V.BASELINE: 0}) == "primary 90 %, canary 10 %"
    )
    assert weights.title({}) == "no variant"


@pytest.mark.parametrize(
    ("routes", "receiving", "diverted"),
    [
        ([], set(), False),
        ([PLAIN], {V.PRIMARY}, False),
        ([route({V.PRIMARY: 100, V.CANARY: 0})], {V.PRIMARY}, False),
        ([PLAIN, route({V.CANARY: 1})], {V.PRIMARY, V.CANARY}, True),
        ([route({V.PRIMARY: 100}, copies=5)], {V.PRIMARY, V.CANARY}, True),
        ([route({V.PRIMARY: 90, V.BASELINE: 10})], {V.PRIMARY, V.BASELINE}, True),
        ([PLAIN, route({V.PRIMARY: 100}, made=True)], {V.PRIMARY}, True),
    ],
)
def test_who_gets_requests(
    routes: list[weights.RouteWeights], receiving: set[V], diverted: bool
) -> None:
    assert weights.receiving(routes) == receiving
    assert weights.is_diverted(routes) is diverted


@pytest.mark.parametrize(
    ("before", "after", "rising"),
    [
        ([PLAIN], [PLAIN], ()),
        ([], [PLAIN], (V.PRIMARY,)),
        ([PLAIN], [route({V.PRIMARY: 90, V.CANARY: 10})], (V.CANARY,)),
        ([route({V.PRIMARY: 90, V.CANARY: 10})], [PLAIN], (V.PRIMARY,)),
        ([route({V.CANARY: 10})], [route({V.CANARY: 10})], ()),
        ([route({V.CANARY: 10})], [route({V.CANARY: 11})], (V.CANARY,)),
        ([PLAIN], [route({V.PRIMARY: 100}, copies=1)], (V.CANARY,)),
        ([route({}, copies=5)], [route({}, copies=5)], ()),
        ([route({}, copies=5)], [route({}, copies=4)], ()),
        # Rules are told apart by name and place.
        ([route({V.CANARY: 50}, name="a")], [route({V.CANARY: 50}, name="b")], (V.CANARY,)),
        ([PLAIN], [PLAIN, route({V.CANARY: 1}), route({V.BASELINE: 1})], (V.CANARY, V.BASELINE)),
    ],
)
def test_variants_that_get_more_than_before(
    before: list[weights.RouteWeights], after: list[weights.RouteWeights], rising: tuple[V, ...]
) -> None:
    assert weights.rising(before, after) == rising


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ([], division.Observed()),
        (
            [route({V.PRIMARY: 70, V.CANARY: 20, V.BASELINE: 10}, copies=7)],
            division.Observed(70, 20, 10, mirror=7),
        ),
        ([route({V.CANARY: 100}, editable=False), PLAIN], division.Observed(100)),
        (
            [route({V.CANARY: 100}, made=True), PLAIN],
            division.Observed(100, is_matched=True),
        ),
        ([route({V.PRIMARY: 100}, made=True), PLAIN], division.Observed(100)),
        ([route({V.CANARY: 100}), PLAIN], division.Observed(0, 100)),
    ],
)
def test_the_first_route_that_may_be_changed_speaks_for_all(
    routes: list[weights.RouteWeights], expected: division.Observed
) -> None:
    assert weights.observed(routes) == expected


@pytest.mark.parametrize(
    ("wanted", "shares", "needed"),
    [
        (division.PRIMARY, {V.PRIMARY: 100}, (V.PRIMARY,)),
        (division.Division(0, canary=100), {V.CANARY: 100}, (V.CANARY,)),
        (
            division.Division(80, 15, 5),
            {V.PRIMARY: 80, V.CANARY: 15, V.BASELINE: 5},
            (V.PRIMARY, V.CANARY, V.BASELINE),
        ),
        (division.Division(match=(MATCH,)), {V.PRIMARY: 100}, (V.PRIMARY, V.CANARY)),
        (division.Division(mirror=5), {V.PRIMARY: 100}, (V.PRIMARY, V.CANARY)),
    ],
)
def test_who_needs_pods_for_a_division(
    wanted: division.Division, shares: dict[V, int], needed: tuple[V, ...]
) -> None:
    assert wanted.shares == shares
    assert wanted.needed == needed


def test_primarys_cookie_lives_for_flaggers_interval() -> None:
    assert division.Division().interval == timedelta(minutes=1)


def test_options_become_a_division() -> None:
    options = traffic_stages.TrafficOptions(
        70, 20, 10, match=(MATCH,), mirror=5, session_affinity=AFFINITY
    )
    assert division.of(options) == division.Division(
        70, 20, 10, match=(MATCH,), mirror=5, affinity=AFFINITY
    )


def test_observed_shares_leave_out_who_gets_nothing() -> None:
    assert division.Observed(60, 40).shares == {V.PRIMARY: 60, V.CANARY: 40}


def test_a_release_has_ten_letters_of_its_own() -> None:
    token = division.token("shop", "abc")
    assert token == division.token("shop", "abc")
    assert len(token) == 10
    assert token.isalpha()
    assert token.islower()
    assert len({token, division.token("shop", "abd"), division.token("cart", "abc")}) == 3
