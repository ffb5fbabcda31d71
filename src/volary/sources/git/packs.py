"""Pack files of a mirror: each fetch brings one, and what was read of it stays open.

So that neither open files nor the time of a look grow with the pushes, many are merged into few.
The largest ones are left alone as long as the others are small beside them: an object is written
anew a few times in the life of a mirror, not at each merge.
"""

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pygit2

#: Begin of the names of directories in a mirror in which packs are made.
MERGING = "merging-"
#: Larger ones (bytes) are never merged: it would take long, and their number is small.
_LARGEST = 64 * 1024 * 1024
_INDEX = b"\xfftOc\x00\x00\x00\x02"
_FAN_OUT = 256 * 4
_HASH = 20
#: What may be beside a pack of this name.
_ENDS = (".idx", ".rev", ".bitmap", ".pack")


def merge(mirror: Path, most: int) -> bool:
    """Merge packs of a mirror that has more than `most`; say whether any were.

    No object goes. Who reads meanwhile finds each of them, in an old pack or in the new one;
    files of old ones stay open until the handles that have read them are freed.

    Raises:
        pygit2.GitError: They cannot be read, or merged.
        OSError: The mirror cannot be written.
    """
    directory = mirror / "objects/pack"
    packs = {path: path.stat().st_size for path in directory.glob("*.pack")}
    if len(packs) <= most:
        return False
    free = {
        path: size
        for path, size in packs.items()
        if size <= _LARGEST and not path.with_suffix(".keep").exists()
    }
    chosen = choose(free)
    if not chosen:
        return False
    with tempfile.TemporaryDirectory(prefix=MERGING, dir=mirror) as fresh:
        _write(mirror, chosen, fresh)
        made = _move(Path(fresh), directory)
    for path in chosen:
        if path.stem not in made:
            for end in _ENDS:
                path.with_suffix(end).unlink(missing_ok=True)
    return True


def choose(packs: Mapping[Path, int]) -> Sequence[Path]:
    """Return the smaller ones of packs, by size: those left are larger than twice all before them.

    Nothing when that leaves no two to be merged.
    """
    by_size = sorted(packs, key=lambda path: (packs[path], path))
    count = before = 0
    for place, path in enumerate(by_size):
        if packs[path] <= 2 * before:
            count = place + 1
        before += packs[path]
    return by_size[:count]


def _write(mirror: Path, packs: Collection[Path], fresh: str) -> None:
    """Write a pack with all objects of others into an empty directory."""
    opened = pygit2.Repository(str(mirror))
    try:
        builder = pygit2.PackBuilder(opened)
        builder.set_threads(1)
        for path in packs:
            for name in _objects(path.with_suffix(".idx")):
                builder.add(pygit2.Oid(raw=name))
        builder.write(fresh)
        del builder
    finally:
        opened.free()


def _objects(index: Path) -> Iterator[bytes]:
    """Return the hashes of the objects of a pack."""
    content = index.read_bytes()
    if not content.startswith(_INDEX):
        raise OSError(f"{index} is not an index of version 2")
    first = len(_INDEX) + _FAN_OUT
    count = int.from_bytes(content[first - 4 : first])
    for place in range(first, first + count * _HASH, _HASH):
        yield content[place : place + _HASH]


def _move(fresh: Path, directory: Path) -> set[str]:
    """Put what was made where packs are, the index last; returns the names without endings."""
    made = sorted(fresh.iterdir(), key=lambda path: path.suffix == ".idx")
    for path in (*made, fresh):
        # Nothing goes before what replaces it is on the disk.
        _sync(path)
    for path in made:
        # One of the same name has the same objects.
        if not (directory / path.name).exists():
            path.rename(directory / path.name)
    _sync(directory)
    return {path.stem for path in made}


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
