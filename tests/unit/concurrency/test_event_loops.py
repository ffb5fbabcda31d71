"""A command runs on the fastest loop that is there, and on asyncio's own elsewhere."""

import asyncio
import sys

import pytest

from volary.concurrency import event_loops


async def _loop() -> str:
    await asyncio.sleep(0)
    return type(asyncio.get_running_loop()).__module__


def test_work_is_carried_out_on_uvloop_where_it_is_installed() -> None:
    pytest.importorskip("uvloop")
    assert event_loops.run(_loop()) == "uvloop"


def test_work_is_carried_out_without_uvloop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert event_loops.run(_loop()).startswith("asyncio")


def test_what_is_raised_comes_as_it_is() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        event_loops.run(fail())
