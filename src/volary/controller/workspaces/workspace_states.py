"""What is stored of a workspace: what it consists of, and how it is on each cluster. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

import msgspec

from volary.model import errors, json, workspaces
from volary.model.fleet import fleets, selectors
from volary.store import records


class ClusterWord(StrEnum):
    """How a workspace is on a cluster."""

    #: Nobody has looked yet.
    UNKNOWN = "unknown"
    READY = "ready"
    #: It was as it is written, is not any more, and could not be put back.
    DRIFTED = "drifted"
    FAILING = "failing"
    #: It is not for this cluster any more, and is there until somebody confirms that it may go.
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ClusterState:
    """How a workspace is on one cluster."""

    word: ClusterWord = ClusterWord.UNKNOWN
    reason: str = ""
    since: datetime | None = None
    #: Namespaces that were made or taken over there.
    namespaces: tuple[str, ...] = ()
    #: Why some of them stayed when those that are not written any more were deleted.
    left: Mapping[str, str] = field(default_factory=dict)
    #: What was there completely last (`workspace_manifests.digest`); empty: nothing.
    digest: str = ""
    #: What was put back last, one sentence, and when.
    repair: str = ""
    repaired: datetime | None = None


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """A workspace, and how it is on each cluster where it is or was to be."""

    workspace: workspaces.Workspace
    clusters: Mapping[str, ClusterState] = field(default_factory=dict)
    #: When it was seen not to be written any more; None: it is written.
    removed: datetime | None = None

    def is_for(self, cluster: fleets.Cluster) -> bool:
        """Say whether it is to be on a cluster."""
        return self.removed is None and selectors.matches(self.workspace.clusters, cluster)

    def on(self, cluster: str) -> ClusterState:
        """Return how it is on a cluster."""
        return self.clusters.get(cluster) or ClusterState()

    def with_cluster(self, cluster: str, state: ClusterState) -> "WorkspaceState":
        """Return it with how it is on a cluster now."""
        return replace(self, clusters={**self.clusters, cluster: state})

    def without_cluster(self, cluster: str) -> "WorkspaceState":
        """Return it without a cluster where nothing of it is left."""
        kept = {name: state for name, state in self.clusters.items() if name != cluster}
        return replace(self, clusters=kept)

    def left_on(self, cluster: str, members: Iterable[fleets.Cluster]) -> tuple[str, ...]:
        """Return its namespaces on a cluster that are not to be there any more, as is known."""
        member = next((member for member in members if member.name == cluster), None)
        wanted: set[str] = set()
        if member is not None and self.is_for(member):
            wanted = {namespace.name for namespace in self.workspace.namespaces}
        return tuple(name for name in self.on(cluster).namespaces if name not in wanted)


@dataclass(frozen=True, slots=True)
class _Document:
    workspace: workspaces.Workspace
    clusters: dict[str, ClusterState] = field(default_factory=dict)


def to_record(state: WorkspaceState, now: datetime) -> records.WorkspaceRecord:
    """Return what is stored."""
    document = msgspec.to_builtins(_Document(state.workspace, dict(state.clusters)))
    workspace = state.workspace
    return records.WorkspaceRecord(
        workspace.name, workspace.project, document, updated=now, removed=state.removed
    )


def from_record(record: records.WorkspaceRecord) -> WorkspaceState:
    """Return what was stored.

    Raises:
        errors.UserError: It cannot be read.
    """
    why = record.unreadable
    if not why:
        try:
            read = json.convert(record.document, _Document)
        except msgspec.ValidationError as error:
            why = f"its document is not as expected: {error}"
        else:
            return WorkspaceState(read.workspace, read.clusters, record.removed)
    raise errors.user_error(
        f"what is stored of workspace {record.name} cannot be read: {why}",
        hint="it is left as it is until its file is read again",
    )


def take(
    known: Mapping[str, WorkspaceState], written: Iterable[workspaces.Workspace], now: datetime
) -> dict[str, WorkspaceState]:
    """Return all workspaces, given those that are written now; those that are not are removed.

    One that was never begun on any cluster is forgotten with its file.
    """
    taken = {
        name: replace(state, removed=state.removed or now)
        for name, state in known.items()
        if state.clusters
    }
    for workspace in written:
        before = known.get(workspace.name) or WorkspaceState(workspace)
        taken[workspace.name] = replace(before, workspace=workspace, removed=None)
    return taken
