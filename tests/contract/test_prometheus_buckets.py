"""Quantiles of a real Prometheus' histograms are guesses within a bucket, and judged as such."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import prometheus_memory
from kube_sandbox.dataplane import programs
from volary.model import analysis
from volary.model.analysis import Deviation, Judgement, Result, Strategy

pytestmark = pytest.mark.skipif(
    not (programs.find("prometheus") and programs.find("promtool")),
    reason="the programs prometheus and promtool are not installed",
)

START = datetime(2026, 1, 6, tzinfo=UTC)
BOUNDS = ("0.1", "0.25", "0.5", "1.0", "+Inf")
#: Requests of a minute up to each bound: a 99th percentile of 0.333, 0.45, 0.9, more than 1.
BASELINE = (900, 985, 1000, 1000, 1000)
IN_THE_BUCKET = (900, 950, 1000, 1000, 1000)
ABOVE_IT = (900, 940, 950, 1000, 1000)
ENDLESS = (900, 900, 900, 900, 1000)
#: All of them in the first bucket: from 0.
FIRST = (1000, 1000, 1000, 1000, 1000)
GROWING = {
    ("same", "baseline"): BASELINE,
    ("same", "canary"): IN_THE_BUCKET,
    ("worse", "baseline"): BASELINE,
    ("worse", "canary"): ABOVE_IT,
    ("endless", "baseline"): ENDLESS,
    ("endless", "canary"): ENDLESS,
    ("first", "baseline"): FIRST,
    ("first", "canary"): IN_THE_BUCKET,
}
LATENCY = analysis.Rule(
    "p99",
    "prometheus",
    "1000 * histogram_quantile(0.99, sum by (le) (rate(seconds_bucket"
    '{cluster="{{ cluster }}",variant="{{ .Variant.Name }}"}[{{ interval }}])))',
    interval=prometheus_memory.MINUTE,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    ratio_limit=1.1,
    judgement=Judgement.SEQUENTIAL,
)


def samples() -> Iterator[str]:
    yield "# TYPE seconds histogram"
    for (cluster, variant), counts in GROWING.items():
        for minute in range(-5, 21):
            time = (START + minute * prometheus_memory.MINUTE).timestamp()
            for bound, count in zip(BOUNDS, counts, strict=True):
                labels = f'cluster="{cluster}",variant="{variant}",le="{bound}"'
                yield f"seconds_bucket{{{labels}}} {(minute + 5) * count} {time:.0f}"
    yield "# EOF"


async def test_within_a_bucket_nothing_is_condemned_and_above_it_all_that_is(
    tmp_path: Path,
) -> None:
    plain = replace(LATENCY, ratio_limit=None, minimum_effect=0.0)
    async with (
        prometheus_memory.remembering(tmp_path, samples()) as address,
        prometheus_memory.providers(address) as providers,
    ):
        same, _, report = await prometheus_memory.judged(LATENCY, START, "same", providers)
        any_difference, _, _ = await prometheus_memory.judged(plain, START, "same", providers)
        worse, after, _ = await prometheus_memory.judged(LATENCY, START, "worse", providers)
        endless, _, _ = await prometheus_memory.judged(LATENCY, START, "endless", providers)
        first, _, _ = await prometheus_memory.judged(LATENCY, START, "first", providers)

    assert same.result is Result.PASS, same.sentence
    assert "baseline's is in the bucket from 250 to 500, within which nothing can be told" in (
        same.sentence
    )
    asked = [document for _, _, document in report.findings if document.get("role") == "bucket"]
    assert len(asked) == 1, "once"
    assert asked[0]["values"] == pytest.approx([250, 500])
    assert any_difference.result is Result.FAIL, "minEffect: 0 takes guesses for differences"
    assert (worse.result, worse.is_condemned) == (Result.FAIL, True), worse.sentence
    assert after < 20
    assert "the bucket from 250 to 500" in worse.sentence
    assert endless.result is Result.PASS
    assert "bucket" not in endless.sentence, "the highest bucket has no upper bound to be within"
    assert first.is_condemned, first.sentence
