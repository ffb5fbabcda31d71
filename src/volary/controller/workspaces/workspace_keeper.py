"""Keeps all workspaces on their clusters while this process is the leader.

A task for each cluster, which looks at its workspaces one after another: when they are written
anew, when one of their objects changes, when the cluster answers again, and from time to time. So a
cluster that does not answer, or refuses, holds up no other.
"""

import asyncio
import contextlib
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from volary.clusters.client import client_pool, clients, resource_mapping
from volary.concurrency import fan_out
from volary.controller.leadership import context
from volary.controller.persistence import change_signal, retry
from volary.controller.workspaces import (
    cluster_workspaces,
    workspace_actor,
    workspace_removal,
    workspace_states,
)
from volary.model import backoffs, errors, json, phrases, workspaces
from volary.model.fleet import fleets
from volary.model.runs import run_records
from volary.store import records
from volary.tenancy import workspace_manifests

_LOG = logging.getLogger(__name__)
_Word = workspace_states.ClusterWord
#: Kind of every request about a workspace.
KIND = "workspace"

#: How long one workspace may take on one cluster, and deleting it there.
_PATIENCE = timedelta(seconds=60)
_DELETION = timedelta(seconds=12)
#: Between two looks at a cluster whose objects change; longer where something was put back again
#: and again, so that two who disagree do not write for ever.
_PAUSES = backoffs.Backoff(timedelta(seconds=1), timedelta(minutes=1))
_LATELY = timedelta(minutes=10)
_MOST_REPAIRS = 10
#: Until a watch that was refused is tried again.
_REWATCHED = timedelta(seconds=10)
#: How often it is seen who joined and left the fleet.
_FLEET = timedelta(seconds=2)
#: A watch is a connection of its own: with more clusters, changes are found by looking.
_MOST_WATCHED = 30
_AT_ONCE = 64


@dataclass(slots=True)
class WrittenWorkspaces:
    """The workspaces as they are written; one per process, given to it by whoever reads them."""

    #: None: nobody has read them yet, so those that are stored count.
    all: tuple[workspaces.Workspace, ...] | None = None
    signal: change_signal.ChangeSignal = field(default_factory=change_signal.ChangeSignal)

    def replace(self, read: Sequence[workspaces.Workspace]) -> None:
        """Take a complete set: those that are missing count as removed.

        Whoever cannot read all of them does not call this: then they stay as they were.

        Raises:
            errors.UserError: Two have one name; then they stay as they were, too.
        """
        names = [workspace.name for workspace in read]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise errors.user_error(
                f"there are several workspaces {', '.join(twice)}", hint="give each its own name"
            )
        self.all = tuple(read)
        self.signal.notify_all()


