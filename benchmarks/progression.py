"""Many releases in progressive steps at once: ``python -m benchmarks.progression``.

Applications times clusters, each in the middle of ``K8S_PROGRESSIVE_TRAFFIC`` with a check every
ten seconds. The sandbox is in one process, the metrics system in another, and the controller with
its database in a third, which is measured. Writes ``progression.md``.
"""

import argparse
import asyncio
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import bare, metrics_server, releasing, serving, usage, watching

if TYPE_CHECKING:
    from volary.clusters.api import requests

INTERVAL = 10
_PAGE = Path(__file__).with_name("progression.md")
_METRICS = 3
_TOGETHER = 20


@dataclass(frozen=True, slots=True)
class Size:
    """What is measured, and for how many seconds."""

    applications: int
    clusters: int
    seconds: float
    #: Seconds between the two windows: what is kept grows meanwhile.
    later: float = 0.0


# Of ten checks of each one is dearer: its verdicts are told.
FULL = (Size(10, 10, 100), Size(100, 10, 100, later=180))
QUICK = (Size(4, 3, 20), Size(12, 3, 20))


@dataclass(frozen=True, slots=True)
class Window:
    """What the controller did in one stretch of time."""

    used: usage.Usage
    #: Resident memory at its end, in MiB.
    memory: float
    #: Questions of stages, what was sent of them, and how many of those were different.
    asked: int
    sent: int
    different: int
    #: Requests to clusters, by verb and kind.
    requests: Mapping[str, int]
    #: Looks of one application on one cluster.
    checks: int
    #: CPU of a process that sends as many requests and does nothing else, in seconds.
    floor: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One size, in one or two windows."""

    size: Size
    windows: tuple[Window, ...]


def measure(size: Size) -> Measured:
    """Measure one size, in processes of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="volary-bench-") as directory,
        serving.running(Path(directory), size.clusters, speed=10, istio=True) as sandbox,
        metrics_server.running() as address,
    ):
        argv = [sys.executable, "-m", "benchmarks.progression", "--work"]
        wish = {"size": asdict(size), "fleet": str(sandbox.fleet_file), "address": address}
        found = json.loads(usage.output([*argv, json.dumps(wish)]))
        windows = []
        for each in found:
            floor = bare.measure(sandbox.fleet_file, address, each["requests"], each["sent"])
            used = usage.Usage(**each.pop("used"))
            windows.append(Window(used=used, floor=floor, **each))
    return Measured(size, tuple(windows))


async def _work(size: Size, fleet_file: Path, address: str, base: Path) -> list[object]:
    from volary.analysis.providers import provider_pool
    from volary.cli import garbage_collector
    from volary.clusters.transport import transports
    from volary.model import metric_providers
    from volary.stages.judgement import cluster_judges

    names = [f"shop-{each:03}" for each in range(size.applications)]
    author = watching.Author(base / "repository.git")
    stages = releasing.progressive(INTERVAL)
    first = author.commit(releasing.files(names, stages, "v1"), "v1")
    metrics = metric_providers.Provider(
        "metrics",
        metric_providers.ProviderType.PROMETHEUS,
        metric_providers.Access(address),
        metric_providers.PrometheusOptions(cluster_label="cluster"),
    )
    windows: list[object] = []
    with (
        watching.counting(provider_pool.Providers, "measure") as asked,
        watching.counting(transports.Transport, "send", _kind) as sent,
        watching.counting(cluster_judges.Judge, "round") as looked,
    ):
        async with watching.controller(fleet_file, base, providers=(metrics,)) as given:
            garbage_collector.leave_alone_what_is_there()  # as `volary server` does once it is up
            await given.until_applications(
                size.applications, lambda each: each.running_commit == first
            )
            # A few at a time: one sandbox process plays all clusters.
            for done in range(0, len(names), _TOGETHER):
                begun, rest = names[: done + _TOGETHER], names[done + _TOGETHER :]
                files = releasing.files(begun, stages, "v2") | releasing.files(rest, stages, "v1")
                commit = author.commit(files, "v2")
                given.request_refresh()
                fresh = len(begun) - done
                await given.until_at(commit, fresh, "K8S_PROGRESSIVE_TRAFFIC")
            await asyncio.sleep(2 * INTERVAL)  # all have looked
            for pause in (0.0, size.later)[: 2 if size.later else 1]:
                await asyncio.sleep(pause)
                for each in (asked, sent, looked):
                    each.clear()
                before = metrics_server.count(address)
                meter = usage.Meter()
                await asyncio.sleep(size.seconds)
                used, after = meter.read(), metrics_server.count(address)
                windows.append(
                    {
                        "used": asdict(used),
                        "memory": usage.memory_of(os.getpid()),
                        "asked": asked.total(),
                        "sent": after.queries - before.queries,
                        "different": after.different - before.different,
                        "requests": dict(sent),
                        "checks": looked.total(),
                    }
                )
    return windows


