"""Installations that are too large to be tried here, simulated with costs that were measured.

Runs are planned in the controller's slots, decided by the machine, carried out by the engine's own
loop, and kept by the store's group commit: all of it the code that a server runs. Time is virtual.
What a server would wait for (a processor, a transaction, an answer of a cluster) takes as long as
was measured; nothing else takes any.
"""

import asyncio
import gc
import heapq
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from benchmarks import rollouts, usage, virtual_time

if TYPE_CHECKING:
    from volary.engine.runs import run_builder, state

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured: seconds, of processor time where nothing else is said."""

    #: For each application: to find it, to render, to keep what it is.
    application: float
    #: For each of its clusters, without the engine: to try it there, to send, and to look.
    placement: float
    #: Of the local engine, for a task: to decide, and to keep the step.
    engine: float
    #: Likewise with Temporal, and what Temporal's own processes use.
    workflow: float
    service: float
    #: Of the database's processes, for a task; they have processors of their own.
    database: float
    #: Requests to a cluster, for each application there.
    requests: float
    #: Seconds of one transaction, however much is in it; assumed: a disk's fsync.
    transaction: float = 0.005
    #: Seconds until a cluster answers; assumed: another region.
    latency: float = 0.05


@dataclass(frozen=True, slots=True)
class Case:
    """A commit that changes applications, each on some clusters of the fleet."""

    title: str
    applications: int
    clusters: int
    #: Clusters of each application, one after the other along the fleet; 0: all.
    each: int = 0
    #: In waves of 20, 30 and 50 %, half of a wave at once; else all at once.
    staged: bool = False
    #: Processes that take work from Temporal, a processor each, beside the one that plans. 0: the
    #: local engine, in the process that plans.
    workers: int = 0

    @property
    def placements(self) -> int:
        """Applications in clusters."""
        return self.applications * (self.each or self.clusters)


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of a case."""

    case: Case
    #: Seconds from the commit until the last run has ended, in virtual time.
    makespan: float
    #: Seconds of a run from its start to its end, likewise: the median, and nine of ten.
    median: float
    most: float
    #: Seconds that processors were busy, likewise.
    leader: float
    workers: float
    #: Of Temporal and of the database, which have processors of their own.
    service: float
    database: float
    steps: int
    transactions: int
    requests: int
    #: Of this process: seconds of the code that is simulated, and MiB with every run in it.
    real_cpu: float
    memory: float


@dataclass(slots=True)
class _Processors:
    """Processors that take one thing after another."""

    number: int
    busy: float = 0.0
    _free: list[float] = field(default_factory=list)

    async def use(self, seconds: float) -> None:
        """Be worked on for so long, as soon as one is free."""
        loop = asyncio.get_running_loop()
        if len(self._free) < self.number:
            at = loop.time()
        else:
            at = max(loop.time(), heapq.heappop(self._free))
        heapq.heappush(self._free, at + seconds)
        self.busy += seconds
        await asyncio.sleep(at + seconds - loop.time())


