"""What `volary run` remembers on this machine: last successful commits, and analyses.

Two small JSON files below ``$XDG_STATE_HOME/volary``. They help where live objects disagree,
and the strategy PREVIOUS; a machine that has lost them loses nothing else.
"""

import json as text
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from volary.model import json
from volary.placement.replicas import assignment, assignment_formats
from volary.stages.runtime import task_states

_MOST_ENTRIES = 1000


def application_key(repository: str, directory: str, servers: Sequence[str]) -> str:
    """Return the key of an application on a set of clusters, named by their servers' URLs."""
    location = repository if "://" in repository else os.path.realpath(repository)
    return "\n".join((location, directory, *sorted(servers)))


def state_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where it is remembered."""
    base = environment.get("XDG_STATE_HOME") or os.path.join(
        environment.get("HOME", "."), ".local", "state"
    )
    return Path(base) / "volary" / "last-success.json"


def read_commit(where: Path, wanted: str) -> str:
    """Return the commit remembered under a key; empty when there is none."""
    return _read_file(where).get(wanted, "")


def read_kept(where: Path, wanted: str) -> dict[str, str]:
    """Return what single clusters run instead of the commit under a key."""
    return _clusters(_read_file(where), wanted)


def read_assignment(where: Path, wanted: str) -> assignment.Assignment | None:
    """Return who got how many replicas with the commit under a key; None: nobody remembers."""
    try:
        document = text.loads(_read_file(where).get(_assignment_key(wanted), ""))
        return assignment_formats.from_document(document)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def write_assignment(where: Path, wanted: str, made: assignment.Assignment) -> None:
    """Remember who got how many replicas.

    Raises:
        OSError: The directory cannot be written to.
    """
    document = assignment_formats.to_document(made)
    _write_file(
        where,
        {**_read_file(where), _assignment_key(wanted): text.dumps(document)},
        _assignment_key(wanted),
    )


def write_commit(where: Path, wanted: str, commit: str) -> None:
    """Remember a commit that succeeded on all clusters.

    Raises:
        OSError: The directory cannot be written to.
    """
    entries = _read_file(where)
    entries.pop(_clusters_key(wanted), None)
    _write_file(where, {**entries, wanted: commit}, wanted)


def write_kept(where: Path, wanted: str, clusters: Mapping[str, str]) -> None:
    """Remember what single clusters run instead, besides what is remembered of others.

    Raises:
        OSError: The directory cannot be written to.
    """
    entries = _read_file(where)
    known = {**_clusters(entries, wanted), **clusters}
    _write_file(where, {**entries, _clusters_key(wanted): text.dumps(known)}, _clusters_key(wanted))


def _clusters_key(wanted: str) -> str:
    return f"{wanted}\nclusters"


def _assignment_key(wanted: str) -> str:
    return f"{wanted}\nassignment"


def _clusters(entries: Mapping[str, str], wanted: str) -> dict[str, str]:
    try:
        found = text.loads(entries.get(_clusters_key(wanted), "{}"))
    except ValueError:
        return {}
    return {str(name): str(commit) for name, commit in found.items()} if found else {}


def _write_file(where: Path, entries: dict[str, str], newest: str) -> None:
    """Write the file as a whole, so that a reader never sees half of it."""
    entries[newest] = entries.pop(newest)
    kept = dict(list(entries.items())[-_MOST_ENTRIES:])
    where.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(
        "w", dir=where.parent, prefix=".last-success-", delete=False, encoding="utf-8"
    ) as new:
        text.dump(kept, new, indent=1)
    os.replace(new.name, where)


def _read_file(where: Path) -> dict[str, str]:
    """Return what is remembered; a file that cannot be read is as good as none."""
    try:
        body = text.loads(where.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(body, dict):
        return {}
    return {str(name): commit for name, commit in body.items() if isinstance(commit, str)}


_LOG = logging.getLogger(__name__)
_ANALYSES_FILE = "analyses.json"


@dataclass(slots=True)
class LocalTaskState(task_states.InProcessStore):
    """Keeps tasks' memories for as long as the process lives, and those of applications longer."""

    #: Below which an application on a set of clusters is remembered.
    key: str = ""

    async def recall(self, subject: task_states.StateKey) -> json.JsonObject:
        """Return what an earlier run kept; empty: nothing was."""
        found = read_commit(_analyses_path(), self._name(subject))
        try:
            body = text.loads(found) if found else {}
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    async def keep(self, subject: task_states.StateKey, document: json.JsonObject) -> None:
        """Keep the document for later runs; not being able to is no failure of the release."""
        try:
            write_commit(_analyses_path(), self._name(subject), text.dumps(document))
        except OSError as error:
            _LOG.warning("the analysis could not be remembered: %s", error.strerror)

    def _name(self, subject: task_states.StateKey) -> str:
        return "\n".join((self.key, subject.application, subject.target, subject.name))


def _analyses_path() -> Path:
    return state_path().with_name(_ANALYSES_FILE)
