"""How much more looks scatter than independent events, and that tests heed it."""

import dataclasses
import random
import statistics
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.planning import rule_plans, traffic
from volary.analysis.statistics import dispersion, spectra
from volary.model import analysis
from volary.model.analysis import Deviation, Judgement, Kind, Strategy

ERRORS = analysis.Rule(
    "errors",
    query="q",
    total_query="t",
    kind=Kind.PROPORTION,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
)


def compared(excesses: Sequence[float], variance: float = 1.0) -> dispersion.Series:
    """Return looks of which only the comparison is known."""
    return dispersion.Series([spectra.Unit(each, variance) for each in excesses], variance)


def waves(generator: random.Random, looks: int, memory: float) -> list[float]:
    """Draw from a normal distribution, with a memory."""
    state, found = generator.gauss(0, 1), []
    for _ in range(looks):
        found.append(state)
        state = memory * state + (1 - memory**2) ** 0.5 * generator.gauss(0, 1)
    return found


def sided(
    generator: random.Random, *sides: Sequence[float], variance: float = 20.0
) -> dispersion.Series:
    """Return looks at sides whose rates go up and down as is said, and by chance."""
    looks = []
    for rates in zip(*sides, strict=True):
        units = [
            spectra.Unit(variance * rate + generator.gauss(0, variance**0.5), variance)
            for rate in rates
        ]
        looks.append(dispersion.Sides(*units))
    differences = [dispersion.difference(each.first, each.second) for each in looks]
    return dispersion.Series(differences, variance / 2, looks)


@pytest.mark.parametrize(("spread", "low", "high"), [(1, 1, 1.6), (3, 6, 15), (6, 25, 60)])
def test_the_scale_is_that_of_the_variance(spread: float, low: float, high: float) -> None:
    generator = random.Random(1)
    seen = compared([generator.gauss(0, spread) for _ in range(100)])

    assert low <= dispersion.weather([seen]).scale <= high


def test_looks_that_remember_those_before_have_a_greater_scale() -> None:
    generator = random.Random(2)
    seen = compared([2 * each for each in waves(generator, 120, 0.95)])

    found = dispersion.weather([seen])
    # Of its sum the variance is (1 + 0.95) / (1 - 0.95) times as much.
    assert 60 < found.scale < 400
    assert found.slowness > 0.9


def test_an_effect_that_is_there_all_the_time_is_no_scatter() -> None:
    assert dispersion.weather([compared([5.0] * 30)]).scale < 1.1
    assert dispersion.weather([]) == dispersion.weather([compared([0.0], 0.0)])
    assert dispersion.weather([]).scale == 1


def test_a_release_that_turns_bad_does_not_hide_behind_its_jump() -> None:
    generator = random.Random(3)
    calm = [generator.gauss(0, 1) for _ in range(60)]
    late = [each + (8 if at >= 54 else 0) for at, each in enumerate(calm)]

    assert dispersion.weather([compared(late)]).scale < 2


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=30), st.floats(0.1, 20))
def test_which_side_is_worse_and_for_how_long_changes_nothing(
    excesses: list[float], variance: float
) -> None:
    found = dispersion.weather([compared(excesses, variance)])

    assert found.scale >= 1
    assert 0 <= found.slowness <= 1
    negated = dispersion.weather([compared([-each for each in excesses], variance)])
    assert negated.scale == pytest.approx(found.scale)


def test_what_both_sides_have_in_common_is_no_weather() -> None:
    """An outage behind both."""
    generator = random.Random(4)
    shared, own = waves(generator, 40, 0.5), waves(generator, 40, 0.5)

    together = dispersion.weather([sided(generator, shared, shared)])
    apart = dispersion.weather([sided(generator, shared, own)])

    assert together.scale < 2
    assert apart.scale > 20


