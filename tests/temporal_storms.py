"""Runs on a real Temporal server while everything around them fails, as a seed decides.

Processes come and go, the way to the service falls silent or is cut, the service itself is killed,
workflows are terminated, the store is away, requests and facts are delivered again, late, and in
another order. `Witness` sees at every write what has to hold always.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import engine_clusters
import engine_world
import silent_proxy
import temporal_server
import temporal_world
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.engine.state_machine import events
from volary.engine.temporal import leases
from volary.model import errors, statuses
from volary.model.runs import run_records

#: Seconds.
HEARTBEAT = 2.0
_CLOCK = engine_world.Clock()
_NAMES = ("ann", "bob")


class Keeper(engine_world.Keeper):
    """Keeps steps, when it is not away."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False
        #: Called once with the next step, before anybody hears that it was kept.
        self.then: Callable[[], object] | None = None

    async def keep_step(self, step: run_records.Transition, told: Sequence[feed.RunEvent]) -> None:
        if self.is_away:
            raise errors.TemporaryError("the store is away")
        await super().keep_step(step, told)
        then, self.then = self.then, None
        if then is not None:
            then()


@dataclass
class Witness:
    """Clusters in memory, and what did not hold when they were written to."""

    planned: state.Run
    keeper: Keeper
    broken: list[str] = field(default_factory=list)
    writes: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: The permits of all who carry a task out, by cluster.
    _permits: dict[str, list[leases.Lease]] = field(default_factory=dict)

    def process(self, chance: random.Random) -> "Process":
        """Return what carries tasks out in one process."""
        return Process(self, chance)

    @contextlib.contextmanager
    def entered(self, cluster: str, permit: leases.Lease) -> Iterator[None]:
        """Somebody carries a task out on a cluster in the block."""
        there = self._permits.setdefault(cluster, [])
        there.append(permit)
        try:
            yield
        finally:
            there.remove(permit)

    def see(self, task: executor.TaskContext, permit: leases.Lease) -> None:
        """Somebody writes at this moment."""
        self.writes[task.stage_id, task.target] += 1
        what = f"{task.stage_id} on {task.target}, attempt {task.attempt}"
        others = [each for each in self._permits[task.target] if each is not permit]
        if any(each.is_valid for each in others):
            self.broken.append(f"{what}: somebody else may write as well")
        kept = self.keeper.newest(self.planned)
        stage = kept.stage(task.stage_id)
        written = stage.task(task.target) if stage else None
        if written is None or not written.attempt:
            self.broken.append(f"{what}: it was not kept before")
        place = next(i for i, each in enumerate(kept.stages) if each.id == task.stage_id)
        if any(not each.is_final for before in kept.stages[:place] for each in before.tasks):
            self.broken.append(f"{what}: the stage before is not over")


@dataclass
class Process:
    """Carries out tasks in one process: a few writes each, none without a permit."""

    witness: Witness
    chance: random.Random
    permit: leases.Lease | None = None

    @contextlib.contextmanager
    def under(self, permit: leases.Lease) -> Iterator[None]:
        self.permit = permit
        yield

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        permit = self.permit
        assert permit is not None
        with self.witness.entered(task.target, permit):
            return await self._write(task, report, permit)

    async def _write(
        self, task: executor.TaskContext, report: executor.Reporter, permit: leases.Lease
    ) -> statuses.Outcome:
        for number in range(3):
            await permit.wait()
            if permit.is_valid:
                self.witness.see(task, permit)
            report.progress(state.Progress(f"{number} of 3 written", number, 3))
            await asyncio.sleep(self.chance.uniform(0.0, 0.6))
            if task.stop.is_raised:
                return engine_clusters.done(statuses.TaskStatus.CANCELLED, task.stop.reason)
        return engine_clusters.done()


