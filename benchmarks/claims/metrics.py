"""Claims about several metrics: what a score is, and what becomes of it."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchmarks.claims import releases
from benchmarks.claims.claim import Claim, exactly
from volary.analysis.verdicts import rule_verdicts, scores
from volary.model import analysis
from volary.model.analysis import NoData, Result

NAMES = ("first", "second", "third", "fourth")
SEVENTY = analysis.Scoring(analysis.ScoreThresholds(70))


def verdict(name: str, result: Result, *, is_final: bool) -> analysis.Verdict:
    numbers = analysis.Numbers(looks=20)
    return analysis.Verdict(result, name, name, target="eu", numbers=numbers, is_final=is_final)


def score(
    results: Mapping[str, Result],
    *,
    scoring: analysis.Scoring = SEVENTY,
    critical: str = "",
    is_over: bool = True,
) -> analysis.Verdict:
    """Return the verdict on the score of four metrics; those without a result are not decided."""
    rules = [analysis.Rule(name, group=name, critical=name == critical) for name in NAMES]
    verdicts = {
        name: verdict(name, result, is_final=is_over or result is Result.FAIL)
        for name, result in results.items()
    }
    return scores.judge(scoring, rules, verdicts, target="eu")


def _passing_together() -> float:
    """Count, of the 27 ways in which three metrics can be decided, those that pass."""
    passing = 0
    for results in itertools.product(Result, repeat=3):
        verdicts = [verdict("one", result, is_final=True) for result in results]
        worst = rule_verdicts.worst(verdicts)
        passing += worst is not None and worst.result is Result.PASS
    return passing


def _less_its_part() -> float:
    """Return the score where the second of four metrics failed, which weighs 30."""
    weights = dict(zip(NAMES, (40.0, 30.0, 20.0, 10.0), strict=True))
    found = dict.fromkeys(NAMES, Result.PASS) | {"second": Result.FAIL}
    numbers = score(found, scoring=replace(SEVENTY, group_weights=weights)).numbers
    return math.nan if numbers.value is None else numbers.value


def _failing_alone(*, is_critical: bool) -> float:
    """Count the metrics of four whose failure alone is the release's."""
    failing = 0
    for name in NAMES:
        results = dict.fromkeys(NAMES, Result.PASS) | {name: Result.FAIL}
        found = score(results, critical=name if is_critical else "")
        failing += found.result is Result.FAIL
    return failing


def _histories() -> Iterator[list[analysis.Verdict]]:
    """Yield the verdicts on the scores of analyses whose metrics are decided one by one."""
    for seed in range(200):
        generator = random.Random(seed)
        results: dict[str, Result] = {}
        found = [score(results, is_over=False)]
        for name in generator.sample(NAMES, len(NAMES)):
            results[name] = generator.choice((Result.PASS, Result.FAIL))
            found.append(score(results, is_over=False))
        found.append(score(results))
        yield found


def _rises() -> float:
    rises = 0
    for found in _histories():
        values = [one.numbers.value or 0.0 for one in found]
        rises += any(later > value for value, later in itertools.pairwise(values))
    return rises


def _failed_until_known() -> float:
    """Return how many of four metrics have failed when it is known, none being decided."""

    def fails(number: int) -> bool:
        found = score(dict.fromkeys(NAMES[:number], Result.FAIL), is_over=False)
        return found.result is Result.FAIL and found.is_final

    return releases.first(range(1, 5), fails)


def _said_until_the_end() -> float:
    """Return how many scores that are no failure say that more is to come."""
    said = every = 0
    for *before, _ in _histories():
        for found in before:
            if found.result is not Result.FAIL:
                every += 1
                said += "can still reach " in found.sentence or "so far " in found.sentence
    return releases.share(said, every)


def _policies_left_out() -> float:
    """Count the policies by which a metric without data costs the score nothing."""
    left_out = 0
    for policy in NoData:
        rule = replace(releases.RANGE, name="silent", no_data=policy)
        other = replace(releases.RANGE, name="other")
        silent = releases.judged(rule, releases.alone([releases.NOTHING] * 20), 40)
        good = releases.judged(other, releases.alone([releases.GOOD] * 20), 40)
        found = scores.judge(SEVENTY, (rule, other), {"silent": silent, "other": good})
        left_out += found.numbers.value == 100
    return left_out


CLAIMS = (
    Claim(
        "Each metric has its verdict, and every one of them has to be a pass.",
        "of 27 ways in which three metrics can be decided",
        exactly(1, "passes"),
        _passing_together,
        is_quick=True,
    ),
    Claim(
        "100, less the part of each metric that failed",
        "one of four failed, which weighs 30",
        exactly(70, "of 100"),
        _less_its_part,
        is_quick=True,
    ),
    Claim(
        "Not every failure is then the release's",
        "one of four that weigh the same, a score of 70",
        exactly(0, "fail the release"),
        lambda: _failing_alone(is_critical=False),
        is_quick=True,
    ),
    Claim(
        "but those of `critical` metrics are",
        "the same, critical",
        exactly(4, "fail the release"),
        lambda: _failing_alone(is_critical=True),
        is_quick=True,
    ),
    Claim(
        "So the score only falls",
        "four metrics decided one by one, 200 analyses",
        exactly(0, "rise"),
        _rises,
        is_quick=True,
    ),
    Claim(
        "it is known as soon as it is out of reach",
        "four that weigh the same, a score of 70, nothing else decided",
        exactly(2, "metrics"),
        _failed_until_known,
        is_quick=True,
    ),
    Claim(
        "of a score of 70 two metrics have to fail",
        "four that weigh the same",
        exactly(2, "metrics"),
        _failed_until_known,
        is_quick=True,
    ),
    Claim(
        "So a score says `can still reach` or `so far` until the analysis is over.",
        "200 analyses, scores that do not fail",
        exactly(100, "% say so"),
        _said_until_the_end,
        is_quick=True,
    ),
    Claim(
        "only `pass` leaves it out",
        "`hold`, `fail` and `pass`, at the deadline",
        exactly(1, "policy"),
        _policies_left_out,
        is_quick=True,
    ),
)
