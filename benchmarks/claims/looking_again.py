"""Claims about tests that are repeated at every look."""

from benchmarks.claims import releases
from benchmarks.claims.claim import Claim, at_least, at_most

CLAIMS = (
    Claim(
        "A test at 5 % that is repeated at every look condemns most healthy releases in the end.",
        "errors, 10/s on each side, 60 looks one by one, 25 releases",
        at_least(50, "% fail"),
        releases.failed(releases.ONE_BY_ONE, releases.EVEN, duration=releases.HOUR, runs=25),
    ),
    Claim(
        "Only worse is worse",
        "30 % less latency",
        at_most(5, "% fail"),
        releases.failed(releases.LATENCY, releases.EVEN, 0.7),
    ),
)
