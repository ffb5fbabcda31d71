"""Claims about the three answers: what fails, what passes, and what is too little to say."""

from benchmarks.claims import releases
from benchmarks.claims.claim import Claim, at_least, at_most, exactly
from volary.model.analysis import Result


def _least_looks_that_pass() -> float:
    """Return how many of twenty looks a pass needs, the last one among them."""
    for answered in range(1, 21):
        looks = [releases.NOTHING] * (20 - answered) + [releases.values(0.005)] * answered
        if releases.judged(releases.RANGE, releases.alone(looks)).result is Result.PASS:
            return answered
    return 0


CLAIMS = (
    Claim(
        "and at least half of the planned ones",
        "the least of twenty planned looks that passes",
        at_least(10, "looks"),
        _least_looks_that_pass,
        is_quick=True,
    ),
)
