"""An error budget, and what is usual, judged by what a real Prometheus remembers.

Its memory is made beforehand, so that nothing depends on when somebody scrapes: a day of primary
on two clusters, and twenty minutes of canary.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

import process_time
import stage_contexts
from kube_sandbox.dataplane import programs
from volary.analysis.metering import provider_meter
from volary.analysis.providers import provider_pool
from volary.controller import system_clock
from volary.model import analysis, metric_providers
from volary.model.analysis import Kind, Result
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.judgement import cluster_judges
from volary.stages.runtime import contexts

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


@contextlib.asynccontextmanager
async def remembering(directory: Path) -> AsyncIterator[str]:
    """Run Prometheus with that memory; gives its address."""
    (directory / "samples.txt").write_text("\n".join(samples()) + "\n")
    (directory / "prometheus.yml").write_text("{}")
    make = ("tsdb", "create-blocks-from", "openmetrics", "--quiet", "samples.txt", "data")
    making = await asyncio.create_subprocess_exec(
        str(programs.find("promtool")), *make, cwd=directory
    )
    assert await making.wait() == 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    words = [
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    program = await programs.start("prometheus", words, log=directory / "log", directory=directory)

    async def is_ready() -> bool:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://{address}/-/ready") as answer,
            ):
                return answer.status == 200
        except aiohttp.ClientError:
            return False

    try:
        await program.until(is_ready, seconds=process_time.HANG)
        yield f"http://{address}"
    finally:
        await program.stop()


async def judged(
    rule: analysis.Rule, cluster: str, providers: provider_pool.Providers
) -> tuple[analysis.Verdict, int, stage_contexts.Report]:
    """Return the verdict that is final, after how many looks, and what was reported."""
    report = stage_contexts.Report()
    context = contexts.MeasuringContext(
        application=stage_contexts.context().application,
        target=cluster,
        report=report,
        clock=system_clock.SystemClock(),
        meter=provider_meter.ProviderMeter(providers),
        begun=(CANARY,),
    )
    period = cluster_judges.AnalysisPeriod(START, START + 20 * MINUTE, START + 20 * MINUTE)
    judge = cluster_judges.Judge(context, period, (rule,), is_past=True)
    for number in range(1, 21):
        at = START + number * MINUTE
        await judge.look(rule, at)
        verdict = await judge.verdict(rule, at, number)
        if verdict.is_final:
            break
    return verdict, number, report


async def test_budgets_and_what_is_usual_are_judged_by_what_it_remembers(tmp_path: Path) -> None:
    async with remembering(tmp_path) as address:
        settings = metric_providers.Provider(
            "prometheus",
            metric_providers.ProviderType.PROMETHEUS,
            metric_providers.Access(address),
            metric_providers.PrometheusOptions(),
        )
        async with provider_pool.open_providers(
            [settings], clock=system_clock.SystemClock()
        ) as providers:
            bad, after, _ = await judged(SLO, "us", providers)
            good, whole, _ = await judged(SLO, "eu", providers)
            unusual, _, _ = await judged(USUAL, "us", providers)
            usual, _, report = await judged(USUAL, "eu", providers)

    assert (bad.result, bad.is_condemned) == (Result.FAIL, True)
    assert after < 10
    assert f"burn rate 50 over {after}m and 50 over 2m, 10 is allowed by 99.9 % in 1 day" in (
        bad.sentence
    )
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
