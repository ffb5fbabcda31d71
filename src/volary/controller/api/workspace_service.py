"""What people see of workspaces and ask for: how they are on each cluster, and deleting them.

It is read from the store, so it does not matter which process is asked; the leader deletes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from volary.controller import refusals
from volary.controller.api import representations
from volary.controller.api.commands import command_client
from volary.controller.fleet import cluster_registry
from volary.controller.workspaces import workspace_keeper, workspace_states
from volary.model import errors, json, workspaces
from volary.store import stores

_REMOVED = "removed, waiting for confirmation"
_NOT_LOOKED = "not looked at yet"


class RemovedNamespace(representations.Representation, frozen=True):
    """A namespace of a workspace that is not written any more, and is still there."""

    name: str
    #: Why it stayed when it was to be deleted; empty: nobody has confirmed that it may go.
    reason: str


class WorkspaceCluster(representations.Representation, frozen=True):
    """How a workspace is on a cluster."""

    cluster: str
    #: ``ready``, ``drifted``, ``failing``, ``removed`` or ``unknown``.
    status: str
    reason: str
    #: Since when it is so.
    since: datetime | None
    namespaces: tuple[str, ...]
    #: Those that wait for somebody to confirm that they may go.
    removed: tuple[RemovedNamespace, ...]
    #: What was put back last, and when.
    repair: str
    repaired: datetime | None


class Workspace(representations.Representation, frozen=True):
    """A workspace: what a team has on its clusters."""

    name: str
    project: str
    #: ``ready``, ``drifted``, ``failing``, ``removed`` or ``unknown``: the worst of its clusters.
    status: str
    reason: str
    #: As it is written.
    namespaces: tuple[str, ...]
    #: When it was seen not to be written any more.
    removed: datetime | None
    clusters: tuple[WorkspaceCluster, ...]


class DeletedOnCluster(representations.Representation, frozen=True):
    """What became of a workspace on a cluster."""

    cluster: str
    #: Namespaces that were deleted, or let go of where they were there before.
    deleted: tuple[str, ...]
    #: Why others stayed.
    left: tuple[RemovedNamespace, ...]


class DeletedWorkspace(representations.Representation, frozen=True):
    """What was deleted of a workspace, and what is left where."""

    name: str
    #: Nothing is left of it.
    is_gone: bool
    clusters: tuple[DeletedOnCluster, ...]


@dataclass(frozen=True, slots=True)
class WorkspaceService:
    """See the module."""

    store: stores.Store
    register: cluster_registry.ClusterRegistry
    asker: command_client.CommandClient
    audit_trail: command_client.AuditLog

    async def list(self) -> tuple[Workspace, ...]:
        """Return all workspaces by name; one that cannot be read says so."""
        if not self.register.is_leader:
            await self.register.load()
        found: list[Workspace] = []
        for record in await self.store.workspaces.list():
            try:
                found.append(self._view(workspace_states.from_record(record)))
            except errors.UserError as error:
                unreadable = Workspace(
                    record.name, record.project, "unknown", str(error), (), record.removed, ()
                )
                found.append(unreadable)
        return tuple(found)

    async def get(self, name: str) -> Workspace:
        """Return one workspace.

        Raises:
            refusals.NotFound: There is none of that name.
        """
        found = {workspace.name: workspace for workspace in await self.list()}
        return refusals.required(found.get(name), "workspace", name)

    async def delete(
        self,
        name: str,
        asker: representations.Actor,
        *,
        confirm: str,
        with_contents: bool = False,
    ) -> DeletedWorkspace:
        """Delete what is left of a workspace and not written any more, on clusters that answer.

        Raises:
            refusals.NotFound: There is no such workspace.
            refusals.Conflict: Nothing of it waits for that, or `confirm` is not its name.
        """
        before = await self.get(name)
        document: json.JsonObject = {"workspace": name, "withContents": with_contents}
        async with self.audit_trail.noting(asker, "workspace.delete", document=document) as change:
            if confirm != name:
                raise refusals.conflict(
                    f"the confirmation does not name workspace {name}", hint=f"--confirm {name}"
                )
            await self.asker.ask(
                workspace_keeper.KIND,
                asker.by,
                application=workspaces.owner_of(name).name,
                document=document,
                key=asker.key,
            )
            after = {one.name: one for one in await self.list()}.get(name)
            deleted = self._deleted(before, after)
            change.before = _left(before)
            change.after = _left(after) if after else {}
        return deleted

    def _view(self, state: workspace_states.WorkspaceState) -> Workspace:
        clusters = tuple(self._view_cluster(state, name) for name in sorted(self._names(state)))
        words = [cluster.status for cluster in clusters]
        status = next((word for word in _WORST_FIRST if word in words), "unknown")
        if state.removed is not None:
            status = "removed"
        return Workspace(
            name=state.workspace.name,
            project=state.workspace.project,
            status=status,
            reason=_reason(state, clusters),
            namespaces=tuple(one.name for one in state.workspace.namespaces),
            removed=state.removed,
            clusters=clusters,
        )

    def _names(self, state: workspace_states.WorkspaceState) -> set[str]:
        wanted = {
            cluster.name for cluster in self.register.members.clusters if state.is_for(cluster)
        }
        return wanted | state.clusters.keys()

    def _view_cluster(
        self, state: workspace_states.WorkspaceState, cluster: str
    ) -> WorkspaceCluster:
        known, members = state.on(cluster), self.register.members.clusters
        is_wanted = any(one.name == cluster and state.is_for(one) for one in members)
        word = known.word if is_wanted else workspace_states.ClusterWord.REMOVED
        left = state.left_on(cluster, members)
        reason = known.reason if is_wanted else _REMOVED
        if cluster not in self.register.members.names:
            reason = f"{_REMOVED}; the cluster left the fleet"
        elif word is workspace_states.ClusterWord.UNKNOWN:
            reason = _NOT_LOOKED
        return WorkspaceCluster(
            cluster=cluster,
            status=word.value,
            reason=reason,
            since=known.since,
            namespaces=tuple(name for name in known.namespaces if name not in left),
            removed=tuple(RemovedNamespace(name, known.left.get(name, "")) for name in left),
            repair=known.repair,
            repaired=known.repaired,
        )

    def _deleted(self, before: Workspace, after: Workspace | None) -> DeletedWorkspace:
        now = {cluster.cluster: cluster for cluster in after.clusters} if after else {}
        results: list[DeletedOnCluster] = []
        for cluster in before.clusters:
            names = [one.name for one in cluster.removed]
            if not names:
                continue
            left = now[cluster.cluster].removed if cluster.cluster in now else ()
            if cluster.cluster not in self.register.members.names:
                reason = "the cluster left the fleet, so what is there stays"
                left = tuple(RemovedNamespace(name, reason) for name in names)
            stays = {one.name for one in left}
            gone = tuple(name for name in names if name not in stays)
            results.append(DeletedOnCluster(cluster.cluster, gone, left))
        return DeletedWorkspace(before.name, after is None, tuple(results))


_WORST_FIRST = ("failing", "drifted", "unknown", "ready", "removed")


def _reason(state: workspace_states.WorkspaceState, clusters: Sequence[WorkspaceCluster]) -> str:
    if state.removed is not None:
        return _REMOVED
    if not clusters:
        return "no cluster of the fleet is one of its clusters"
    troubled = [one for one in clusters if one.status in ("failing", "drifted")]
    parts = [f"{one.cluster}: {one.reason}" for one in troubled[:1]]
    if len(troubled) > 1:
        parts.append(f"{len(troubled) - 1} more clusters")
    left = sum(bool(one.removed) for one in clusters)
    if left:
        parts.append(f"{_REMOVED} on {left} clusters" if left > 1 else f"{_REMOVED} on 1 cluster")
    return "; ".join(parts)


def _left(workspace: Workspace) -> json.JsonObject:
    return {
        cluster.cluster: [one.name for one in cluster.removed]
        for cluster in workspace.clusters
        if cluster.removed
    }
