"""Scripts as processes: what they are given, what they say, and that nothing of them is left."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

import process_time
from volary.clusters.watching import waits
from volary.stages import processes


async def run(
    script: str,
    directory: Path,
    *,
    timeout: float = 20,
    grace: float = 0.5,
    stop: asyncio.Event | None = None,
    mark: str = "",
    **environment: str,
) -> tuple[processes.Ended, list[str]]:
    lines: list[str] = []
    home = directory / "home"
    home.mkdir(exist_ok=True)
    ended = await processes.run(
        script,
        directory=directory,
        home=home,
        environment=environment,
        limits=processes.Limits(timedelta(seconds=timeout), timedelta(seconds=grace)),
        say=lines.append,
        stop=_waiting(stop) if stop else waits.never,
        mark=mark,
    )
    return ended, lines


def _waiting(event: asyncio.Event):  # type: ignore[no-untyped-def]
    async def until() -> None:
        await event.wait()

    return until


def _is_alive(number: int) -> bool:
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


async def _gone(number: int) -> None:
    """A signal needs a moment to arrive."""
    async with asyncio.timeout(process_time.HANG):
        while _is_alive(number):  # noqa: ASYNC110 - nothing tells when a stranger's child ends
            await asyncio.sleep(0.01)


async def test_output_comes_line_by_line_with_both_streams(tmp_path: Path) -> None:
    ended, lines = await run("echo one; echo two >&2; printf three; exit 3", tmp_path)
    assert lines == ["one", "two", "three"]
    assert ended == processes.Ended(processes.End.EXITED, 3)


async def test_the_environment_holds_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTROLLER_TOKEN", "very-secret")
    _, lines = await run("env; pwd", tmp_path, SR_SUMMARY="all of it")
    assert "SR_SUMMARY=all of it" in lines
    assert f"HOME={tmp_path}/home" in lines
    assert lines[-1] == str(tmp_path)
    assert not any("very-secret" in line for line in lines)


async def test_children_go_with_a_script_that_is_late(tmp_path: Path) -> None:
    script = "trap '' TERM; sleep 300 & echo $!; sleep 300 & echo $!; wait"
    begin = asyncio.get_running_loop().time()
    ended, lines = await run(script, tmp_path, timeout=0.3, grace=0.3)
    assert ended.end is processes.End.LATE
    assert asyncio.get_running_loop().time() - begin < 10
    for line in lines:
        await _gone(int(line))


async def test_a_polite_script_may_tidy_up_when_it_is_stopped(tmp_path: Path) -> None:
    stop = asyncio.Event()
    script = "trap 'echo tidied; exit 7' TERM; echo ready; touch ready; while :; do sleep .1; done"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(script, tmp_path, grace=10, stop=stop))
        await process_time.until((tmp_path / "ready").exists)
        stop.set()
    ended, lines = running.result()
    assert ended.end is processes.End.STOPPED
    assert lines[0] == "ready"
    assert lines[-1] == "tidied"


async def test_children_left_behind_go_too(tmp_path: Path) -> None:
    begin = asyncio.get_running_loop().time()
    ended, lines = await run("sleep 300 & echo $!", tmp_path)
    assert ended == processes.Ended(processes.End.EXITED, 0)
    assert asyncio.get_running_loop().time() - begin < 5
    await _gone(int(lines[0]))


async def test_being_broken_off_leaves_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    said = asyncio.Event()

    def say(line: str) -> None:
        lines.append(line)
        said.set()

    async def forever() -> None:
        await processes.run(
            "echo $$; sleep 300",
            directory=tmp_path,
            home=tmp_path,
            environment={},
            limits=processes.Limits(timedelta(seconds=60)),
            say=say,
            stop=waits.never,
        )

    async with asyncio.TaskGroup() as group:
        task = group.create_task(forever())
        await said.wait()
        task.cancel()
    assert task.cancelled()
    await _gone(int(lines[0]))


async def test_output_is_bounded(tmp_path: Path) -> None:
    script = "i=0; while [ $i -lt 6000 ]; do echo $i; i=$((i+1)); done"
    ended, lines = await run(script, tmp_path)
    assert ended.code == 0
    assert len(lines) == processes.MOST_LINES + 1
    assert "not shown" in lines[-1]


async def test_a_line_without_end_is_bounded(tmp_path: Path) -> None:
    _, lines = await run("head -c 1000000 /dev/zero | tr '\\0' x", tmp_path)
    assert max(len(line) for line in lines) <= processes.LONGEST_LINE + 2


async def test_nothing_on_standard_input(tmp_path: Path) -> None:
    _, lines = await run("cat; echo end", tmp_path)
    assert lines == ["end"]


async def test_output_cannot_steer_a_terminal(tmp_path: Path) -> None:
    _, lines = await run("printf 'a\\033[2Jb\\n'", tmp_path)
    assert "\x1b" not in lines[0]


_LEAVES = (
    "python3 -c 'import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(300)'"
    " > pid & until [ -s pid ]; do sleep 0.05; done; cat pid"
)


async def test_a_child_that_left_the_group_goes_too(tmp_path: Path) -> None:
    _, lines = await run(_LEAVES, tmp_path, mark=f"{tmp_path} a")
    await _gone(int(lines[0]))


async def test_what_an_earlier_process_left_running_is_ended_first(tmp_path: Path) -> None:
    """As after a crash of ours: nobody else knows of the script any more."""
    earlier = await asyncio.create_subprocess_exec(
        "/bin/sleep", "300", env={"VOLARY_TASK": f"{tmp_path} b"}, start_new_session=True
    )
    other = await asyncio.create_subprocess_exec(
        "/bin/sleep", "300", env={"VOLARY_TASK": f"{tmp_path} c"}, start_new_session=True
    )
    try:
        await run("true", tmp_path, mark=f"{tmp_path} b")
        async with asyncio.timeout(process_time.HANG):
            assert await earlier.wait() == -9
        assert other.returncode is None
    finally:
        other.kill()
        await other.wait()
