"""Both engines on a real database, Temporal's on a real server, with stages that do nothing.

Every process is measured: the one that leads, further workers, Temporal, and PostgreSQL. A worker
is a process that decides runs, keeps their steps and carries out tasks, all from the same queues;
with one, the process that leads does all of it, as a server does.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import families, postgres, rollouts, temporal, usage

if TYPE_CHECKING:
    from volary.controller.persistence import journal
    from volary.engine.runs import run_builder, state
    from volary.engine.temporal import engine_hosts, hosted_runs
    from volary.model.runs import run_records
    from volary.store import stores

LOCAL, TEMPORAL = "local", "Temporal"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
LEADER, WORKERS = "leader", "other workers"
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Size:
    """What is carried out, and by whom."""

    engine: str
    database: str
    runs: int
    clusters: int
    #: Of one pipeline over all clusters; 0: KubeFleet's case, one stage in three waves of 20, 30
    #: and 50 %, half of a wave at a time, and the proof at the end of each.
    stages: int = 8
    #: Processes that take work from Temporal, the one that leads included.
    workers: int = 1

    @property
    def tasks(self) -> int:
        """Stages on clusters, and proofs."""
        return self.runs * self.clusters * (self.stages or 2)


@dataclass(frozen=True, slots=True)
class Part:
    """What one kind of process used."""

    #: Seconds.
    cpu: float
    #: MiB at most.
    peak: float


@dataclass(frozen=True, slots=True)
class Histories:
    """What Temporal keeps of the runs."""

    #: Workflow executions: a run goes on in a new one when its history is long.
    executions: int = 0
    events: int = 0
    size: int = 0
    #: The largest history, in bytes.
    largest: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """What a size used."""

    size: Size
    wall: float
    #: By kind of process: the leader, other workers, Temporal, PostgreSQL.
    parts: Mapping[str, Part]
    #: Seconds of a run from its start to its end: the median, and nine of ten.
    median: float
    most: float
    #: Steps that were kept; the local engine's and Temporal's are each one write of a run.
    steps: int
    #: Bytes that the database has grown by.
    stored: int
    histories: Histories = field(default_factory=Histories)
    #: Of the machine at the end, over a minute: the higher, the less wall times say.
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    @property
    def cpu(self) -> float:
        """Seconds of all processes."""
        return sum(part.cpu for part in self.parts.values())

    def per_task(self, part: str) -> float:
        """Milliseconds of one kind of process per task; 0: there was none."""
        used = self.parts.get(part)
        return used.cpu / self.size.tasks * 1000 if used else 0.0


def available(size: Size) -> bool:
    """Say whether everything that a size needs is installed."""
    if size.engine == TEMPORAL and not temporal.program():
        return False
    with contextlib.ExitStack() as stack:
        return size.database == SQLITE or bool(stack.enter_context(postgres.running()))


def measure(size: Size) -> Measured:
    """Measure one size, each part in processes of its own."""
    with contextlib.ExitStack() as stack:
        wish: dict[str, Any] = {"size": asdict(size), "temporal": ""}
        watched: dict[str, families.Family] = {}
        if size.database == POSTGRES:
            wish["store"] = stack.enter_context(postgres.running())
            watched[POSTGRES] = families.Family(_postmaster(wish["store"]))
        else:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="volary-bench-"))
            wish["store"] = f"sqlite:{directory}/bench.db"
        if size.engine == TEMPORAL:
            server = stack.enter_context(temporal.running())
            wish["temporal"] = server.address
            watched[TEMPORAL] = families.Family(server.pid)
        before = asyncio.run(_prepare(wish["store"], size))
        others = [
            stack.enter_context(_worker({**wish, "number": number}))
            for number in range(1, size.workers)
        ]
        watched |= {f"worker {each.pid}": families.Family(each.pid) for each in others}
        with families.watched(list(watched.values())):
            argv = [sys.executable, "-m", "benchmarks.distributed"]
            found = json.loads(usage.output([*argv, json.dumps({**wish, "number": 0})]))
        stored = asyncio.run(_size(wish["store"])) - before
    parts = {LEADER: Part(**found["part"])}
    helpers = [watched.pop(f"worker {each.pid}") for each in others]
    if helpers:
        parts[WORKERS] = Part(sum(each.cpu for each in helpers), max(each.peak for each in helpers))
    parts |= {name: Part(each.cpu, each.peak) for name, each in watched.items()}
    return Measured(
        size,
        found["wall"],
        parts,
        found["median"],
        found["most"],
        found["steps"],
        stored,
        Histories(**found["histories"]),
    )


def _postmaster(address: str) -> int:
    directory = Path(address.partition("host=")[2])
    return int((directory / "data/postmaster.pid").read_text().split()[0])


@contextlib.contextmanager
def _worker(wish: Mapping[str, Any]) -> Iterator["subprocess.Popen[bytes]"]:
    argv = [sys.executable, "-m", "benchmarks.distributed", json.dumps(wish)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdout is None or process.stdin is None or not process.stdout.readline():
            raise RuntimeError("the worker did not start")
        yield process
        process.stdin.close()
        process.wait(60)


async def _prepare(address: str, size: Size) -> int:
    """Keep every run, planned, and return how large the database is then."""
    from volary.engine.persistence import transitions
    from volary.store import factory

    async with factory.open_store(address, clock=_Clock()) as store:
        for run in planned(size):
            first = transitions.first_transition(run, {}, _BEGAN)
            await store.keep_transition(first, fence=None)
    return await _size(address)


async def _size(address: str) -> int:
    if address.startswith("sqlite:"):
        file = address.removeprefix("sqlite:")
        return sum(path.stat().st_size for path in Path(file).parent.glob(f"{Path(file).name}*"))
    import asyncpg  # type: ignore[import-untyped]

    connection = await asyncpg.connect(address)
    try:
        size = await connection.fetchval("SELECT pg_database_size(current_database())")
    finally:
        await connection.close()
    return int(size)


class _Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 (here the clock is made)


def planned(size: Size) -> "list[state.Run]":
    """Return the runs; each process makes the same ones."""
    from volary.engine.runs import run_builder

    made = spec([f"cluster-{each:04}" for each in range(size.clusters)], stages=size.stages)
    return [run_builder.new_run(f"run-{number}", made, _BEGAN) for number in range(size.runs)]


def spec(targets: Sequence[str], *, stages: int) -> "run_builder.RunSpec":
    """Return what a run of so many stages is made from; of none: KubeFleet's case."""
    from volary.controller.planning import run_waves
    from volary.engine.runs import run_builder
    from volary.model import applications
    from volary.model.fleet import fleets
    from volary.model.pipeline import pipelines
    from volary.model.pipeline.stage_kinds import rollout_stages
    from volary.model.placement import rollouts as placement_rollouts

    pipeline = tuple(
        pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions(), index=index)
        for index in range(stages or 1)
    )
    groups = run_builder.one_group(targets)
    if stages:
        return run_builder.RunSpec("bench", "new", groups, pipeline)
    half = placement_rollouts.Share(50, is_percentage=True)
    shares = {"first": 20, "second": 30, "rest": 0}
    waves = placement_rollouts.Waves(
        tuple(
            placement_rollouts.Wave(
                name,
                size=placement_rollouts.Share(share, is_percentage=True) if share else None,
                max_concurrency=half,
            )
            for name, share in shares.items()
        )
    )
    members = [fleets.Cluster(name) for name in targets]
    moves = run_waves.plan_waves(applications.Application("bench", waves=waves), members, pipeline)
    return run_builder.RunSpec(
        "bench", "new", groups, pipeline, waves=moves.rules, steps=moves.steps
    )


