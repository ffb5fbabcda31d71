"""What a program used that is several processes: a database, a server with its children (Linux)."""

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
#: Seconds between two looks at memory.
_PAUSE = 0.5


@dataclass(slots=True)
class Family:
    """A process and all that came of it."""

    root: int
    #: The largest memory that was seen, in MiB; what several share counts once.
    peak: float = 0.0
    #: Seconds of CPU since the beginning, of those that have ended meanwhile as well.
    cpu: float = 0.0
    _before: float = 0.0

    def begin(self) -> None:
        """Count from here on."""
        self._before, self.peak = self._spent(), 0.0
        self.look()

    def look(self) -> None:
        """See what it has used until now, and how much memory it has."""
        self.cpu = self._spent() - self._before
        self.peak = max(self.peak, sum(map(_memory, self._members())))

    def _spent(self) -> float:
        # What ended children used is in their parent's; those that live count by themselves.
        return sum(map(_cpu, self._members()))

    def _members(self) -> Sequence[int]:
        members, found = [self.root], {self.root}
        children = _children()
        while members:
            for child in children.get(members.pop(), ()):
                if child not in found:
                    found.add(child)
                    members.append(child)
        return sorted(found)


@contextlib.contextmanager
def watched(families: Sequence[Family]) -> Iterator[None]:
    """Count what families use during the block."""
    for family in families:
        family.begin()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_PAUSE):
            for family in families:
                family.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        for family in families:
            family.look()


def _fields(pid: int | str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and (fields := _fields(each.name)):
            found.setdefault(int(fields[1]), []).append(int(each.name))
    return found


def _cpu(pid: int) -> float:
    return sum(map(int, _fields(pid)[11:15])) / _TICKS


def _memory(pid: int) -> float:
    """Return what a process has in MiB, its part of what it shares."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0
