"""The live view in a real terminal."""

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncIterator
from pathlib import Path

import command_world
import process_time

#: Colours of text or background; bold and dim are no colours.
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|4[0-7]|9[0-7]|38;|48;)")


@contextlib.asynccontextmanager
async def terminal(width: int, height: int) -> AsyncIterator[tuple[int, int]]:
    """A terminal of that size: the program's end and ours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    try:
        yield theirs, ours
    finally:
        os.close(ours)


async def typed(given: command_world.World, *words: str, **environment: str) -> str:
    """Run ``volary run`` with a terminal of 80 × 24 as its stderr; returns what that got."""
    written: list[bytes] = []
    loop = asyncio.get_running_loop()
    async with terminal(80, 24) as (theirs, ours):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "volary", "run", ".", "--fleet", given.fleet, *words),
            cwd=given.directory,
            env={**given.environment, "TERM": "xterm-256color", **environment},
            stdin=theirs,
            stdout=asyncio.subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        os.set_blocking(ours, False)
        loop.add_reader(ours, lambda: written.append(_read(ours)))
        try:
            async with asyncio.timeout(process_time.HANG):
                out, _ = await process.communicate()
        finally:
            loop.remove_reader(ours)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        written.append(_read(ours))
    assert process.returncode == 0, out
    assert b"\x1b" not in out, "stdout is a pipe"
    return b"".join(written).decode()


def _read(ours: int) -> bytes:
    try:
        return os.read(ours, 1 << 20)
    except OSError:
        return b""


async def test_the_matrix_is_redrawn_in_place_and_stands_at_the_end(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *(f"c{n}" for n in range(1, 31))) as given:
        seen = await typed(given)

    assert "\x1b[?25l" in seen
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h"), "the cursor is given back"
    assert COLOUR.search(seen)
    assert re.search(r"… and \d+ more clusters", seen)
    last = seen[seen.rindex("cluster ") :]
    assert all(re.search(rf"\bc{n} .*✓", last) for n in range(1, 31))


async def test_no_color_and_dumb_terminals_are_honoured(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as given:
        plain = await typed(given, NO_COLOR="1")
        dumb = await typed(given, TERM="dumb")

    assert not COLOUR.search(plain)
    assert "us  " in plain
    assert "\x1b" not in dumb
    assert "us K8S_SYNC: ✓ succeeded" in dumb