def test_a_side_tells_of_its_weather_where_the_other_has_hardly_an_event() -> None:
    generator = random.Random(5)

    def slowness(rates: Sequence[float]) -> float:
        looks = [
            dispersion.Sides(
                spectra.Unit(30 * rate + generator.gauss(0, 30**0.5), 30.0),
                spectra.Unit(generator.gauss(0, 0.5**0.5), 0.5),
            )
            for rate in rates
        ]
        differences = [dispersion.difference(each.first, each.second) for each in looks]
        return dispersion.weather([dispersion.Series(differences, 8.0, looks)]).slowness

    assert slowness([0.0] * 20) < 0.2
    assert slowness(waves(generator, 20, 0.95)) > 0.4


def test_a_third_side_tells_of_the_weather_too() -> None:
    """A few looks at canary and baseline say little; with primary beside them they say more."""
    generator = random.Random(8)

    def told(sides: Sequence[Sequence[float]]) -> float:
        """How much greater the scale is with a third side."""
        both = dispersion.weather([sided(generator, *sides[:2])]).scale
        return dispersion.weather([sided(generator, *sides)]).scale / both

    calm = [told([[0.0] * 6] * 3) for _ in range(30)]
    windy = [told([[0.5 * each for each in waves(generator, 6, 0.5)] for _ in range(3)])
             for _ in range(30)]  # fmt: skip

    assert statistics.median(calm) < 1 < statistics.median(windy)


def test_weather_that_lasts_is_no_excuse_against_a_limit() -> None:
    generator = random.Random(6)
    seen = compared([2 * each for each in waves(generator, 60, 0.95)])
    limited = dataclasses.replace(seen, is_limited=True)

    assert dispersion.weather([limited]).slowness == 0
    assert dispersion.weather([limited]).scale < dispersion.weather([seen]).scale / 2


def test_many_looks_are_taken_together() -> None:
    generator = random.Random(7)
    excesses = [generator.gauss(0, 1) for _ in range(1000)]

    assert dispersion.weather([compared(excesses)]).scale < 1.5
    assert dispersion.weather([compared([5 * each for each in excesses])]).scale > 10


@pytest.mark.parametrize(
    ("overdispersion", "memory", "most"),
    [(0.001, 0.0, 0.1), (0.01, 0.0, 0.1), (0.05, 0.5, 0.15), (0.01, 0.9, 0.25)],
)
def test_false_alarms_where_errors_come_in_bursts(
    overdispersion: float, memory: float, most: float
) -> None:
    """Of 20 healthy releases at 10 requests a second and side, 20 looks; believed, half of them."""
    setting = rule_plans.Setting(
        traffic.Traffic(10, 10, overdispersion=overdispersion, autocorrelation=memory),
        timedelta(minutes=20),
        runs=20,
    )

    (healthy,) = rule_plans.outcomes(ERRORS, setting, (1.0,))

    assert healthy.failed <= most


def test_what_turns_bad_in_the_last_tenth_is_found() -> None:
    """54 good minutes of an hour, then five times the errors."""
    found = 0
    for seed in range(10):
        generator = random.Random(seed)
        good = traffic.release(
            ERRORS, traffic.Traffic(10, 10), timedelta(minutes=54), generator=generator
        )
        bad = traffic.release(
            ERRORS, traffic.Traffic(10, 10), timedelta(minutes=6), generator=generator, effect=5
        )
        late = tuple(
            analysis.Measurement(
                each.metric,
                each.query,
                each.time + timedelta(minutes=54),
                target=each.target,
                role=each.role,
                values=each.values,
                totals=each.totals,
            )
            for each in bad.measurements
        )
        history = analysis.Series(
            good.started,
            good.started + timedelta(minutes=60),
            good.started + timedelta(minutes=70),
            good.target,
            (*good.measurements, *late),
        )
        found += rule_plans.result(ERRORS, {"eu": history}, timedelta(minutes=60)) is (
            analysis.Result.FAIL
        )

    assert found >= 9