class _World:
    """One installation."""

    def __init__(self, case: Case, costs: Costs) -> None:
        from volary.clusters.client import client_pool
        from volary.controller import inputs
        from volary.controller.leadership import planner_slots
        from volary.store import records
        from volary.store.sql.database import group_commit

        self.case, self.costs = case, costs
        self.leader = _Processors(1)
        self.workers = _Processors(case.workers) if case.workers else self.leader
        self.planners = planner_slots.PlannerSlots(inputs.Rules().planners)
        at_once = client_pool.concurrency(case.clusters)
        self.connections = [asyncio.Semaphore(at_once) for _ in range(case.clusters)]
        self.service, self.database = 0.0, 0.0
        self.steps, self.transactions, self.requests = 0, 0, 0
        self.commits: group_commit.GroupCommit[Any, bool] = group_commit.GroupCommit(
            self._write, lambda record: record.run.id, most=records.Limits().group
        )
        self.took: list[float] = []

    def now(self) -> datetime:
        """Return the time; the engine's clock."""
        return _BEGAN + timedelta(seconds=asyncio.get_running_loop().time())

    async def keep(self, record: Any) -> None:
        """Keep a step; the engine's journal."""
        self.steps += 1
        costs, tasks = self.costs, len(record.happened)
        if self.case.workers:
            self.service += costs.service * tasks
            await self.workers.use(costs.workflow * tasks)
        else:
            await self.leader.use(costs.engine * tasks)
        await self.commits.keep(record)

    async def _write(self, records: Sequence[Any]) -> "list[bool | Exception]":
        self.transactions += 1
        self.database += self.costs.database * sum(len(each.happened) for each in records)
        await asyncio.sleep(self.costs.transaction)
        return [True] * len(records)

    async def execute(self, task: Any, _report: Any) -> Any:
        """Carry a stage out on a cluster; the engine's executor."""
        from volary.model import statuses
        from volary.model.pipeline.stage_kinds import rollout_stages

        # What is measured of a placement has the proof at the end of its wave in it.
        if task.stage.kind is rollout_stages.SYNC:
            await self.workers.use(self.costs.placement)
            await self._ask(int(task.target.rpartition("-")[2]), self.costs.requests)
        return statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "done", touched=True)

    async def _ask(self, cluster: int, requests: float) -> None:
        self.requests += round(requests)
        async with self.connections[cluster]:
            await asyncio.sleep(requests * self.costs.latency)

    async def release(self, number: int, spec: "run_builder.RunSpec") -> None:
        """Plan a run and carry it out."""
        from volary.engine.execution import runners
        from volary.engine.runs import run_builder
        from volary.model import statuses

        async with self.planners.slot():
            await self.leader.use(self.costs.application)
        began = asyncio.get_running_loop().time()
        run: state.Run = run_builder.new_run(f"run-{number}", spec, self.now())
        ended = await runners.Runner(run, self, clock=self, keeper=self).carry_out()
        if ended.status is not statuses.RunStatus.SUCCEEDED:
            raise RuntimeError(ended.reason)
        self.took.append(asyncio.get_running_loop().time() - began)


def simulate(case: Case, costs: Costs) -> Simulated:
    """Play one case to its end."""

    async def play() -> Simulated:
        world = _World(case, costs)
        specs = _specs(case)
        gc.collect()
        before = time.process_time()
        async with asyncio.TaskGroup() as group:
            for number in range(case.applications):
                group.create_task(world.release(number, specs[number % len(specs)]))
        return Simulated(
            case,
            asyncio.get_running_loop().time(),
            rollouts.quantile(world.took, 0.5),
            rollouts.quantile(world.took, 0.9),
            world.leader.busy,
            world.workers.busy if case.workers else 0.0,
            world.service,
            world.database,
            world.steps,
            world.transactions,
            world.requests,
            time.process_time() - before,
            usage.own_peak(),
        )

    return virtual_time.run(play())


def _specs(case: Case) -> "list[run_builder.RunSpec]":
    """Return what runs are made from, so many that each cluster has its share."""
    from benchmarks import distributed

    each = case.each or case.clusters
    places = range(0, case.clusters, each)
    return [
        distributed.spec(
            [f"cluster-{(place + number) % case.clusters:04}" for number in range(each)],
            stages=0 if case.staged else 1,
        )
        for place in places
    ]


def apart(case: Case, costs: Costs) -> Simulated:
    """Play one case in a process of its own: its memory is that of the case."""
    argv = [sys.executable, "-m", "benchmarks.capacity", json.dumps([asdict(case), asdict(costs)])]
    found = json.loads(usage.output(argv))
    return Simulated(**{**found, "case": Case(**found["case"])})


if __name__ == "__main__":
    _case, _costs = json.loads(sys.argv[1])
    print(json.dumps(asdict(simulate(Case(**_case), Costs(**_costs)))))
