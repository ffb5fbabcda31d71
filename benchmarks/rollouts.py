"""Releases on a fleet of sandbox clusters, with waves and without, one and many at once.

The sandbox is in one process and the controller with its database in another, which is measured;
each release is a commit to the repository that it watches. `fleets` writes down what is found.
"""

import argparse
import asyncio
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks import releasing, serving, usage, watching

#: Sandbox seconds per second: how fast pods start.
SPEED = 10
#: Three waves that take all.
THREE = "  waves: [{name: first, size: 20%}, {name: second, size: 30%}, {name: rest}]\n"
#: As in KubeFleet's measurement: 20, 30 and 50 of 100 clusters, half of a stage at a time.
HALVES = (
    "  waves:\n"
    "  - {name: first, size: 20%, maxConcurrency: 50%}\n"
    "  - {name: second, size: 30%, maxConcurrency: 50%}\n"
    "  - {name: rest, maxConcurrency: 50%}\n"
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One commit: so many applications get a new version."""

    title: str
    applications: int = 1
    waves: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done one after the other on one fleet."""

    clusters: int
    applications: int
    turns: tuple[Turn, ...]
    #: The whole canary pipeline, else one Deployment brought to its version.
    canary: bool = True


PLAIN, WAVES, ONE, MANY = "without waves", "in three waves", "one run", "many at once"


def canary(clusters: int, times: int) -> Plan:
    """The whole canary pipeline of one application, without waves and with them, in turns."""
    return Plan(clusters, 1, (Turn(PLAIN), Turn(WAVES, waves=THREE)) * times)


def staged(clusters: int, times: int, together: int) -> Plan:
    """KubeFleet's case: runs one after the other, then as many as `together` at once."""
    one, many = Turn(ONE, 1, HALVES), Turn(MANY, together, HALVES)
    return Plan(clusters, together, (*((one,) * times), many), canary=False)


FULL = (canary(100, 3), staged(100, 5, 10))
QUICK = (canary(10, 1), staged(10, 2, 5))


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one commit."""

    title: str
    #: Seconds of each run, from its start to its end.
    runs: tuple[float, ...]
    used: usage.Usage
    #: Resident memory afterwards, in MiB.
    memory: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything of one plan."""

    plan: Plan
    #: The first release of everything.
    first: Done
    done: tuple[Done, ...] = field(default=())

    def of(self, title: str) -> list[Done]:
        """Return the turns of a title."""
        return [each for each in self.done if each.title == title]


def measure(plan: Plan) -> Measured:
    """Measure a plan, in processes of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="volary-bench-") as directory,
        serving.running(Path(directory), plan.clusters, speed=SPEED, istio=True) as sandbox,
    ):
        argv = [sys.executable, "-m", "benchmarks.rollouts", json.dumps(asdict(plan))]
        found = json.loads(usage.output([*argv, str(sandbox.fleet_file)]))
    first, *done = (
        Done(each["title"], tuple(each["runs"]), usage.Usage(**each["used"]), each["memory"])
        for each in found
    )
    return Measured(plan, first, tuple(done))


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that so many are not above."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


async def _work(plan: Plan, fleet_file: Path, base: Path) -> list[Done]:
    author = watching.Author(base / "repository.git")
    turns = (Turn("first", plan.applications, plan.turns[0].waves), *plan.turns)
    versions = [0] * plan.applications
    found: list[Done] = []
    commit = author.commit(_files(plan, versions, turns[0]), "first")
    async with watching.controller(fleet_file, base) as given:
        for number, turn in enumerate(turns):
            if number:
                versions[: turn.applications] = [number] * turn.applications
                commit = author.commit(_files(plan, versions, turn), turn.title)
            meter = usage.Meter()
            given.request_refresh()
            ended = await given.until_ended(commit, turn.applications)
            used = meter.read()
            found.append(Done(turn.title, tuple(ended), used, usage.memory_of(os.getpid())))
            print(f"{turn.title}: {used.wall:.1f} s", file=sys.stderr, flush=True)
    return found


def _files(plan: Plan, versions: Sequence[int], turn: Turn) -> dict[str, dict[str, str]]:
    stages = releasing.CANARY if plan.canary else releasing.PLAIN
    found: dict[str, dict[str, str]] = {}
    for number, version in enumerate(versions):
        found |= releasing.files(
            [f"shop-{number:03}"], stages, f"v{version}", waves=turn.waves, routed=plan.canary
        )
    return found


def render(plans: tuple[Plan, Plan]) -> str:
    """Measure both plans and return their part of the page."""
    return page(measure(plans[0]), measure(plans[1]))


def page(waved: Measured, staged: Measured) -> str:
    """Write both down."""
    load = os.getloadavg()[1]
    return _TEXT.format(
        load=f"{load:.1f}",
        clusters=waved.plan.clusters,
        waved="".join(_waved(waved)),
        members=staged.plan.clusters,
        staged="".join(_staged(staged)),
        together=staged.plan.applications,
        speed=SPEED,
    )


def _waved(found: Measured) -> Iterator[str]:
    least: dict[str, tuple[float, float]] = {}
    for title in (PLAIN, WAVES):
        turns = found.of(title)
        fastest = min(each.runs[0] for each in turns)
        least[title] = (fastest, min(each.used.cpu for each in turns))
    wall, cpu = least[PLAIN]
    for title, (seconds, spent) in least.items():
        memory = max(each.memory for each in found.of(title))
        cells = (
            title,
            f"{seconds:.1f} s",
            f"{seconds / wall:.2f}",
            f"{spent / found.plan.clusters * 1000:.0f} ms",
            f"{(spent - cpu) / found.plan.clusters * 1000:+.0f} ms",
            f"{memory:.0f} MiB",
        )
        yield f"| {' | '.join(cells)} |\n"


def _staged(found: Measured) -> Iterator[str]:
    for title in (ONE, MANY):
        turns = found.of(title)
        runs = [each for turn in turns for each in turn.runs]
        spent = sum(each.used.cpu for each in turns) / len(runs)
        count = f"{len(runs)}, one after the other" if title == ONE else f"{len(runs)} at once"
        cells = (
            count,
            f"{quantile(runs, 0.5):.1f} s",
            f"{quantile(runs, 0.9):.1f} s",
            f"{max(runs):.1f} s",
            f"{spent / found.plan.clusters * 1000:.0f} ms",
            f"{turns[-1].memory:.0f} MiB",
        )
        yield f"| {' | '.join(cells)} |\n"


_TEXT = """
## Releases on sandbox clusters

A controller with its database (SQLite) in one process, the sandbox in another; a release is a
commit to the repository that it watches. Sandbox and controller share two cores with whatever
else the machine does (load over five minutes at the end: {load}), so wall times are mostly the
sandbox's; the CPU time is that of the controller alone. Pods are {speed} times as fast as usual.

### The canary pipeline on {clusters} clusters

Canary, 10 % of the traffic, primary, the traffic back, clean-up. The least of all turns. Each wave
waits for itself until proxies have followed (3 s after each change of routes), and proves in the
end that its clusters are healthy; without waves that is done once.

| Release | From start to end | ÷ without waves | CPU per cluster | more than without | Memory |
| --- | --- | --- | --- | --- | --- |
{waved}
### KubeFleet's case

KubeFleet (2026) publishes for a staged update of one placement on 100 clusters, in 3 stages of 20,
30 and 50 clusters with a concurrency of 50 %, a p90 of 96 s for one run and of 135 s for 100 runs
at once, on 20 hosts with virtual clusters, where the hub's controllers use 5 cores and 11 GB. Here
the same waves over {members} sandbox clusters bring one Deployment with one replica to a new
version and wait until its pod is ready. What differs: everything shares two cores, the clusters
are emulated and their pods start in a fraction of a second, {together} runs at once stand for 100,
and KubeFleet's agents pull what this controller sends itself. So the seconds compare nothing;
how they grow with the number of runs, and what a run costs the controller, do say something.

| Runs | p50 | p90 | Longest | CPU per run and cluster | Memory |
| --- | --- | --- | --- | --- | --- |
{staged}"""


def main() -> None:
    """Carry out a plan in this process and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rollouts", description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("fleet", type=Path)
    chosen = parser.parse_args()
    wish = json.loads(chosen.plan)
    plan = Plan(**{**wish, "turns": tuple(Turn(**each) for each in wish["turns"])})
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as made:
        done = asyncio.run(_work(plan, chosen.fleet, Path(made)))
    print(json.dumps([asdict(each) for each in done]))


if __name__ == "__main__":
    main()
