"""``python -m benchmarks.reaction``: from "it begins to fail" to "canary has no traffic".

Three sandbox clusters whose users really ask. Canary has half of the traffic and is healthy; at
some moment half of its answers become errors. Counted is the time until canary has answered its
last request in any cluster, by the interval of the checks and of the scrapes. Writes
``reaction.md``.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich import console as rich_console

from kube_sandbox import fleet, prometheus, proxies
from kube_sandbox.crds import definitions as crd_definitions
from kube_sandbox.dataplane import load
from volary.demo import definitions, harness, metrics_source
from volary.model import statuses

NAMES = ("us", "eu", "asia")
TIMES = 2
_PAGE = Path(__file__).with_name("reaction.md")
_RATE = 60.0


@dataclass(frozen=True, slots=True)
class Case:
    """What is varied."""

    #: Seconds between two checks, and the time each is about.
    interval: int
    #: Between two scrapes; empty: the sandbox's own counters, without Prometheus.
    scrape: str = ""


#: A rate needs two samples, so an interval has to hold more than two scrapes.
CASES = (Case(1), Case(2), Case(5), Case(3, "1s"), Case(5, "1s"))


async def measure(case: Case) -> float:
    """Return the seconds until canary had no traffic."""
    settings = fleet.Settings(speed=10, crds=crd_definitions.gateway_api(), traffic=True)
    with tempfile.TemporaryDirectory(prefix="volary-reaction-") as made:
        base = Path(made)
        async with (
            fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox,
            proxies.before(sandbox, proxies.Kind.BUILT_IN) as urls,
        ):
            if not case.scrape:
                return await _with(case, sandbox, urls, base, _counters(sandbox))
            async with prometheus.scraping(sandbox, interval=case.scrape) as url:
                config = {"address": url, "clusterLabel": "cluster", "share": "500ms"}
                chosen = {"name": "metrics", "type": "prometheus", "config": config}
                source = metrics_source.Source(chosen, "", is_prometheus=True)
                return await _with(case, sandbox, urls, base, source)


def _counters(sandbox: fleet.Fleet) -> metrics_source.Source:
    config = {"address": sandbox.required_metrics_url, "share": "500ms"}
    chosen = {"name": "metrics", "type": "http", "config": config}
    return metrics_source.Source(chosen, "", is_prometheus=False)


async def _with(
    case: Case,
    sandbox: fleet.Fleet,
    urls: Mapping[str, str],
    base: Path,
    source: metrics_source.Source,
) -> float:
    story = definitions.TRAFFIC_SCENARIOS["progressive"]
    metrics_source.register(sandbox, source)
    quiet = rich_console.Console(quiet=True)
    async with harness.open_releases(quiet, base, sandbox, story) as environment:
        repository = environment.repository
        _describe(repository.directory / "volary.yaml", case)
        metrics_source.rewrite(repository.directory / "volary.yaml", source)
        repository.commit("Measure")
        await environment.release()
        repository.release()
        loads = [load.Load(load.Aim(url, story.address), rate=_RATE) for url in urls.values()]
        seen: list[float] = []
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(each.run()) for each in loads]
            looking = group.create_task(_look(loads, seen))
            releasing = group.create_task(environment.release())
            await _first(seen)
            await asyncio.sleep(case.interval * (1.5 + random.random()))
            began = time.monotonic()
            for cluster in sandbox.clusters.values():
                cluster.faults.images.add("*/shop:v2", "error-rate=50%")
            ended = await releasing
            assert ended.status is statuses.RunStatus.ROLLED_BACK, ended.status
            await asyncio.sleep(0.5)
            for task in (*asking, looking):
                task.cancel()
    return seen[-1] - began


def _describe(file: Path, case: Case) -> None:
    content = yaml.safe_load(file.read_text())
    stage = content["spec"]["pipeline"]["stages"][1]["with"]
    stage.update(interval=f"{case.interval}s", threshold=1, immediate=True)
    stage["stepWeights"] = [50, *range(51, 80)]
    stage["metrics"] = [stage["metrics"][0]]
    file.write_text(yaml.safe_dump(content))


async def _first(seen: list[float]) -> None:
    """Wait until canary has answered for the first time."""
    async with asyncio.timeout(60):
        while True:
            if seen:
                return
            await asyncio.sleep(0.05)


async def _look(loads: list[load.Load], seen: list[float]) -> None:
    """Note the moments at which canary has answered."""
    before = 0
    while True:
        now = sum(
            counted.count
            for each in loads
            for kind, counted in each.tally.answers.items()
            if kind.version == "v2"
        )
        if now != before:
            seen.append(time.monotonic())
            before = now
        await asyncio.sleep(0.01)


def page(found: Mapping[Case, list[float]]) -> str:
    """Return the page."""
    lines = [
        "# How soon a bad version is out of the traffic",
        "",
        "Written by `python -m benchmarks.reaction`: three sandbox clusters with real requests,",
        "`K8S_PROGRESSIVE_TRAFFIC` with one failed check allowed (`threshold: 1`, `immediate`).",
        "At some moment between two checks half of canary's answers become errors; counted is",
        "the time until canary has answered its last request in any of the clusters. A rate of",
        "Prometheus needs two samples: an interval has to hold more than two scrapes.",
        "",
        "| Checks every | Metrics | Seconds until no traffic (median, worst) | In intervals |",
        "|---|---|---|---|",
    ]
    for case, times in found.items():
        middle = statistics.median(times)
        told = f"Prometheus, scraped every {case.scrape}" if case.scrape else "asked directly"
        lines.append(
            f"| {case.interval} s | {told} | {middle:.1f}, {max(times):.1f} |"
            f" {middle / case.interval:.1f} |"
        )
    return "\n".join((*lines, ""))


async def _measure() -> dict[Case, list[float]]:
    found: dict[Case, list[float]] = {}
    for case in CASES:
        if case.scrape and not prometheus.is_installed():
            continue
        found[case] = [await measure(case) for _ in range(TIMES)]
        print(case, [f"{each:.2f}" for each in found[case]], flush=True)
    return found


def main() -> None:
    """Measure, and write the page."""
    _PAGE.write_text(page(asyncio.run(_measure())))


if __name__ == "__main__":
    main()