class WorkspaceKeeper:
    """See the module; for one term of leadership."""

    def __init__(
        self,
        leader: context.LeaderContext,
        written: WrittenWorkspaces,
        *,
        period: timedelta,
        chance: Callable[[], float] | None = None,
    ) -> None:
        """Make one that looks at each cluster about once in a `period`."""
        self._leader = leader
        self._written = written
        self._period = period
        self._chance = chance or random.Random().random
        self._states: dict[str, workspace_states.WorkspaceState] = {}
        self._storing = asyncio.Lock()
        self._is_loaded = asyncio.Event()
        self._wakes: dict[str, asyncio.Event] = {}
        #: Set once there is a workspace on a cluster.
        self._concerned: dict[str, asyncio.Event] = {}
        #: Workspaces, and clusters that did not answer when they were looked at last.
        self._silent: set[tuple[str, str]] = set()
        self._busy: dict[str, asyncio.Lock] = {}

    async def keep_running(self) -> None:
        """Keep them until cancelled."""
        await self._load()
        tasks: dict[str, asyncio.Task[None]] = {}
        taken: tuple[workspaces.Workspace, ...] | None = None
        async with asyncio.TaskGroup() as group:
            while True:
                if self._written.all is not None and self._written.all is not taken:
                    taken = self._written.all
                    await self._take(taken)
                names = set(self._leader.register.members.names) if self._states else set()
                for name in tasks.keys() - names:
                    tasks.pop(name).cancel()
                for name in names - tasks.keys():
                    tasks[name] = group.create_task(
                        self._keep_cluster(name), name=f"workspaces of {name}"
                    )
                await self._written.signal.wait(_FLEET.total_seconds())

    def report_reachable(self, clusters: Collection[str]) -> None:
        """Have clusters looked at that did not answer, and do so now."""
        for _, cluster in self._silent:
            if cluster in clusters and cluster in self._wakes:
                self._wakes[cluster].set()

    async def carry_out(
        self, request: records.RequestRecord, answers: Sequence[run_records.RequestAnswer]
    ) -> str:
        """Delete what is left of a workspace and not written any more; returns why not.

        What stays is found with its reason in how it is on that cluster.
        """
        name = request.document["workspace"]
        with_contents = bool(request.document.get("withContents"))
        await self._is_loaded.wait()
        state = self._states.get(name)
        if state is None:
            return f"there is no workspace {name}"
        members = self._leader.register.members.clusters
        where = [
            cluster
            for cluster in state.clusters
            if state.left_on(cluster, members) or not _is_for(state, cluster, members)
        ]
        if not where:
            return f"workspace {name} is written as it is\nhint: take it out of its file first"
        results = await fan_out.run_all(
            where,
            lambda cluster: self._delete_on(cluster, name, with_contents=with_contents),
            at_once=_AT_ONCE,
        )
        async with self._storing:
            state = self._states.get(name)
            if state is None:
                return f"workspace {name} has gone meanwhile"
            for cluster, left in zip(where, results, strict=True):
                state = _after_deletion(state, cluster, left, members)
            is_gone = state.removed is not None and not state.clusters
            await self._store(() if is_gone else (state,), (name,) if is_gone else (), answers)
            if is_gone:
                del self._states[name]
            else:
                self._states[name] = state
        found = dict(zip(where, results, strict=True))
        document: json.JsonObject = {
            "workspace": name,
            "clusters": {
                cluster: left if isinstance(left, str) else dict(left)
                for cluster, left in found.items()
            },
        }
        await self._leader.note(request.by, "workspace.deleted", document)
        return ""

    async def _delete_on(
        self, cluster: str, name: str, *, with_contents: bool
    ) -> Mapping[str, str] | str:
        """Return what stays on a cluster, by namespace; or why nobody knows."""
        members = self._leader.register.members.clusters
        if cluster not in {member.name for member in members}:
            return {}
        try:
            async with asyncio.timeout(_DELETION.total_seconds()), self._alone(cluster):
                client = await self._client(cluster)
                state = self._states.get(name)
                if state is None:
                    return {}
                left = set(state.left_on(cluster, members))
                wanted = set(state.on(cluster).namespaces) - left
                if _is_for(state, cluster, members):
                    wanted |= {one.name for one in state.workspace.namespaces}
                return await workspace_removal.remove(
                    client, state.workspace.owner, wanted, with_contents=with_contents
                )
        except TimeoutError:
            return f"it did not answer within {_DELETION.total_seconds():g} s"
        except errors.VolaryError as error:
            return str(error)

    async def _load(self) -> None:
        """Read what is stored; what cannot be read waits for its file to be read again."""
        stored = await retry.until_available(
            self._leader.store.workspaces.list, "reading workspaces"
        )
        for record in stored:
            try:
                self._states[record.name] = workspace_states.from_record(record)
            except errors.UserError as error:
                _LOG.error("%s", error)
        self._is_loaded.set()

    async def _take(self, written: Sequence[workspaces.Workspace]) -> None:
        """Take the workspaces as they are written now."""
        now = self._leader.dependencies.clock.now()
        async with self._storing:
            taken = workspace_states.take(self._states, written, now)
            changed = [state for name, state in taken.items() if self._states.get(name) != state]
            gone = tuple(self._states.keys() - taken.keys())
            for state in changed:
                before = self._states.get(state.workspace.name)
                if state.removed and before and not before.removed:
                    _LOG.warning(
                        "workspace %s is not written any more; nothing of it is deleted until"
                        " somebody confirms it: volary workspace delete %s --confirm %s",
                        *(state.workspace.name,) * 3,
                    )
            await self._store(changed, gone)
            self._states = taken
        for wake in self._wakes.values():
            wake.set()

    async def _keep_cluster(self, cluster: str) -> None:
        """Look at the workspaces of a cluster again and again."""
        wake = self._wakes[cluster] = asyncio.Event()
        concerned = self._concerned[cluster] = asyncio.Event()
        loop, repairs = asyncio.get_running_loop(), deque[float](maxlen=_MOST_REPAIRS)
        is_watched = len(self._leader.register.members.clusters) <= _MOST_WATCHED
        kinds = (("", "Namespace"), *workspace_manifests.KINDS) if is_watched else ()
        async with asyncio.TaskGroup() as group:
            for kind in kinds:
                group.create_task(self._watch(cluster, kind), name=f"watch of {kind[1]}")
            while True:
                wake.clear()
                names = [name for name in sorted(self._states) if self._concerns(name, cluster)]
                for name in names:
                    if await self._look(name, cluster):
                        repairs.append(loop.time())
                if names:
                    concerned.set()
                    # Of several changes at once one look is enough.
                    since = loop.time() - _LATELY.total_seconds()
                    lately = sum(at > since for at in repairs)
                    pause = min(_PAUSES.after(max(lately, 1)), self._period)
                    await asyncio.sleep(pause.total_seconds())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._until_next()):
                        await wake.wait()

    def _until_next(self) -> float:
        """Return the seconds until a cluster is looked at again, if nothing happens there.

        With many clusters it is longer, and never the same for all.
        """
        clusters = len(self._leader.register.members.clusters)
        times = max(1.0, clusters / _MOST_WATCHED)
        return self._period.total_seconds() * times * (0.9 + 0.2 * self._chance())

    def _concerns(self, name: str, cluster: str) -> bool:
        state = self._states[name]
        members = self._leader.register.members.clusters
        return _is_for(state, cluster, members) or cluster in state.clusters

    async def _look(self, name: str, cluster: str) -> bool:
        """Bring one workspace on one cluster to what is written, and keep how it is.

        Returns:
            Whether something was put back.
        """
        state = self._states.get(name)
        member = next(
            (one for one in self._leader.register.members.clusters if one.name == cluster), None
        )
        if member is None or state is None:
            return False
        now = self._leader.dependencies.clock.now
        if not state.is_for(member):
            self._silent.discard((name, cluster))
            await self._put(name, cluster, lambda known: _removed(known, now()))
            return False
        if cluster not in state.clusters:
            await self._put(name, cluster, lambda known: known)
        try:
            outcome = await self._attempt(state.workspace, member)
        # A bug about one workspace must not stop the others; it is logged with its trace.
        except Exception as error:
            if context.is_overtaken(error):
                raise
            _LOG.exception("workspace %s on cluster %s", name, cluster)
            reason = f"internal error ({type(error).__name__}), see the log"
            outcome = cluster_workspaces.Outcome(reason)
        if outcome.reason and not outcome.is_refused:
            self._silent.add((name, cluster))
        else:
            self._silent.discard((name, cluster))
        digest = workspace_manifests.digest(state.workspace)
        _tell(name, cluster, state.on(cluster), outcome, digest)
        was_there = state.on(cluster).digest == digest
        await self._put(name, cluster, lambda known: _after(known, outcome, digest, now()))
        return was_there and bool(outcome.changes)

    async def _attempt(
        self, workspace: workspaces.Workspace, member: fleets.Cluster
    ) -> cluster_workspaces.Outcome:
        if member.suspended:
            return cluster_workspaces.Outcome("the cluster is suspended in the fleet")
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()), self._alone(member.name):
                client = await self._client(member.name)
                return await cluster_workspaces.keep(client, workspace, allowed=member.namespaces)
        except TimeoutError:
            seconds = _PATIENCE.total_seconds()
            return cluster_workspaces.Outcome(f"it was not done within {seconds:g} s")
        except errors.VolaryError as error:
            if context.is_overtaken(error):
                raise
            return cluster_workspaces.Outcome(str(error))

    async def _client(self, cluster: str) -> clients.Client:
        acting = self._leader.dependencies.clusters.acting_for(workspace_actor.WorkspaceActor())
        client = await acting.client(cluster)
        if isinstance(client, client_pool.Unavailable):
            raise errors.TemporaryError(client.reason)
        return client

    @asynccontextmanager
    async def _alone(self, cluster: str) -> AsyncIterator[None]:
        """Do nothing else about workspaces on a cluster meanwhile."""
        async with self._busy.setdefault(cluster, asyncio.Lock()):
            yield

    async def _put(self, name: str, cluster: str, change: "_Change") -> None:
        """Store how a workspace is on a cluster, where that has changed."""
        async with self._storing:
            state = self._states.get(name)
            if state is None:
                return
            known = state.on(cluster)
            after = change(known)
            if after == known and cluster in state.clusters:
                return
            state = state.with_cluster(cluster, after)
            await self._store((state,))
            self._states[name] = state

    async def _store(
        self,
        states: Sequence[workspace_states.WorkspaceState],
        gone: Sequence[str] = (),
        answers: Sequence[run_records.RequestAnswer] = (),
    ) -> None:
        if not (states or gone or answers):
            return
        leader = self._leader
        now = leader.dependencies.clock.now()
        written: list[records.WorkspaceRecord] = [
            workspace_states.to_record(state, now) for state in states
        ]
        until = retry.until_known if answers else retry.until_available
        await until(
            lambda: leader.store.workspaces.keep(
                written, gone=gone, fence=leader.fence, answers=answers
            ),
            "keeping workspaces",
        )
        leader.change_signal.notify_all()

    async def _watch(self, cluster: str, kind: tuple[str, str]) -> None:
        """Wake whoever keeps a cluster whenever an object of a workspace changes there."""
        while True:
            await self._concerned[cluster].wait()
            try:
                client = await self._client(cluster)
                resource = await resource_mapping.require(client, *kind)
                async with aclosing(
                    client.watch(resource, label_selector=workspace_manifests.LABEL)
                ) as events:
                    async for _ in events:
                        self._wakes[cluster].set()
            except errors.VolaryError as error:
                # Looking from time to time finds what changes meanwhile.
                _LOG.debug("%ss of cluster %s are not watched: %s", kind[1], cluster, error)
            await asyncio.sleep(_REWATCHED.total_seconds())


