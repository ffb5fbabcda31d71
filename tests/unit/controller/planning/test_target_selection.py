"""The clusters of a run, after spread and what has moved."""

import pytest

from volary.config.text import yaml
from volary.controller.planning import target_selection
from volary.model import applications, errors
from volary.model.fleet import fleets, taints
from volary.model.placement import spread_constraints
from volary.placement.failover import situations
from volary.planner import targets

CORDON = taints.Taint(taints.CORDONED, by="ana", reason="1.36")
SPREAD = applications.Application(
    "shop", spread=(spread_constraints.Constraint(min_groups=2, max_groups=2),)
)


def members(*names: str, cordoned: str = "") -> fleets.Fleet:
    return fleets.Fleet(
        tuple(fleets.Cluster(name, taints=(CORDON,) if name == cordoned else ()) for name in names)
    )


def narrowed(
    app: applications.Application, clusters: fleets.Fleet, placement: situations.PlacementState
) -> tuple[targets.Selection, tuple[str, ...]]:
    return target_selection.narrow(app, targets.select(app, clusters), placement, clusters)


def test_a_run_goes_where_the_spread_says_and_says_who_is_left_out() -> None:
    selection, chosen = narrowed(SPREAD, members("us", "eu", "asia"), situations.PlacementState())

    assert selection.names == chosen == ("eu", "asia")
    assert [str(each.message) for each in selection.warnings] == [
        "not deployed to us (at most 2 by cluster: eu, asia come first)"
    ]


def test_a_cordoned_cluster_keeps_its_place_although_the_run_passes_over_it() -> None:
    clusters = members("us", "eu", "asia", cordoned="us")

    selection, chosen = narrowed(SPREAD, clusters, situations.PlacementState(("us", "eu")))

    assert selection.names == ("eu",)
    assert chosen == ("us", "eu")


def test_where_it_left_a_run_does_not_bring_it_back_to() -> None:
    plain = applications.Application("shop")
    placement = situations.PlacementState(("us",), away={"eu": "it was flooded"})

    selection, chosen = narrowed(plain, members("us", "eu"), placement)

    assert selection.names == chosen == ("us",)
    assert "not deployed to eu (it moved away: it was flooded)" in selection.warnings[0].message


def test_a_spread_that_cannot_be_met_refuses_the_run() -> None:
    selection, _ = narrowed(SPREAD, members("us"), situations.PlacementState())

    with pytest.raises(errors.UserError) as refused:
        selection.require()

    assert [each.message for each in refused.value.problems] == [
        "the spread cannot be met: at least 2 by cluster are needed, 1 qualifies: us"
    ]
    assert refused.value.problems[0].hint == "lower minGroups, or add clusters to the fleet"


def test_a_spread_that_cannot_be_met_is_said_with_its_line() -> None:
    [document] = yaml.load_all("spec:\n  placement:\n    spread: [{minGroups: 2}]\n", "volary.yaml")
    clusters = members("us")
    chosen = targets.select(SPREAD, clusters)

    selection, _ = target_selection.narrow(
        SPREAD, chosen, situations.PlacementState(), clusters, document
    )

    [wrong] = [each for each in selection.problems if each.severity is errors.Severity.ERROR]
    assert str(wrong.where) == "volary.yaml:3: spec.placement.spread"
