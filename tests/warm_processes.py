"""Real processes that need not import everything again: forks of one that has.

A fresh interpreter spends nearly two seconds of a processor on imports before the first line of
a command runs. This program imports once, and makes a process for each order it is sent: with a
number, session, environment, directory and standard streams of its own, it can be signalled and
killed as any other, and it ends as an interpreter ends. What it cannot show is how a command
starts from nothing: tests of that start one (`tests/unit/cli/commands/test_root.py`, the servers).

However the tests end, also by a `kill -9`, the program ends, and with it what it made, also what
is in sessions of their own: nothing of a test run is left on the machine.
"""

import asyncio
import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import re
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

_LENGTH = struct.Struct("!I")
#: A line of ``--output json`` may be long.
_LIMIT = 1 << 22
#: Nobody has more files open than that here.
_FILES = 4096
# The last one needs an extra, and what it starts does not outlive a fork.
_SKIPPED = re.compile(r"\.__main__$|\.migrations\.|\.pytest_plugin$|\.engine\.temporal\b")
_SET_DEATH_SIGNAL = 1
#: What commands import only when they need it.
_LATE = (
    "aiosqlite",
    "alembic.command",
    "alembic.ddl.sqlite",
    "concurrent.futures.thread",
    "typer._adapters",
)


@dataclass(frozen=True, slots=True)
class _Order:
    """What a process has to do, and where."""

    #: ``module:function``; empty: ``python -m volary``.
    function: str
    words: Sequence[str]
    directory: str
    environment: Mapping[str, str]
    #: The number of a process whose user, mounts and network it has; 0: its own.
    inside: int = 0


# The side of the tests.


@dataclass
class Process:
    """A process forked from the warm one; as `asyncio.subprocess.Process`, as far as tests need
    it."""

    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    #: Tells its number and later its exit code.
    status: asyncio.StreamReader
    pid: int = 0
    returncode: int | None = None

    async def wait(self) -> int:
        """Wait until it has ended; returns its exit code, or minus the signal it died of."""
        if self.returncode is None:
            self.returncode = int(await self.status.readline())
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """Read all it says, and wait until it has ended."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err

    def send_signal(self, which: int) -> None:
        """Send it a signal.

        Raises:
            ProcessLookupError: It is known to have ended.
        """
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, which)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@contextlib.asynccontextmanager
async def volary(
    *words: str, directory: Path, environment: Mapping[str, str], inside: int = 0
) -> AsyncIterator[Process]:
    """Run ``volary …`` beside the block; it is killed at the end.

    `inside` is the number of a process whose mounts and network it sees; 0: those of the tests.
    """
    order = _Order("", words, str(directory), environment, inside)
    async with contextlib.AsyncExitStack() as stack:
        pairs = os.pipe(), os.pipe()
        try:
            status = await _start(stack, order, [theirs for _, theirs in pairs])
        finally:
            for _, theirs in pairs:
                os.close(theirs)
        out, err = [await _reader(stack, ours) for ours, _ in pairs]
        yield await _started_process(stack, Process(out, err, status))


@contextlib.asynccontextmanager
async def call(function: str, *words: str, inside: int = 0) -> AsyncIterator[Process]:
    """Call a test module's ``module:function`` with the words, in a process of its own.

    What it writes to its standard output is thrown away, errors are the test's. `inside` is as
    for `volary`.
    """
    order = _Order(function, words, "/", os.environ, inside)
    nothing = asyncio.StreamReader()
    async with contextlib.AsyncExitStack() as stack:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nowhere)
        status = await _start(stack, order, [nowhere, 2])
        yield await _started_process(stack, Process(nothing, nothing, status))


async def _start(
    stack: contextlib.AsyncExitStack, order: "_Order", files: Sequence[int]
) -> asyncio.StreamReader:
    """Order a process; returns where its number and later its exit code are told."""
    ours, theirs = os.pipe()
    try:
        _warm_process().order(order, [*files, theirs])
    finally:
        os.close(theirs)
    return await _reader(stack, ours)


async def _started_process(stack: contextlib.AsyncExitStack, process: Process) -> Process:
    """Wait until it is there; it is killed with the stack."""
    number = await process.status.readline()
    assert number, "the warm process started no process"
    process.pid = int(number)
    stack.push_async_callback(_end_of, process)
    return process


async def _end_of(process: Process) -> None:
    if process.returncode is None:
        # Also what it started: nobody else ends that now.
        for number in (process.pid, *of_session(process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
    await process.wait()


def of_session(leader: int) -> dict[int, str]:
    """Return what still runs of a session, numbers and names: also what leads groups of its own."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = stat.read_text().rpartition(")")
            if rest.split()[3] == str(leader):
                found[int(stat.parent.name)] = name
    return found


async def _reader(stack: contextlib.AsyncExitStack, file: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_LIMIT)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(file, "rb", 0)
    )
    stack.callback(transport.close)
    return reader


class _WarmProcess:
    """The program below, started by the first order and ended with the tests."""

    def __init__(self) -> None:
        self._link, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), str(os.getpid())],
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parent)},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        atexit.register(self.close)

    def order(self, order: _Order, files: Sequence[int]) -> None:
        body = json.dumps(
            [
                order.function,
                order.words,
                order.directory,
                dict(order.environment),
                order.inside,
            ]
        ).encode()
        socket.send_fds(self._link, [_LENGTH.pack(len(body))], files)
        self._link.sendall(body)

    def close(self) -> None:
        self._link.close()
        self._process.wait()


_started: list[_WarmProcess] = []


