"""What a YAML scalar means to kubectl.

kubectl turns YAML into JSON with Go's YAML 1.1 reader and then reads the JSON,
which is neither YAML 1.1 nor 1.2: ``on``, ``y`` and ``n`` are booleans, ``0644``
is 420, ``1e3`` is a number, but ``1:30`` and dates stay text, and keys become
text. The rules here were checked against ``kubectl label --local -o json``.
"""

import base64
import binascii
import decimal
import math
import re
import struct

Scalar = str | int | float | bool | None

_STANDARD = "tag:yaml.org,2002:"
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULL = frozenset(["", "~", "null", "Null", "NULL"])
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([0-9]+))")
_BETWEEN = re.compile(r"(?<=[0-9])_(?=[0-9])")
_BASES = (16, 2, 8, 10)
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
#: Of an integer of 64 bits in any base; Python refuses to read very many.
_MOST_DIGITS = 64


class ScalarError(ValueError):
    """The scalar cannot become JSON; the message says why."""


def resolve(text: str, tag: str | None, *, plain: bool) -> Scalar:
    """Return the value of a scalar as kubectl would send it.

    Args:
        text: The scalar's text, with quotes and escapes already undone.
        tag: Its full tag; None when it has none.
        plain: It was written without quotes and without a tag.

    Raises:
        ScalarError: It is infinite, not a number, or does not fit its tag.
    """
    if tag is None:
        return _implicit(text) if plain else text
    if not tag.startswith(_STANDARD):
        return text
    return _tagged(text, tag.removeprefix(_STANDARD))


def key(text: str, tag: str | None, *, plain: bool) -> str:
    """Return a mapping key as text: JSON has no other keys.

    Raises:
        ScalarError: The key is null or a number that no key can be made of.
    """
    number = _parse_number(text) if plain and text else None
    if isinstance(number, float):
        return _go_float(number)
    value = number if number is not None else resolve(text, tag, plain=plain)
    if value is None:
        raise ScalarError("a key must not be null")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value > _LARGEST:
        raise ScalarError(f"the number {text} is too large for a key; put it in quotes")
    return str(value)


def from_json(value: int | float) -> int | float:
    """Return a number as kubectl holds it: 1.0 is the integer 1, 2^63 is a float.

    Go writes every number as JSON and reads it again, which loses what it was before.
    """
    if isinstance(value, float) and not (value.is_integer() and abs(value) < 1e21):
        return value
    # Through its shortest text, as Go writes it: 2^62 arrives as 4611686018427388000.
    whole = int(decimal.Decimal(repr(value)))
    return whole if _SMALLEST <= whole <= _LARGEST else float(value)


def _implicit(text: str) -> Scalar:
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if _NOT_FINITE.fullmatch(text):
        raise ScalarError(f"{text} is not a number JSON knows; put it in quotes if it is text")
    number = _parse_number(text)
    return text if number is None else from_json(number)


def _parse_number(text: str) -> int | float | None:
    if text[0] not in "+-.0123456789":
        return None
    # Go's float reader takes underscores between digits only; the integer path drops them all.
    digits = _BETWEEN.sub("", text) if text[0] == "." else text.replace("_", "")
    match = _INTEGER.fullmatch(digits)
    if match and (integer := _integer(match)) is not None:
        return integer
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return None if math.isinf(number) else number
    return None


def _integer(match: re.Match[str]) -> int | None:
    """Return what Go's ParseInt and ParseUint take; None for what it leaves to floats or text."""
    sign, *alternatives = match.groups()
    digits, base = next((d, b) for d, b in zip(alternatives, _BASES, strict=True) if d)
    if base == 10 and len(digits) > 1 and digits.startswith("0"):
        return None  # 08: not octal, so it is read as a float
    digits = digits.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None
    value = -int(digits, base) if sign == "-" else int(digits, base)
    return value if _SMALLEST <= value < 2**64 else None


def _tagged(text: str, tag: str) -> Scalar:
    if tag == "binary":
        return _binary(text)
    if tag not in {"int", "float", "bool", "null"}:
        return text
    value = _implicit(text)
    if not _fits(value, tag):
        raise ScalarError(f"{text!r} is not a !!{tag}")
    return value


def _fits(value: Scalar, tag: str) -> bool:
    if isinstance(value, bool):
        return tag == "bool"
    if isinstance(value, int):
        return tag in {"int", "float"}
    if isinstance(value, float):
        return tag == "float"
    return value is None and tag == "null"


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors="replace")
    except binascii.Error as error:
        raise ScalarError("!!binary is not valid base64") from error


def _go_float(value: float) -> str:
    """Format as Go's ``FormatFloat(value, 'g', -1, 32)``, which kubectl does for keys."""
    digits, exponent = _shortest(value)
    if exponent < -4 or exponent >= 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{fraction}e{exponent:+03d}"
    elif exponent < 0:
        text = "0." + "0" * (-exponent - 1) + digits
    else:
        whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
        text = f"{whole}.{fraction}" if fraction else whole
    return f"-{text}" if value < 0 else text


def _shortest(value: float) -> tuple[str, int]:
    """Return the fewest digits that give the same 32-bit float, and the exponent."""
    try:
        wanted = struct.pack("f", value)
    except OverflowError as error:
        raise ScalarError("the number is too large for a key; put it in quotes") from error
    text, rounded = "", abs(struct.unpack("f", wanted)[0])
    for precision in range(9):
        text = f"{rounded:.{precision}e}"
        if struct.pack("f", math.copysign(float(text), value)) == wanted:
            break
    mantissa, _, exponent = text.partition("e")
    return mantissa.replace(".", "").rstrip("0") or "0", int(exponent)
