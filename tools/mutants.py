"""Mutants of the core: one small mistake at a time, and whether a test notices.

python tools/mutants.py --seed 1 --count 20 --package engine --jobs 2 --minutes 10

Of every package a sample is drawn by the seed from all mistakes that `mutations` knows. Tests
run until one fails: those that execute the function, the quickest of each file first, by a map
that `--record` writes (one run of all tests), and those that import the module, the nearest in
the import graph first. Unit tests run in forks of one process; what survives them, or stands
outside of functions, is made in a copy of the tree and meets the scenarios too: those of the map,
without a map those named in `SCENARIOS`. A mutant is killed by a test that fails with it and
passes without it. What no test decided within the limit is listed by itself: it counts as neither.
"""

import argparse
import ast
import importlib.util
import itertools
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import forked_mutants
import mutations
import test_map

ROOT = Path(__file__).parents[1]
#: Where the map of tests is; not part of the repository.
MAP = ROOT / ".mutants"
#: What is meant by the core; files and folders of src/volary.
PACKAGES = {
    "analysis": ("analysis",),
    "engine": ("engine",),
    "clusters": ("clusters",),
    "stages": ("stages",),
    "controller": ("controller",),
    "placement": ("placement",),
    "planner": ("planner",),
    "manifests": ("manifests",),
    "server": ("server/permissions.py", "server/authorization"),
}
#: Scenarios that are run after the unit tests, by package.
SCENARIOS = {
    "analysis": ("measured_traffic", "progressive_metrics"),
    "engine": ("rollback", "waves", "waiting"),
    "clusters": ("apply", "prune", "faults"),
    "stages": ("canary_pipeline", "blue_green", "prune", "routers"),
    "controller": ("gitops", "server", "failover", "application_status"),
    "placement": ("failover", "division"),
    "planner": ("strategies", "cli_plan"),
    "manifests": ("canary_pipeline", "routers"),
    "server": ("permissions",),
}
#: Unit tests farther away than this in the import graph are not run.
_FARTHEST, _MOST_FILES = 2, 6
#: Files of unit tests that run besides those of the map.
_NEAREST = 3


