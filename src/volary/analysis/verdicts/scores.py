"""The verdicts of several metrics as one: a score of 100, as Kayenta has it. Pure.

Each metric that passes counts with its part of its group's weight, one that fails with nothing.
A metric without anything to judge, whose rule lets that pass, is left out: silence earns no
points, and takes none away. Failing is for good, so a score that has become too low is known
before the end of the analysis; passing is known at the end only.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from volary.model import analysis
from volary.model.analysis import Result

#: The points that a score can have.
WHOLE = 100.0
#: What was told of a score.
Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a metric counts at the moment."""

    rule: analysis.Rule
    #: None: there is none yet.
    verdict: analysis.Verdict | None

    @property
    def has_failed(self) -> bool:
        return self.verdict is not None and self.verdict.result is Result.FAIL

    @property
    def has_passed(self) -> bool:
        return self.verdict is not None and self.verdict.result is Result.PASS

    @property
    def is_open(self) -> bool:
        return not self.has_failed and not self.has_passed

    @property
    def is_left_out(self) -> bool:
        """Whether it passed for good without having been judged."""
        passed = self.verdict if self.has_passed else None
        return passed is not None and passed.is_final and not passed.numbers.looks


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    #: What each of its metrics is worth, of 100.
    worth: Mapping[str, float]
    standings: Mapping[str, _Standing]

    @property
    def points(self) -> float:
        """What is still to be reached: of those that have not failed."""
        return math.fsum(
            worth for name, worth in self.worth.items() if not self.standings[name].has_failed
        )

    @property
    def part(self) -> analysis.ScorePart:
        return analysis.ScorePart(self.name, self.points, math.fsum(self.worth.values()))

    def __str__(self) -> str:
        said = f"{self.name} {number(self.points)} of {number(self.part.worth)}"
        mine = {name: self.standings[name] for name in self.worth}
        failed = [name for name, standing in mine.items() if standing.has_failed]
        undecided = [name for name, standing in mine.items() if standing.is_open]
        words = [
            f"{', '.join(names)} {how}"
            for names, how in ((failed, "failed"), (undecided, "not decided"))
            if names
        ]
        return f"{said} ({'; '.join(words)})" if words else said


def number(value: float) -> str:
    """Write points of a score; rounded down, so that no sentence claims more than there is."""
    return f"{math.floor(10 * value + 1e-6) / 10:g}"


def judge(
    scoring: analysis.Scoring,
    rules: Iterable[analysis.Rule],
    verdicts: Mapping[str, analysis.Verdict],
    *,
    target: str = "",
) -> analysis.Verdict:
    """Return the verdict on the score: the one that decides for all metrics.

    Args:
        scoring: The bounds and the weights.
        rules: The metrics; those that decide nothing do not count.
        verdicts: What their newest verdicts are, by name; others are not decided.
        target: The cluster whose verdicts these are.
    """
    standings = [_Standing(rule, verdicts.get(rule.name)) for rule in rules if not rule.dry_run]
    is_final = all(one.verdict is not None and one.verdict.is_final for one in standings)
    left_out = [one.rule.name for one in standings if one.is_left_out]
    by_name = {one.rule.name: one for one in standings if not one.is_left_out}
    points = scoring.points(one.rule for one in by_name.values())
    groups = [_Group(name, worth, by_name) for name, worth in points.items()]
    value = math.fsum(group.points for group in groups)
    failed = [one.verdict for one in standings if one.has_failed and one.verdict is not None]
    critical = next((one for one in standings if one.has_failed and one.rule.critical), None)
    is_open = any(one.is_open for one in standings)
    parts = "; ".join(map(str, groups))
    if left_out:
        parts += (
            f"{'; ' if parts else ''}without {', '.join(left_out)}, where nothing could be judged"
        )
    thresholds = scoring.thresholds
    if critical is not None:
        value, result, is_final = 0.0, Result.FAIL, True
        sentence = critical.verdict.sentence if critical.verdict else ""
        why = f"0 of 100, as {critical.rule.name} is critical and failed: {sentence}"
    elif not groups:
        result, why = Result.PASS, f"nothing was there to be scored: {parts}"
    elif _is_below(value, thresholds.lowest):
        result = Result.FAIL
        most = "" if is_final else "at most "
        which = "" if thresholds.marginal is None else "marginal "
        why = f"{most}{number(value)} of 100 is below the {which}{thresholds.lowest:g}: {parts}"
        is_final = True
    elif _is_below(value, thresholds.least):
        result = Result.FAIL if is_final else Result.INCONCLUSIVE
        most = "" if is_final else "at most "
        why = f"{most}{number(value)} of 100 is marginal, {thresholds.least:g} passes: {parts}"
    else:
        result = Result.INCONCLUSIVE if is_open else Result.PASS
        so_far = "" if is_final else "can still reach " if is_open else "so far "
        why = f"{so_far}{number(value)} of 100, {thresholds.least:g} passes: {parts}"
    pooled = bool(failed) and not any(verdict.target for verdict in failed)
    return analysis.Verdict(
        result,
        f"{analysis.SCORE} on {target}: {why}" if target else f"{analysis.SCORE}: {why}",
        analysis.SCORE,
        target="" if pooled else target,
        numbers=analysis.Numbers(value=value if groups else None),
        is_final=is_final,
        is_condemned=result is Result.FAIL and any(verdict.is_condemned for verdict in failed),
        score=analysis.Score(thresholds, tuple(group.part for group in groups)),
    )


def at_looks(
    said: Iterable[tuple[datetime, Said]], looks: Iterable[datetime]
) -> list[tuple[datetime, Said]]:
    """Return what the score was at each look, from the first time it was told.

    Args:
        said: When it was told, and what: only when it changed; of one moment the last counts.
        looks: When any of its metrics was measured.
    """
    told = dict(said)
    found: list[tuple[datetime, Said]] = []
    for at in sorted({*looks, *told}):
        if at in told:
            found.append((at, told[at]))
        elif found:
            found.append((at, found[-1][1]))
    return found


def _is_below(value: float, bound: float) -> bool:
    """Compare with a bound; parts of a weight need not add up to the last digit."""
    return value < bound and not math.isclose(value, bound, abs_tol=1e-9)
