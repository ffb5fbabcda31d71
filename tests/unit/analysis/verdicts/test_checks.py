"""One look by itself: what is said, and the numbers with it."""

from dataclasses import replace

import pytest

from verdict_world import COMPARED, THRESHOLD, measured
from volary.analysis.verdicts import checks
from volary.model import analysis
from volary.model.analysis import Deviation, Kind, Range, Result, Role


def looked(
    rule: analysis.Rule, values: list[float], others: list[float] | None = None
) -> analysis.Check:
    measurements = [measured(1, values)]
    if others is not None:
        measurements.append(measured(1, others, Role.REFERENCE))
    return checks.check(rule, measurements)


@pytest.mark.parametrize(
    ("deviation", "limit", "allowed"),
    [
        (Deviation.HIGH, 1.1, "at most 1.1 times is allowed"),
        (Deviation.LOW, 0.9, "at least 0.9 times is expected"),
        (Deviation.EITHER, 1.25, "0.8 to 1.25 times is allowed"),
        (Deviation.EITHER, 0.8, "0.8 to 1.25 times is allowed"),
    ],
)
def test_medians_are_held_to_a_ratio(deviation: Deviation, limit: float, allowed: str) -> None:
    rule = replace(COMPARED, ratio_limit=limit, deviation=deviation)

    check = looked(rule, [1.9, 2.0, 2.2], [1.9, 2.0])

    assert check.result is Result.PASS
    assert check.sentence == (
        f"canary has a median of 2, baseline 1.95, 1.026 times, where {allowed}"
    )
    assert check.numbers == analysis.Numbers(
        samples=3, reference_samples=2, value=2.0, reference=1.95, effect=2.0 / 1.95
    )


def test_a_look_that_is_enough_by_itself_speaks_of_no_others() -> None:
    check = looked(COMPARED, [5, 6, 7, 8], [1, 2, 3, 4])

    assert check.result is Result.FAIL
    assert " looks" not in check.sentence


def test_nothing_to_divide_by_is_no_ratio() -> None:
    check = looked(replace(COMPARED, ratio_limit=1.1), [1], [0])

    assert check.sentence == (
        "canary has a median of 1, baseline 0, where at most 1.1 times is allowed"
    )
    assert check.numbers.effect is None


@pytest.mark.parametrize(
    ("rule", "values", "others", "said"),
    [
        (THRESHOLD, [0.01], None, "1 of 3 values"),
        (COMPARED, [1, 2], [1, 2, 3], "2 of 3 samples on each side"),
        (replace(COMPARED, ratio_limit=1.1), [1, 2, 3], [1, 2], "2 of 3 values on each side"),
        (replace(THRESHOLD, kind=Kind.RATE), [1], None, "1 of 3 samples"),
    ],
)
def test_too_few_samples_say_nothing(
    rule: analysis.Rule, values: list[float], others: list[float] | None, said: str
) -> None:
    check = looked(replace(rule, minimum_samples=3), values, others)

    assert check.result is Result.INCONCLUSIVE
    assert check.sentence == f"too few samples to say anything: {said}"


@pytest.mark.parametrize(
    ("maximum", "result", "place"), [(0.5, Result.PASS, "within"), (0.4, Result.FAIL, "outside")]
)
def test_a_rate_is_held_to_its_range(maximum: float, result: Result, place: str) -> None:
    rule = replace(THRESHOLD, kind=Kind.RATE, expected=Range(maximum=maximum))

    check = looked(rule, [30])

    assert (check.result, check.numbers.samples, check.numbers.value) == (result, 1, 0.5)
    assert check.sentence == f"0.5 per second is {place} the expected ≤ {maximum:g}"


def test_of_several_values_out_of_range_the_first_is_shown() -> None:
    check = looked(THRESHOLD, [0.2, 0.01, 0.3, 0.4])

    assert check.result is Result.FAIL
    assert check.sentence == "0.2 is outside the expected ≤ 0.05, and so are 2 further values"
    assert (check.numbers.samples, check.numbers.value) == (4, 0.2)
