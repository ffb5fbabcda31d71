"""Quantities: exact values, and the form the server writes back."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schema_samples as samples
from kube_sandbox.apimachinery.meta import quantities


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("0.5", "500m"),
        ("1", "1"),
        ("1000", "1k"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1500m", "1500m"),
        ("2000m", "2"),
        ("100M", "100M"),
        ("2e3", "2e3"),
        ("12e4", "120e3"),
        ("0", "0"),
        ("0Gi", "0"),
        ("-1", "-1"),
        ("+2", "2"),
        ("0.1n", "1n"),
        ("0.05Gi", "53687091200m"),
        (".5", "500m"),
        ("5.", "5"),
    ],
)
def test_the_canonical_form_is_the_servers(written: str, canonical: str) -> None:
    assert quantities.canonical(written) == canonical


@pytest.mark.parametrize("text", ["", "abc", "--1", "1 Gi", "Gi"])
def test_what_is_no_quantity_is_refused_by_its_pattern(text: str) -> None:
    with pytest.raises(quantities.QuantityError, match="must match the regular expression"):
        quantities.parse(text)


@pytest.mark.parametrize("text", ["1Kb", "1ki", "1e999999999", "1KiKi", "1.2.3", "1\n"])
def test_unknown_suffixes_are_refused(text: str) -> None:
    with pytest.raises(quantities.QuantityError):
        quantities.parse(text)


@samples.BOUNDED
@given(
    st.integers(-(10**15), 10**15),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2"]),
)
def test_canonical_is_stable_and_keeps_the_value(number: int, suffix: str) -> None:
    """The canonical form means the same, to a nano and below the cap, and is its own."""
    text = f"{number}{suffix}"
    value = quantities.parse(text)
    canonical = quantities.canonical(text)

    assert quantities.canonical(canonical) == canonical
    if abs(value) < 2**63 and (value * 10**9).denominator == 1:
        assert quantities.parse(canonical) == value


def test_whole_numbers_round_away_from_zero() -> None:
    assert quantities.to_integer("1500m") == 2
    assert quantities.to_integer("-1500m") == -2
    assert quantities.to_integer("3") == 3


def test_a_number_becomes_a_decimal_quantity() -> None:
    assert quantities.write(Fraction(1, 4)) == "250m"
    assert quantities.write(0) == "0"