def _kind(request: "requests.Request", **_named: object) -> str:
    """Return the verb and the collection of a request, and whether it is one object."""
    parts = re.sub(r"^/(api/v1|apis/[^/]+/[^/]+)/(namespaces/[^/]+/)?", "", request.path).split("/")
    return f"{request.method} {parts[0]}{'' if len(parts) == 1 else '/…'}"


def page(found: Sequence[Measured]) -> str:
    """Return what is written down."""
    last = found[-1]
    window = last.windows[-1]
    kinds = Counter(window.requests).most_common()
    told = "; ".join(f"{kind}: {number / window.checks:.2f}" for kind, number in kinds)
    rows = "".join(_row(each, window) for each in found for window in each.windows)
    head = f"| {' | '.join(_HEAD)} |\n|{' --- |' * len(_HEAD)}\n"
    return _TEXT.format(
        head=head,
        rows=rows,
        told=told,
        interval=INTERVAL,
        metrics=_METRICS,
        load=f"{os.getloadavg()[1]:.1f}",
        loop="asyncio's own loop" if importlib.util.find_spec("uvloop") is None else "uvloop",
    )


def _row(found: Measured, window: Window) -> str:
    seconds, size = window.used.wall, found.size
    busy = window.used.cpu / seconds
    per_minute = window.used.cpu / size.applications / seconds * 60
    per_check = window.used.cpu / max(1, window.checks) * 1000
    when = "later" if len(found.windows) > 1 and window is found.windows[-1] else "at first"
    cells = (
        f"{size.applications} × {size.clusters}, {when}",
        f"{window.checks / seconds:.0f}",
        f"{busy:.0%}",
        f"{per_minute:.2f} s",
        f"{per_check:.1f} ms",
        f"{window.used.cpu / window.floor:.1f}",
        f"{window.asked / seconds:.0f}",
        f"{window.sent / seconds:.0f}",
        f"{window.sent / max(1, window.different):.2f}",
        f"{sum(window.requests.values()) / seconds:.0f}",
        f"{window.memory:.0f} MiB",
    )
    return f"| {' | '.join(cells)} |\n"


_HEAD = (
    "Applications × clusters",
    "Checks/s",
    "CPU, of one core",
    "per application and minute",
    "per check",
    "÷ bare requests",
    "Queries asked/s",
    "sent/s",
    "sent ÷ different ones",
    "Requests to clusters/s",
    "Memory",
)
_TEXT = """# What many releases in progressive steps cost

Written by `python -m benchmarks.progression` (`--quick`: a short form): applications × clusters,
each with one replica and its canary, all in the middle of `K8S_PROGRESSIVE_TRAFFIC`, with a check
every {interval} s by {metrics} metrics: one is asked for each application on each cluster, one for
each application in all clusters, one for all. At each check that passes, canary gets one percent
more, so each is a look, a decision and a step; at every tenth verdicts are told as well. All are in
one namespace, so one watch each of its pods, EndpointSlices, Deployments and routes tells all
stages of a cluster what they read.

Sandbox, metrics system and controller are processes of their own that share two cores with
whatever else the machine does (load over five minutes at the end: {load}); CPU is that of the
controller alone, its database (SQLite) included; it runs on {loop}. Nobody sends requests to the
pods. *Bare* is a process that sends as many requests of the same kinds and does nothing else.
*Later* is after some minutes more, for what is kept of a release grows with each check. Where
checks/s is less than applications × clusters ÷ {interval}, the machine was too small, and checks
came late.

{head}{rows}
Requests to clusters for each check, in the last row: {told}.
"""


def main() -> None:
    """Measure every size and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.progression", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few applications; two minutes")
    parser.add_argument("--output", type=Path, default=_PAGE, help="file to write")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        wish = json.loads(chosen.work)
        with tempfile.TemporaryDirectory(prefix="volary-bench-") as made:
            from volary.concurrency import event_loops

            work = _work(Size(**wish["size"]), Path(wish["fleet"]), wish["address"], Path(made))
            print(json.dumps(event_loops.run(work)))  # as `volary server`
        return
    found = []
    for size in QUICK if chosen.quick else FULL:
        found.append(measure(size))
        print(found[-1], file=sys.stderr, flush=True)
    chosen.output.write_text(page(found))


if __name__ == "__main__":
    main()
