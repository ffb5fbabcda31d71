"""What a histogram's buckets cannot tell is no difference."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.analysis.verdicts import bucket_bounds, rule_verdicts
from volary.model import analysis
from volary.model.analysis import Deviation, Judgement, Result, Role, Strategy

START, MINUTE = datetime(2030, 1, 1, tzinfo=UTC), timedelta(minutes=1)
RULE = analysis.Rule(
    "p99",
    interval=MINUTE,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
)
LOOKS = 20


def series(
    canary: float,
    baseline: float,
    *bounds: float,
    reading: analysis.Reading = analysis.Reading.VALUES,
    target: str = "us",
) -> analysis.Series:
    """Every look the same, and the bucket known from the first one on."""
    measured = [
        analysis.Measurement(
            RULE.name, "q", START + MINUTE * number, target, variant, role, (value,)
        )
        for number in range(1, LOOKS + 1)
        for variant, role, value in (
            ("canary", Role.JUDGED, canary),
            ("baseline", Role.REFERENCE, baseline),
        )
    ]
    if bounds:
        first = replace(
            measured[0], variant="baseline", role=Role.BUCKET, values=bounds, reading=reading
        )
        measured.append(first)
    end = START + LOOKS * MINUTE
    return analysis.Series(START, end, end, target, tuple(measured))


def judged(rule: analysis.Rule, one: analysis.Series) -> analysis.Verdict:
    return rule_verdicts.judge(rule, one, one.ends)


@pytest.mark.parametrize("ratio", [None, 1.1])
@pytest.mark.parametrize("judgement", Judgement)
def test_a_difference_within_a_bucket_condemns_nobody(
    ratio: float | None, judgement: Judgement
) -> None:
    rule = replace(RULE, ratio_limit=ratio, judgement=judgement)

    assert judged(rule, series(0.49, 0.3)).result is Result.FAIL or judgement is Judgement.EACH
    assert judged(rule, series(0.49, 0.3, 0.25, 0.5)).result is not Result.FAIL


def test_a_difference_beyond_the_bucket_still_does_and_says_how_much_is_told() -> None:
    verdict = judged(RULE, series(0.6, 0.4, 0.25, 0.5))

    assert verdict.result is Result.FAIL
    assert verdict.sentence.endswith(
        "baseline's is in the bucket from 0.25 to 0.5, within which nothing can be told"
    )


def test_the_first_bucket_is_as_wide_as_up_to_its_end() -> None:
    """Three times as much is above it, however small its lower bound is."""
    resolved = bucket_bounds.resolved(RULE, [series(3, 0.99, 1e-9, 1)])
    assert resolved.allowed_ratio == pytest.approx(1 / 0.99, rel=0.05)
    assert judged(RULE, series(3, 0.99, 1e-9, 1)).result is Result.FAIL


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (RULE, 1.25),
        (replace(RULE, minimum_effect=1.0), 2),
        (replace(RULE, ratio_limit=1.1), 1.25),
        (replace(RULE, ratio_limit=3.0), 3),
        (replace(RULE, deviation=Deviation.LOW), 0.625),
        (replace(RULE, deviation=Deviation.LOW, ratio_limit=0.9), 0.625),
        (replace(RULE, deviation=Deviation.EITHER), 1.6),
        (replace(RULE, minimum_effect=0.0), 1),
    ],
)
def test_so_much_is_allowed_at_least(rule: analysis.Rule, allowed: float) -> None:
    """From 0.25 to 0.5, where the other side is at 0.4."""
    resolved = bucket_bounds.resolved(rule, [series(0.4, 0.4, 0.25, 0.5)])

    assert resolved.allowed_ratio == pytest.approx(allowed)
    assert bool(bucket_bounds.words(resolved, [series(0.4, 0.4, 0.25, 0.5)])) is (
        allowed not in (1, 2, 3)
    )


def test_of_several_clusters_the_widest_counts() -> None:
    several = [series(0.4, 0.4, 0.25, 0.5), series(4, 3, 2.5, 6, target="eu"), series(1, 1)]
    resolved = bucket_bounds.resolved(RULE, several)

    assert resolved.allowed_ratio == pytest.approx(2)
    assert "from 2.5 to 6" in bucket_bounds.words(resolved, several)


@pytest.mark.parametrize(
    "known",
    [
        series(0.4, 0.4),
        series(0.4, 0.4, 1, 2),
        series(0.4, 0.4, 0.4, 0.4),
        series(0.4, 0.4, 0.25, 0.5, reading=analysis.Reading.ERROR),
    ],
)
def test_what_is_not_known_changes_nothing(known: analysis.Series) -> None:
    """No answer; another bucket than the values are in; above the highest one."""
    assert bucket_bounds.resolved(RULE, [known]) == RULE
    assert bucket_bounds.words(RULE, [known]) == ""
