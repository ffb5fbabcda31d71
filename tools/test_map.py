"""Which tests execute which functions of the product, and how long each takes.

A plugin of pytest writes it down (`python -m pytest -p test_map --test-map FOLDER`, with `tools`
on PYTHONPATH; works with xdist), and `mutants` chooses by it the tests that can notice a mistake.
What runs in processes that a test starts is not seen.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import pytest

_PRODUCT = "src/volary/"


class Recorder:
    """Notes the functions that are called while a test runs."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder, f"{root}/{_PRODUCT}"
        self._called: set[CodeType] = set()
        self._names: dict[str, int] = {}
        self._tests: dict[str, tuple[float, list[int]]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record one test with its fixtures."""
        add = self._called.add

        def trace(frame: FrameType, event: str, arg: object) -> None:
            add(frame.f_code)

        begin = time.monotonic()
        threading.settrace(trace)
        sys.settrace(trace)
        yield
        sys.settrace(None)
        threading.settrace(None)
        names = {function_name(code, self._root) for code in self._called} - {""}
        numbers = [self._names.setdefault(name, len(self._names)) for name in sorted(names)]
        self._tests[item.nodeid] = round(time.monotonic() - begin, 3), numbers
        self._called.clear()

    def pytest_sessionfinish(self) -> None:
        """Write what this process recorded."""
        if self._tests:
            worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
            recorded = {"functions": list(self._names), "tests": self._tests}
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{worker}.json").write_text(json.dumps(recorded))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that switches the plugin on."""
    parser.addoption("--test-map", default="", help="record executed functions in this folder")


def pytest_configure(config: pytest.Config) -> None:
    """Record if asked to."""
    if folder := config.getoption("--test-map"):
        config.pluginmanager.register(Recorder(Path(folder), config.rootpath))


def function_name(code: CodeType, product: str) -> str:
    """Return `src/volary/….py:Class.method`; nothing for what is not the product's."""
    if not code.co_filename.startswith(product):
        return ""
    path = _PRODUCT + code.co_filename.removeprefix(product)
    return f"{path}:{code.co_qualname.partition('.<locals>')[0]}"


@dataclass(frozen=True, slots=True)
class Executions:
    """Tests by the functions that they execute; seconds by test."""

    tests: Mapping[str, Sequence[str]]
    seconds: Mapping[str, float]

    def of(self, function: str, most_seconds: float) -> list[str]:
        """Return tests that execute a function: of every file the quickest first."""
        by_file: dict[str, list[str]] = {}
        for test in sorted(self.tests.get(function, ()), key=self.seconds.__getitem__):
            by_file.setdefault(test.partition("::")[0], []).append(test)
        turns = [
            (turn, self.seconds[test], test)
            for tests in by_file.values()
            for turn, test in enumerate(tests)
        ]
        chosen: list[str] = []
        total = 0.0
        for _, seconds, test in sorted(turns):
            total += seconds
            if chosen and total > most_seconds:
                break
            chosen.append(test)
        return sorted(chosen, key=self.seconds.__getitem__)


def read(folder: Path) -> Executions:
    """Return what was recorded in a folder; an empty map if nothing was."""
    tests: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    for path in sorted(folder.glob("*.json")):
        recorded = json.loads(path.read_text())
        for test, (taken, numbers) in recorded["tests"].items():
            seconds[test] = taken
            for number in numbers:
                tests.setdefault(recorded["functions"][number], []).append(test)
    return Executions(tests, seconds)
