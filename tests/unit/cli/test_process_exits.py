"""How processes end, with threads of others in them and without."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import atexit
import sys
import threading

from volary.cli import process_exits

atexit.register(print, "done at the end")
print("printed", end=" ")
if {threaded}:
    import temporalio.bridge

    # Nothing waits for it: an interpreter that is taken down would, for ever.
    threading.Thread(target=threading.Event().wait).start()
process_exits.leave(SystemExit({code}))
"""


@pytest.mark.parametrize("threaded", [False, True])
@pytest.mark.parametrize("code", [0, 3])
def test_what_was_to_be_done_is_done_and_the_code_is_kept(code: int, *, threaded: bool) -> None:
    if threaded:
        pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
    program = textwrap.dedent(PROGRAM).format(threaded=threaded, code=code)

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (code, b"")
    assert ended.stdout == b"printed done at the end\n"


def test_an_output_that_nobody_reads_is_no_success() -> None:
    pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
    program = PROGRAM.format(threaded=True, code=0)
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, check=False
        )

    assert ended.returncode == 1