@dataclass
class Storm:
    """One run, and all that happens around it."""

    server: temporal_server.Server
    proxy: silent_proxy.SilentProxy
    run: state.Run
    chance: random.Random
    #: What happened, for whoever reads a failure.
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keeper = Keeper()
        self.witness = Witness(self.run, self.keeper)
        self.place = engine_world.Place(f"127.0.0.1:{self.proxy.port}", self.keeper)
        self._runner: runners.AnyRunner | None = None
        self._numbers = iter(range(10_000))
        self.told: dict[str, list[str]] = {}

    async def play(self, troubles: int) -> state.Run:
        """Carry the run out to its end; so much happens meanwhile."""
        async with asyncio.TaskGroup() as group:
            lives = group.create_task(self._live(troubles))
            people = group.create_task(self._keep_asking())
            ended = await lives
            people.cancel()
        return ended

    async def _live(self, troubles: int) -> state.Run:
        """Be one process after the other."""
        while True:
            async with asyncio.TaskGroup() as group:
                life = group.create_task(self._life())
                for _ in range(self.chance.randint(1, 3)):
                    if troubles and not life.done():
                        troubles -= 1
                        await self._trouble()
                if troubles and not life.done():
                    await self._end(life)
            self.proxy.go_on()
            ended = None if life.cancelled() else life.result()
            if ended is not None:
                return ended

    async def _end(self, life: "asyncio.Task[state.Run | None]") -> None:
        """End a process: politely, or as by a kill once a step is kept that nobody hears of."""
        if self.chance.random() < 0.7:
            self.log.append("the process ends")
            life.cancel()
            return
        self.log.append("the process is killed")
        killed = asyncio.Event()

        def kill() -> None:
            # Nothing that it says any more reaches anybody.
            self.proxy.fall_silent()
            life.cancel()
            killed.set()

        self.keeper.then = kill
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await killed.wait()
        self.keeper.then = None
        life.cancel()

    async def _life(self) -> state.Run | None:
        """Return the run once it has ended; None: the process could not go on with it."""
        try:
            return await self._process()
        except* (runners.Interrupted, errors.TemporaryError) as failures:
            self.log.append(f"interrupted: {failures.exceptions}")
        await asyncio.sleep(0.2)
        return None

    async def _process(self) -> state.Run:
        process = self.witness.process(self.chance)
        async with temporal_world.opened(
            self.place.temporal,
            at=self.place.queues,
            keeper=self.keeper,
            heartbeat_seconds=HEARTBEAT,
            most_events=self.chance.choice((30, 4000)),
        ) as world:
            self._runner = world.runner(self.run, process, under=process.under)
            return await self._runner.carry_out()

    async def _trouble(self) -> None:
        trouble = self.chance.choice(
            (
                self._fall_silent,
                self._fall_silent,
                self._cut,
                self._lose_store,
                self._kill_server,
                self._terminate,
                self._repeat_facts,
            )
        )
        self.log.append(trouble.__name__)
        await trouble()
        await asyncio.sleep(self.chance.uniform(0.1, 1.0))

    async def _fall_silent(self) -> None:
        self.proxy.fall_silent()
        await asyncio.sleep(self.chance.uniform(0.1, 2 * HEARTBEAT))
        self.proxy.go_on()

    async def _cut(self) -> None:
        await self.proxy.close()

    async def _lose_store(self) -> None:
        self.keeper.is_away = True
        await asyncio.sleep(self.chance.uniform(0.1, 2.0))
        self.keeper.is_away = False

    async def _kill_server(self) -> None:
        self.server.kill()
        await asyncio.to_thread(self.server.start)

    async def _terminate(self) -> None:
        connection = await temporal_world.connected(self.server.address)
        handle = connection.get_workflow_handle(self.place.queues.workflow_id(self.run.id))
        with contextlib.suppress(temporal_world.RPCError):
            await handle.terminate("a test")

    async def _repeat_facts(self) -> None:
        """Deliver what is old, of nobody, or known, in any order."""
        runner = self._runner
        if runner is None:
            return
        lost = engine_clusters.done(statuses.TaskStatus.FAILED, "late")
        facts: list[events.Event] = [events.TimePassed(_CLOCK.now())]
        for target in self.run.targets:
            facts.append(events.ClusterReachable(_CLOCK.now(), target))
            for stage in self.run.stages:
                facts.append(events.TaskFinished(_CLOCK.now(), stage.id, target, 99, lost))
        self.chance.shuffle(facts)
        for fact in facts:
            runner.submit(fact)

    async def _keep_asking(self) -> None:
        """Pause and go on, again and again; each request is sent several times at once."""
        while True:
            runner = self._runner
            if runner is None:
                await asyncio.sleep(0.05)
                continue
            by = self.chance.choice(_NAMES)
            kind = events.Resume if runner.run.pause else events.PauseAsked
            request = f"request-{next(self._numbers)}"
            asked = kind(_CLOCK.now(), by, id=request)
            copies = [runner.request(asked) for _ in range(self.chance.randint(1, 3))]
            answers = await asyncio.gather(*copies, return_exceptions=True)
            self.told[request] = [each for each in answers if isinstance(each, str)]
            await asyncio.sleep(self.chance.uniform(0.0, 0.5))

    @property
    def lost(self) -> list[str]:
        """The requests of which somebody was told that they were taken, and no step took them."""
        kept = self.keeper.answers
        return [name for name, told in self.told.items() if "" in told and kept.get(name) != ""]
