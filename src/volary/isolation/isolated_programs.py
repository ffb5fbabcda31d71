"""Runs a program without a network, without privileges and within limits."""

import asyncio
import json
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from pathlib import Path

from volary import subprocesses
from volary.isolation import launcher, probing
from volary.model import errors

_MEBIBYTE = 1024 * 1024
#: How programs written in Go say that there is no more.
_OUT_OF_MEMORY = ("out of memory", "cannot allocate memory")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use; children count for themselves, but for time and output."""

    time: timedelta = timedelta(minutes=2)
    processor_time: timedelta = timedelta(minutes=2)
    #: What it may write to, in bytes; address space that is only reserved does not count.
    memory: int = 1024 * _MEBIBYTE
    #: Of one file, in bytes.
    file_size: int = 64 * _MEBIBYTE
    open_files: int = 256
    #: With their threads. Where the kernel counts them for each program (see `probing`).
    processes: int = 128
    #: In bytes.
    output: int = 16 * _MEBIBYTE


class Reach(Enum):
    """What a program may connect to."""

    NOTHING = launcher.ALL_SOCKETS
    #: Sockets that are files, as those of an agent.
    LOCAL_SOCKETS = launcher.REMOTE_SOCKETS
    #: Whatever this process can.
    NETWORK = ""


async def run(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path,
    limits: Limits,
    required: bool,
    isolation: probing.Isolation | None = None,
    reach: Reach = Reach.NOTHING,
    hidden: Sequence[str] = (),
) -> subprocesses.ProcessResult:
    """Run a program to its end; nothing of it is left then.

    Args:
        argv: The program's path, and its arguments.
        environment: Its variables, all of them.
        directory: Where it runs.
        limits: What it may use.
        required: Not to run it where it cannot be kept from the network.
        isolation: What it is kept from; None: whatever this machine can.
        reach: What it may connect to.
        hidden: Directories and files of ours that are empty for it, where this machine can do that.

    Raises:
        ProcessTimeoutError: It did not end in time.
        UserError: It could not be started, used more than its limits, or cannot be isolated.
    """
    kept = isolation if isolation is not None else await asyncio.to_thread(probing.probe)
    if required and not kept.has_no_network:
        raise errors.user_error(
            f"nothing is rendered with programs: {kept.sentence}",
            hint="run Volary where the kernel allows network namespaces or seccomp filters; or,"
            " where everybody who may push is trusted, write `rendererIsolation: preferred` into"
            " the server's settings",
        )
    name = Path(argv[0]).name
    needed = (directory.resolve(), Path(argv[0]).resolve())
    own = [
        path
        for path in hidden
        if not any(one.is_relative_to(Path(path).resolve()) for one in needed)
    ]
    finished = await subprocesses.run(
        _launched(argv, kept, limits, reach, own) if kept.launcher else argv,
        name=name,
        environment=environment,
        timeout=limits.time,
        largest=limits.output,
        directory=directory,
    )
    if finished.code == launcher.FAILED:
        raise errors.user_error(finished.complaint or f"{name} cannot be run")
    exceeded = _exceeded(finished, limits)
    if exceeded:
        raise errors.user_error(f"{name} {exceeded}")
    return finished


def _launched(
    argv: Sequence[str],
    isolation: probing.Isolation,
    limits: Limits,
    reach: Reach,
    hidden: Sequence[str],
) -> tuple[str, ...]:
    numbers = {
        "processor_seconds": max(1, int(limits.processor_time.total_seconds())),
        "memory": limits.memory,
        "file_size": limits.file_size,
        "open_files": limits.open_files,
    }
    if isolation.counts_processes:
        numbers["processes"] = limits.processes
    request = {
        "network": launcher.NONE if reach is Reach.NETWORK else isolation.network,
        "filter": reach.value if isolation.filter else "",
        "hidden": list(hidden) if isolation.hides else [],
        "limits": numbers,
    }
    return (*probing.COMMAND, "run", json.dumps(request), *argv)


def _exceeded(finished: subprocesses.ProcessResult, limits: Limits) -> str:
    """Return which limit ended a program, in a clause; empty: none."""
    if finished.code == 128 + signal.SIGXCPU:
        seconds = limits.processor_time.total_seconds()
        return f"used the processor for more than {seconds:g} seconds"
    if finished.code == 128 + signal.SIGXFSZ:
        return f"wrote a file of more than {limits.file_size // _MEBIBYTE} MiB"
    if finished.code == 128 + signal.SIGKILL:
        return "was killed: its processor time was over, or the machine had no memory left"
    if finished.code and any(word in finished.complaint.lower() for word in _OUT_OF_MEMORY):
        return f"needed more than {limits.memory // _MEBIBYTE} MiB of memory"
    return ""
