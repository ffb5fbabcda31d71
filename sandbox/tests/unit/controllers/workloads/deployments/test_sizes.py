"""How many pods a Deployment may have."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.controllers.workloads.deployments import sizes


def _deployment(replicas: int, surge: int | str, unavailable: int | str) -> dict[str, Any]:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return {"spec": {"replicas": replicas, "strategy": strategy}}


def _replica_set(replicas: int, **annotations: int) -> dict[str, Any]:
    written = {getattr(sizes, key): str(value) for key, value in annotations.items()}
    return {"metadata": {"annotations": written}, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (2, "25%", "25%", (1, 0)),
        (4, "25%", "25%", (1, 1)),
        (10, "25%", "25%", (3, 2)),
        (3, 0, 0, (0, 1)),
        (1, "0%", "10%", (0, 1)),
        (3, 2, 5, (2, 3)),
    ],
)
def test_surge_is_rounded_up_and_unavailability_down(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    deployment = _deployment(replicas, surge, unavailable)

    assert (sizes.max_surge(deployment), sizes.max_unavailable(deployment)) == expected


def test_nothing_may_be_unavailable_of_nothing() -> None:
    assert sizes.max_unavailable(_deployment(0, "25%", "25%")) == 0


def test_recreate_has_no_surge() -> None:
    assert sizes.max_surge({"spec": {"replicas": 4, "strategy": {"type": "Recreate"}}}) == 0


@given(
    replicas=st.integers(0, 40),
    surge=st.integers(0, 10),
    old=st.integers(0, 60),
    new=st.integers(0, 40),
)
def test_the_new_size_stays_within_wanted_and_surge(
    replicas: int, surge: int, old: int, new: int
) -> None:
    """Growing never passes the wanted size, nor the surge over all ReplicaSets."""
    new = min(new, replicas)
    deployment = _deployment(replicas, surge, 1)

    size = sizes.new_size(deployment, _replica_set(new), [_replica_set(old)])

    assert new <= size <= replicas
    assert size == new or size + old <= replicas + surge


def test_proportions_follow_the_sizes() -> None:
    deployment = _deployment(20, 0, 1)
    old = _replica_set(6, MAXIMUM=10)

    assert sizes.proportion(deployment, old, to_add=10, added=0) == 6


def test_proportions_never_pass_what_is_left() -> None:
    deployment = _deployment(20, 0, 1)
    old = _replica_set(6, MAXIMUM=10)

    assert sizes.proportion(deployment, old, to_add=10, added=9) == 1
