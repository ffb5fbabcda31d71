"""Claims about canary, baseline and primary."""

from dataclasses import replace

from benchmarks.claims import files, releases
from benchmarks.claims.claim import Claim, at_least, at_most, exactly
from benchmarks.claims.releases import ERRORS, count
from volary.analysis.planning import traffic
from volary.model import analysis
from volary.model.analysis import Judgement, Role, Strategy

THREE = replace(ERRORS, strategy=Strategy.CANARY_BASELINE_PRIMARY)
ALONE = replace(ERRORS, strategy=Strategy.CANARY_PRIMARY)
NEW = traffic.Traffic(20, 180, newness=3)


def released(canary: float, baseline: float, primary: float) -> analysis.Series:
    """Return a release with these errors of 100, 100 and 900 requests at each look."""
    look = {
        Role.JUDGED: count(canary, 100),
        Role.REFERENCE: count(baseline, 100),
        Role.CONTROL: count(primary, 900),
    }
    return releases.series([look] * 20)


def _held_until() -> float:
    """Return the look at which a release fails that is worse than baseline alone."""
    return releases.failing_look(THREE, released(5, 1, 45), 60)


def _implied() -> float:
    """Say whether a file that says nothing of it judges all looks together."""
    metric = {**files.COUNTED, "strategy": "CANARY_BASELINE_PRIMARY"}
    (rule,) = files.rules(files.read([metric]))
    return releases.share(rule.judgement is Judgement.SEQUENTIAL, 1)


CLAIMS = (
    Claim(
        "(`judgement: sequential` is implied)",
        "a file that does not write it",
        exactly(100, "%"),
        _implied,
        is_quick=True,
    ),
    Claim(
        "is not the release's",
        "new pods have three times the errors, whatever they run",
        at_most(5, "% fail"),
        releases.failed(THREE, NEW, runs=50),
    ),
    Claim(
        "Against primary alone all new pods would be taken for bad releases.",
        "the same releases, 50",
        at_least(95, "% fail"),
        releases.failed(ALONE, NEW, runs=50),
    ),
    Claim(
        "so the chance of a false alarm is at most that of one test",
        "errors, 10/s, 10/s and 90/s",
        at_most(5, "% fail"),
        releases.failed(THREE, traffic.Traffic(10, 90)),
    ),
    Claim(
        "What is inconclusive is measured on, and goes by `noData` in the end.",
        "worse than baseline and not than primary; twenty looks, the deadline at forty",
        exactly(40, "looks"),
        _held_until,
        is_quick=True,
    ),
)
