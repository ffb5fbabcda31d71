"""A program gets nothing it was not given: no network, no privileges, and only so much."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import listener
import process_time
from volary import subprocesses
from volary.isolation import isolated_programs, launcher, probing
from volary.model import errors

HERE = probing.probe()
LIMITS = isolated_programs.Limits(time=timedelta(seconds=process_time.HANG))
#: Each way to keep a program from the network by itself, as far as this machine has it.
WAYS = [
    probing.Isolation(way, filter=filtered)
    for way in (launcher.AS_USER, launcher.AS_ROOT, launcher.NONE)
    for filtered in (True, False)
]
NAMES = ["user+filter", "user", "root+filter", "root", "filter", "none"]
EACH_WAY = pytest.mark.parametrize("isolation", WAYS, ids=NAMES)

FETCH = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())
"""


def available(isolation: probing.Isolation) -> probing.Isolation:
    """Return it; skips what this machine does not allow."""
    answers = probing.answers()
    if isolation.network != launcher.NONE and answers[isolation.network]:
        pytest.skip(answers[isolation.network])
    if isolation.filter and answers["filter"]:
        pytest.skip(answers["filter"])
    return isolation


async def run(
    script: str,
    *arguments: str,
    home: Path,
    isolation: probing.Isolation = HERE,
    limits: isolated_programs.Limits = LIMITS,
    required: bool = False,
) -> subprocesses.ProcessResult:
    return await isolated_programs.run(
        [sys.executable, "-c", script, *arguments],
        environment=subprocesses.private_environment(sys.executable, home) | {"no_proxy": "*"},
        directory=home,
        limits=limits,
        required=required,
        isolation=isolation,
    )


@pytest.fixture
async def server() -> AsyncIterator[listener.Listener]:
    async with listener.listening() as made:
        yield made


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps programs from anything")
def test_here_programs_can_be_isolated() -> None:
    """The tests below prove nothing elsewhere; continuous integration runs where they can."""
    assert HERE.has_no_network, HERE.sentence


@EACH_WAY
async def test_a_server_on_this_machine_is_not_reached(
    isolation: probing.Isolation, server: listener.Listener, tmp_path: Path
) -> None:
    isolation = available(isolation)

    finished = await run(FETCH, server.url, home=tmp_path, isolation=isolation)

    if isolation.has_no_network:
        assert finished.code == 1
        assert listener.SECRET not in finished.text("it") + finished.complaint
        assert server.connections == 0
    else:
        # What it is like without: the server is there, and the program would have got it.
        assert finished.text("it").strip() == listener.SECRET
        assert server.connections == 1


@EACH_WAY
async def test_its_children_are_not_let_out_either_nor_can_they_go_back(
    isolation: probing.Isolation, server: listener.Listener, tmp_path: Path
) -> None:
    """A child of its own, after trying to enter the network of the process that began it all."""
    isolation = available(isolation)
    if not isolation.has_no_network:
        pytest.skip("nothing keeps it")
    script = f"""
import ctypes, os, subprocess, sys
library = ctypes.CDLL(None, use_errno=True)
for process in (1, {os.getpid()}):
    try:
        handle = os.open(f"/proc/{{process}}/ns/net", os.O_RDONLY)
    except OSError as error:
        print("closed")
        continue
    print("entered" if library.setns(handle, 0) == 0 else "refused")
sys.exit(subprocess.run([sys.executable, "-c", {FETCH!r}, sys.argv[1]]).returncode)
"""

    finished = await run(script, server.url, home=tmp_path, isolation=isolation)

    assert finished.code == 1, finished
    assert "entered" not in finished.text("it")
    assert server.connections == 0


@EACH_WAY
async def test_it_has_no_privileges_and_gets_none(
    isolation: probing.Isolation, tmp_path: Path
) -> None:
    isolation = available(isolation)
    script = (
        "print({line.split(':')[0]: line.split()[1] for line in open('/proc/self/status')"
        " if line.startswith(('CapEff', 'CapPrm', 'CapBnd', 'NoNewPrivs'))})"
    )

    finished = await run(script, home=tmp_path, isolation=isolation)

    said = json.loads(finished.text("it").replace("'", '"'))
    assert said["NoNewPrivs"] == "1"
    assert {int(said["CapEff"], 16), int(said["CapPrm"], 16)} == {0}


async def test_its_environment_is_what_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOLARY_TOKEN", "secret")
    finished = await run("import os; print(sorted(os.environ))", home=tmp_path)

    given = {*subprocesses.private_environment(sys.executable, tmp_path), "no_proxy"}
    # Python adds LC_CTYPE itself.
    assert set(json.loads(finished.text("it").replace("'", '"'))) - {"LC_CTYPE"} == given


