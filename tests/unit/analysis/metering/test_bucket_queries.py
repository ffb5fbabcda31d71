"""Queries for the bounds of a bucket, made from queries for a quantile."""

import pytest

from volary.analysis.metering import bucket_queries

BUCKETS = 'sum by (le) (rate(seconds_bucket{path="/a,b)"}[1m]))'


def test_the_bounds_are_in_the_units_of_the_query() -> None:
    found = bucket_queries.bounds(f"1000 * histogram_quantile( 0.99 , {BUCKETS} ) + 0")

    assert found is not None
    reached = (
        f"({BUCKETS}) >= bool ignoring (le) group_left () (0.99 * max without (le) ({BUCKETS}))"
    )
    assert found.high == f"1000 * histogram_quantile(1, {reached}) + 0"
    assert found.low == f"1000 * histogram_quantile(1e-9, {reached}) + 0"


@pytest.mark.parametrize(
    "query",
    [
        "rate(seconds_sum[1m]) / rate(seconds_count[1m])",
        f"histogram_quantile(0.99, {BUCKETS}) / histogram_quantile(0.5, {BUCKETS})",
        f"histogram_quantile(scalar(x), {BUCKETS})",
        f"histogram_quantile(0.99, {BUCKETS}",
        "histogram_quantile(0.99)",
        f"histogram_quantile(0.99, {BUCKETS}, 3)",
        "",
    ],
)
def test_what_is_not_one_quantile_of_one_histogram_has_none(query: str) -> None:
    assert bucket_queries.bounds(query) is None


@pytest.mark.parametrize(
    ("query", "is_one"),
    [
        ("histogram_quantile (0.9, x)", True),
        ("my_histogram_quantile(0.9, x)", False),
        ("histogram_quantiles", False),
    ],
)
def test_a_quantile_is_known_by_its_function(query: str, is_one: bool) -> None:
    assert bucket_queries.is_quantile(query) is is_one
