"""``python -m benchmarks.verdicts``: what the page about verdicts claims, beside what is measured.

Releases are drawn with a seed and judged by the rules' own verdicts, look by look. Writes
``verdicts.md``; a test finds every claim on the page.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from volary.analysis.planning import rule_plans, traffic
from volary.model import analysis
from volary.model.analysis import Decider, Deviation, Judgement, Kind, Range, Strategy

PAGE = Path(__file__).parent / "verdicts.md"
HOUR, TWENTY = timedelta(hours=1), timedelta(minutes=20)

ERRORS = analysis.Rule(
    "errors",
    query="q",
    total_query="t",
    kind=Kind.PROPORTION,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
)
LATENCY = replace(
    ERRORS, name="request-duration", built_in="request-duration", kind=Kind.VALUE, total_query=""
)
LIMIT = replace(ERRORS, strategy=Strategy.THRESHOLD, expected=Range(maximum=0.01))
SLO = analysis.Slo(99.9)
BUDGET = replace(LIMIT, slo=SLO, expected=Range(maximum=6 * SLO.budget))
THREE = replace(ERRORS, strategy=Strategy.CANARY_BASELINE_PRIMARY)
EVEN = traffic.Traffic(10, 10)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the page, in what traffic it was measured, and what came out."""

    #: As it is on the page.
    sentence: str
    where: str
    measure: Callable[[], str]


def _outcome(
    rule: analysis.Rule,
    made: traffic.Traffic,
    effect: float = 1.0,
    *,
    duration: timedelta = TWENTY,
    clusters: int = 1,
    runs: int = 100,
) -> rule_plans.Outcome:
    setting = rule_plans.Setting(made, duration, clusters, runs)
    (outcome,) = rule_plans.outcomes(rule, setting, (effect,))
    return outcome


def _failed(*arguments: object, **options: object) -> Callable[[], str]:
    def measure() -> str:
        outcome = _outcome(*arguments, **options)  # type: ignore[arg-type]
        after = f", half of them after {outcome.found_after}" if outcome.found_after else ""
        return f"{100 * outcome.failed:.0f} % fail{after}"

    return measure


def _unknown(*arguments: object, **options: object) -> Callable[[], str]:
    def measure() -> str:
        outcome = _outcome(*arguments, **options)  # type: ignore[arg-type]
        return f"{100 * outcome.passed:.0f} % pass, {100 * outcome.unknown:.0f} % are inconclusive"

    return measure


_KEEPS = "keeps the chance of a false alarm below `significance` *for the whole analysis*"
_SHARE = "`significance` is the chance for the release, on all of its clusters"
_THREE = "Three requests against a thousand cannot, nor can one request against a limit."
_LEAST = "A canary with ten million requests is not condemned for a thousandth of a percent."
_WORSE = "Only worse is worse"
_WEATHER = "All of that is estimated and so not exact."
_MEMORY = "Against a memory that is as long as the analysis nothing helps but a longer one"
_EACH = "A test at 5 % that is repeated at every look condemns most healthy releases in the end."
_TWO = "So a single look never condemns at 5 %: two do where it is plain."


_BOUND = "a release that burns exactly as fast as is allowed fails with a chance of at most 5 %"
_THREE_SIDES = "so the chance of a false alarm is at most that of one test"


def claims() -> list[Claim]:
    """Return what is claimed."""
    one_by_one = replace(ERRORS, judgement=Judgement.EACH)
    both, few = replace(ERRORS, decider=Decider.BOTH), traffic.Traffic(3 / 600, 1)
    huge = traffic.Traffic(100_000, 100_000)

    def weather(overdispersion: float, memory: float) -> traffic.Traffic:
        return replace(EVEN, overdispersion=overdispersion, autocorrelation=memory)

    return [
        Claim(_KEEPS, "errors, 10/s on each side", _failed(ERRORS, EVEN)),
        Claim(_KEEPS, "errors, 1:99 of 100/s", _failed(ERRORS, traffic.Traffic(1, 99))),
        Claim(_KEEPS, "p99 of latency, 10/s on each side", _failed(LATENCY, EVEN)),
        Claim(_KEEPS, "p99 of latency, 1/s beside 99/s", _failed(LATENCY, traffic.Traffic(1, 99))),
        Claim(_KEEPS, "errors below 1 %, truly 0.9 %", _failed(LIMIT, replace(EVEN, errors=0.009))),
        Claim(_EACH, "errors, 60 looks one by one", _failed(one_by_one, EVEN, duration=HOUR)),
        Claim(_SHARE, "10 clusters, perCluster", _failed(ERRORS, EVEN, clusters=10, runs=30)),
        Claim(_SHARE, "10 clusters, both", _failed(both, EVEN, clusters=10, runs=15)),
        Claim(
            _SHARE,
            "100 clusters, perCluster, 5 looks",
            _failed(ERRORS, EVEN, clusters=100, runs=10, duration=timedelta(minutes=5)),
        ),
        Claim(_THREE, "3 in ten minutes", _unknown(ERRORS, few, duration=timedelta(minutes=10))),
        Claim(
            _THREE,
            "a limit, 1 a look, ten looks",
            _unknown(LIMIT, traffic.Traffic(1 / 60, 0), duration=timedelta(minutes=10)),
        ),
        Claim(_LEAST, "2 % more errors, 100,000/s", _failed(ERRORS, huge, 1.02)),
        Claim(_WORSE, "30 % less latency", _failed(LATENCY, EVEN, 0.7)),
        Claim(_TWO, "ten times the errors, 10/s", _failed(ERRORS, EVEN, 10.0)),
        Claim(_WEATHER, "correlation 0.001", _failed(ERRORS, weather(0.001, 0))),
        Claim(_WEATHER, "correlation 0.01", _failed(ERRORS, weather(0.01, 0))),
        Claim(_WEATHER, "correlation 0.05", _failed(ERRORS, weather(0.05, 0))),
        Claim(_WEATHER, "correlation 0.01, memory 0.5", _failed(ERRORS, weather(0.01, 0.5))),
        Claim(_BOUND, "99.9 %, 6 times, 50/s", _failed(BUDGET, traffic.Traffic(50, 0, 0.006))),
        Claim(_THREE_SIDES, "errors, 10/s, 10/s and 90/s", _failed(THREE, traffic.Traffic(10, 90))),
        Claim(_MEMORY, "correlation 0.01, memory 0.95", _failed(ERRORS, weather(0.01, 0.95))),
    ]


INTRODUCTION = """# What the page about verdicts claims, and what is measured

Written by `python -m benchmarks.verdicts`: releases drawn with a seed, judged look by look by the
rule's own verdicts. 1 % errors, twenty looks of a minute, level 5 %, 100 healthy releases a row
(fewer on many clusters) where nothing else is said.

| On [the page](../docs/explanation/how-volary-decides.md) | Where | Measured |
|---|---|---|
"""


def main() -> None:
    """Measure, and write the page."""
    rows = []
    for claim in claims():
        rows.append(f"| {claim.sentence} | {claim.where} | {claim.measure()} |")
        print(rows[-1], flush=True)
    PAGE.write_text(INTRODUCTION + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
