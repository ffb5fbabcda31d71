"""An error budget, and what is usual, judged by what a real Prometheus remembers.

Its memory is made beforehand, so that nothing depends on when somebody scrapes: a day of primary
on two clusters, and twenty minutes of canary.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import prometheus_memory
from kube_sandbox.dataplane import programs
from volary.model import analysis
from volary.model.analysis import Kind, Result
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages

pytestmark = pytest.mark.skipif(
    not (programs.find("prometheus") and programs.find("promtool")),
    reason="the programs prometheus and promtool are not installed",
)

START = datetime(2026, 1, 6, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
#: Requests of each side in a minute, and how many of them fail on each cluster.
REQUESTS = 6000
FAILING = {
    ("us", "primary"): 3,
    ("eu", "primary"): 3,
    ("us", "canary"): 300,
    ("eu", "canary"): 3,
}
CANARY = pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())
LABELS = '{cluster="{{ cluster }}",variant="{{ .Variant.Name }}"}'
SLO = analysis.Rule(
    "availability",
    "prometheus",
    f"sum(increase(bad_total{LABELS}[{{{{ interval }}}}]))",
    total_query=f"sum(increase(requests_total{LABELS}[{{{{ interval }}}}]))",
    kind=Kind.PROPORTION,
    judgement=analysis.Judgement.SEQUENTIAL,
    slo=analysis.Slo(99.9, DAY, (analysis.BurnRate(10, 20 * MINUTE, 2 * MINUTE),)),
    expected=analysis.Range(maximum=0.01),
)
USUAL = analysis.Rule(
    "errors",
    "prometheus",
    f"sum(rate(bad_total{LABELS}[2m])) / sum(rate(requests_total{LABELS}[2m]))",
    deviation=analysis.Deviation.HIGH,
    history=analysis.History(offset=timedelta(hours=6), count=3, tolerance=0.5),
    warm_up=MINUTE,
)


def samples() -> Iterator[str]:
    """Return the memory in the format of OpenMetrics: counters that grow by the minute."""
    for name in ("requests", "bad"):
        yield f"# TYPE {name} counter"
        for (cluster, variant), failing in FAILING.items():
            each = REQUESTS if name == "requests" else failing
            minutes = range(-1440, 1) if variant == "primary" else range(21)
            for at, minute in enumerate(minutes):
                labels = f'cluster="{cluster}",variant="{variant}"'
                time = (START + minute * MINUTE).timestamp()
                yield f"{name}_total{{{labels}}} {at * each} {time:.0f}"
    yield "# EOF"


async def test_budgets_and_what_is_usual_are_judged_by_what_it_remembers(tmp_path: Path) -> None:
    async with (
        prometheus_memory.remembering(tmp_path, samples()) as address,
        prometheus_memory.providers(address) as providers,
    ):
        bad, after, _ = await prometheus_memory.judged(SLO, START, "us", providers)
        good, whole, _ = await prometheus_memory.judged(SLO, START, "eu", providers)
        unusual, _, _ = await prometheus_memory.judged(USUAL, START, "us", providers)
        usual, _, report = await prometheus_memory.judged(USUAL, START, "eu", providers)

    assert (bad.result, bad.is_condemned) == (Result.FAIL, True)
    # After two looks the long window is as long as the short one.
    assert after == 2
    assert "burn rate 50 over 2m, 10 is allowed by 99.9 % in 1 day" in (bad.sentence)
    assert f"5.0 % of {after * REQUESTS} requests failed" in bad.sentence
    left = 0.5 - after * FAILING["us", "canary"] / (1440 * REQUESTS * 0.001)
    assert f"of the budget of 1 day {100 * left:.1f} % is left, 50.0 % before" in bad.sentence

    assert (good.result, whole) == (Result.PASS, 20), good
    assert "burn rate 0.5 over 20m" in good.sentence
    assert "% is left, 50.0 % before" in good.sentence

    assert (unusual.result, unusual.is_condemned) == (Result.FAIL, True)
    assert "0.05 is outside the expected ≤ 0.00075" in unusual.sentence
    assert usual.result is Result.PASS
    assert usual.sentence.endswith("0.0005 is usual, by 3 of 3 times 6h apart")
    before = [document for _, _, document in report.findings if document.get("role") == "history"]
    assert [document["variant"] for document in before] == ["6h before", "12h before", "18h before"]
    assert {len(document["values"]) for document in before} == {61}, "a point for each minute"
