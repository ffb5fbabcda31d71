"""The fleet file is read again when it changes, or when asked; one with errors changes nothing."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import process_time
from volary.config.fleet import fleet_files
from volary.model.fleet import fleets
from volary.server import fleet_file

ONE = "kind: Fleet\nclusters:\n- {name: us}\n"
TWO = ONE + "- {name: eu}\n"


@contextlib.asynccontextmanager
async def watched(file: Path) -> AsyncIterator[asyncio.Queue[tuple[str, ...]]]:
    """The names of the clusters, each time the fleet changes."""
    changes: asyncio.Queue[tuple[str, ...]] = asyncio.Queue()

    def read() -> fleets.Fleet:
        return fleet_files.parse(file.read_text(), file=file.name).require()

    async with asyncio.TaskGroup() as group:
        watching = group.create_task(
            fleet_file.keep_watching(
                str(file), read, lambda found: changes.put_nowait(found.names), interval=0.01
            )
        )
        await asyncio.sleep(0.05)
        try:
            yield changes
        finally:
            watching.cancel()


async def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(ONE)
    async with watched(file) as changes, asyncio.timeout(process_time.HANG):
        await asyncio.sleep(0.05)
        before = changes.qsize()
        file.write_text(TWO)
        found = await changes.get()

    assert (before, found) == (0, ("us", "eu"))


async def test_a_file_that_was_put_in_its_place_counts(tmp_path: Path) -> None:
    """As editors and ConfigMaps do it."""
    file, other = tmp_path / "fleet.yaml", tmp_path / "new.yaml"
    file.write_text(ONE)
    other.write_text(TWO)
    async with watched(file) as changes, asyncio.timeout(process_time.HANG):
        other.replace(file)
        found = await changes.get()

    assert found == ("us", "eu")


async def test_a_file_with_errors_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(ONE)
    with caplog.at_level(logging.ERROR):
        async with watched(file) as changes, asyncio.timeout(process_time.HANG):
            file.write_text(ONE + "- {name: us}\n")
            while not caplog.records:  # noqa: ASYNC110 - a log has no event
                await asyncio.sleep(0.01)
            file.write_text(TWO)
            found = await changes.get()

    assert found == ("us", "eu")
    assert "the fleet stays as it was" in caplog.text
    assert "the cluster us is listed twice" in caplog.text


async def test_a_hangup_reads_it_again_in_any_case(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(ONE)
    async with watched(file) as changes, asyncio.timeout(process_time.HANG):
        os.kill(os.getpid(), signal.SIGHUP)
        found = await changes.get()

    assert found == ("us",)
