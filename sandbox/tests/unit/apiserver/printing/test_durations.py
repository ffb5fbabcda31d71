"""Ages as kubectl shows them."""

import pytest

from kube_sandbox.apiserver.printing import durations


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-0.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 300, "3h5m"),
        (8 * 3600 + 60, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (53 * 3600, "2d5h"),
        (8 * 86_400, "8d"),
        (800 * 86_400, "2y70d"),
        (10 * 365 * 86_400, "10y"),
    ],
)
def test_short(seconds: float, text: str) -> None:
    assert durations.short(seconds) == text


def test_an_age_without_a_date_is_unknown() -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert durations.age(None, now) == "<unknown>"
    assert durations.age("2025-12-31T23:59:30Z", now) == "30s"
