"""A program is bare, bounded, and gone when its time is over."""

import asyncio
import math
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import process_time
from volary import subprocesses
from volary.model import errors

LONG = timedelta(seconds=60)


async def run(
    argv: list[str], home: Path, *, timeout: timedelta, **more: Any
) -> subprocesses.ProcessResult:
    environment = subprocesses.private_environment(argv[0], home)
    return await subprocesses.run(
        argv, environment=environment, timeout=timeout, directory=home, **more
    )


async def test_it_returns_what_the_program_said(tmp_path: Path) -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

    finished = await run([sys.executable, "-c", script], tmp_path, timeout=LONG)

    assert finished == subprocesses.ProcessResult(3, b"out\n", "err")


async def test_its_environment_holds_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOLARY_TOKEN", "secret")
    script = "import os; print(sorted(os.environ)); print(os.getcwd())"

    finished = await run([sys.executable, "-c", script], tmp_path, timeout=LONG)

    assert b"VOLARY_TOKEN" not in finished.output
    assert finished.text("it").splitlines()[1] == str(tmp_path)


async def test_it_is_killed_with_its_children_when_its_time_is_over(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])\n"
        "open('child', 'w').write(str(child.pid))\n"
        "time.sleep(3600)\n"
    )

    # Ten times as long as an interpreter needs to begin just now.
    begin = asyncio.get_running_loop().time()
    await run([sys.executable, "-c", ""], tmp_path, timeout=LONG)
    limit = math.ceil(10 * (asyncio.get_running_loop().time() - begin))

    with pytest.raises(errors.UserError, match=f"did not end within {limit} seconds"):
        await run([sys.executable, "-c", script], tmp_path, timeout=timedelta(seconds=limit))

    child = int((tmp_path / "child").read_text())
    await process_time.until(lambda: is_gone(child))


def is_gone(process: int) -> bool:
    """Say whether nothing but a zombie is left of a process."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


async def test_it_is_killed_when_we_are_cancelled(tmp_path: Path) -> None:
    script = "import os, time; open('self', 'w').write(str(os.getpid())); time.sleep(3600)"

    name = tmp_path / "self"

    async with asyncio.TaskGroup() as group:
        running = group.create_task(run([sys.executable, "-c", script], tmp_path, timeout=LONG))
        await process_time.until(lambda: name.exists() and name.read_text())
        running.cancel()

    assert running.cancelled()
    await process_time.until(lambda: is_gone(int(name.read_text())))


async def test_output_is_bounded_and_complaints_are_cut(tmp_path: Path) -> None:
    endless = "while True: print('x' * 10000)"
    with pytest.raises(errors.UserError, match="wrote more than 1 MiB"):
        await run([sys.executable, "-c", endless], tmp_path, timeout=LONG, largest=1 << 20)

    noisy = "import sys; sys.stderr.write('x' * 1000000)"
    finished = await run([sys.executable, "-c", noisy], tmp_path, timeout=LONG)
    assert len(finished.complaint) == 64 * 1024


async def test_a_program_that_cannot_be_run_and_text_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="nothing cannot be run"):
        await run([str(tmp_path / "nothing")], tmp_path, timeout=LONG)
    with pytest.raises(errors.UserError, match="not UTF-8"):
        subprocesses.ProcessResult(0, b"\xff", "").text("helm")