@pytest.mark.parametrize(
    ("script", "limits", "message"),
    [
        pytest.param(
            "x = [bytearray(1 << 20) for _ in range(300)]",
            {"memory": 128 << 20},
            None,
            id="memory",
        ),
        pytest.param(
            "while True: pass",
            {"processor_time": timedelta(seconds=1)},
            "used the processor for more than 1 seconds",
            id="processor",
        ),
        pytest.param(
            "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
            {"processor_time": timedelta(seconds=1)},
            "was killed: its processor time was over",
            id="processor, told and deaf",
        ),
        pytest.param(
            "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
            "open('x', 'wb').write(b'x' * (3 << 20))",
            {"file_size": 2 << 20},
            "wrote a file of more than 2 MiB",
            id="file",
        ),
        pytest.param("x = [open('/dev/null') for _ in range(100)]", {"open_files": 50}, None),
        pytest.param(
            "print('x' * (3 << 20))", {"output": 2 << 20}, "wrote more than 2 MiB", id="output"
        ),
        pytest.param(
            "import time; time.sleep(3600)",
            {"time": timedelta(seconds=1)},
            "did not end within 1 seconds",
            id="time",
        ),
    ],
)
async def test_it_uses_no_more_than_its_limits(
    script: str, limits: dict[str, object], message: str | None, tmp_path: Path
) -> None:
    within = replace(LIMITS, **limits)  # type: ignore[arg-type]

    if message is None:
        finished = await run(script, home=tmp_path, limits=within)
        assert finished.code != 0
    else:
        with pytest.raises(errors.UserError, match=message):
            await run(script, home=tmp_path, limits=within)

    for file in tmp_path.iterdir():
        assert file.stat().st_size <= within.file_size


LEAVES_A_CHILD = """
import os, subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-c", "import os, time; open('begun', 'w').close(); time.sleep(3600)"],
    start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
while not os.path.exists("begun"):
    pass
"""


@EACH_WAY
async def test_nothing_of_it_is_left_at_its_end(
    isolation: probing.Isolation, tmp_path: Path
) -> None:
    """Not even what left its session and its group."""
    isolation = available(isolation)

    finished = await run(LEAVES_A_CHILD, home=tmp_path, isolation=isolation)

    assert finished.code == 0
    await process_time.until(lambda: not running_in(tmp_path))


@EACH_WAY
async def test_nothing_of_it_is_left_when_it_is_broken_off(
    isolation: probing.Isolation, tmp_path: Path
) -> None:
    isolation = available(isolation)
    if isolation.network == launcher.NONE:
        pytest.skip("without a process namespace, who left the group before stays")
    script = f"{LEAVES_A_CHILD}\nimport time; open('waits', 'w').close(); time.sleep(3600)"

    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(script, home=tmp_path, isolation=isolation))
        await process_time.until((tmp_path / "waits").exists)
        assert running_in(tmp_path)
        running.cancel()

    await process_time.until(lambda: not running_in(tmp_path))


@EACH_WAY
async def test_nothing_of_it_is_left_when_who_began_it_is_killed(
    isolation: probing.Isolation, tmp_path: Path
) -> None:
    isolation = available(isolation)
    script = "open('begun', 'w').close(); import time; time.sleep(3600)"
    request = {"network": isolation.network, "filter": isolation.filter, "limits": {}}
    command = [*probing.COMMAND, "run", json.dumps(request), sys.executable, "-c", script]
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"import subprocess; subprocess.run({command!r})"), cwd=tmp_path
    )
    await process_time.until((tmp_path / "begun").exists)

    server.kill()
    await server.wait()

    await process_time.until(lambda: not running_in(tmp_path))