def _warm_process() -> _WarmProcess:
    if not _started:
        _started.append(_WarmProcess())
    return _started[0]


# The program.


def _serve(link: socket.socket) -> _Order | None:
    """Make a process for each order: returns the order in each of them, None at the end."""
    statuses: dict[int, int] = {}

    def bury(_signal: int, _frame: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                code = os.waitstatus_to_exitcode(ended[1])
                _tell(statuses.pop(ended[0]), code, last=True)

    signal.signal(signal.SIGCHLD, bury)
    program, tests = os.getpid(), _watched_tests()
    while True:
        if _has_ended(link, tests):
            _kill(statuses)
            return None
        prefix, files, _, _ = socket.recv_fds(link, _LENGTH.size, 3)
        if not prefix:
            _kill(statuses)
            return None
        order = _Order(*json.loads(_exactly(link, *_LENGTH.unpack(prefix))))
        if order.function:
            # Imported for all who call it; what cannot be imported fails those who do.
            with contextlib.suppress(Exception):
                importlib.import_module(order.function.partition(":")[0])
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        child = os.fork()
        if child == 0:
            _begin(order, files)
            _end_with(program)
            return order
        out, err, status = files
        os.close(out)
        os.close(err)
        statuses[child] = status
        _tell(status, child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _watched_tests() -> int:
    """Return a file that can be read when the tests have ended; -1: the system has no such files.

    That the link closes says so too, unless a fork of the tests still holds it.
    """
    try:
        return os.pidfd_open(int(sys.argv[2]))
    except AttributeError:
        return -1


def _has_ended(link: socket.socket, tests: int) -> bool:
    """Wait for an order; say whether the tests ended instead."""
    if tests < 0:
        return False
    readable, _, _ = select.select([link, tests], [], [])
    return tests in readable


def _kill(children: Mapping[int, int]) -> None:
    """End what was made and has not ended, with what it started."""
    for child in list(children):
        for number in (child, *of_session(child)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def _end_with(program: int) -> None:
    """Have the kernel end this process when the program that made it ends, however it does.

    Said last: taking another user, as processes in namespaces do, takes it back.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != program:
            os._exit(1)


def _exactly(link: socket.socket, length: int) -> bytes:
    body = b""
    while len(body) < length:
        body += link.recv(length - len(body))
    return body


def _tell(status: int, number: int, *, last: bool = False) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(status, b"%d\n" % number)
    if last:
        os.close(status)


def _begin(order: _Order, files: Sequence[int]) -> None:
    """Become what a new process would be."""
    os.setsid()
    out, err, _ = files
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.closerange(3, _FILES)
    # Tests that run in the background are deaf to Ctrl-C; what they start must not be.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    if order.inside:
        _enter(order.inside)
    os.chdir(order.directory)
    os.environ.clear()
    os.environ.update(order.environment)
    time.tzset()
    tempfile.tempdir = None


def _enter(number: int) -> None:
    """Take the user, the mounts and the network of another process."""
    library = ctypes.CDLL(None, use_errno=True)
    # Its own user cannot be entered, and once another is, what is its own cannot be opened.
    names = [name for name in ("user", "mnt", "net") if not _shares(name, number)]
    files = [os.open(f"/proc/{number}/ns/{name}", os.O_RDONLY) for name in names]
    for file in files:
        if library.setns(file, 0):
            raise OSError(ctypes.get_errno(), "its namespace cannot be entered")
        os.close(file)


def _shares(name: str, number: int) -> bool:
    return os.readlink(f"/proc/self/ns/{name}") == os.readlink(f"/proc/{number}/ns/{name}")


def _import_everything() -> None:
    import kube_sandbox
    import volary

    found = [
        module.name
        for package in (volary, kube_sandbox)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", print)
    ]
    for name in (*(each for each in found if not _SKIPPED.search(each)), *_LATE):
        # What cannot be imported fails the command that needs it, and only that.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _build_models() -> None:
    """Build what pydantic builds when a model is used for the first time."""
    import pydantic

    models = [pydantic.BaseModel]
    for model in models:
        models += model.__subclasses__()
    for model in models[1:]:
        # Those that stand for others to be made from cannot be built.
        with contextlib.suppress(Exception):
            model.model_rebuild()


def _open_store() -> None:
    """Make the schema of a store once: what its libraries learn by it is learned for all."""
    from volary.controller import system_clock
    from volary.store import factory

    async def open_and_close() -> None:
        async with factory.open_store("memory:", clock=system_clock.SystemClock()):
            pass

    asyncio.run(open_and_close())


def _carry_out(order: _Order) -> None:
    if not order.function:
        sys.argv = ["volary", *order.words]
        runpy.run_module("volary", run_name="__main__", alter_sys=True)
        return
    module, _, function = order.function.partition(":")
    getattr(importlib.import_module(module), function)(*order.words)


def _end(code: object) -> NoReturn:
    """Do what an interpreter does at its end, but for taking every module apart."""
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # A reader that went away is no news at the end.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    assert isinstance(code, int | None)
    os._exit(code or 0)


if __name__ == "__main__":
    # Functions of tests are imported here as pytest imports them.
    sys.path.insert(1, str(Path(__file__).parents[1] / "sandbox/tests"))
    _import_everything()
    _build_models()
    _open_store()
    gc.collect()
    # What is there now stays: the processes need not look at it, nor copy its pages for that.
    gc.freeze()
    made = _serve(socket.socket(fileno=int(sys.argv[1])))
    if made is not None:
        try:
            _carry_out(made)
        except SystemExit as left:
            _end(left.code)
        _end(0)
