"""A claim, and how what is measured is held against it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

#: Digits of what is measured.
_DIGITS = 4


class Relation(StrEnum):
    """How what is measured has to be to what is claimed."""

    AT_MOST = "≤"
    AT_LEAST = "≥"
    EXACTLY = "="


@dataclass(frozen=True, slots=True)
class Bound:
    """What is claimed."""

    relation: Relation
    value: float
    unit: str = ""
    #: Of what is claimed exactly and measured by chance.
    tolerance: float = 0.0

    def holds(self, measured: float) -> bool:
        """Say whether what was measured is as claimed; NaN never is."""
        match self.relation:
            case Relation.AT_MOST:
                return measured <= self.value
            case Relation.AT_LEAST:
                return measured >= self.value
            case Relation.EXACTLY:
                return abs(measured - self.value) <= self.tolerance

    def __str__(self) -> str:
        around = f" ± {number(self.tolerance)}" if self.tolerance else ""
        sign = "" if self.relation is Relation.EXACTLY else f"{self.relation} "
        return f"{sign}{number(self.value)}{around} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the page, or its decisive part, and what it promises."""

    #: As it stands on the page.
    sentence: str
    #: In what traffic, or of what, it was measured.
    where: str
    claimed: Bound
    measure: Callable[[], float]
    #: Measured by a test every time, in well under a second.
    is_quick: bool = False


def at_most(value: float, unit: str = "") -> Bound:
    return Bound(Relation.AT_MOST, value, unit)


def at_least(value: float, unit: str = "") -> Bound:
    return Bound(Relation.AT_LEAST, value, unit)


def exactly(value: float, unit: str = "", *, tolerance: float = 0.0) -> Bound:
    return Bound(Relation.EXACTLY, value, unit, tolerance)


def row(claim: Claim) -> tuple[str, ...]:
    """Measure, and return the row of the table."""
    # As it is written: another processor may have another last digit.
    measured = float(number(claim.measure()).replace(",", ""))
    ratio = f"{measured / claim.claimed.value:.2f}" if claim.claimed.value else "–"
    said = "yes" if claim.claimed.holds(measured) else "**no**"
    unit = f" {claim.claimed.unit}".rstrip()
    return (
        claim.sentence,
        claim.where,
        str(claim.claimed),
        f"{number(measured)}{unit}",
        ratio,
        said,
    )


def number(value: float) -> str:
    """Write a number with four digits, none of which is a rounding error's."""
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.{_DIGITS}g}") + 0.0
    return f"{rounded:,g}" if abs(rounded) < 1e6 else f"{rounded:,.0f}"
