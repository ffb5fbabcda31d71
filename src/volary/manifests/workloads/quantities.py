"""Kubernetes quantities: ``1536Mi`` and ``1.5Gi`` are one value."""

import re
from decimal import Decimal

_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))(?:[eE]([-+]?\d{1,3})|([KMGTPE]i|[numkMGTPE]))?")
_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_LONGEST = 64

#: Maps whose values are quantities, and fields that are one.
_MAPS = frozenset(
    {
        "limits",
        "requests",
        "capacity",
        "allocatable",
        "hard",
        "overhead",
        "default",
        "defaultRequest",
        "max",
        "min",
        "maxLimitRequestRatio",
    }
)
_FIELDS = frozenset({"sizeLimit", "divisor", "averageValue", "storage"})


def parse(value: object) -> Decimal | None:
    """Return the value of a quantity; None when it is none."""
    text = str(value)
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    result = Decimal(number)
    if exponent:
        result = result.scaleb(int(exponent))
    return result * _SUFFIXES[suffix] if suffix else result


def expected(path: tuple[str | int, ...]) -> bool:
    """Say whether the built-in kinds hold a quantity at this path."""
    if not path:
        return False
    return path[-1] in _FIELDS or (len(path) > 1 and path[-2] in _MAPS)
