"""Claims about how soon bad releases are found."""

import functools
import math
from dataclasses import replace

from benchmarks.claims import releases
from benchmarks.claims.claim import Claim, at_most, exactly
from benchmarks.claims.releases import ERRORS, MINUTE, ONE_BY_ONE, counted
from volary.analysis.planning import traffic
from volary.model.analysis import Result


def _looks_until_half(canary: float) -> float:
    """Return after how many looks half of the releases with three times the errors are found."""
    made = traffic.Traffic(canary, 50)
    found = releases.outcome(ERRORS, made, 3.0, duration=50 * MINUTE, runs=100)
    return math.nan if found.found_after is None else found.found_after / MINUTE


def _times_as_long(canary: float) -> float:
    """Return how many times as long it takes with twice the traffic on canary."""
    return _looks_until_half(2 * canary) / _looks_until_half(canary)


def _looks_of(requests: float) -> float:
    half = counted((requests / 2, requests), (9 * requests / 100, 9 * requests))
    return releases.failing_look(ERRORS, half, 20)


def _least_that_passes_one_look() -> float:
    """Return the least requests of a look that may pass where 500 are asked for."""
    rule = replace(ONE_BY_ONE, minimum_samples=500)

    def passes(requests: int) -> bool:
        other = (9 * requests / 100, 9 * requests)
        found = releases.judged(rule, counted((0, requests), other, looks=1))
        return found.result is Result.PASS

    return releases.first(range(300, 1_000), passes)


def _looks_without_minimum() -> float:
    rule = replace(ERRORS, minimum_samples=1_000_000)
    return releases.failing_look(rule, counted((50, 100), (9, 900)), 20)


CLAIMS = (
    *(
        Claim(
            "twice the traffic on canary takes three quarters of the time or less",
            f"three times the errors, {canary:g}/s and {2 * canary:g}/s on canary, 50/s beside it",
            at_most(0.75, "times"),
            functools.partial(_times_as_long, canary),
        )
        for canary in (0.5, 1.0)
    ),
    Claim(
        "Requests are what counts, down to two looks",
        "half of the requests fail, 1,000 a look",
        exactly(2, "looks"),
        functools.partial(_looks_of, 1_000),
        is_quick=True,
    ),
    Claim(
        "Requests are what counts, down to two looks",
        "the same, ten million a look",
        exactly(2, "looks"),
        functools.partial(_looks_of, 10_000_000),
        is_quick=True,
    ),
    Claim(
        "on each side before a pass",
        "one look, 500 asked for: the least that passes",
        exactly(500, "requests"),
        _least_that_passes_one_look,
        is_quick=True,
    ),
    Claim(
        "a failure needs no minimum",
        "half of 100 requests fail, a million asked for",
        exactly(2, "looks"),
        _looks_without_minimum,
        is_quick=True,
    ),
)
