"""Canary against baseline, and both against primary: is it the release, or that it is new? Pure.

Canary's pods are new, and so are baseline's, which run the version that primary runs. What both
have against primary (cold caches, few connections, a bad node pool) is not the release's. Failing
takes two tests, against baseline and against primary, so the chance of a false alarm is at most
that of either, and nothing has to be shared between them.

The side that is not compared tells as well how much the metric goes up and down by itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from volary.analysis.verdicts import samples
from volary.model.analysis import Result


class Finding(StrEnum):
    """What a comparison of two sides says."""

    WORSE = "worse"
    #: Not worse, and it would have been seen.
    ALIKE = "alike"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the three comparisons come to."""

    result: Result
    #: In half a sentence.
    reason: str


_WORSE, _ALIKE, _UNKNOWN, _ANY = Finding.WORSE, Finding.ALIKE, Finding.UNKNOWN, None
#: What canary against baseline, canary against primary and baseline against primary say, and what
#: that comes to: the first row that fits. "How Volary decides" has the same table.
_DECISIONS = (
    (
        (_WORSE, _WORSE, _ANY),
        Decision(Result.FAIL, "worse than both, so it is the release"),
    ),
    (
        (_WORSE, _ANY, _ANY),
        Decision(
            Result.INCONCLUSIVE, "worse than baseline, and not known to be worse than primary"
        ),
    ),
    (
        (_UNKNOWN, _ANY, _ANY),
        Decision(Result.INCONCLUSIVE, "too little beside baseline"),
    ),
    (
        (_ALIKE, _ALIKE, _ANY),
        Decision(Result.PASS, "worse than neither"),
    ),
    (
        (_ALIKE, _UNKNOWN, _ANY),
        Decision(Result.INCONCLUSIVE, "too little beside primary"),
    ),
    (
        (_ALIKE, _WORSE, _WORSE),
        Decision(
            Result.PASS,
            "worse than primary, and so is baseline, which is as new: not the release",
        ),
    ),
    (
        (_ALIKE, _WORSE, _ANY),
        Decision(
            Result.INCONCLUSIVE,
            "worse than primary and not than baseline, which is not known to be worse itself",
        ),
    ),
)


def decide(release: Finding, change: Finding, age: Finding) -> Decision:
    """Return what three comparisons come to.

    Args:
        release: Canary against baseline.
        change: Canary against primary.
        age: Baseline against primary.
    """
    found = (release, change, age)
    return next(
        decision
        for row, decision in _DECISIONS
        if all(wanted in (_ANY, said) for wanted, said in zip(row, found, strict=True))
    )


def beside_primary(seen: Iterable[samples.Look]) -> list[samples.Look]:
    """Return looks at canary beside primary; as they are they are beside baseline."""
    return [
        replace(
            look,
            cells=tuple(
                replace(cell, reference=cell.control, control=cell.reference) for cell in look.cells
            ),
        )
        for look in seen
    ]


def baseline_beside_primary(seen: Iterable[samples.Look]) -> list[samples.Look]:
    """Return looks at baseline beside primary."""
    return [
        replace(
            look,
            cells=tuple(
                replace(cell, judged=cell.reference, reference=cell.control, control=cell.judged)
                for cell in look.cells
            ),
        )
        for look in seen
    ]
