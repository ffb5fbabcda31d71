"""What a piece of work used: wall time, CPU time, memory; of this process or of another."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """Times in seconds, memory in MiB."""

    wall: float
    #: User and system time of the processes that did the work.
    cpu: float
    #: Largest resident memory; 0 when nobody looked.
    peak: float = 0.0


class Meter:
    """Measures this process from its making on."""

    def __init__(self) -> None:
        self._wall = time.perf_counter()
        self._cpu = own_cpu()

    def read(self) -> Usage:
        """Return what was used until now."""
        return Usage(time.perf_counter() - self._wall, own_cpu() - self._cpu, own_peak())


def own_cpu() -> float:
    """Return the CPU time of this process, all its threads included."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def own_peak() -> float:
    """Return the largest resident memory of this process so far, in MiB."""
    factor = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor / (1 << 20)


def run(
    argv: Sequence[str], *, environment: Mapping[str, str] | None = None, content: bytes = b""
) -> Usage:
    """Run a program to its end and return what it used.

    Raises:
        RuntimeError: It failed; with the end of what it said.
    """
    began = time.perf_counter()
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE if content else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    )
    if child.stdin is not None:
        child.stdin.write(content)
        child.stdin.close()
    said = child.stderr.read() if child.stderr else b""
    if child.stderr is not None:
        child.stderr.close()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        name = Path(argv[0]).name
        raise RuntimeError(f"{name} ended with {child.returncode}: {said.decode()[-2000:]}")
    cpu = used.ru_utime + used.ru_stime
    return Usage(time.perf_counter() - began, cpu, used.ru_maxrss / 1024)


def output(argv: Sequence[str]) -> str:
    """Run a program to its end and return what it said; what it says on stderr is seen."""
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def cpu_of(pid: int) -> float:
    """Return the CPU time of another process so far, without its children (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_of(pid: int) -> float:
    """Return the resident memory of another process now, in MiB (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def wait_until_quiet(pid: int, *, timeout: float = 30.0) -> None:
    """Return when a process has all but stopped working, or after `timeout` seconds."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        before = cpu_of(pid)
        time.sleep(0.4)
        if cpu_of(pid) - before <= 0.04:
            return


def best(values: Sequence[Usage]) -> Usage:
    """Return the least of several measurements: what else the machine does only ever adds."""
    return Usage(
        min(each.wall for each in values),
        min(each.cpu for each in values),
        max(each.peak for each in values),
    )
