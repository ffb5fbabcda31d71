"""Resource quantities (``500m``, ``1.5Gi``, ``2e3``): exact values and the canonical form.

The rules are those of the ``resource.Quantity`` type: a value keeps its family of
suffixes, has the largest suffix that leaves no fraction, and no more precision
than a nano.
"""

import functools
import re
from fractions import Fraction

PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"

_NUMBER = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(.*)\Z", re.DOTALL)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)\Z")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_LARGEST_FIRST = sorted(((power, suffix) for suffix, power in _DECIMAL.items()), reverse=True)
_BINARY_LARGEST_FIRST = sorted(((power, suffix) for suffix, power in _BINARY.items()), reverse=True)
_MAXIMUM = Fraction(2**63 - 1)
_CHARACTERS = re.compile(PATTERN)
#: Exponents beyond this are nonsense and would only cost memory.
_MAXIMUM_EXPONENT = 40


class QuantityError(ValueError):
    """The text is no quantity; the message is the server's."""


def _split(text: str) -> tuple[Fraction, str]:
    if not text or not _CHARACTERS.match(text):
        raise QuantityError(f"quantities must match the regular expression '{PATTERN}'")
    match = _NUMBER.match(text)
    if match is None:
        raise QuantityError(f"quantities must match the regular expression '{PATTERN}'")
    sign, digits, suffix = match.groups()
    number = Fraction(digits if not digits.endswith(".") else digits[:-1])
    return (-number if sign == "-" else number), suffix


def _power_of_ten(exponent: int) -> Fraction:
    return Fraction(10**exponent) if exponent >= 0 else Fraction(1, 10**-exponent)


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Fraction:
    """Return the exact value of a quantity.

    Raises:
        QuantityError: It is none.
    """
    number, suffix = _split(text)
    if suffix in _DECIMAL:
        return number * _power_of_ten(_DECIMAL[suffix])
    if suffix in _BINARY:
        return number * (1 << _BINARY[suffix])
    exponent = _EXPONENT.match(suffix)
    if exponent is None or abs(int(exponent[1])) > _MAXIMUM_EXPONENT:
        raise QuantityError("unable to parse quantity's suffix")
    return number * _power_of_ten(int(exponent[1]))


def _family(text: str) -> str:
    suffix = text.lstrip("+-0123456789.")
    if suffix in _BINARY:
        return "binary"
    return "exponent" if _EXPONENT.match(suffix) else "decimal"


def _rounded(value: Fraction) -> Fraction:
    """Round away from zero to a nano, and cap at the largest 64-bit number."""
    if value.denominator != 1:
        scaled = value * 10**9
        if scaled.denominator != 1:
            whole = abs(scaled.numerator) // scaled.denominator + 1
            value = Fraction(whole if value > 0 else -whole, 10**9)
    return max(min(value, _MAXIMUM), -_MAXIMUM)


def _write_decimal(value: Fraction) -> str:
    for power, suffix in _LARGEST_FIRST:
        scaled = value / _power_of_ten(power)
        if scaled.denominator == 1:
            return f"{scaled.numerator}{suffix}"
    raise AssertionError("a rounded value is a whole number of nanos")


def _write_binary(value: Fraction) -> str:
    if value.denominator != 1 or abs(value) < 1024:
        # Fractions and small numbers leave the family, so that no precision is lost.
        return _write_decimal(value)
    for power, suffix in _BINARY_LARGEST_FIRST:
        if value % 2**power == 0:
            return f"{value.numerator >> power}{suffix}"
    return str(value.numerator)


def _write_exponent(value: Fraction) -> str:
    for power, _ in _LARGEST_FIRST:
        scaled = value / _power_of_ten(power)
        if scaled.denominator == 1:
            return f"{scaled.numerator}e{power}" if power else str(scaled.numerator)
    return _write_decimal(value)


@functools.lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """Return a quantity as the server writes it back: ``0.5`` → ``500m``, ``1024Mi`` → ``1Gi``.

    Raises:
        QuantityError: It is none.
    """
    value = _rounded(parse(text))
    if value == 0:
        return "0"
    family = _family(text)
    if family == "binary":
        return _write_binary(value)
    return _write_exponent(value) if family == "exponent" else _write_decimal(value)


def write(value: Fraction | int, *, like: str = "") -> str:
    """Return a quantity for a number, decimal unless it shall be `like` a binary one."""
    rounded = _rounded(Fraction(value))
    if rounded == 0:
        return "0"
    return _write_binary(rounded) if _family(like) == "binary" else _write_decimal(rounded)


def to_integer(text: str) -> int:
    """Return the value rounded away from zero to a whole number (in Go: ``Quantity.Value``)."""
    value = parse(text)
    if value.denominator == 1:
        return value.numerator
    whole = abs(value.numerator) // value.denominator + 1
    return whole if value > 0 else -whole
