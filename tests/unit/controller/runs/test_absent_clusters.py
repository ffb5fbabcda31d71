"""A release goes on without half of its clusters at most."""

import pytest

from volary.controller.runs import release_plans
from volary.model import applications
from volary.model.fleet import fleets, taints

LOST = taints.Taint(taints.UNREACHABLE, by=taints.BY_RULE)
BY_HAND = taints.Taint(taints.CORDONED, by="ana")


def members(well: int, lost: int, cordoned: int = 0) -> fleets.Fleet:
    marks = [()] * well + [(LOST,)] * lost + [(BY_HAND,)] * cordoned
    return fleets.Fleet(
        tuple(fleets.Cluster(f"c{place}", taints=each) for place, each in enumerate(marks))
    )


@pytest.mark.parametrize(
    ("well", "lost", "cordoned", "waits"),
    [(1, 0, 0, False), (1, 1, 0, False), (0, 1, 0, True), (1, 2, 0, True), (1, 1, 5, False)],
)
def test_more_than_half_lost_is_too_many(well: int, lost: int, cordoned: int, waits: bool) -> None:
    found = release_plans.why_wait_for_clusters(
        applications.Application("shop"), members(well, lost, cordoned)
    )

    assert bool(found) is waits


def test_it_says_who() -> None:
    found = release_plans.why_wait_for_clusters(applications.Application("shop"), members(1, 7))

    assert found.startswith(
        "7 of 8 clusters are not ready or do not answer (c1, c2, c3, c4, c5 and"
    )


def test_who_tolerates_it_is_not_held_up() -> None:
    tolerant = taints.Toleration(operator=taints.TolerationOperator.EXISTS)

    app = applications.Application("shop", tolerations=(tolerant,))

    assert release_plans.why_wait_for_clusters(app, members(1, 7)) == ""
