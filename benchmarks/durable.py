"""The engine on a database, with stages that do nothing.

``python -m benchmarks.durable ADDRESS RUNS CLUSTERS``: runs go on side by side, as the controller
carries them out, each step kept in the store and its sentences cleaned of secrets.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import postgres, usage

STAGES = 8
SQLITE, POSTGRES = "SQLite", "PostgreSQL"


@dataclass(frozen=True, slots=True)
class Measured:
    """What runs on a database used; of the database's own processes nothing."""

    database: str
    runs: int
    clusters: int
    used: usage.Usage
    #: Transactions, and the size of the database afterwards in MiB (0: not known).
    steps: int
    size: float

    @property
    def tasks(self) -> int:
        """Tasks carried out."""
        return self.runs * self.clusters * STAGES

    @property
    def per_task(self) -> float:
        """Milliseconds of CPU per task."""
        return self.used.cpu / self.tasks * 1000


def measure(database: str, runs: int, clusters: int) -> Measured | None:
    """Measure one size in a process of its own; None when there is no such database."""
    with _address(database) as address:
        if not address:
            return None
        argv = [sys.executable, "-m", "benchmarks.durable", address, str(runs), str(clusters)]
        found = json.loads(usage.output(argv))
        file = Path(address.removeprefix("sqlite:"))
        size = file.stat().st_size / (1 << 20) if database == SQLITE else 0.0
    used = usage.Usage(**found["used"])
    return Measured(database, runs, clusters, used, found["steps"], size)


@contextlib.contextmanager
def _address(database: str) -> Iterator[str]:
    """Make an empty database; an empty address when that is not possible here."""
    if database == POSTGRES:
        with postgres.running() as address:
            yield address
        return
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as directory:
        yield f"sqlite:{directory}/bench.db"


async def _carry_out(address: str, number: int, clusters: int) -> int:
    from volary.controller.persistence import journal
    from volary.engine import executor
    from volary.engine.execution import runners
    from volary.engine.persistence import transitions
    from volary.engine.runs import run_builder
    from volary.manifests import redaction
    from volary.model import statuses
    from volary.model.pipeline import pipelines
    from volary.model.pipeline.stage_kinds import rollout_stages
    from volary.store import factory

    class Clock:
        def now(self) -> datetime:
            return datetime.now(UTC)  # noqa: TID251 (here the clock is made)

    class Nothing:
        async def execute(
            self, task: executor.TaskContext, report: executor.Reporter
        ) -> statuses.Outcome:
            return statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "done", touched=True)

    class Counting(journal.StoreJournal):
        async def keep(self, record: runners.StepRecord) -> None:
            kept.append(len(record.happened))
            await super().keep(record)

    kept: list[int] = []
    clock = Clock()
    stages = tuple(
        pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
        for _ in range(STAGES)
    )
    targets = [f"cluster-{each:03}" for each in range(clusters)]
    made = run_builder.RunSpec("bench", "new", run_builder.one_group(targets), stages)
    masker = redaction.Masker(["correct-horse-battery", "staple"])

    async with factory.open_store(address, clock=clock) as store:

        async def one(number: int) -> None:
            run = run_builder.new_run(f"run-{number}", made, clock.now())
            first = transitions.first_transition(run, {}, clock.now())
            begun = await store.keep_transition(first, fence=None)
            keeper = Counting(store, run, begun.version, fence=None, masker=masker)
            ended = await runners.Runner(run, Nothing(), clock=clock, keeper=keeper).carry_out()
            if ended.status is not statuses.RunStatus.SUCCEEDED:
                raise RuntimeError(ended.reason)

        async with asyncio.TaskGroup() as group:
            for each in range(number):
                group.create_task(one(each))
    return len(kept)


def _main(address: str, runs: int, clusters: int) -> None:
    asyncio.run(_carry_out("memory:", 1, 2))  # imports
    meter = usage.Meter()
    steps = asyncio.run(_carry_out(address, runs, clusters))
    print(json.dumps({"used": asdict(meter.read()), "steps": steps}))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
