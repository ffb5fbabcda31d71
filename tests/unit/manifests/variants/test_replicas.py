import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.manifests.variants import variants
from volary.model.pipeline.stage_kinds import rollout_stages


@pytest.mark.parametrize(
    ("percent", "total", "expected"),
    [(50, 10, 5), (50, 3, 2), (33, 10, 4), (25, 10, 3), (10, 3, 1), (100, 7, 7), (0, 7, 1)],
)
def test_percentages_are_rounded_up(percent: int, total: int, expected: int) -> None:
    assert variants.calculate_replicas(rollout_stages.Replicas(percent, True), total) == expected


def test_zero_and_nothing_mean_the_default() -> None:
    assert variants.calculate_replicas(None, 9) == 1
    assert variants.calculate_replicas(rollout_stages.Replicas(0), 9) == 1
    assert variants.calculate_replicas(rollout_stages.Replicas(3), 9) == 3


@given(st.integers(1, 100), st.integers(0, 100_000))
def test_a_share_is_never_more_than_one_pod_too_many(percent: int, total: int) -> None:
    found = variants.calculate_replicas(rollout_stages.Replicas(percent, True), total)

    assert found == math.ceil(percent * total / 100)
    assert 0 <= found - percent * total / 100 < 1
