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
from collections.abc import Sequence
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
            given.hasten()
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
