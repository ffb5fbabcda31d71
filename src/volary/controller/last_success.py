"""What Volary remembers between runs on this machine: the last commit that succeeded.

One small JSON file below ``$XDG_STATE_HOME/volary``. It helps where live objects
disagree; a machine that has forgotten loses nothing but that.
"""

import json as text
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from volary.placement import assignment, assignment_document

_MOST_ENTRIES = 1000


def key(repository: str, directory: str, servers: Sequence[str]) -> str:
    """Return the key of an application on a set of clusters, named by their servers' URLs."""
    location = repository if "://" in repository else os.path.realpath(repository)
    return "\n".join((location, directory, *sorted(servers)))


def path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where it is remembered."""
    base = environment.get("XDG_STATE_HOME") or os.path.join(
        environment.get("HOME", "."), ".local", "state"
    )
    return Path(base) / "volary" / "last-success.json"


def read(where: Path, wanted: str) -> str:
    """Return the commit remembered under a key; empty when there is none."""
    return _load(where).get(wanted, "")


def read_kept(where: Path, wanted: str) -> dict[str, str]:
    """Return what single clusters run instead of the commit under a key."""
    return _clusters(_load(where), wanted)


def read_assignment(where: Path, wanted: str) -> assignment.Assignment | None:
    """Return who got how many replicas with the commit under a key; None: nobody remembers."""
    try:
        document = text.loads(_load(where).get(_assigned(wanted), ""))
        return assignment_document.from_document(document)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def write_assignment(where: Path, wanted: str, made: assignment.Assignment) -> None:
    """Remember who got how many replicas.

    Raises:
        OSError: The directory cannot be written to.
    """
    document = assignment_document.to_document(made)
    _replace(where, {**_load(where), _assigned(wanted): text.dumps(document)}, _assigned(wanted))


def write(where: Path, wanted: str, commit: str) -> None:
    """Remember a commit that succeeded on all clusters.

    Raises:
        OSError: The directory cannot be written to.
    """
    entries = _load(where)
    entries.pop(_kept(wanted), None)
    _replace(where, {**entries, wanted: commit}, wanted)


def write_kept(where: Path, wanted: str, clusters: Mapping[str, str]) -> None:
    """Remember what single clusters run instead, besides what is remembered of others.

    Raises:
        OSError: The directory cannot be written to.
    """
    entries = _load(where)
    known = {**_clusters(entries, wanted), **clusters}
    _replace(where, {**entries, _kept(wanted): text.dumps(known)}, _kept(wanted))


def _kept(wanted: str) -> str:
    return f"{wanted}\nclusters"


def _assigned(wanted: str) -> str:
    return f"{wanted}\nassignment"


def _clusters(entries: Mapping[str, str], wanted: str) -> dict[str, str]:
    try:
        found = text.loads(entries.get(_kept(wanted), "{}"))
    except ValueError:
        return {}
    return {str(name): str(commit) for name, commit in found.items()} if found else {}


def _replace(where: Path, entries: dict[str, str], newest: str) -> None:
    """Write the file as a whole, so that a reader never sees half of it."""
    entries[newest] = entries.pop(newest)
    kept = dict(list(entries.items())[-_MOST_ENTRIES:])
    where.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(
        "w", dir=where.parent, prefix=".last-success-", delete=False, encoding="utf-8"
    ) as new:
        text.dump(kept, new, indent=1)
    os.replace(new.name, where)


def _load(where: Path) -> dict[str, str]:
    """Return what is remembered; a file that cannot be read is as good as none."""
    try:
        body = text.loads(where.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(body, dict):
        return {}
    return {str(name): commit for name, commit in body.items() if isinstance(commit, str)}
