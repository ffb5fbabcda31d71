"""One round of metric checks inside a stage that decides by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from volary.model import analysis, manifest
from volary.stages import work


class Result(StrEnum):
    """How a round of checks went."""

    PASSED = "passed"
    FAILED = "failed"
    #: There was not enough to say either.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a round, with the reason when it did not pass."""

    result: Result
    reason: str = ""


class Checker(Protocol):
    """Looks at the metrics of a stage, one round at a time."""

    async def check(self) -> Finding:
        """Measure once and say how it went."""
        ...


class _Nothing:
    """The checks of a stage without metrics."""

    async def check(self) -> Finding:
        """Pass."""
        return Finding(Result.PASSED)


async def open_checker(
    doing: work.Work, source: Sequence[manifest.Manifest], rules: Sequence[analysis.Rule]
) -> Checker:
    """Return the checks of a stage on one cluster.

    Raises:
        StageFailedError: when its metrics cannot be asked for.
    """
    del source
    if rules:
        raise work.StageFailedError("metrics cannot be measured here")
    del doing
    return _Nothing()
