"""The engine with stages that do nothing: ``python -m benchmarks.engines RUNS CLUSTERS``.

Runs go on side by side. The floor is a task group that starts as many tasks.
"""

import asyncio
import json
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from benchmarks import usage

STAGES = 8


@dataclass(frozen=True, slots=True)
class Measured:
    """What the engine used for one size."""

    runs: int
    clusters: int
    engine: usage.Usage
    floor: usage.Usage

    @property
    def tasks(self) -> int:
        """Tasks carried out."""
        return self.runs * self.clusters * STAGES

    @property
    def per_task(self) -> float:
        """Milliseconds of CPU per task."""
        return self.engine.cpu / self.tasks * 1000


def measure(runs: int, clusters: int, *, repetitions: int) -> Measured:
    """Measure one size, each time in a process of its own."""
    argv = [sys.executable, "-m", "benchmarks.engines", str(runs), str(clusters)]
    found = [json.loads(usage.output(argv)) for _ in range(repetitions)]
    engine, floor = (usage.best([usage.Usage(**each[part]) for each in found]) for part in (0, 1))
    return Measured(runs, clusters, engine, floor)


async def _carry_out(number: int, clusters: int) -> None:
    from volary.engine import executor
    from volary.engine.execution import runners
    from volary.engine.runs import run_builder
    from volary.model import statuses
    from volary.model.pipeline import pipelines
    from volary.model.pipeline.stage_kinds import rollout_stages

    class Clock:
        def now(self) -> datetime:
            return datetime.now(UTC)  # noqa: TID251 (here the clock is made)

    class Nothing:
        async def execute(
            self, task: executor.TaskContext, report: executor.Reporter
        ) -> statuses.Outcome:
            return statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "done", touched=True)

    class Forgetting:
        async def keep(self, record: runners.StepRecord) -> None:
            """Keep nothing: the work of the engine alone is measured."""

    clock = Clock()
    stages = tuple(
        pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
        for _ in range(STAGES)
    )
    targets = [f"cluster-{each:03}" for each in range(clusters)]
    made = run_builder.RunSpec("bench", "new", run_builder.one_group(targets), stages)

    async def one(number: int) -> None:
        run = run_builder.new_run(f"run-{number}", made, clock.now())
        ended = await runners.Runner(run, Nothing(), clock=clock, keeper=Forgetting()).carry_out()
        if ended.status is not statuses.RunStatus.SUCCEEDED:
            raise RuntimeError(ended.reason)

    async with asyncio.TaskGroup() as group:
        for each in range(number):
            group.create_task(one(each))


async def _floor(tasks: int) -> None:
    async def nothing() -> None:
        await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(nothing())


def _main(runs: int, clusters: int) -> None:
    meter = usage.Meter()
    asyncio.run(_floor(runs * clusters * STAGES))
    floor = meter.read()
    asyncio.run(_carry_out(1, 2))  # imports
    meter = usage.Meter()
    asyncio.run(_carry_out(runs, clusters))
    print(json.dumps([asdict(meter.read()), asdict(floor)]))


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
