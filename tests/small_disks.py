"""Small file systems that can be filled up, or break, and processes that see them.

They are mounted in a namespace of their own; nothing of them is left when its shell has ended.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import namespaces

_BALLAST = "ballast"
#: The file system with the shell's directory, as the kernel calls it.
_DEVICE = "$(basename $(df --output=source . | tail -1))"


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system that is seen by its shell and by what is started there."""

    directory: Path
    shell: namespaces.Shell

    async def fill(self) -> None:
        """Leave not a byte free."""
        await self.shell.do(f"cat /dev/zero > {_BALLAST}; test -s {_BALLAST}")

    async def empty(self) -> None:
        """Free what was filled."""
        await self.shell.do(f"rm {_BALLAST}")


class BreakingDisk(SmallDisk):
    """One that the kernel makes read-only, for it has found an error in it."""

    async def fail(self) -> None:
        """Have an error in it; files that are open cannot be written any more either."""
        await self.shell.do(f"echo test > /sys/fs/ext4/{_DEVICE}/trigger_fs_error")

    async def repair(self) -> None:
        """Mount it anew once it was checked; nobody may use it."""
        image = _image_of(self.directory)
        await self.shell.do(f"cd / && umount '{self.directory}'")
        # Repaired errors are no failure.
        await self.shell.do(f"e2fsck -fp '{image}' || test $? = 1")
        await self.shell.do(_mount_line(self.directory))


@contextlib.asynccontextmanager
async def in_memory(directory: Path, *, megabytes: int) -> AsyncIterator[SmallDisk]:
    """Mount one in memory, for which most kernels ask for no privileges; or skip the test."""
    options = f"size={megabytes}m,mode=700"
    line = f"mount -t tmpfs -o {options} tmpfs '{directory}' && cd '{directory}'"
    async with _shell(directory, line, *namespaces.OWN_USER) as shell:
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
async def _shell(directory: Path, line: str, *options: str) -> AsyncIterator[namespaces.Shell]:
    """Start a shell with mounts of its own that has carried out a line."""
    directory.mkdir(parents=True)
    lacking = "no file system can be mounted here"
    async with namespaces.opened(line, *options, "--mount", lacking=lacking) as shell:
        yield shell