def running_in(directory: Path) -> list[str]:
    """Return the processes whose directory is `directory`."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if place.readlink() == directory:
                found.append(place.parent.name)
        except OSError:
            continue
    return found


async def test_its_exit_and_output_are_passed_on(tmp_path: Path) -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

    finished = await run(script, home=tmp_path)

    assert finished == subprocesses.ProcessResult(3, b"out\n", "err")


async def test_where_nothing_can_be_kept_from_it_it_runs_only_if_that_is_allowed(
    tmp_path: Path,
) -> None:
    bare = probing.without_launcher("not on this machine")
    script = "import os; print(os.getcwd())"

    with pytest.raises(errors.UserError, match="nothing is rendered with programs") as refused:
        await run(script, home=tmp_path, isolation=bare, required=True)
    finished = await run(script, home=tmp_path, isolation=bare)

    assert "rendererIsolation: preferred" in str(refused.value)
    assert finished.text("it").strip() == str(tmp_path)


async def test_what_was_promised_and_cannot_be_kept_runs_nothing(tmp_path: Path) -> None:
    """Somebody in a filter may make no namespace: as on a machine that changed its mind."""
    filtered = available(probing.Isolation(filter=True))
    request = json.dumps({"network": launcher.AS_USER, "filter": True, "limits": {}})
    inner = [*probing.COMMAND, "run", request, sys.executable, "-c", "open('ran', 'w')"]

    with pytest.raises(errors.UserError, match="cannot be isolated: a network namespace: Perm"):
        await isolated_programs.run(
            inner,
            environment={},
            directory=tmp_path,
            limits=LIMITS,
            required=True,
            isolation=filtered,
        )

    assert not (tmp_path / "ran").exists()


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="missing cannot be run: No such file"):
        await isolated_programs.run(
            [str(tmp_path / "missing")],
            environment={},
            directory=tmp_path,
            limits=LIMITS,
            required=True,
        )


@EACH_WAY
async def test_what_is_hidden_is_empty_for_it_and_nobody_else(
    isolation: probing.Isolation, tmp_path: Path
) -> None:
    if not available(isolation).hides:
        pytest.skip("no namespace to hide anything in")
    if probing.answers()["hiding"]:
        pytest.skip(probing.answers()["hiding"])
    data, key, home = tmp_path / "data", tmp_path / "key", tmp_path / "home"
    for directory in (data, home):
        directory.mkdir()
    (data / "tokens.json").write_text("secret")
    key.write_text("secret")
    looks = (
        "import os, sys; print(os.listdir(sys.argv[1]), repr(open(sys.argv[2]).read()))\n"
        "try: open(sys.argv[1] + '/new', 'w')\n"
        "except OSError as error: print(error.strerror)"
    )

    finished = await isolated_programs.run(
        [sys.executable, "-c", looks, str(data), str(key)],
        environment={},
        directory=home,
        limits=LIMITS,
        required=True,
        isolation=isolation,
        hidden=(str(data), str(key), str(tmp_path / "nowhere"), str(tmp_path)),
    )

    assert finished.text("it").splitlines() == ["[] ''", "Read-only file system"]
    assert (data / "tokens.json").read_text() == key.read_text() == "secret"


async def test_a_socket_that_is_a_file_is_reached_where_that_is_said(tmp_path: Path) -> None:
    available(probing.Isolation(filter=True))
    heard = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set()
        writer.write(b"agent")
        writer.close()

    place = tmp_path / "agent"
    ask = (
        "import socket, sys\n"
        "for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):\n"
        "    try: asked = socket.socket(family)\n"
        "    except OSError as error: print(family.name, error.strerror); continue\n"
        "    asked.connect(sys.argv[1]); print(family.name, asked.recv(9).decode())\n"
    )
    async with await asyncio.start_unix_server(answer, place):
        finished = await isolated_programs.run(
            [sys.executable, "-c", ask, str(place)],
            environment={},
            directory=tmp_path,
            limits=LIMITS,
            required=True,
            reach=isolated_programs.Reach.LOCAL_SOCKETS,
        )

    assert heard.is_set()
    refused = [f"{name} Permission denied" for name in ("AF_INET", "AF_INET6", "AF_NETLINK")]
    assert finished.text("it").splitlines() == ["AF_UNIX agent", *refused]


def test_each_state_of_a_machine_has_its_sentence() -> None:
    states = [
        probing.Isolation("user", filter=True),
        probing.Isolation("user", filter_refusal="not known for riscv64"),
        probing.Isolation(filter=True, network_refusal="Operation not permitted"),
        probing.Isolation("user", filter=True, hiding_refusal="hiding /: Permission denied"),
        probing.without_launcher("not on darwin"),
    ]

    assert [state.sentence for state in states] == [
        "renderers run in a network namespace of their own, their system calls filtered",
        "renderers run in a network namespace of their own; their system calls are not filtered"
        " (not known for riscv64)",
        "renderers run without connections: their system calls are filtered; there is no network"
        " namespace (Operation not permitted); the server's own files are not hidden from them",
        "renderers run in a network namespace of their own, their system calls filtered; the"
        " server's own files are not hidden from them (hiding /: Permission denied)",
        "renderers cannot be kept from the network here: no network namespace (not on darwin),"
        " no filter of system calls (not on darwin)",
    ]
    assert [state.has_no_network for state in states] == [True, True, True, True, False]
    assert [state.is_whole for state in states] == [True, False, False, False, False]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
async def test_somebody_without_rights_is_isolated_too_and_cannot_multiply() -> None:
    """As a server runs that is not root: the launcher as it is, begun by nobody."""
    python = shutil.which("python3", path="/usr/bin")
    if python is None:
        pytest.skip("no Python that nobody may run")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        script = Path(shutil.copy(launcher.__file__, directory))
        script.chmod(0o644)
        await begin_as_nobody(python, script)


async def begin_as_nobody(python: str, script: Path) -> None:
    fork = (
        "import os, time\nmade = 0\ntry:\n"
        "    for _ in range(100):\n        if not os.fork(): time.sleep(3600)\n        made += 1\n"
        "except BlockingIOError:\n    pass\nprint(os.getuid(), made < 20)"
    )
    request = {"network": "user", "filter": True, "limits": {"processes": 20}}
    nobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    prefix = [*nobody, python, "-I", "-S", str(script)]

    async def said(*words: str) -> str:
        ended = await subprocesses.run(
            [*prefix, *words],
            environment={},
            timeout=timedelta(seconds=process_time.HANG),
            directory=Path("/"),
        )
        return ended.text("it") + ended.complaint

    answers = json.loads(await said("probe"))
    if answers["user"]:
        pytest.skip(answers["user"])

    assert answers["root"] == "only root may"
    assert await said("run", json.dumps(request), python, "-c", fork) == "65534 True\n"
