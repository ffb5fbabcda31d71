"""The orders of a run, for the clusters on which others than the leader carry its tasks out.

Each names a bundle, which is sealed for those who work in the cluster and kept as an artifact of
the run. An order is given anew before it expires, when those who work there have other keys, and
when the application's project permits something else than before.
"""

import hashlib
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import msgspec

from volary.agents.orders import keys, orders, sealing
from volary.agents.tasks import bundles
from volary.clusters.client import actors
from volary.clusters.kubeconfig import connections
from volary.concurrency import work_threads
from volary.engine.runs import state
from volary.model import clocks, errors, json, projects
from volary.model.fleet import fleets
from volary.model.runs import run_records
from volary.stages import executor as stage_executor
from volary.store import records, stores
from volary.tenancy import identities, membership

#: How long an order is good for, and from when on it is given anew.
_LIFETIME, _RENEWED = timedelta(days=7), timedelta(days=3)


@dataclass(slots=True)
class ApartTasks:
    """What a server knows of tasks that are carried out apart from it."""

    #: Signs orders; read when it is needed.
    key: Callable[[], keys.SigningKey]
    #: Every cluster's tasks are, whether it has an agent or not.
    everywhere: bool = False
    #: The runs that this process has opened, by their ids.
    open_runs: weakref.WeakValueDictionary[str, stage_executor.ClusterExecutor] = field(
        default_factory=weakref.WeakValueDictionary
    )

    def has(self, cluster: fleets.Cluster | None) -> bool:
        """Say whether the tasks on a cluster are carried out apart."""
        return self.everywhere or (cluster is not None and cluster.agent)


@dataclass(frozen=True, slots=True)
class _Given:
    recipients: tuple[str, ...]
    expires: datetime
    #: What the project permitted.
    standing: membership.Standing