#: Returns how a workspace is on a cluster, given how it was.
_Change = Callable[[workspace_states.ClusterState], workspace_states.ClusterState]


def _is_for(
    state: workspace_states.WorkspaceState, cluster: str, members: Sequence[fleets.Cluster]
) -> bool:
    return any(member.name == cluster and state.is_for(member) for member in members)


def _removed(known: workspace_states.ClusterState, now: datetime) -> workspace_states.ClusterState:
    if known.word is _Word.REMOVED:
        return known
    return replace(known, word=_Word.REMOVED, reason="", since=now)


def _after(
    known: workspace_states.ClusterState,
    outcome: cluster_workspaces.Outcome,
    digest: str,
    now: datetime,
) -> workspace_states.ClusterState:
    """Return how a workspace is on a cluster after it was looked at."""
    was_there = known.digest == digest
    word = _Word.READY
    if outcome.reason:
        word = _Word.DRIFTED if was_there and outcome.is_refused else _Word.FAILING
    is_repair = was_there and bool(outcome.changes)
    return replace(
        known,
        word=word,
        reason=outcome.reason,
        since=known.since if (known.word, known.reason) == (word, outcome.reason) else now,
        namespaces=tuple(dict.fromkeys((*known.namespaces, *outcome.namespaces))),
        digest=known.digest if outcome.reason else digest,
        repair=_titles(outcome) if is_repair else known.repair,
        repaired=now if is_repair else known.repaired,
    )


