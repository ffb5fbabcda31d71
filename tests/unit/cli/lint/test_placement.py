"""`volary lint --fleet` finds what would keep a run from being placed."""

import pytest

from volary.cli.lint import linting
from volary.config.crosscheck import lint
from volary.model import errors
from volary.model.fleet import fleets

MEMBERS = fleets.Fleet(
    (fleets.Cluster("us", region="us"), fleets.Cluster("eu", region="eu"), fleets.Cluster("asia"))
)
HEAD = "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: shop}\nspec:\n"
SPREAD = "  placement:\n    spread: [{by: region, minGroups: %d}]\n"
WAVES = "  waves:\n  - {name: first, targets: {names: [us, eu]}}\n"


def found(spec: str, members: fleets.Fleet = MEMBERS) -> list[errors.Problem]:
    loaded = lint.load_applications({"shop/volary.yaml": HEAD + spec})
    return list(linting.placement_findings(loaded, members))


def test_a_spread_that_the_fleet_cannot_meet_is_an_error_at_its_line() -> None:
    [wrong] = found(SPREAD % 3)

    assert wrong.message == (
        "the spread cannot be met: at least 3 by region are needed, 2 qualify: eu, us"
    )
    assert wrong.hint == "lower minGroups, or add clusters to the fleet"
    assert (wrong.where.file, wrong.where.line) == ("shop/volary.yaml", 6)
    assert wrong.severity is errors.Severity.ERROR


def test_a_cluster_in_no_wave_is_an_error_at_the_waves() -> None:
    [wrong] = found(WAVES)

    assert wrong.message == "asia is in no wave"
    assert (wrong.where.file, wrong.where.line) == ("shop/volary.yaml", 5)


@pytest.mark.parametrize(
    "spec", [SPREAD % 2, WAVES + "  unmatchedClusters: last\n", SPREAD % 2 + WAVES, "  {}\n"]
)
def test_what_can_be_placed_is_not_told(spec: str) -> None:
    """The one without a region is not taken by a spread by regions, so it needs no wave."""
    assert not found(spec)


def test_a_fleet_without_a_cluster_for_it_is_told_elsewhere() -> None:
    assert not found(SPREAD % 2, fleets.Fleet(()))