@dataclass(slots=True)
class RunOrders:
    """Gives the orders of one run."""

    run: state.Run
    performer: stage_executor.ClusterExecutor
    store: stores.Store
    fence: run_records.Fence | None
    clock: clocks.Clock
    apart: ApartTasks
    _given: dict[str, _Given | None] = field(default_factory=dict)

    async def changed(self) -> dict[str, json.JsonObject]:
        """Return the orders that are new, or take the place of others, by cluster.

        Empty of a cluster that nobody works in yet.

        Raises:
            errors.VolaryError: They cannot be given now.
        """
        clients = self.performer.clients
        targets = [name for name in self.run.targets if self.apart.has(clients.member(name))]
        if not targets:
            return {}
        working, standing = await self._recipients(), self._standing()
        if standing.is_temporary:
            raise errors.TemporaryError(standing.reason)
        changed: dict[str, json.JsonObject] = {}
        for target in targets:
            recipients = working.get(target, ())
            if self._is_given(target, recipients, standing):
                continue
            if not recipients:
                changed[target], self._given[target] = {}, None
                continue
            order = await self._order(target, recipients, standing)
            changed[target] = msgspec.to_builtins(orders.sign(order, self.apart.key()))
            self._given[target] = _Given(recipients, order.expires, standing)
        return changed

    def _standing(self) -> membership.Standing:
        return self.performer.standing() if self.performer.standing else membership.Standing()

    def _is_given(
        self, target: str, recipients: tuple[str, ...], standing: membership.Standing
    ) -> bool:
        if target not in self._given:
            return False
        given = self._given[target]
        if given is None:
            return not recipients
        # Who has left cannot open anything new; orders that are under way need nobody else.
        is_fresh = self.clock.now() < given.expires - _LIFETIME + _RENEWED
        is_same = (given.recipients, given.standing) == (recipients, standing)
        return not recipients or (is_same and is_fresh)

    async def _recipients(self) -> Mapping[str, tuple[str, ...]]:
        """Return the public keys of those who work in each cluster."""
        found: dict[str, list[str]] = {}
        for agent in await self.store.agents.list():
            for cluster in () if agent.unreadable else agent.clusters:
                known = (agent.sealing_key, agent.previous_sealing_key)
                found.setdefault(cluster, []).extend(filter(None, known))
        return {cluster: tuple(sorted(set(known))) for cluster, known in found.items()}

    async def _order(
        self, target: str, recipients: Sequence[str], standing: membership.Standing
    ) -> orders.Order:
        now = self.clock.now()
        project = standing.project.name if standing.project else ""
        artifact = await self._artifact(target, recipients, standing)
        return orders.Order(
            self.run.id,
            self.performer.application.name,
            project,
            target,
            artifact,
            issued=now,
            expires=now + _LIFETIME,
        )

    async def _artifact(
        self, target: str, recipients: Sequence[str], standing: membership.Standing
    ) -> str:
        """Return the hash of the bundle for a cluster, which is made if there is none yet."""
        sealed_for = f"{','.join(recipients)} {_fingerprint(standing)}"
        known = await self.store.artifacts.newest(self.run.id, target)
        if known is not None and known.recipients == sealed_for:
            return known.digest
        bundle = await self._bundle(target, standing)

        def seal() -> bytes:
            return sealing.seal(bundles.write(bundle), recipients)

        sealed = await work_threads.run(f"sealing what {target} needs", seal)
        record = records.ArtifactRecord(
            orders.digest(sealed), self.run.id, target, sealed_for, self.clock.now()
        )
        await self.store.artifacts.keep(record, sealed, fence=self.fence)
        return record.digest

    async def _bundle(self, target: str, standing: membership.Standing) -> bundles.Bundle:
        performer, run = self.performer, self.run
        member = performer.clients.member(target) or fleets.Cluster(target)
        identity, refusal = _identity(standing)
        sides = [await self._side(run.commit, target, is_before=False, refusal=refusal)]
        running = run.running_commit_of(target)
        if running:
            sides.append(await self._side(running, target, is_before=True, refusal=refusal))
        rollback = () if run.rollback is None else (run.rollback.stage,)
        return bundles.Bundle(
            run.id,
            performer.application,
            member,
            (*(stage.stage for stage in run.stages), *rollback),
            tuple(sides),
            performer.owners.get(target),
            performer.clients.fleet.health,
            performer.options,
            performer.run.commander,
            performer.run.repository,
            performer.run.summary,
            _without_secrets(standing),
            identity,
        )

    async def _side(
        self, commit: str, target: str, *, is_before: bool, refusal: str
    ) -> bundles.BundledSide:
        """Return what a commit is on a cluster; what cannot be rendered says why."""
        performer = self.performer
        render = performer.render
        if is_before and performer.render_before is not None:
            render = performer.render_before
        if refusal:
            return bundles.BundledSide(commit, is_before, refusal=refusal)
        try:
            return bundles.BundledSide(commit, is_before, tuple(await render(commit, target)))
        except errors.UserError as error:
            return bundles.BundledSide(commit, is_before, refusal=error.problems[0].message)


def _identity(standing: membership.Standing) -> tuple[actors.Identity, str]:
    """Return as whom the cluster takes what is done, and why it cannot be done at all."""
    if standing.project is None:
        return actors.Identity(), standing.reason
    known = identities.identity_of(standing.project)
    if known.kubeconfig:
        return actors.Identity(), (
            f"project {standing.project.name} has credentials of its own, which agents have not;"
            " write impersonate instead"
        )
    if not known.user:
        return actors.Identity(), ""
    return actors.Identity(connections.Impersonation(known.user, groups=known.groups)), ""


def _fingerprint(standing: membership.Standing) -> str:
    """Return what tells what a project permits from what it permits at another time."""
    text = msgspec.json.encode(_without_secrets(standing), order="deterministic")
    return hashlib.sha256(text).hexdigest()


def _without_secrets(standing: membership.Standing) -> membership.Standing:
    """Return what an agent has to know of a project: nothing of its keys and people."""
    if standing.project is None:
        return standing
    bare: projects.Project = replace(
        standing.project, secrets=None, credentials=None, roles=(), routes=()
    )
    return replace(standing, project=bare)
