"""However tests end, the processes they started end with them."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import process_time

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere processes are not told of each other's end"
)

_TESTS = """
import asyncio, os
import warm_processes

async def main() -> None:
    async with warm_processes.call("os:system", {command!r}):
        {meanwhile}
        await asyncio.Event().wait()

asyncio.run(main())
"""
#: A fork that holds every file of the tests, the link to the warm process too.
_FORK = "os.fork() or __import__('time').sleep(3600)"


@pytest.mark.parametrize("meanwhile", ["pass", _FORK], ids=["alone", "with a fork"])
def test_nothing_is_left_of_tests_that_are_killed(tmp_path: Path, meanwhile: str) -> None:
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    tests = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _TESTS.format(command=f"echo $$ $PPID > {pids}; sleep 3600", meanwhile=meanwhile),
        ],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        start_new_session=True,
    )
    shell, process = map(int, pids.read_text().split())
    warm = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    started = [os.pidfd_open(number) for number in (shell, process, warm)]
    try:
        tests.kill()
        tests.wait()

        for one in started:
            ended, _, _ = select.select([one], [], [], process_time.HANG)
            assert ended
    finally:
        # The fork, which is of the group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(tests.pid, signal.SIGKILL)
        for one in started:
            os.close(one)
