"""Runs on a real Temporal service for a long time: ``python -m benchmarks.soak``.

One process carries runs out, one after another on several lanes, and now and then closes its engine
and opens it again. What must not grow: memory, file descriptors, threads, tasks of the loop, and
the longest history. Writes ``benchmarks/soak.md``.
"""

import argparse
import asyncio
import contextlib
import gc
import os
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from temporalio import client

from volary.demo import temporal_server
from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.persistence import pieces
from volary.engine.runs import run_builder, state
from volary.engine.temporal import (
    connections,
    documents,
    engine_hosts,
    hosted_runs,
    temporal_runner,
)
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_records

LANES = 4
CLUSTERS = ("us", "eu", "asia")
STAGES = 4
#: What a task says of its progress.
WORDS = 5
#: A new process carries the runs out after so many of them.
LIFE = 40
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process held at one moment, and what it had done by then."""

    #: Since the beginning.
    seconds: float
    runs: int
    steps: int
    #: MiB.
    memory: float
    descriptors: int
    threads: int
    tasks: int
    #: Events, of the runs that ended since the last sample.
    longest_history: int


@dataclass(slots=True)
class Soak:
    """Carries runs out, and looks at what that leaves behind."""

    address: str
    samples: list[Sample] = field(default_factory=list)
    runs: int = 0
    steps: int = 0
    lives: int = 0
    _began: float = field(default_factory=time.monotonic)
    _longest: int = 0
    _queues: documents.Queues = field(
        default_factory=lambda: documents.Queues(f"soak-{time.time_ns()}")
    )

    async def carry_out(self, is_over: Callable[[], bool], *, every: int) -> None:
        """Carry runs out until it is over, and take a sample after every so many."""
        while not is_over():
            async with self._process() as host:
                self.lives += 1
                last = self.runs + LIFE
                while not is_over() and self.runs < last:
                    async with asyncio.TaskGroup() as group:
                        for _ in range(LANES):
                            group.create_task(self._one(host))
                    if self.runs % every < LANES:
                        self._look()

    @contextlib.asynccontextmanager
    async def _process(self) -> AsyncIterator[engine_hosts.EngineHost]:
        connection = await connections.connect(connections.Connection(self.address))
        host = engine_hosts.EngineHost(connection, time.monotonic, self._queues)
        async with host.working():
            yield host

    async def _one(self, host: engine_hosts.EngineHost) -> None:
        run = _planned(f"soak-{time.time_ns()}")
        keeper = _Keeper()
        hosted = hosted_runs.HostedRun(
            stored=pieces.of_run(run, 1, _Clock().now()),
            performer=_Clusters(),
            keeper=keeper,
            clock=_Clock(),
            observers=[_Silent()],
        )
        ended = await temporal_runner.TemporalRunner(hosted, host).carry_out()
        if ended.status is not statuses.RunStatus.SUCCEEDED:
            raise RuntimeError(ended.reason)
        handle = host.connection.get_workflow_handle(host.queues.workflow_id(run.id))
        self._longest = max(self._longest, await _history_length(handle))
        self.runs += 1
        self.steps += keeper.steps

    def _look(self) -> None:
        gc.collect()
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / (1 << 20)
        self.samples.append(
            Sample(
                time.monotonic() - self._began,
                self.runs,
                self.steps,
                resident,
                len(os.listdir("/proc/self/fd")),
                threading.active_count(),
                len(asyncio.all_tasks()),
                self._longest,
            )
        )
        self._longest = 0


async def _history_length(handle: "client.WorkflowHandle[object, object]") -> int:
    described = await handle.describe()
    return described.history_length


class _Clock:
    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)


class _Silent:
    def notify(self, event: feed.RunEvent) -> None:
        """Nobody looks."""


class _Keeper:
    """Counts steps, and forgets them."""

    def __init__(self) -> None:
        self.steps = 0

    async def keep_step(self, step: run_records.Transition, _: Sequence[feed.RunEvent]) -> None:
        self.steps = step.expected_version


class _Clusters:
    """Tasks that talk."""

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        for number in range(WORDS):
            report.progress(state.Progress(f"{number} of {WORDS} pods ready", number, WORDS))
            report.log(f"pod {number} is ready")
            await asyncio.sleep(0)
        return statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "done", touched=True)


def _planned(run_id: str) -> state.Run:
    stage = pipelines.Stage(
        rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
    )
    stages = tuple(replace(stage, index=number) for number in range(STAGES))
    made = run_builder.RunSpec("soak", "new", run_builder.one_group(CLUSTERS), stages, "old")
    return run_builder.new_run(run_id, made, _Clock().now())


def growth(samples: Sequence[Sample], of: Callable[[Sample], float]) -> float:
    """Return how much the last third of samples holds on average, as a share of the second."""
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[-third:]
    return (sum(map(of, last)) / len(last)) / (sum(map(of, middle)) / len(middle))


def _rows(samples: Sequence[Sample]) -> Iterator[str]:
    step = max(1, len(samples) // 12)
    for each in (*samples[::step], samples[-1]):
        yield (
            f"| {each.seconds / 60:.1f} | {each.runs} | {each.steps:,} | {each.memory:.0f} | "
            f"{each.descriptors} | {each.threads} | {each.tasks} | {each.longest_history} |"
        )


def page(soak: Soak) -> str:
    """Return what was found, as the page that is written."""
    samples = soak.samples
    lines = [
        "# Soak",
        "",
        "`python -m benchmarks.soak --minutes 60` measures and writes this page: runs on a real",
        f"Temporal service, {LANES} side by side, each of {STAGES} stages on {len(CLUSTERS)}",
        f"clusters in memory; the engine is closed and opened again after {LIFE} runs.",
        "",
        f"This one took {samples[-1].seconds / 60:.0f} minutes: {soak.runs} runs, "
        f"{soak.steps:,} steps, {soak.lives} lives of the engine.",
        "",
        "| Minute | Runs | Steps | Memory, MiB | Descriptors | Threads | Tasks | Longest history |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *_rows(samples),
        "",
        "The last third beside the second: "
        f"{growth(samples, lambda each: each.memory):.2f} × memory, "
        f"{growth(samples, lambda each: each.descriptors):.2f} × descriptors, "
        f"{growth(samples, lambda each: each.threads):.2f} × threads, "
        f"{growth(samples, lambda each: each.longest_history):.2f} × events of a history.",
    ]
    return "\n".join(lines) + "\n"


async def _main(minutes: float, output: Path) -> None:
    end = time.monotonic() + minutes * 60
    with (
        tempfile.TemporaryDirectory(prefix="volary-soak-") as directory,
        temporal_server.running(Path(directory)) as server,
    ):
        soak = Soak(server.address)
        await soak.carry_out(lambda: time.monotonic() > end, every=LANES * 2)
    output.write_text(page(soak))


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "soak.md")
    chosen = parser.parse_args()
    asyncio.run(_main(chosen.minutes, chosen.output))


if __name__ == "__main__":
    main()
