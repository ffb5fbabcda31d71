"""Gives up everything a renderer does not need, then becomes it. Runs by itself, in a process.

    python -I -S launcher.py probe
    python -I -S launcher.py run REQUEST PROGRAM ARGUMENT…

REQUEST is JSON: ``network`` (how it is cut off, see `AS_USER`), ``filter`` (see `ALL_SOCKETS`),
``hidden`` (paths that are empty for it) and ``limits`` by the names of `_LIMITS`. What cannot be
given up ends the launcher with `FAILED` and a sentence; the program is never run with more than was
asked for.

In a process of its own because all of this is of the whole process, and because nothing may run
between fork and exec in a server with threads. System calls that Python 3.11 does not have go
through ctypes.
"""

import contextlib
import ctypes
import errno
import json
import os
import platform
import resource
import signal
import struct
import sys
import tempfile
from typing import NoReturn

#: Of the launcher itself; no program that renders ends with it.
FAILED = 124

#: Ways to be without a network: namespaces of a new user, of root, or none.
AS_USER, AS_ROOT, NONE = "user", "root", "none"

#: What a filter refuses besides: every socket, or those that are not of this machine's files. The
#: other choice is none.
ALL_SOCKETS, REMOTE_SOCKETS = "all", "remote"

_NEWNS = 0x00020000
_NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
_FLAGS = {AS_USER: _NEWUSER | _NEWNET | _NEWPID | _NEWIPC, AS_ROOT: _NEWNET | _NEWPID | _NEWIPC}
_SET_DEATH_SIGNAL, _SET_SECCOMP, _DROP_BOUND = 1, 22, 24
_SET_SUBREAPER, _NO_NEW_PRIVILEGES, _AMBIENT, _CLEAR_ALL = 36, 38, 47, 4
_FILTER = 2
#: More than any kernel has.
_MOST_CAPABILITIES = 128

_LIMITS = {
    "processor_seconds": resource.RLIMIT_CPU,
    # Not the address space, of which Go reserves gigabytes without using them: what may be written.
    "memory": resource.RLIMIT_DATA,
    "file_size": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
    "processes": getattr(resource, "RLIMIT_NPROC", None),
}

#: Of mount(2): read only, no programs, devices or other users' rights; a place that is there
#: already; for everything below, and seen by nobody else.
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 1, 2, 4, 8
_BIND, _ALL_BELOW, _PRIVATE = 4096, 16384, 1 << 18
#: Sockets of this machine's files.
_AF_UNIX = 1
#: Where a filter finds the first argument of a system call; both machines have low bytes first.
_FIRST_ARGUMENT = 16

#: System calls that make connections or reach into other processes, by machine: its number for
#: the kernel, then those of socket, io_uring_setup, ptrace, process_vm_readv, process_vm_writev,
#: setns, unshare, bpf, perf_event_open, keyctl, add_key, request_key, pidfd_getfd, userfaultfd.
_MACHINES = {
    "x86_64": (
        0xC000003E,
        (41, 425, 101, 310, 311, 308, 272, 321, 298, 250, 248, 249, 438, 323),
    ),
    "aarch64": (
        0xC00000B7,
        (198, 425, 117, 270, 271, 268, 97, 280, 241, 219, 217, 218, 438, 282),
    ),
}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
#: System calls of another convention (x32) begin there; they have the same effects.
_OTHER_CONVENTION = 0x40000000


class LaunchError(Exception):
    """Something that was asked for could not be given up."""


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(what: str, option: int, *arguments: int) -> None:
    given = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if _library().prctl(ctypes.c_int(option), *given):
        raise LaunchError(f"{what}: {os.strerror(ctypes.get_errno())}")


def leave_network(way: str, *, with_mounts: bool = False) -> None:
    """Enter a network of our own with nothing in it; children are in processes of their own.

    `with_mounts`: what is mounted from now on is seen by us alone.
    """
    user, group = os.getuid(), os.getgid()
    if _library().unshare(_FLAGS[way] | (_NEWNS if with_mounts else 0)):
        raise LaunchError(f"a network namespace: {os.strerror(ctypes.get_errno())}")
    if way == AS_USER:
        # The same numbers inside, so that files still belong to whom they belong.
        _tell("/proc/self/setgroups", "deny")
        _tell("/proc/self/uid_map", f"{user} {user} 1")
        _tell("/proc/self/gid_map", f"{group} {group} 1")


