"""A real Prometheus that remembers what a test gives it, and judges that ask it about then."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterable
from datetime import datetime, timedelta
from pathlib import Path

import aiohttp

import process_time
import stage_contexts
from kube_sandbox.dataplane import programs
from volary.analysis.metering import provider_meter
from volary.analysis.providers import provider_pool
from volary.controller import system_clock
from volary.model import analysis, metric_providers
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.judgement import cluster_judges
from volary.stages.runtime import contexts

MINUTE = timedelta(minutes=1)
CANARY = pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())


@contextlib.asynccontextmanager
async def remembering(directory: Path, samples: Iterable[str]) -> AsyncIterator[str]:
    """Run Prometheus with samples in the format of OpenMetrics; gives its address."""
    (directory / "samples.txt").write_text("\n".join(samples) + "\n")
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


@contextlib.asynccontextmanager
async def providers(address: str) -> AsyncIterator[provider_pool.Providers]:
    """Ask it."""
    settings = metric_providers.Provider(
        "prometheus",
        metric_providers.ProviderType.PROMETHEUS,
        metric_providers.Access(address),
        metric_providers.PrometheusOptions(),
    )
    async with provider_pool.open_providers([settings], clock=system_clock.SystemClock()) as opened:
        yield opened


async def judged(
    rule: analysis.Rule, start: datetime, cluster: str, opened: provider_pool.Providers
) -> tuple[analysis.Verdict, int, stage_contexts.Report]:
    """Return the verdict on twenty minutes, or the first that is final, after how many looks, and
    what was reported.
    """
    report = stage_contexts.Report()
    context = contexts.MeasuringContext(
        application=stage_contexts.context().application,
        target=cluster,
        report=report,
        clock=system_clock.SystemClock(),
        meter=provider_meter.ProviderMeter(opened),
        begun=(CANARY,),
    )
    period = cluster_judges.AnalysisPeriod(start, start + 20 * MINUTE, start + 20 * MINUTE)
    judge = cluster_judges.Judge(context, period, (rule,), is_past=True)
    for number in range(1, 21):
        at = start + number * MINUTE
        await judge.look(rule, at)
        verdict = await judge.verdict(rule, at, number)
        if verdict.is_final:
            break
    return verdict, number, report