def imported(source: str) -> set[str]:
    """Return the names of modules that a source may import; `from a import b` may mean a.b."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


class Tests:
    """Which test files import a module, and how far away each is."""

    def __init__(self, root: Path) -> None:
        self._files: dict[str, Path] = {}
        for path in root.glob("src/volary/**/*.py"):
            self._files[module_name(path, root / "src")] = path.relative_to(root)
        for path in root.glob("tests/**/*.py"):
            self._files[module_name(path, root / "tests")] = path.relative_to(root)
        #: Property tests take longest, so they come last of those that are as near.
        self._slow: set[str] = set()
        #: Importers by module.
        self._importers: dict[str, set[str]] = {}
        for name, path in self._files.items():
            names = imported((root / path).read_text())
            if "hypothesis" in names:
                self._slow.add(name)
            for used in names & self._files.keys():
                self._importers.setdefault(used, set()).add(name)

    def of(self, module: str, package: str) -> list[Path]:
        """Return the files of tests to run, the nearest first, scenarios last."""
        distances, edge = {module: 0}, [module]
        while edge:
            name = edge.pop(0)
            if distances[name] < _FARTHEST:
                for importer in sorted(self._importers.get(name, ())):
                    if importer not in distances:
                        distances[importer] = distances[name] + 1
                        edge.append(importer)
        subject = module.removeprefix("volary.").split(".")[0]
        units = [
            (
                distance > 1,
                name in self._slow,
                distance,
                not name.startswith(f"unit.{subject}."),
                name,
            )
            for name, distance in distances.items()
            if name.startswith("unit.") and ".test_" in name
        ]
        near = [self._files[name] for *_, name in sorted(units)[:_MOST_FILES]]
        named = (f"scenarios.test_{name}" for name in SCENARIOS.get(package, ()))
        return near + [self._files[name] for name in named if name in self._files]


def module_name(path: Path, top: Path) -> str:
    """Return a file's dotted name below `top`."""
    parts = path.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutation of one file of a package."""

    package: str
    path: Path
    mutation: mutations.Mutation

    def __str__(self) -> str:
        return f"{self.path}:{self.mutation.line}: {self.mutation.what}"


def sample(root: Path, package: str, count: int, seed: int) -> list[Mutant]:
    """Return `count` mutants of a package, the same for the same seed and sources."""
    every = []
    for name in PACKAGES[package]:
        top = root / "src/volary" / name
        for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
            made = mutations.find(path.read_text())
            every += [Mutant(package, path.relative_to(root), mutation) for mutation in made]
    chosen = random.Random(f"{seed}/{package}")
    return chosen.sample(every, min(count, len(every)))


def try_in_forks(
    mutants: Sequence[Mutant],
    tests: Tests,
    recorded: test_map.Executions,
    *,
    limit: float,
    jobs: int,
) -> list[tuple[Mutant, str]]:
    """Try mutants with unit tests, in forks of one process; not all of them can be decided so."""
    tried, candidates = [], []
    for mutant in mutants:
        source = (ROOT / mutant.path).read_text()
        function = mutations.function_at(source, mutant.mutation.line)
        if not function:
            continue
        module = module_name(mutant.path, Path("src"))
        executing = filter(_is_unit, recorded.of(f"{mutant.path}:{function}", limit / 3))
        near = [str(test) for test in tests.of(module, "")]
        mistaken = mutant.mutation.apply(source)
        chosen = [*executing, *near]
        candidates.append(
            forked_mutants.Candidate(module, function, ROOT / mutant.path, mistaken, chosen)
        )
        tried.append(mutant)
    results: list[tuple[Mutant, str]] = []

    def report(number: int, test: str | None) -> None:
        result = f"killed by {test}" if test else "survived"
        results.append((tried[number], result))
        print(f"{result.partition(' ')[0]:9} {tried[number]}  [{result}]", flush=True)

    session = forked_mutants.Session(candidates, jobs, limit, report)
    forked_mutants.run(session, str(ROOT / "tests/unit"))
    return results


class Workplace:
    """A copy of the tree in which mutants are tried one after the other."""

    def __init__(
        self,
        folder: Path,
        tests: Tests,
        recorded: test_map.Executions,
        limit: float,
        *,
        scenarios: bool,
    ) -> None:
        self._tests, self._recorded = tests, recorded
        self._limit, self._scenarios = limit, scenarios
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        if (ROOT / ".venv").exists():
            (folder / ".venv").symlink_to(ROOT / ".venv")
        self._folder = folder
        #: Tests that pass without any mutant.
        self._sound: dict[str, bool] = {}

    def try_out(self, mutant: Mutant) -> str:
        """Return `killed by …`, `survived` or `undecided …`."""
        path = self._folder / mutant.path
        source = path.read_text()
        tests = self._choose(mutant, source)
        if not tests:
            return "survived (no test imports it)"
        _write(path, mutant.mutation.apply(source))
        try:
            output = self._run(tests)
        finally:
            _write(path, source)
        if output is None:
            return f"undecided within {self._limit:.0f} s"
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
        if failed is None:
            passed = re.search(r"\d passed", output)
            return "survived" if passed else f"undecided: {output.strip()[-80:]}"
        test = failed[1]
        if test not in self._sound:
            alone = self._run([test]) or ""
            only_passed = re.search(r"\d passed", alone) and not re.search(r"\d failed", alone)
            self._sound[test] = bool(only_passed)
        return f"killed by {test}" if self._sound[test] else f"undecided: {test} fails anyway"

    def _choose(self, mutant: Mutant, source: str) -> list[str]:
        module = module_name(mutant.path, Path("src"))
        scenarios = mutant.package if self._scenarios else ""
        importing = [str(test) for test in self._tests.of(module, scenarios)]
        name = f"{mutant.path}:{mutations.function_at(source, mutant.mutation.line)}"
        executing = self._recorded.of(name, self._limit / 3)
        executing = [test for test in executing if self._is_there(test)]
        if not executing:
            return importing
        # Files of unit tests run whole: they may have new tests since the map was recorded.
        units = [_file(test) for test in executing if _is_unit(test)][:_MOST_FILES]
        units += [file for file in importing if _is_unit(file)][:_NEAREST]
        files = list(dict.fromkeys(units))
        rest = [test for test in executing if _file(test) not in files]
        return files + (rest if self._scenarios else [])

    def _is_there(self, test: str) -> bool:
        path = self._folder / _file(test)
        function = test.rpartition("::")[2].partition("[")[0]
        return path.exists() and f"def {function}(" in path.read_text()

    def _run(self, tests: Sequence[str]) -> str | None:
        """Return what pytest prints; None: it took too long."""
        sources = f"{self._folder}/src:{self._folder}/sandbox/src"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, *tests],
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": sources},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            return process.communicate(timeout=self._limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return None


def _file(test: str) -> str:
    return test.partition("::")[0]


def _is_unit(test: str) -> bool:
    return test.startswith("tests/unit/")


def _write(path: Path, source: str) -> None:
    """Write a module; two versions of one size within a second look alike to Python's cache."""
    path.write_text(source)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def record(folder: Path) -> int:
    """Run every test and write down what each executes."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
    sources = os.pathsep.join(f"{ROOT}/{name}" for name in ("src", "sandbox/src", "tools"))
    return subprocess.run(
        [*command, "-p", "test_map", "--test-map", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": sources},
        check=False,
    ).returncode


def main() -> None:
    """Try the sample out and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="mutants of each package")
    parser.add_argument("--package", action="append", choices=sorted(PACKAGES))
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no mutant after these")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for one mutant's tests")
    parser.add_argument("--unit", action="store_true", help="no scenarios")
    parser.add_argument("--record", action="store_true", help="write the map of tests, and end")
    parser.add_argument("--map", type=Path, default=MAP, help="folder of the map")
    parser.add_argument("--jobs", "-j", type=int, default=max(1, (os.cpu_count() or 1) - 1))
    options = parser.parse_args()
    if options.record:
        sys.exit(record(options.map))
    recorded = test_map.read(options.map)
    chosen = [
        sample(ROOT, package, options.count, options.seed)
        for package in options.package or PACKAGES
    ]
    # Every package gets its turn, should time run out.
    mutants = [one for turn in itertools.zip_longest(*chosen) for one in turn if one is not None]
    tests, end = Tests(ROOT), time.monotonic() + 60 * options.minutes
    results = try_in_forks(mutants, tests, recorded, limit=options.limit / 3, jobs=options.jobs)
    decided = {mutant for mutant, _ in results}
    if options.unit:
        print(summary(results, options.seed, len(mutants) - len(results)))
        return
    survivors = {mutant for mutant, result in results if result == "survived"}
    results = [(mutant, result) for mutant, result in results if mutant not in survivors]
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        if mutant in survivors or mutant not in decided:
            waiting.put(mutant)

    def work(folder: Path) -> None:
        workplace = Workplace(folder, tests, recorded, options.limit, scenarios=not options.unit)
        while time.monotonic() < end:
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            result = workplace.try_out(mutant)
            results.append((mutant, result))
            print(f"{result.partition(' ')[0]:9} {mutant}  [{result}]", flush=True)

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        workers = [
            threading.Thread(target=work, args=(Path(folder, str(number)),))
            for number in range(options.jobs)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    print(summary(results, options.seed, waiting.qsize()))


def summary(results: Sequence[tuple[Mutant, str]], seed: int, left: int) -> str:
    """Return the numbers of each package, and the survivors by name."""
    lines = [f"\nseed {seed}" + (f", {left} not tried: no time left" if left else "")]
    for package in PACKAGES:
        own = [result for mutant, result in results if mutant.package == package]
        killed = sum(result.startswith("killed") for result in own)
        decided = sum(not result.startswith("undecided") for result in own)
        if own:
            share = f"{killed / decided:4.0%}" if decided else "   –"
            undecided = f", {len(own) - decided} undecided" if decided < len(own) else ""
            lines.append(f"{package:11} {killed:3} of {decided:3} killed {share}{undecided}")
    for mutant, result in results:
        if not result.startswith("killed"):
            lines.append(f"{result}: {mutant}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
