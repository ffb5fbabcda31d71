"""The power of looks at each frequency, and which weather that fits; compared with SciPy."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import fft, stats

from volary.analysis.statistics import spectra

excesses = st.lists(st.floats(-50, 50), min_size=2, max_size=33)


def units(values: Sequence[float], variance: float = 2.0) -> list[spectra.Unit]:
    return [spectra.Unit(value, variance) for value in values]


@given(excesses)
def test_powers_are_those_of_the_cosine_transform(values: list[float]) -> None:
    found = spectra.spectrum(units(values), with_step=False)

    wanted = fft.dct(values, type=2, norm="ortho")[1:] ** 2 / 2
    assert found.powers == pytest.approx(wanted, abs=1e-6)
    assert found.looks == len(values)
    assert found.variance == 2


@given(st.lists(st.floats(-50, 50), min_size=40, max_size=90))
def test_all_power_is_counted(values: list[float]) -> None:
    """That of the fast frequencies, which are taken as one, too."""
    found = spectra.spectrum(units(values), with_step=False)

    *slow, fast = found.powers
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values) / 2
    assert sum(slow) + fast * (len(values) - 1 - len(slow)) == pytest.approx(squares, abs=1e-6)


@given(excesses, st.floats(-20, 20), st.floats(0.1, 10))
def test_an_effect_that_stays_the_same_and_the_unit_change_nothing(
    values: list[float], effect: float, unit: float
) -> None:
    moved = [unit * (value + effect) for value in values]

    plain = spectra.spectrum(units(values), with_step=False)
    other = spectra.spectrum(units(moved, 2 * unit**2), with_step=False)

    assert other.powers == pytest.approx(plain.powers, abs=1e-5)


@given(excesses, st.sampled_from([0.0, 0.5, 0.95]), st.floats(0, 20))
def test_direction_and_the_way_of_time_change_nothing(
    values: list[float], memory: float, part: float
) -> None:
    plain = spectra.spectrum(units(values), with_step=False).log_likelihoods([(part, memory)])
    for others in ([-value for value in values], values[::-1]):
        found = spectra.spectrum(units(others), with_step=False).log_likelihoods([(part, memory)])
        assert found == pytest.approx(plain, abs=1e-6)


@given(excesses, st.floats(0, 20))
def test_without_a_memory_the_likelihood_is_that_of_the_normal_distribution(
    values: list[float], part: float
) -> None:
    """Of what is left without the mean, apart from what does not depend on the weather."""
    [found] = spectra.spectrum(units(values), with_step=False).log_likelihoods([(part, 0.0)])

    deviation = math.sqrt(2 * (1 + 2 * part))
    mean = sum(values) / len(values)
    density = float(stats.norm(mean, deviation).logpdf(values).sum())
    # One dimension is the mean's.
    density += math.log(deviation) + (len(values) - 1) / 2 * math.log(2 * math.pi * 2)
    assert found == pytest.approx(density + math.log(2 * math.pi) / 2, abs=1e-6)


@pytest.mark.parametrize(("looks", "memory"), [(1, 0.9), (7, 0.0), (7, 0.5), (20, 0.95)])
def test_the_correlation_is_the_mean_of_all(looks: int, memory: float) -> None:
    every = [memory ** abs(one - other) for one in range(looks) for other in range(looks)]

    assert spectra.correlation(looks, memory) == pytest.approx(sum(every) / looks**2)


def test_one_step_is_no_weather_and_several_are() -> None:
    """A release that turns bad has one."""
    generator = random.Random(1)

    def fits(levels: Sequence[float]) -> bool:
        """Whether weather is less likely than none."""
        looks = units([level + generator.gauss(0, 1) for level in levels], 1.0)
        found = spectra.spectrum(looks, with_step=True)
        weather, none = found.log_likelihoods([(10, 0.95), (0, 0)])
        return weather < none

    assert fits([0.0] * 30)
    assert fits([0.0] * 20 + [6.0] * 10)
    assert fits([0.0] * 28 + [8.0] * 2)
    assert not fits([0.0, 0.0, 0.0, 6.0, 6.0, 6.0] * 5)
