"""``python -m benchmarks.unchanged``: what a commit costs that changes no object.

150 objects are in each of ten sandbox clusters, then a commit comes that changes another file of
the repository. Counted are the requests of ``volary run`` for it and its CPU, all of the process,
its start included; beside it, in the same sandbox, the bare lists of the same objects: a request
for each kind. Writes ``unchanged.md``.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pygit2

from benchmarks import candidate, objects, serving, usage

CLUSTERS = 10
#: The least counts: what else the machine does only adds.
TIMES = 3
_PAGE = Path(__file__).with_name("unchanged.md")
_NAMESPACE = "whole"
_APPLICATION = f"""\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: {objects.APPLICATION}}}
spec:
  input: {{namespace: {_NAMESPACE}}}
"""
_WRITES = ("create", "update", "patch", "delete", "deletecollection")
_READS = ("get", "list", "watch")


@dataclass(frozen=True, slots=True)
class Measured:
    """What one piece of work used, and its requests by verb; ``try`` is a dry run."""

    name: str
    used: usage.Usage
    requests: Mapping[str, int]

    @property
    def cells(self) -> tuple[str, ...]:
        """Its line of the table."""
        writes = sum(self.requests.get(verb, 0) for verb in _WRITES)
        reads = sum(self.requests.get(verb, 0) for verb in _READS)
        tried = self.requests.get("try", 0)
        everything = sum(self.requests.values())
        return (
            self.name,
            *(
                f"{number:,}"
                for number in (writes, tried, reads, everything - writes - tried - reads)
            ),
            f"{everything / CLUSTERS:.1f}",
            f"{self.used.cpu:.2f} s",
        )


def measure() -> list[Measured]:
    """Measure on a sandbox of its own."""
    with tempfile.TemporaryDirectory(prefix="volary-bench-") as directory:
        place = Path(directory)
        opened = place / "opened"
        _write(opened)
        with serving.running(place / "sandbox", CLUSTERS) as sandbox:
            with candidate.running("namespace", sandbox.fleet_file, _NAMESPACE) as maker:
                maker.do_pass()
            first = _of("the first commit", sandbox, lambda: _run(opened, sandbox, place))
            unchanged, listed = [], []
            with candidate.running("lists", sandbox.fleet_file, _NAMESPACE) as lister:
                for number in range(TIMES):
                    (opened / "NOTES").write_text(f"{number}\n")
                    _commit(opened, f"Note {number}")
                    unchanged.append(
                        _of(
                            "a commit without a change",
                            sandbox,
                            lambda: _run(opened, sandbox, place),
                        )
                    )
                    listed.append(_of("bare lists", sandbox, lister.do_pass))
    return [first, *(min(several, key=lambda one: one.used.cpu) for several in (unchanged, listed))]


def _of(name: str, sandbox: serving.Sandbox, act: Callable[[], usage.Usage]) -> Measured:
    usage.wait_until_quiet(sandbox.pid)
    sandbox.requests()
    used = act()
    return Measured(name, used, sandbox.requests())


def _run(opened: Path, sandbox: serving.Sandbox, home: Path) -> usage.Usage:
    argv = [sys.executable, "-m", "volary", "run", str(opened)]
    argv += ["--fleet", str(sandbox.fleet_file), "--strategy", "quick"]
    environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    return usage.run(argv, environment=environment)


def _write(opened: Path) -> None:
    opened.mkdir()
    pygit2.init_repository(str(opened), initial_head="main")
    (opened / "volary.yaml").write_text(_APPLICATION)
    for number, item in enumerate(objects.plain(_NAMESPACE)):
        (opened / f"{number:03}.json").write_bytes(msgspec.json.encode(item))
    _commit(opened, "Deploy")


def _commit(opened: Path, message: str) -> None:
    repository = pygit2.Repository(str(opened))
    repository.index.add_all()
    repository.index.write()
    author = pygit2.Signature("Ann", "ann@example.com")
    parents = [] if repository.head_is_unborn else [repository.head.target]
    tree = repository.index.write_tree()
    repository.create_commit("HEAD", author, author, message, tree, parents)


def page(measured: list[Measured]) -> str:
    """Return the page."""
    head = ("Work", "Writes", "Dry runs", "Reads", "Other", "Requests per cluster", "CPU")
    rows = [head, ("---",) * len(head), *(one.cells for one in measured)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{_INTRODUCTION}\n{table}\n"


_INTRODUCTION = f"""# A commit that changes nothing

Written by `python -m benchmarks.unchanged`: {objects.TOTAL} objects in each of {CLUSTERS} sandbox
clusters, then commits that change no object. Requests and CPU are those of `volary run`, a process
for each commit, its start and discovery included; of {TIMES} commits the one that used the least
CPU counts. Beside it, in the same sandbox and in turns: bare lists of the same objects, one for
each of their kinds, by a process that is up already. *Other* is discovery and reviews of
permissions. The one write for each cluster is its inventory, which says which commit runs there.
"""


def main() -> None:
    """Measure, and write the page."""
    text = page(measure())
    if "--print" not in sys.argv:
        _PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
