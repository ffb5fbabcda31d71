"""Small file systems that can be filled up, or break, and processes that see them.

They are mounted in a namespace of their own; nothing of them is left when its shell has ended.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import command_world
import warm_processes

_BALLAST = "ballast"
#: Before the exit code of a line.
_ENDED = "ended="
#: The file system with the shell's directory, as the kernel calls it.
_DEVICE = "$(basename $(df --output=source . | tail -1))"


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system that is seen by its shell and by what is started here."""

    directory: Path
    shell: asyncio.subprocess.Process

    async def fill(self) -> None:
        """Leave not a byte free."""
        await self.do(f"cat /dev/zero > {_BALLAST}; test -s {_BALLAST}")

    async def empty(self) -> None:
        """Free what was filled."""
        await self.do(f"rm {_BALLAST}")

    async def do(self, line: str) -> None:
        """Carry out a line in the shell, in the file system's directory."""
        assert self.shell.stdin is not None
        assert self.shell.stdout is not None
        self.shell.stdin.write(f"{{ {line}; }} 2>&1; printf '\\n%s%d\\n' {_ENDED} $?\n".encode())
        said = ""
        while not (last := (await self.shell.stdout.readline()).decode()).startswith(_ENDED):
            assert last, f"the shell has ended: {said}"
            said += last
        assert last == f"{_ENDED}0\n", f"{line}: {said}"

    @contextlib.asynccontextmanager
    async def start(
        self, world: command_world.World, *words: str
    ) -> AsyncIterator[command_world.Started]:
        """Run ``volary …`` where the file system is seen; it is killed at the end of the block."""
        async with warm_processes.volary(
            *words,
            directory=world.directory,
            environment=world.environment,
            inside=self.shell.pid,
        ) as process:
            yield command_world.Started(process)


class BreakingDisk(SmallDisk):
    """One that the kernel makes read-only, for it has found an error in it."""

    async def fail(self) -> None:
        """Have an error in it; files that are open cannot be written any more either."""
        await self.do(f"echo test > /sys/fs/ext4/{_DEVICE}/trigger_fs_error")

    async def repair(self) -> None:
        """Mount it anew once it was checked; nobody may use it."""
        image = _image_of(self.directory)
        await self.do(f"cd / && umount '{self.directory}'")
        # Repaired errors are no failure.
        await self.do(f"e2fsck -fp '{image}' || test $? = 1")
        await self.do(_mount_line(self.directory))


@contextlib.asynccontextmanager
async def in_memory(directory: Path, *, megabytes: int) -> AsyncIterator[SmallDisk]:
    """Mount one in memory, for which most kernels ask for no privileges; or skip the test."""
    options = f"size={megabytes}m,mode=700"
    line = f"mount -t tmpfs -o {options} tmpfs '{directory}' && cd '{directory}'"
    async with _shell(directory, line, "--user", "--map-root-user") as shell:
        yield SmallDisk(directory, shell)


@contextlib.asynccontextmanager
async def in_a_file(directory: Path, *, megabytes: int) -> AsyncIterator[BreakingDisk]:
    """Mount one of a file, which only the machine's own root may; or skip the test."""
    image = _image_of(directory)
    line = f"truncate -s {megabytes}M '{image}' && mkfs.ext4 -q '{image}'"
    async with _shell(directory, f"{line} && {_mount_line(directory)}") as shell:
        yield BreakingDisk(directory, shell)


def _image_of(directory: Path) -> Path:
    return directory.with_suffix(".image")


def _mount_line(directory: Path) -> str:
    mount = f"mount -o loop,errors=remount-ro '{_image_of(directory)}' '{directory}'"
    return f"{mount} && chmod 700 '{directory}' && cd '{directory}'"


@contextlib.asynccontextmanager
async def _shell(
    directory: Path, line: str, *options: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a shell with mounts of its own that has carried out a line."""
    directory.mkdir(parents=True)
    try:
        shell = await asyncio.create_subprocess_exec(
            *("unshare", *options, "--mount", "sh", "-c", f"{line} && echo && exec sh"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError:
        pytest.skip("the program unshare is not installed")
    try:
        assert shell.stdout is not None
        if not await shell.stdout.readline():
            _, err = await shell.communicate()
            pytest.skip(f"no file system can be mounted here: {err.decode().strip()}")
        yield shell
    finally:
        if shell.returncode is None:
            shell.kill()
            await shell.communicate()
