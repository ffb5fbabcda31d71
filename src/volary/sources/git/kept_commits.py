"""Commits that a mirror keeps although no branch leads to them any more.

Each is held by a ref below ``refs/volary/kept``, in the name of whoever needs it: no garbage
collection, force-push or deleted branch takes it away. Refs are written before somebody relies on
a commit, and removed when nobody does.
"""

import hashlib
import shutil
from collections.abc import Collection
from pathlib import Path

import pygit2

_PREFIX = "refs/volary/kept/"


def keep(
    repository: pygit2.Repository, holder: str, commits: Collection[str], *, exclusively: bool
) -> frozenset[str]:
    """Keep these commits for a holder, and return all that are kept for it.

    `exclusively`: what was kept besides is not kept any more. A commit that is not there is
    passed over.

    Raises:
        pygit2.GitError: A ref cannot be written.
        OSError: Likewise.
    """
    here = frozenset(commit for commit in commits if _is_commit(repository, commit))
    before = {name.rpartition("/")[2]: name for name in _refs(repository, _of(holder))}
    for commit in sorted(here - before.keys()):
        repository.references.create(f"{_of(holder)}{commit}", commit, force=True)
    if not exclusively:
        return here | before.keys()
    for commit in sorted(before.keys() - here):
        repository.references.delete(before[commit])
    return here


def make_anew(path: Path, fresh: Path) -> None:
    """Put the kept commits of the mirror at `path` into the empty one at `fresh`.

    They come without their history, as from a host that gives the newest commit only.
    """
    old = pygit2.Repository(str(path))
    refs = {name: old.references[name].target for name in _refs(old, _PREFIX)}
    kept = {name: target for name, target in refs.items() if _is_commit(old, str(target))}
    if not kept:
        return
    commits = set(kept.values())

    def choose(builder: pygit2.PackBuilder) -> None:
        for commit in commits:
            builder.add_recur(pygit2.Oid(hex=str(commit)))

    packs = fresh / "objects/pack"
    packs.mkdir(parents=True, exist_ok=True)
    old.pack(str(packs), choose)
    # It refers to itself: its files would stay open until the garbage is collected.
    old.free()
    (fresh / "shallow").write_text("".join(f"{commit}\n" for commit in sorted(map(str, commits))))
    new = pygit2.Repository(str(fresh))
    for name, target in kept.items():
        new.references.create(name, target, force=True)


def replace(path: Path, fresh: Path) -> None:
    """Put the mirror at `fresh` in the place of the one at `path`; `recover` ends it if killed."""
    path.rename(_old(path))
    fresh.rename(path)
    recover(path, fresh)


def recover(path: Path, fresh: Path) -> None:
    """End a replacement that a killed process began."""
    if not path.exists() and _old(path).exists():
        fresh.rename(path)
    shutil.rmtree(_old(path), ignore_errors=True)
    shutil.rmtree(fresh, ignore_errors=True)


def _old(path: Path) -> Path:
    return path.with_name(f"{path.name}.old")


def _of(holder: str) -> str:
    # Names of applications may have what refs may not.
    return f"{_PREFIX}{hashlib.sha256(holder.encode()).hexdigest()[:40]}/"


def _refs(repository: pygit2.Repository, prefix: str) -> list[str]:
    return [name for name in repository.references if name.startswith(prefix)]


def _is_commit(repository: pygit2.Repository, commit: str) -> bool:
    try:
        return isinstance(repository.get(commit), pygit2.Commit)
    except ValueError:
        return False
