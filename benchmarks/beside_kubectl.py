"""``python -m benchmarks.beside_kubectl``: an unchanged application, by Volary and by kubectl.

30 objects are in each of three sandbox clusters already. Measured is what it costs to say so: all
of ``volary run``, start-up included, and all of kubectl's processes for the same manifests and
clusters. They take turns, and each counts at its best. Writes ``beside_kubectl.md``.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pygit2

from benchmarks import applying, objects, serving, usage

CLUSTERS = 3
#: Every fifth of the set: 30 objects of all its kinds.
EVERY = 5
TIMES = 7
SERVER_SIDE = ("apply", "--server-side")
CLIENT_SIDE = ("apply",)
_PAGE = Path(__file__).with_name("beside_kubectl.md")
_NAMESPACE = "beside"
_APPLICATION = f"""\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {objects.APPLICATION}}}
spec:
  input: {{namespace: {_NAMESPACE}, autoCreateNamespace: true}}
"""
VOLARY = "`volary run`"


@dataclass(frozen=True, slots=True)
class Measured:
    """The best of several passes of one candidate, and the requests of one pass by verb."""

    name: str
    used: usage.Usage
    requests: Mapping[str, int]

    def cells(self, volary: usage.Usage) -> tuple[str, ...]:
        """Its line of the table, beside what Volary used."""
        everything = sum(self.requests.values())
        return (
            self.name,
            f"{self.used.wall:.2f} s",
            f"{self.used.cpu:.2f} s",
            f"{volary.wall / self.used.wall:.2f}",
            f"{volary.cpu / self.used.cpu:.2f}",
            str(everything),
            f"{everything / CLUSTERS / (objects.TOTAL // EVERY):.2f}",
            ", ".join(f"{verb} {count}" for verb, count in sorted(self.requests.items())),
        )


def measure(times: int) -> list[Measured]:
    """Measure on a sandbox of its own."""
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as directory:
        place = Path(directory)
        manifests = _write(place / "opened")
        with serving.running(place / "sandbox", CLUSTERS) as sandbox:
            acts = {
                VOLARY: lambda: _run(place, sandbox),
                **{
                    f"`kubectl {' '.join(words)}`, {how}": _kubectl(
                        words, manifests, place, sandbox, at_once
                    )
                    for words in (SERVER_SIDE, CLIENT_SIDE)
                    for how, at_once in (("one after another", 1), ("in parallel", CLUSTERS))
                },
            }
            found: dict[str, list[usage.Usage]] = {name: [] for name in acts}
            requests: dict[str, Mapping[str, int]] = {}
            for turn in range(times + 1):  # the first one brings everything there
                for name, act in acts.items():
                    usage.wait_until_quiet(sandbox.pid)
                    sandbox.requests()
                    used = act()
                    requests[name] = sandbox.requests()
                    if turn:
                        found[name].append(used)
                        said = f"{name}: {used.wall:.2f} s, CPU {used.cpu:.2f} s"
                        print(said, file=sys.stderr, flush=True)
    return [Measured(name, usage.best(used), requests[name]) for name, used in found.items()]


def _run(place: Path, sandbox: serving.Sandbox) -> usage.Usage:
    argv = [sys.executable, "-m", "volary", "run", str(place / "opened")]
    argv += ["--fleet", str(sandbox.fleet_file), "--strategy", "quick"]
    environment = {**os.environ, "HOME": str(place), "XDG_STATE_HOME": str(place / "state")}
    # Modules are compiled once, as those of an installed program are.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(place / "compiled")
    return usage.run(argv, environment=environment)


def _kubectl(
    words: Sequence[str], manifests: Path, place: Path, sandbox: serving.Sandbox, at_once: int
) -> Callable[[], usage.Usage]:
    program = applying.kubectl_program()
    environment = {"HOME": str(place), "PATH": os.environ.get("PATH", "")}
    # What Volary has brought is its own; kubectl has a namespace to itself.
    namespace = f"{_NAMESPACE}-{len(words)}"

    def one_cluster(name: str) -> float:
        argv = [program, "--kubeconfig", str(sandbox.kubeconfig(name)), "--namespace", namespace]
        files = ["-f", str(_written_for(manifests, namespace, place))]
        return usage.run([*argv, *words, *files], environment=environment).cpu

    def act() -> usage.Usage:
        meter = usage.Meter()
        with futures.ThreadPoolExecutor(at_once) as threads:
            cpu = sum(threads.map(one_cluster, sandbox.names))
        return usage.Usage(meter.read().wall, cpu)

    return act


def _written_for(manifests: Path, namespace: str, place: Path) -> Path:
    """Return a directory with the same manifests for another namespace."""
    directory = place / namespace
    if not directory.exists():
        directory.mkdir()
        head = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        (directory / "000-namespace.json").write_bytes(msgspec.json.encode(head))
        for file in sorted(manifests.glob("*.json")):
            text = file.read_text().replace(f'"{_NAMESPACE}"', f'"{namespace}"')
            (directory / file.name).write_text(text)
    return directory


def _write(opened: Path) -> Path:
    opened.mkdir()
    repository = pygit2.init_repository(str(opened), initial_head="main")
    (opened / "volary.yaml").write_text(_APPLICATION)
    for number, item in enumerate(list(objects.plain(_NAMESPACE))[::EVERY], start=1):
        (opened / f"{number:03}.json").write_bytes(msgspec.json.encode(item))
    repository.index.add_all()
    repository.index.write()
    author = pygit2.Signature("Ann", "ann@example.com")
    tree = repository.index.write_tree()
    repository.create_commit("HEAD", author, author, "Deploy", tree, [])
    return opened


def page(measured: Sequence[Measured], *, times: int, load: float) -> str:
    """Return the page; `load` is that of the machine before it began."""
    volary = measured[0].used
    head = ("Work", "Wall", "CPU", "Volary ÷ it, wall", "Volary ÷ it, CPU")
    head = (*head, "Requests", "Per object and cluster", "By verb")
    rows = [head, ("---",) * len(head), *(one.cells(volary) for one in measured)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{_INTRODUCTION.format(times=times, load=load)}\n{table}\n"


_INTRODUCTION = f"""# An unchanged application, beside kubectl

Written by `python -m benchmarks.beside_kubectl`: {objects.TOTAL // EVERY} objects are in each of
{CLUSTERS} sandbox clusters and nothing has changed. *Volary* is all of `volary run`, a process from
its start to its end: it reads Git, plans, compares, and remembers the run. *kubectl* is a process
for each cluster with the same manifests, its discovery cache warm, one after another or all at
once; without `--server-side` it reads each object and compares for itself. They take turns; of
{{times}} each counts at its best. CPU is that of the processes alone, the sandbox has its own.
*Discover* and *review* among the requests are discovery and reviews of permissions.

Other work on the machine before it began: a load of {{load:.1f}} on {os.cpu_count()} cores; above
the number of cores, wall times say how long a process waited for its turn, and CPU what it used.
"""


def main() -> None:
    """Measure, and write the page."""
    load = os.getloadavg()[0]
    times = 1 if "--quick" in sys.argv else TIMES
    text = page(measure(times), times=times, load=load)
    if "--print" not in sys.argv:
        _PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