class _Process:
    """One process of a measurement."""

    def __init__(self, wish: Mapping[str, Any], store: "stores.Store") -> None:
        self._size = Size(**wish["size"])
        self._wish = wish
        self._store = store
        self.kept = 0

    async def lead(self) -> dict[str, Any]:
        """Have every run carried out, and say what it took."""
        from volary.engine.execution import runners
        from volary.model import statuses

        runs, took = planned(self._size), list[float]()
        async with self._opened_host() as host:

            async def carry_out(run: "state.Run") -> None:
                keeper = self._keeper(run)
                made: runners.AnyRunner = runners.Runner(
                    run, _Nothing(), clock=_Clock(), keeper=keeper
                )
                if host is not None:
                    from volary.engine.temporal import temporal_runner

                    made = temporal_runner.TemporalRunner(self._hosted(run, keeper), host)
                began = time.perf_counter()
                ended = await made.carry_out()
                if ended.status is not statuses.RunStatus.SUCCEEDED:
                    raise RuntimeError(ended.reason)
                took.append(time.perf_counter() - began)

            for module in ("planning.run_waves", "persistence.journal"):
                importlib.import_module(f"volary.controller.{module}")
            meter = usage.Meter()
            async with asyncio.TaskGroup() as group:
                for run in runs:
                    group.create_task(carry_out(run))
            used = meter.read()
            steps = sum([await self._steps(run.id) for run in runs])
            histories = Histories() if host is None else await self._histories(host)
        return {
            "part": {"cpu": used.cpu, "peak": used.peak},
            "wall": used.wall,
            "median": rollouts.quantile(took, 0.5),
            "most": rollouts.quantile(took, 0.9),
            "steps": steps,
            "histories": asdict(histories),
        }

    async def work(self) -> None:
        """Take a share of the work until nobody wants anything any more."""
        async with self._opened_host() as host:
            if host is None:
                raise RuntimeError("only Temporal has more than one worker")
            with contextlib.ExitStack() as stack:
                for run in planned(self._size):
                    hosted = self._hosted(run, self._keeper(run))
                    stack.enter_context(host.known.opened(run.id, hosted))
                print("ready", flush=True)
                await asyncio.to_thread(sys.stdin.read)

    def _keeper(self, run: "state.Run") -> "journal.StoreJournal":
        from volary.controller.persistence import journal
        from volary.manifests import redaction

        masker = redaction.Masker(["correct-horse-battery", "staple"])
        return journal.StoreJournal(self._store, run, 1, fence=None, masker=masker)

    def _hosted(self, run: "state.Run", keeper: "journal.StoreJournal") -> "hosted_runs.HostedRun":
        from volary.engine.persistence import pieces
        from volary.engine.temporal import hosted_runs

        return hosted_runs.HostedRun(
            stored=pieces.of_run(run, 1, _BEGAN),
            performer=_Nothing(),
            keeper=keeper,
            clock=_Clock(),
            observers=[],
        )

    @contextlib.asynccontextmanager
    async def _opened_host(self) -> "AsyncIterator[engine_hosts.EngineHost | None]":
        if not self._wish["temporal"]:
            yield None
            return
        from volary.engine.temporal import connections, engine_hosts

        connection = await connections.connect(connections.Connection(self._wish["temporal"]))
        host = engine_hosts.EngineHost(connection, time.monotonic)
        async with host.working():
            yield host

    async def _steps(self, run_id: str) -> int:
        stored: run_records.StoredRun | None = await self._store.runs.load(run_id)
        if stored is None:
            raise RuntimeError(f"{run_id} is not there")
        return stored.version - 1

    async def _histories(self, host: "engine_hosts.EngineHost") -> Histories:
        """Return what Temporal keeps, once its lists know of every end."""
        found: dict[str, tuple[int, int]] = {}
        for _ in range(600):
            found.clear()
            is_complete = True
            async for each in host.connection.list_workflows():
                info = each.raw_info
                found[each.run_id] = (info.history_length, info.history_size_bytes)
                is_complete = is_complete and each.close_time is not None
            if found and is_complete:
                break
            await asyncio.sleep(0.1)
        return Histories(
            len(found),
            sum(events for events, _ in found.values()),
            sum(size for _, size in found.values()),
            max((size for _, size in found.values()), default=0),
        )


class _Nothing:
    """Carries every task out by doing nothing."""

    async def execute(self, _task: object, _report: object) -> Any:
        from volary.model import statuses

        return statuses.Outcome(statuses.TaskStatus.SUCCEEDED, "done", touched=True)


async def _be(wish: Mapping[str, Any]) -> None:
    from volary.store import factory

    async with factory.open_store(wish["store"], clock=_Clock()) as store:
        process = _Process(wish, store)
        if wish["number"]:
            await process.work()
        else:
            print(json.dumps(await process.lead()))


def main() -> None:
    """Be one process of a measurement, or measure one size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("wish", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--engine", choices=(LOCAL, TEMPORAL), default=LOCAL)
    parser.add_argument("--database", choices=(SQLITE, POSTGRES), default=SQLITE)
    for name, usual in (("runs", 10), ("clusters", 10), ("stages", 8), ("workers", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    chosen = vars(parser.parse_args())
    wish = chosen.pop("wish")
    if wish:
        asyncio.run(_be(json.loads(wish)))
        from volary.cli import process_exits

        process_exits.leave(SystemExit())
    found = measure(Size(**chosen))
    print(json.dumps(asdict(found), indent=1))


if __name__ == "__main__":
    main()