def _tell(file: str, text: str) -> None:
    try:
        with open(file, "w", encoding="ascii") as opened:
            opened.write(text)
    except OSError as error:
        raise LaunchError(f"{file}: {error.strerror}") from error


def hide(paths: list[str]) -> None:
    """Have directories and files be empty for us and our children, in mounts of our own."""
    _mount("none", "/", "", _ALL_BELOW | _PRIVATE)
    for path in paths:
        if os.path.isdir(path):
            flags = _READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS
            _mount("tmpfs", path, "tmpfs", flags)
        elif os.path.exists(path):
            _mount(os.devnull, path, "", _BIND)


def _mount(source: str, place: str, kind: str, flags: int) -> None:
    given = (source.encode(), os.fsencode(place), kind.encode() or None)
    if _library().mount(*given, ctypes.c_ulong(flags), None):
        raise LaunchError(f"hiding {place}: {os.strerror(ctypes.get_errno())}")


def filter_calls(which: str = ALL_SOCKETS) -> None:
    """Have the kernel refuse system calls that lead out of this process, for good."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise LaunchError(f"a filter of system calls: not known for {platform.machine()}")
    number, calls = machine
    refused: tuple[int, ...] = calls
    refuse = (_RETURN, 0, 0, _ERROR | errno.EACCES)
    program = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, number),
        refuse,
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, _OTHER_CONVENTION),
        refuse,
    ]
    if which == REMOTE_SOCKETS:
        socket, refused = refused[0], refused[1:]
        allow = (_RETURN, 0, 0, _ALLOW)
        family = [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_EQUAL, 0, 1, _AF_UNIX), allow, refuse]
        program += [(_EQUAL, 0, len(family), socket), *family]
    for call in refused:
        program += [(_EQUAL, 0, 1, call), refuse]
    program.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    described = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    )
    _prctl("a filter of system calls", _SET_SECCOMP, _FILTER, ctypes.addressof(described))


def drop_privileges() -> None:
    """Give up what programs run by root may do beyond what its files allow; never get more."""
    _prctl("no new privileges", _NO_NEW_PRIVILEGES, 1)
    if os.geteuid():
        return
    _prctl("no ambient capabilities", _AMBIENT, _CLEAR_ALL)
    for capability in range(_MOST_CAPABILITIES):
        try:
            _prctl("no capabilities", _DROP_BOUND, capability)
        except LaunchError:
            # Beyond the last one; or root that may not even drop them, having few.
            break


def limit(limits: dict[str, int]) -> None:
    """Set limits that the program can only lower."""
    for name, most in limits.items():
        number = _LIMITS[name]
        if number is None:
            continue
        _, highest = resource.getrlimit(number)
        least = most if highest == resource.RLIM_INFINITY else min(most, highest)
        # A second more of the processor before it is killed: it is told first.
        grace = 1 if name == "processor_seconds" and least < most + 1 else 0
        top = least + grace if highest == resource.RLIM_INFINITY else min(least + grace, highest)
        try:
            resource.setrlimit(number, (least, top))
        except (OSError, ValueError) as error:
            # Not on every system is every limit one that can be set (macOS).
            if sys.platform == "linux":
                raise LaunchError(f"the limit {name}: {error}") from error
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(request: dict[str, object], argv: list[str]) -> int:
    """Run a program to its end and return what to exit with; nothing of it is left then."""
    way, hidden = str(request["network"]), request.get("hidden", [])
    assert isinstance(hidden, list)
    if way != NONE:
        leave_network(way, with_mounts=bool(hidden))
        if hidden:
            hide(hidden)
        _end_with_parent()  # not before: other privileges undo it
        # The first process there, with which all others end. Not the program itself: the kernel
        # spares the first one signals that it did not ask for, those of limits too.
        first = os.fork()
        if first:
            return _wait(first)
        _end_with_parent()
        os._exit(_wait(_begin(request, argv)))
    _end_with_parent()
    if sys.platform != "linux":
        return _wait(_begin(request, argv))
    # Whoever leaves the program's group becomes our child then.
    _prctl("orphans", _SET_SUBREAPER, 1)
    code = _wait(_begin(request, argv))
    _end_children()
    return code


def _begin(request: dict[str, object], argv: list[str]) -> int:
    child = os.fork()
    if not child:
        _become(request, argv)
    return child


def _end_with_parent() -> None:
    """Be killed with whoever began this process, so that a server that is killed leaves nothing."""
    if sys.platform == "linux":
        _prctl("ending with us", _SET_DEATH_SIGNAL, signal.SIGKILL)


def _become(request: dict[str, object], argv: list[str]) -> NoReturn:
    try:
        _end_with_parent()
        if sys.platform == "linux":
            drop_privileges()
        limits = request["limits"]
        assert isinstance(limits, dict)
        limit(limits)
        if request["filter"]:
            filter_calls(str(request["filter"]))
        os.execv(argv[0], argv)
    except LaunchError as error:
        _complain(f"cannot be isolated: {error}")
    except OSError as error:
        _complain(f"{os.path.basename(argv[0])} cannot be run: {error.strerror}")
    os._exit(FAILED)


def _complain(text: str) -> None:
    os.write(2, f"{text}\n".encode())


def _wait(child: int) -> int:
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == child:
            break
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def _end_children() -> None:
    """End orphans until there are none; each may have left some of its own to us."""
    file = f"/proc/self/task/{os.getpid()}/children"
    with contextlib.suppress(OSError):
        while True:
            with open(file, encoding="ascii") as opened:
                children = opened.read().split()
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)
            os.waitpid(-1, 0)


def probe() -> dict[str, str]:
    """Try what this machine allows; each answer is empty, or why it is not so."""
    if sys.platform != "linux":
        why = f"not on {sys.platform}"
        return {AS_USER: why, AS_ROOT: why, "filter": why, "hiding": why}
    return {
        AS_USER: _try(lambda: _check_network(AS_USER)),
        AS_ROOT: "only root may" if os.geteuid() else _try(lambda: _check_network(AS_ROOT)),
        "filter": _try(_check_filter),
        "hiding": _try(_check_hiding),
    }


def _check_network(way: str) -> None:
    leave_network(way)
    with open("/proc/self/net/dev", encoding="ascii") as opened:
        names = [line.partition(":")[0].strip() for line in opened.readlines()[2:]]
    if [name for name in names if name != "lo"]:
        raise LaunchError(f"a network namespace has {', '.join(names)}")
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def _check_hiding() -> None:
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, "secret"), "w", encoding="ascii") as opened:
            opened.write("secret")
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            if status:
                raise LaunchError("a mount namespace is not permitted")
            return
        try:
            way = AS_USER if not _try(lambda: _check_network(AS_USER)) else AS_ROOT
            leave_network(way, with_mounts=True)
            hide([place])
            os._exit(len(os.listdir(place)))
        except (LaunchError, OSError):
            os._exit(1)


def _check_filter() -> None:
    drop_privileges()
    filter_calls()
    if _library().socket(2, 1, 0) >= 0:
        raise LaunchError("a filter of system calls: nothing is refused")


def _try(check: "object") -> str:
    """Return why a check fails in a process of its own; empty: it does not."""
    assert callable(check)
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        said = ""
        try:
            check()
        except (LaunchError, OSError) as error:
            said = str(error) or type(error).__name__
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as opened:
        said = opened.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    return said or (f"ended with {status}" if status else "")


def main(words: list[str]) -> int:
    """Do what the command line says."""
    match words:
        case ["probe"]:
            sys.stdout.write(json.dumps(probe()))
            return 0
        case ["run", request, *argv] if argv:
            try:
                return run(json.loads(request), argv)
            except LaunchError as error:
                _complain(f"cannot be isolated: {error}")
                return FAILED
    _complain("launcher.py probe | run REQUEST PROGRAM ARGUMENT…")
    return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
