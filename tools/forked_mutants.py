"""Mutants tried in forks of one pytest session: hundreds in the time of a few processes.

The session imports the product and collects the unit tests once. For each mutant a child is
forked, in which the mutated function gets its new code, and runs the tests that can notice. What
stands outside of functions, or cannot be exchanged in a running program, is left to others.
"""

import functools
import importlib
import os
import signal
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

#: Exit codes of a child.
_SURVIVED, _KILLED, _NOT_EXCHANGED = 0, 1, 2
_ITEMS = 500


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function of a module with a mistake in it."""

    module: str
    #: `Class.method`.
    function: str
    path: Path
    #: The whole module with the mistake.
    source: str
    #: Tests and files of tests that may notice, in the order in which they run.
    tests: Sequence[str]


@dataclass
class Session:
    """The plugin that tries candidates in place of running all tests."""

    candidates: Sequence[Candidate]
    jobs: int
    #: Seconds for one candidate.
    limit: float
    #: The result of each candidate by its place: a test, nothing if it survived.
    report: Callable[[int, str | None], None]
    _items: dict[str, list[pytest.Item]] = field(default_factory=dict)
    _sound: dict[str, bool] = field(default_factory=dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every candidate, some at the same time."""
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        for item in session.items:
            self._items.setdefault(item.nodeid, []).append(item)
            self._items.setdefault(item.nodeid.partition("::")[0], []).append(item)
        running: dict[int, tuple[int, int, float]] = {}
        waiting = list(enumerate(self.candidates))[::-1]
        while waiting or running:
            while waiting and len(running) < self.jobs:
                number, candidate = waiting.pop()
                reader, writer = os.pipe()
                child = _fork(functools.partial(self._try, session, candidate, writer))
                os.close(writer)
                running[child] = number, reader, time.monotonic()
            self._wait(session, running)
        return True

    def _wait(self, session: pytest.Session, running: dict[int, tuple[int, int, float]]) -> None:
        time.sleep(0.02)
        for child, (number, reader, begin) in list(running.items()):
            code = _end_of(child)
            if code is None and time.monotonic() - begin < self.limit:
                continue
            if code is None:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
            del running[child]
            with os.fdopen(reader) as answer:
                test = answer.read() if code == _KILLED else ""
            if code == _SURVIVED or (test and self._passes_alone(session, test)):
                self.report(number, test or None)
            # Nothing is reported of what was not decided.

    def _try(self, session: pytest.Session, candidate: Candidate, writer: int) -> int:
        if not _exchange(candidate):
            return _NOT_EXCHANGED
        items = list(
            dict.fromkeys(item for test in candidate.tests for item in self._items.get(test, ()))
        )
        failed = _first_failure(session, items[:_ITEMS])
        os.write(writer, failed.encode())
        return _KILLED if failed else _SURVIVED

    def _passes_alone(self, session: pytest.Session, test: str) -> bool:
        if test not in self._sound:
            child = _fork(lambda: int(bool(_first_failure(session, self._items[test][:1]))))
            self._sound[test] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return self._sound[test]


def run(session: Session, folder: str) -> None:
    """Collect the tests of a folder and try the candidates of a session."""
    pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", folder], plugins=[session])


def _fork(work: Callable[[], int]) -> int:
    """Return the number of a child in a process group of its own, whose exit code is `work`'s."""
    child = os.fork()
    if child:
        return child
    code = _NOT_EXCHANGED
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code = work()
    finally:
        os._exit(code)


def _end_of(child: int) -> int | None:
    ended, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _first_failure(session: pytest.Session, items: Sequence[pytest.Item]) -> str:
    failed: list[str] = []

    class Reports:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                failed.append(report.nodeid)

    plugins = session.config.pluginmanager
    plugins.unregister(plugins.get_plugin("terminalreporter"))
    plugins.register(Reports())
    for item, following in zip(items, [*items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failed:
            return failed[0]
    return ""


def _exchange(candidate: Candidate) -> bool:
    """Give the functions of a name their mutated code; False: they are not there, or differ."""
    module = importlib.import_module(candidate.module)
    compiled = compile(candidate.source, str(candidate.path), "exec", dont_inherit=True)
    codes = {code.co_qualname: code for code in _codes(compiled)}
    exchanged = False
    for function in _functions(module, module.__name__):
        if function.__qualname__ == candidate.function and candidate.function in codes:
            try:
                function.__code__ = codes[candidate.function]
            except ValueError:  # it has other free variables now
                return False
            exchanged = True
    return exchanged


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _functions(owner: object, module: str) -> Iterator[types.FunctionType]:
    members: Mapping[str, object] = vars(owner)
    for member in list(members.values()):
        value = member
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        while hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        if isinstance(value, types.FunctionType) and value.__module__ == module:
            yield value
        elif isinstance(value, type) and value.__module__ == module:
            yield from _functions(value, module)
