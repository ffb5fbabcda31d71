"""Bringing the set into 1, 3, 10 and 50 clusters, first and unchanged, by every candidate."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import candidate, kubectl, serving, usage

VOLARY = "volary"
FLOOR = "raw"
#: The floor of whoever tries everything before writing anything, as Volary does.
TWICE = "raw-twice"
DIRECTORY = "kubectl-directory"
EACH = "kubectl-each"
_IN_PROCESS = (VOLARY, FLOOR, TWICE)

PASSES = ("first", "unchanged")
#: kubectl processes at once.
_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class Size:
    """How many clusters, and how thoroughly they are measured."""

    clusters: int
    repetitions: int
    candidates: tuple[str, ...]
    #: Seconds that every answer takes longer, as over a long line.
    latency: float = 0.0

    def __str__(self) -> str:
        away = f", {self.latency * 1000:.0f} ms away" if self.latency else ""
        return f"{self.clusters}{away}"


@dataclass(frozen=True, slots=True)
class Measured:
    """One size."""

    size: Size
    #: By candidate, then by pass.
    used: Mapping[str, Mapping[str, usage.Usage]]
    #: How the sandbox started, and its memory when idle and full.
    start: usage.Usage
    full: float

    def of(self, name: str, when: str) -> usage.Usage | None:
        """Return what a candidate used for a pass; None when it was not measured."""
        return self.used.get(name, {}).get(when)


def kubectl_program() -> str:
    """Return kubectl's path: the one beside this Python, else the one on PATH."""
    beside = Path(sys.executable).parent / "kubectl"
    found = str(beside) if beside.exists() else shutil.which("kubectl")
    if not found:
        raise RuntimeError("there is no kubectl to compare with")
    return found


def measure(size: Size, say: Callable[[str], None]) -> Measured:
    """Measure one size on a sandbox of its own; the candidates take turns."""
    found: dict[str, dict[str, list[usage.Usage]]] = {
        name: {when: [] for when in PASSES} for name in size.candidates
    }
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as directory:
        place = Path(directory)
        with serving.running(place / "sandbox", size.clusters, latency=size.latency) as sandbox:
            say(f"{size} clusters: sandbox up in {sandbox.start.wall:.1f} s")
            for turn in range(size.repetitions):
                for name in size.candidates:
                    if turn and name == EACH:  # it takes minutes, and varies little
                        continue
                    used = _take_turn(sandbox, name, turn, place)
                    for when, measured in used.items():
                        found[name][when].append(measured)
                        wall, cpu = f"{measured.wall:.2f} s", f"{measured.cpu:.2f} s"
                        say(f"{size} clusters, {name}, {when}: {wall}, CPU {cpu}")
            full = usage.memory_of(sandbox.pid)
    least = {
        name: {when: usage.best(values) for when, values in passes.items() if values}
        for name, passes in found.items()
    }
    return Measured(size, least, sandbox.start, full)


def _take_turn(
    sandbox: serving.Sandbox, name: str, turn: int, place: Path
) -> dict[str, usage.Usage]:
    """Bring the set into a fresh namespace of each cluster, twice."""
    namespace = f"{name}-{turn}"
    with candidate.running("namespace", sandbox.fleet_file, namespace) as maker:
        maker.do_pass()
    if name in _IN_PROCESS:
        with candidate.running(name, sandbox.fleet_file, namespace) as runner:
            # What is unchanged is not tried, so that floor has one pass only.
            return _passes(sandbox, runner.do_pass, PASSES[:1] if name == TWICE else PASSES)
    home = place / f"home-{namespace}"
    home.mkdir()
    tool = kubectl.Kubectl(kubectl_program(), sandbox, home, _PARALLEL)
    act = tool.apply_directory if name == DIRECTORY else tool.apply_each
    return _passes(sandbox, lambda: act(namespace))


def _passes(
    sandbox: serving.Sandbox, do_pass: Callable[[], usage.Usage], passes: Sequence[str] = PASSES
) -> dict[str, usage.Usage]:
    used = {}
    for when in passes:
        usage.wait_until_quiet(sandbox.pid)
        used[when] = do_pass()
    return used