def _after_deletion(
    state: workspace_states.WorkspaceState,
    cluster: str,
    left: Mapping[str, str] | str,
    members: Sequence[fleets.Cluster],
) -> workspace_states.WorkspaceState:
    """Return a workspace after what was left of it on a cluster was deleted, as far as it was."""
    known = state.on(cluster)
    unwanted = set(state.left_on(cluster, members))
    stays = dict.fromkeys(sorted(unwanted), left) if isinstance(left, str) else dict(left)
    kept = tuple(name for name in known.namespaces if name not in unwanted or name in stays)
    if not kept and not _is_for(state, cluster, members):
        return state.without_cluster(cluster)
    return state.with_cluster(cluster, replace(known, namespaces=kept, left=stays))


def _titles(outcome: cluster_workspaces.Outcome) -> str:
    return phrases.first_of([change.key.title for change in outcome.changes], 5)


def _tell(
    name: str,
    cluster: str,
    known: workspace_states.ClusterState,
    outcome: cluster_workspaces.Outcome,
    digest: str,
) -> None:
    if outcome.changes:
        verb = "put back" if known.digest == digest else "written"
        _LOG.info("workspace %s on cluster %s: %s %s", name, cluster, verb, _titles(outcome))
    if outcome.reason and outcome.reason != known.reason:
        _LOG.warning("workspace %s on cluster %s: %s", name, cluster, outcome.reason)
