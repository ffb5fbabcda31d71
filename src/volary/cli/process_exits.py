"""How a process ends in which threads of a library go on."""

import atexit
import os
import sys
from typing import NoReturn

#: Its threads, written in Rust, touch Python objects for as long as there is a process. What
#: touches one while the interpreter is being taken down ends the process by SIGABRT, whatever its
#: exit code was to be.
_THREADED = "temporalio.bridge"


def leave(end: SystemExit) -> NoReturn:
    """End the process as `end` says, whatever threads still do.

    What was registered to be done at the end is done, and what was printed is written.

    Raises:
        SystemExit: As usual, where there are no such threads.
    """
    if _THREADED not in sys.modules or isinstance(end.code, str):
        raise end
    code = int(end.code or 0)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)
