"""How much more looks scatter than independent events, and that tests heed it."""

import random
from datetime import timedelta

import pytest

from volary.analysis.planning import rule_plans, traffic
from volary.analysis.statistics import dispersion
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


def units(generator: random.Random, number: int, spread: float) -> list[dispersion.Unit]:
    return [dispersion.Unit(generator.gauss(0, spread), 1.0) for _ in range(number)]


@pytest.mark.parametrize(("spread", "low", "high"), [(1, 1, 1.6), (3, 6, 15), (6, 25, 60)])
def test_the_scale_is_that_of_the_variance(spread: float, low: float, high: float) -> None:
    generator = random.Random(1)

    assert low <= dispersion.scale([units(generator, 100, spread)]) <= high


def test_looks_that_remember_those_before_have_a_greater_scale() -> None:
    generator, state, seen = random.Random(2), 0.0, []
    for _ in range(200):
        state = 0.9 * state + (1 - 0.9**2) ** 0.5 * generator.gauss(0, 1)
        seen.append(dispersion.Unit(state, 1.0))

    # Of its sum the variance is (1 + 0.9) / (1 - 0.9) times as much.
    assert 8 < dispersion.scale([seen]) < 40


def test_an_effect_that_is_there_all_the_time_is_no_scatter() -> None:
    units = [dispersion.Unit(5.0, 1.0)] * 30

    assert dispersion.scale([units]) < 1.1
    assert dispersion.scale([]) == dispersion.scale([[dispersion.Unit(0.0, 0.0)]]) == 1


@pytest.mark.parametrize(
    ("overdispersion", "memory", "most"),
    [(0.001, 0.0, 0.1), (0.01, 0.0, 0.2), (0.05, 0.0, 0.25)],
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

    assert found >= 7
