"""``python -m benchmarks.scale``: what runs, clusters and applications cost; writes ``scale.md``.

What is measured goes into ``scale.json``, a part at a time (``--only``), and the page is written
from that: a part can be measured when the machine is quiet, and simulations take their costs from
what was measured there.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks import capacity, distributed, queues, report, restarting, temporal, usage

_ABOUT = Path(__file__).parent / "about_scale.md"
_RECORD = Path(__file__).parent / "scale.json"
_OUTPUT = Path(__file__).parent / "scale.md"
_LOCAL, _TEMPORAL = distributed.LOCAL, distributed.TEMPORAL
_POSTGRES, _SQLITE = distributed.POSTGRES, distributed.SQLITE


def _engine_sizes() -> Iterator[distributed.Size]:
    for runs, clusters in ((100, 10), (100, 100)):
        yield distributed.Size(_LOCAL, _POSTGRES, runs, clusters)
    yield distributed.Size(_LOCAL, _SQLITE, 100, 100)
    for runs in (1, 100):
        yield distributed.Size(_LOCAL, _POSTGRES, runs, 100, stages=0)
    for runs, clusters in ((5, 10), (20, 20), (5, 50)):
        yield distributed.Size(_TEMPORAL, _POSTGRES, runs, clusters)
    for runs in (1, 10):
        yield distributed.Size(_TEMPORAL, _POSTGRES, runs, 100, stages=0)


#: A part is measured one size after another; in its quick form few and small ones.
ENGINES = tuple(_engine_sizes())
WORKERS = tuple(
    distributed.Size(_TEMPORAL, _POSTGRES, 10, 20, workers=workers) for workers in (1, 2, 4)
)
QUEUES = (10, 100, 400)
RESTARTS = ((20, 10), (50, 10), (50, 20), (100, 10))
CASES = (
    capacity.Case("KubeFleet's case, one run", 1, 100, staged=True),
    capacity.Case("KubeFleet's case, 100 runs at once", 100, 100, staged=True),
    capacity.Case("1,000 applications, each on all of 100 clusters", 1_000, 100),
    capacity.Case("100 applications, each on all of 1,000 clusters", 100, 1_000),
    capacity.Case("10,000 applications, each on 10 of 1,000 clusters", 10_000, 1_000, each=10),
    capacity.Case("the same, Temporal with 10 workers", 10_000, 1_000, each=10, workers=10),
)
QUICK_ENGINES = (
    distributed.Size(_LOCAL, _SQLITE, 2, 5),
    distributed.Size(_TEMPORAL, _SQLITE, 1, 3, stages=2),
)
QUICK_WORKERS = (distributed.Size(_TEMPORAL, _SQLITE, 2, 4, stages=1, workers=2),)
QUICK_QUEUES = (3, 10)
QUICK_RESTARTS = ((2, 2), (2, 4), (4, 2))
QUICK_CASES = (
    capacity.Case("a few runs in waves", 3, 10, staged=True),
    capacity.Case("Temporal with 2 workers", 20, 10, each=5, workers=2),
)
#: Size of everything that was asked for: nobody has tried it, and it is reckoned.
_FULL_APPLICATIONS, _FULL_CLUSTERS = 10_000, 1_000


@dataclass(slots=True)
class Record:
    """What was measured, and simulated from that."""

    engines: list[distributed.Measured]
    workers: list[distributed.Measured]
    queues: list[queues.Measured]
    restarts: list[restarting.Measured]
    simulated: list[capacity.Simulated]
    costs: capacity.Costs | None = None
    #: On what it was measured.
    machine: str = ""


PARTS = ("engines", "workers", "queues", "restarts", "simulated")


def read(text: str) -> Record:
    """Return what was written by `write`."""
    found = json.loads(text)
    return Record(
        [_engine(each) for each in found["engines"]],
        [_engine(each) for each in found["workers"]],
        [queues.Measured(**each) for each in found["queues"]],
        [_restart(each) for each in found["restarts"]],
        [
            capacity.Simulated(**{**each, "case": capacity.Case(**each["case"])})
            for each in found["simulated"]
        ],
        capacity.Costs(**found["costs"]) if found["costs"] else None,
        found["machine"],
    )


def write(record: Record) -> str:
    """Return a record as JSON, rounded to what means something."""
    return json.dumps(_rounded(asdict(record)), indent=1) + "\n"


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.5g}")
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value


def _engine(found: Mapping[str, Any]) -> distributed.Measured:
    return distributed.Measured(
        **{
            **found,
            "size": distributed.Size(**found["size"]),
            "parts": {name: distributed.Part(**part) for name, part in found["parts"].items()},
            "histories": distributed.Histories(**found["histories"]),
        }
    )


def _restart(found: Mapping[str, Any]) -> restarting.Measured:
    used = {name: usage.Usage(**found[name]) for name in ("released", "restarted", "idle")}
    return restarting.Measured(**{**found, **used})


def costs(record: Record) -> capacity.Costs:
    """Return what a simulation takes as costs: what the largest sizes came to.

    Raises:
        LookupError: Something it needs was not measured.
    """
    local = max(_of(record.engines, _LOCAL), key=lambda each: each.size.tasks)
    durable = max(_of(record.engines, _TEMPORAL), key=lambda each: each.size.tasks)
    placement = growth(
        record.restarts, lambda each: each.released.cpu - _PER_APPLICATION * each.applications
    )
    largest = max(record.restarts, key=lambda each: each.placements)
    asked = sum(number for verb, number in largest.release_requests.items() if verb not in _NO_WORK)
    engine = local.per_task(distributed.LEADER) / 1000
    return capacity.Costs(
        _PER_APPLICATION,
        max(placement - engine, 0.0),
        engine,
        durable.per_task(distributed.LEADER) / 1000,
        durable.per_task(_TEMPORAL) / 1000,
        local.per_task(_POSTGRES) / 1000,
        asked / largest.placements,
    )


#: Seconds of CPU to plan an application, from the benchmarks' README ("Many applications").
_PER_APPLICATION = 0.033
#: Requests that do not grow with what is released: who is there, and what is followed.
_NO_WORK = ("discover", "watch")


def _of(found: Sequence[distributed.Measured], engine: str) -> list[distributed.Measured]:
    """Return what was measured of an engine.

    Raises:
        LookupError: Nothing was.
    """
    chosen = [each for each in found if each.size.engine == engine]
    if not chosen:
        raise LookupError(f"the {engine} engine was not measured")
    return chosen


def growth(
    found: Sequence[restarting.Measured], of: Callable[[restarting.Measured], float]
) -> float:
    """Return what each placement more has cost, between the smallest size and the largest."""
    least = min(found, key=lambda each: each.placements)
    most = max(found, key=lambda each: each.placements)
    more = max(most.placements - least.placements, 1)
    return max((of(most) - of(least)) / more, 0.0)


def marginals(
    found: Sequence[restarting.Measured], of: Callable[[restarting.Measured], float]
) -> tuple[float, float]:
    """Return what each application more, and each placement more, has cost.

    The second from the sizes of as many applications on the fewest and the most clusters, the
    first from those of the fewest and the most applications on as many clusters.
    """
    most = max(found, key=lambda each: (each.clusters, each.applications))
    least = min(
        (each for each in found if each.applications == most.applications),
        key=lambda each: each.clusters,
    )
    per_placement = (of(most) - of(least)) / max(most.placements - least.placements, 1)
    beside = [each for each in found if each.clusters == least.clusters]
    few = min(beside, key=lambda each: each.applications)
    many = max(beside, key=lambda each: each.applications)
    more = of(many) - of(few) - per_placement * (many.placements - few.placements)
    return max(more / max(many.applications - few.applications, 1), 0.0), max(per_placement, 0.0)


def measure(part: str, record: Record, say: Callable[[str], None], *, quick: bool) -> None:
    """Measure a part anew."""
    system, python = platform.system(), platform.python_version()
    record.machine = f"{os.cpu_count()} cores, {system}, Python {python}"
    match part:
        case "engines" | "workers":
            sizes = {
                ("engines", False): ENGINES,
                ("engines", True): QUICK_ENGINES,
                ("workers", False): WORKERS,
                ("workers", True): QUICK_WORKERS,
            }[part, quick]
            found = getattr(record, part)
            found.clear()
            for size in sizes:
                if not distributed.available(size):
                    say(f"{size.engine} on {size.database} is not installed")
                    continue
                found.append(distributed.measure(size))
                say(f"{found[-1]}")
        case "queues":
            record.queues.clear()
            for clusters in QUICK_QUEUES if quick else QUEUES:
                if temporal.program():
                    record.queues.append(queues.measure(clusters))
                    say(f"{record.queues[-1]}")
        case "restarts":
            record.restarts.clear()
            for applications, clusters in QUICK_RESTARTS if quick else RESTARTS:
                idle = 1.0 if quick else 20.0
                record.restarts.append(restarting.measure(applications, clusters, idle=idle))
                say(f"{record.restarts[-1]}")
        case _:
            record.costs = costs(record)
            record.simulated.clear()
            for case in QUICK_CASES if quick else CASES:
                record.simulated.append(capacity.apart(case, record.costs))
                say(f"{record.simulated[-1]}")


def render(record: Record) -> str:
    """Return the page."""
    parts: dict[str, Callable[[], Iterator[report.Row]]] = {
        "engines": lambda: _engines(record.engines),
        "bytes": lambda: _bytes(record.engines),
        "workers": lambda: _workers(record.workers),
        "queues": lambda: _queues(record.queues),
        "restarts": lambda: _restarts(record.restarts),
        "requests": lambda: _requests(record.restarts),
        "costs": lambda: _costs(record),
        "simulated": lambda: _simulated(record.simulated),
        "reckoned": lambda: _reckoned(record),
    }
    return report.fill(_ABOUT, record.machine, parts)


def _title(size: distributed.Size) -> str:
    what = f"{size.stages} stages" if size.stages else "KubeFleet's case"
    return f"{size.runs} × {size.clusters}, {what}"


def _engines(found: Sequence[distributed.Measured]) -> Iterator[report.Row]:
    yield (
        "Engine, database",
        "Runs × clusters",
        "Tasks",
        "CPU per task: leader",
        "Temporal",
        "PostgreSQL",
        "Memory: leader",
        "Temporal",
        "PostgreSQL",
        "Seconds, all",
        "a run, p90",
        "load",
    )
    for each in found:
        parts = each.parts
        names = (distributed.LEADER, _TEMPORAL, _POSTGRES)
        yield (
            f"{each.size.engine}, {each.size.database}",
            _title(each.size),
            f"{each.size.tasks:,}",
            *(f"{each.per_task(name):.2f} ms" if name in parts else "–" for name in names),
            *(f"{parts[name].peak:.0f} MiB" if name in parts else "–" for name in names),
            f"{each.wall:.0f}",
            f"{each.most:.1f}",
            f"{each.load:.0f}",
        )


def _bytes(found: Sequence[distributed.Measured]) -> Iterator[report.Row]:
    yield (
        "Engine, database",
        "Runs × clusters",
        "Steps kept",
        "Tasks per step",
        "Database, per run",
        "per task",
        "Temporal, per run",
        "per task",
        "Events per task",
        "Largest history",
    )
    for each in found:
        runs, tasks, histories = each.size.runs, each.size.tasks, each.histories
        kept = ("–",) * 4
        if histories.events:
            kept = (
                f"{histories.size / runs / 1024:.0f} KiB",
                f"{histories.size / tasks:,.0f} bytes",
                f"{histories.events / tasks:.1f}",
                f"{histories.largest / 1024:.0f} KiB",
            )
        yield (
            f"{each.size.engine}, {each.size.database}",
            _title(each.size),
            f"{each.steps:,}",
            f"{tasks / each.steps:.0f}",
            f"{each.stored / runs / 1024:.0f} KiB",
            f"{each.stored / tasks:,.0f} bytes",
            *kept,
        )


def _workers(found: Sequence[distributed.Measured]) -> Iterator[report.Row]:
    yield (
        "Workers",
        "Tasks",
        "Tasks a second",
        "CPU per task: all workers",
        "Temporal",
        "PostgreSQL",
        "Memory: first worker",
        "the largest of the others",
        "Temporal",
        "Steps kept",
        "load",
    )
    for each in found:
        leader, others = each.parts[distributed.LEADER], each.parts.get(distributed.WORKERS)
        working = each.per_task(distributed.LEADER) + each.per_task(distributed.WORKERS)
        yield (
            str(each.size.workers),
            f"{each.size.tasks:,}",
            f"{each.size.tasks / each.wall:.0f}",
            f"{working:.1f} ms",
            f"{each.per_task(_TEMPORAL):.1f} ms",
            f"{each.per_task(_POSTGRES):.2f} ms",
            f"{leader.peak:.0f} MiB",
            f"{others.peak:.0f} MiB" if others else "–",
            f"{each.parts[_TEMPORAL].peak:.0f} MiB",
            f"{each.steps:,}",
            f"{each.load:.0f}",
        )


def _queues(found: Sequence[queues.Measured]) -> Iterator[report.Row]:
    yield (
        "Clusters",
        "Worker: memory more",
        "threads",
        "CPU a minute",
        "Temporal: memory",
        "CPU a minute",
        "load",
    )
    for each in found:
        yield (
            str(each.clusters),
            f"{each.memory - each.without:.0f} MiB",
            str(each.threads),
            f"{each.process:.2f} s",
            f"{each.service_memory:.0f} MiB",
            f"{each.service:.2f} s",
            f"{each.load:.0f}",
        )


def _restarts(found: Sequence[restarting.Measured]) -> Iterator[report.Row]:
    yield (
        "Applications × clusters",
        "First release: CPU",
        "per placement",
        "Database, per placement",
        "Restart: CPU",
        "per placement",
        "seconds",
        "Fetches",
        "Memory",
        "CPU per minute when nothing happens",
        "load",
    )
    for each in found:
        count = each.placements
        yield (
            f"{each.applications} × {each.clusters}",
            f"{each.released.cpu:.0f} s",
            f"{each.released.cpu / count * 1000:.0f} ms",
            f"{each.stored / count / 1024:.1f} KiB",
            f"{each.restarted.cpu:.1f} s",
            f"{each.restarted.cpu / count * 1000:.1f} ms",
            f"{each.restarted.wall:.0f}",
            str(each.fetches),
            f"{each.restarted.peak:.0f} MiB",
            f"{each.idle_per_minute:.2f} s",
            f"{each.load:.0f}",
        )


def _requests(found: Sequence[restarting.Measured]) -> Iterator[report.Row]:
    verbs = sorted({verb for each in found for verb in each.requests})
    yield "Applications × clusters", *(f"{verb}, per cluster" for verb in verbs)
    for each in found:
        yield (
            f"{each.applications} × {each.clusters}",
            *(f"{each.requests.get(verb, 0) / each.clusters:.1f}" for verb in verbs),
        )


def _costs(record: Record) -> Iterator[report.Row]:
    yield "Cost", "Taken as", "From"
    if record.costs is None:
        return
    known = {
        "application": "[Many applications](README.md#many-applications): to plan one",
        "placement": "first releases: what each more cost, without application and engine",
        "engine": "the leader with the local engine, at the most tasks",
        "workflow": "the leader with Temporal, at the most tasks",
        "service": "Temporal's own process, there",
        "database": "PostgreSQL's processes with the local engine",
        "requests": "counted by the clusters in the largest first release",
        "transaction": "assumed: an fsync",
        "latency": "assumed: a cluster in another region",
    }
    for one in fields(record.costs):
        value: float = getattr(record.costs, one.name)
        shown = f"{value:.1f}" if one.name == "requests" else f"{value * 1000:.2f} ms"
        yield one.name, shown, known[one.name]


def _simulated(found: Sequence[capacity.Simulated]) -> Iterator[report.Row]:
    yield (
        "Commit that changes",
        "Placements",
        "All have ended after",
        "a run, p50",
        "p90",
        "The leader is busy",
        "Workers",
        "Temporal",
        "Steps",
        "Transactions",
        "Requests to clusters",
        "Really used: per placement",
        "memory",
    )
    for each in found:
        case = each.case
        end = each.makespan
        workers = f"{each.workers / end / case.workers:.0%}" if case.workers else "–"
        yield (
            case.title,
            f"{case.placements:,}",
            _time(end),
            _time(each.median),
            _time(each.most),
            f"{each.leader / end:.0%}",
            workers,
            f"{each.service / end:.1f} cores" if case.workers else "–",
            f"{each.steps:,}",
            f"{each.transactions:,}",
            f"{each.requests:,}",
            f"{each.real_cpu / case.placements * 1000:.2f} ms",
            f"{each.memory:.0f} MiB",
        )


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _reckoned(record: Record) -> Iterator[report.Row]:
    """What nobody has measured: so many times what one costs, and nothing else."""
    yield "Reckoned", "1,000 applications × 100 clusters", "10,000 applications × 1,000 clusters"
    if record.costs is None or not record.restarts:
        return
    sizes = ((1_000, 100), (_FULL_APPLICATIONS, _FULL_CLUSTERS))
    known = record.costs
    largest = max(record.restarts, key=lambda each: each.placements)
    listed = sum(number for verb, number in largest.requests.items()) / largest.clusters

    def row(title: str, of: Callable[[int, int], str]) -> report.Row:
        return title, *(of(*size) for size in sizes)

    def release(per_task: float) -> Callable[[int, int], str]:
        return lambda applications, clusters: _time(
            applications * known.application
            + applications * clusters * (known.placement + per_task)
        )

    yield row("placements", lambda one, other: f"{one * other:,}")
    yield row("CPU to release all of it everywhere, local engine", release(known.engine))
    yield row("the same, with Temporal: workers", release(known.workflow))
    yield row(
        "Temporal's own part",
        lambda one, other: _time(one * other * known.service),
    )
    beside, alone = marginals(record.restarts, lambda each: each.restarted.cpu)
    yield row(
        f"CPU until current after a restart: {beside * 1000:.0f} ms for each application more,"
        f" {alone * 1000:.2f} ms for each placement",
        lambda one, other: _time(one * beside + one * other * alone),
    )
    yield row("requests of a restart", lambda _, clusters: f"{listed * clusters:,.0f}")
    stored = growth(record.restarts, lambda each: float(each.stored))
    yield row(
        "database after one release",
        lambda one, other: f"{one * other * stored / (1 << 30):.1f} GiB",
    )


def main() -> None:
    """Measure what is asked for, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; a minute or two")
    parser.add_argument("--only", choices=(*PARTS, "page"), help="one part; or the page alone")
    parser.add_argument("--record", type=Path, default=_RECORD, help="file with what is known")
    parser.add_argument("--output", type=Path, default=_OUTPUT, help="file to write")
    chosen = parser.parse_args()
    record = Record([], [], [], [], [])
    if chosen.only and chosen.record.exists():
        record = read(chosen.record.read_text())
    for part in (chosen.only,) if chosen.only else PARTS:
        if part != "page":
            measure(part, record, _say, quick=chosen.quick)
    chosen.record.write_text(write(record))
    chosen.output.write_text(render(record))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
