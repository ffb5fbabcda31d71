"""Runs of `volary run`: kept and carried out as the server's are, by a process of their own.

One store in a file of the user's (``$XDG_STATE_HOME/volary/volary.db``) has all applications. An
application on a set of clusters has a record and a lease there, so two processes cannot carry it
out at once, and a run that a killed process left behind goes on in the next.
"""

import asyncio
import contextlib
import logging
import os
import socket
import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from volary.clusters.client import client_pool
from volary.clusters.kubeconfig import kubeconfigs
from volary.config.text import git_addresses
from volary.controller import inputs, system_clock
from volary.controller.applications import run_session, state_writer
from volary.controller.fleet import cluster_registry, health_probe
from volary.controller.leadership import context, election, planner_slots, tenures
from volary.controller.persistence import change_signal, notification_outbox
from volary.controller.planning import opened_applications, preflight, preparation, target_selection
from volary.controller.runs import ready_runs, release_plans
from volary.controller.status import application_statuses, run_origins, run_requests
from volary.engine.observers import feed
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.model import clocks, errors, server_settings
from volary.model.fleet import cluster_health, fleets
from volary.model.objects import ownership
from volary.model.runs import run_records
from volary.notifying import delivery, notifier
from volary.sources.git import repositories
from volary.store import factory, pagination, records, stores

#: Runs that are over are kept for so long; the newest ones of an application are kept anyway.
_KEPT_FOR = timedelta(days=90)
#: The address of a store that ends with the process.
IN_MEMORY = "memory:"
#: A process of this machine that has died is known at once, so the lease may outlast a standstill.
_LEASE = election.LeaseTiming(ttl=timedelta(seconds=60), renew=timedelta(seconds=10))
_LOG = logging.getLogger(__name__)
_HEALTH = cluster_health.HealthRules()


@dataclass(frozen=True, slots=True)
class ApplicationKey:
    """An application on a set of clusters; on other clusters it is another one."""

    #: A directory, or the URL of a repository.
    location: str
    #: The application's file, relative to the location.
    path: str
    #: The API servers, sorted.
    servers: tuple[str, ...]

    @property
    def name(self) -> str:
        """Under which the store has it."""
        return "\n".join((self.location, self.path, *self.servers))

    def overlaps(self, other: records.ApplicationRecord) -> bool:
        """Say whether a record is about the same application on some of the same clusters."""
        location, path, *servers = other.name.split("\n")
        is_same = (location, path) == (self.location, self.path)
        return is_same and not set(self.servers).isdisjoint(servers)


def _servers_of(known: records.ApplicationRecord) -> Sequence[str]:
    """Return the API servers that a record is about."""
    _, _, *servers = known.name.split("\n")
    return servers


def key_of(opened: opened_applications.OpenedApplication, members: fleets.Fleet) -> ApplicationKey:
    """Return which application a run of an opened application on the fleet is about."""
    servers = []
    for cluster in target_selection.clusters_of(opened.application, members):
        try:
            servers.append(kubeconfigs.load(cluster).server)
        except errors.UserError:
            servers.append(cluster.name)
    location, document = opened.source.repository, opened.loaded.document
    root = opened.repository.root if opened.repository else None
    if root or "://" not in location:
        location = os.path.realpath(root or location)
    path = document.file if document else opened.directory
    return ApplicationKey(location, path, tuple(sorted(servers)))


def store_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where runs are kept."""
    base = environment.get("XDG_STATE_HOME") or os.path.join(
        environment.get("HOME", "."), ".local", "state"
    )
    return Path(base) / "volary" / "volary.db"


def store_address(file: Path) -> tuple[str, tuple[errors.Problem, ...]]:
    """Return the address of the store in a file whose directory is made, with warnings.

    Where nothing can be written a run is kept in memory, for as long as the process lives.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        reason = "" if os.access(file.parent, os.W_OK) else "permission denied"
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
    if not reason:
        return f"sqlite:{file}", ()
    message = f"the run is not kept in {file}: {reason}; it cannot go on if this process is killed"
    return IN_MEMORY, (errors.Problem(message, severity=errors.Severity.WARNING),)


@contextlib.asynccontextmanager
async def open_store(address: str, clock: clocks.Clock) -> AsyncIterator[stores.Store]:
    """Open the store at an address of `store_address`.

    Raises:
        errors.UserError: The file is not, or no longer, a store.
        errors.TemporaryError: It cannot be used now.
    """
    async with contextlib.AsyncExitStack() as stack:
        try:
            opening = factory.open_store(address, clock=clock)
            store = await stack.enter_async_context(opening)
        except errors.PermanentError as error:
            hint = f"move {address.partition(':')[2]} away to begin without what it remembers"
            raise errors.user_error(str(error), hint=hint) from error
        yield store


async def with_memory(
    wish: preparation.RunOptions,
    opened: opened_applications.OpenedApplication,
    members: fleets.Fleet,
) -> preparation.RunOptions:
    """Return a wish that knows what earlier runs on this machine left; writes nothing."""
    file, clock = store_file(), system_clock.SystemClock()
    if not file.exists():
        return wish
    try:
        async with open_store(f"sqlite:{file}", clock) as store:
            known = await store.applications.get(key_of(opened, members).name)
    except errors.TemporaryError as error:
        _LOG.warning("what ran before is not known: %s", error)
        return wish
    if known is None:
        return wish
    return release_plans.remembering(wish, application_statuses.of_record(known))


async def unfinished(
    store: stores.Store, key: ApplicationKey
) -> tuple[records.ApplicationRecord, ...]:
    """Return the records of an application whose runs have not ended, its own first.

    One of others is for partly other clusters than it has now.
    """
    wanted = records.ApplicationFilter(repository=key.location)
    left_behind = [
        known
        async for known in pagination.every(
            lambda cursor: store.applications.list(wanted, cursor=cursor)
        )
        if key.overlaps(known)
        and not application_statuses.why_unreadable(known)
        and application_statuses.of_record(known).under_way
    ]
    return tuple(sorted(left_behind, key=lambda known: known.name != key.name))


class LocalApplication:
    """One application, for as long as this process holds its lease."""

    def __init__(self, leader: context.LeaderContext, known: records.ApplicationRecord) -> None:
        self._leader = leader
        self._writer = state_writer.ApplicationStateWriter(leader, known)

    @property
    def record(self) -> records.ApplicationRecord:
        """The application as it was kept last."""
        return self._writer.record

    @property
    def status(self) -> application_statuses.ApplicationStatus:
        """What is known of it."""
        return self._writer.status

    async def left_behind(self) -> run_records.StoredRun | None:
        """Return the run that an earlier process did not finish; None: there is none.

        The end of one that has ended is written down.
        """
        status = self._writer.status
        if not status.under_way:
            return None
        stored = await self._leader.store.runs.load(status.run)
        if stored is not None and stored.head.finished is None:
            return stored
        if stored is not None:
            origin = run_origins.from_document(stored.origin)
            await self._writer.conclude(codec.read_run(stored), origin)
        return None

    async def begin(
        self,
        prepared: preparation.PreparedRun,
        trials: Sequence[preflight.Trial],
        by: str,
        observers: Sequence[feed.Observer],
    ) -> run_session.RunSession:
        """Keep a new run and return it, ready to be carried out.

        Raises:
            errors.UserError: Its objects are another run's of this user, from somewhere else.
        """
        owners = {**self.status.owners, **prepared.owners}
        await self._require_alone(owners.values())
        dependencies, opened = self._leader.dependencies, prepared.opened
        request = run_requests.RunRequest(
            self._leader.new_id(),
            opened.commit,
            run_requests.KindName.RELEASE,
            "volary run",
            dependencies.clock.now(),
            by=by,
        )
        location, path, *_ = self.record.name.split("\n")
        repository = git_addresses.mask(opened.source.repository)
        place = ready_runs.ApplicationSource(opened.application.name, repository, path)
        ready = await release_plans.ready(
            dependencies, place, request, prepared, trials, can_hold=False
        )
        # Before the run, so that there is none that nobody knows of.
        status = replace(self.status, run=ready.run.id, under_way=True, owners=owners)
        await self._writer.keep(status, repository=location, path=path)
        ready, version = await self._writer.begin(ready)
        return self._open(ready, version, observers)

    async def _require_alone(self, owners: Collection[ownership.Owner]) -> None:
        """See that no other clone or copy of the same application is released to a cluster of it.

        Raises:
            errors.UserError: One is.
        """
        store, clock = self._leader.store, self._leader.dependencies.clock
        servers = set(_servers_of(self.record))
        every = records.ApplicationFilter()
        async for other in pagination.every(
            lambda cursor: store.applications.list(every, cursor=cursor)
        ):
            if other.name == self.record.name or application_statuses.why_unreadable(other):
                continue
            status = application_statuses.of_record(other)
            if not status.under_way or set(owners).isdisjoint(status.owners.values()):
                continue
            holder = await store.leases.current(other.name)
            if (
                holder is None
                or holder.expires <= clock.now()
                or servers.isdisjoint(_servers_of(other))
            ):
                continue
            if not _has_ended(holder.owner, machine_name()):
                raise errors.user_error(
                    f"another `volary run` of this application on these clusters is under way, from"
                    f" {other.repository} ({holder.owner})",
                    hint="wait for its end; what is another application needs another name",
                )

    async def take_up(
        self,
        stored: run_records.StoredRun,
        opened: opened_applications.OpenedApplication,
        observers: Sequence[feed.Observer],
    ) -> run_session.RunSession:
        """Return a run that was left behind, ready to go on; `opened` is at its commit.

        Raises:
            errors.UserError: What it is pinned to cannot be opened any more, or its objects are
                another run's by now.
        """
        await self._require_alone(self.status.owners.values())
        run, origin = codec.read_run(stored), run_origins.from_document(stored.origin)
        then = await ready_runs.read_inputs(self._leader.store, stored)
        ready = await ready_runs.take_up_opened(
            self._leader.dependencies, opened, run, origin, then
        )
        clean = ready.masker.clean
        shown = replace(origin, reason=clean(origin.reason), subject=clean(origin.subject))
        await self._writer.take_up(run, shown)
        return self._open(ready, stored.version, observers)

    async def carry_out(self, session: run_session.RunSession) -> state.Run:
        """Carry a run out to its end, write down what it means, and return it."""
        leader, runner = self._leader, session.runner
        leader.register.on_reachable = runner.report_reachable
        async with asyncio.TaskGroup() as group:
            probing = group.create_task(
                health_probe.probe_awaited(leader.register, lambda: runner.awaited)
            )
            ended = await session.carry_out()
            probing.cancel()
        await self._writer.conclude(ended, session.origin)
        old = leader.dependencies.clock.now() - _KEPT_FOR
        with contextlib.suppress(errors.TemporaryError):
            await leader.store.prune(records.Retention(old), fence=leader.fence)
        return ended

    async def abandon(self, stored: run_records.StoredRun, by: str) -> None:
        """End a run that was left behind; the clusters stay as they are."""
        await self._writer.abandon(stored, by, "abandoned")
        await self.left_behind()

    def _open(
        self, ready: ready_runs.ReadyRun, version: int, observers: Sequence[feed.Observer]
    ) -> run_session.RunSession:
        return run_session.open_session(
            self._leader, self.record, ready, version, observers=observers
        )


@contextlib.asynccontextmanager
async def hold(
    store: stores.Store,
    name: str,
    dependencies: ready_runs.Dependencies,
    clusters: client_pool.ClientPool,
    *,
    health: cluster_health.HealthRules = _HEALTH,
    elapsed: tenures.Elapsed = system_clock.elapsed,
) -> AsyncIterator[LocalApplication]:
    """Hold the lease of the application that the store has by this name.

    `clusters` are those of the dependencies: nothing is written to one without the lease. `health`
    says how often those are probed that a run waits for.

    Raises:
        errors.UserError: Another process holds it.
        errors.PermanentError: Another process took it over meanwhile.
    """
    tenure = clusters.permit = tenures.Tenure(elapsed)
    lease = await _take_lease(store, name, tenure)
    try:
        async with election.held(store, lease, timing=_LEASE, tenure=tenure) as fence:
            known = await store.applications.get(name) or records.ApplicationRecord(name)
            leader = _leader(store, fence, dependencies, clusters, health)
            yield LocalApplication(leader, known)
    except BaseException as error:
        if not context.is_overtaken(error):
            raise
        raise errors.PermanentError(
            "another process took the run over, or may have: this one stopped; what it began is"
            " kept, and `volary run` goes on with it"
        ) from error


def _leader(
    store: stores.Store,
    fence: run_records.Fence,
    dependencies: ready_runs.Dependencies,
    clusters: client_pool.ClientPool,
    health: cluster_health.HealthRules,
) -> context.LeaderContext:
    """Return what the writers of a run share; nothing but the run goes on, and nobody is told."""
    clock = dependencies.clock
    kept = change_signal.ChangeSignal()
    queue = delivery.DeliveryQueue({}, notification_outbox.StoreOutbox(store))
    return context.LeaderContext(
        store,
        fence,
        dependencies,
        inputs.Rules(),
        kept,
        asyncio.TaskGroup(),
        planner_slots.PlannerSlots(1),
        notifier.Notifier(server_settings.Notifications(), queue),
        lambda: uuid.uuid4().hex[:12],
        cluster_registry.ClusterRegistry(store, clusters, clock, health, kept, clusters.fleet),
    )


class LocalRepositories:
    """Repositories by their location."""

    async def repository(self, name: str) -> repositories.Repository:
        """Return the repository at a path or a URL.

        Raises:
            errors.UserError: There is none.
        """
        return await repositories.open_repository(name)

    async def fetch_head(self, name: str) -> str:
        """Return the commit that the repository at a path or a URL is at."""
        return (await (await self.repository(name)).resolve("HEAD")).id

    async def find(self, name: str, revision: str) -> str:
        """Return the commit that a branch, a tag or another reference is at."""
        return (await (await self.repository(name)).resolve(revision)).id

    async def keep(
        self, name: str, holder: str, commits: Collection[str], *, exclusively: bool
    ) -> None:
        """Write nothing: the clone is its user's, whose reflog keeps what was committed there."""


async def _take_lease(store: stores.Store, name: str, tenure: tenures.Tenure) -> records.Lease:
    """Take an application's lease, also of a process of this machine that is no more.

    Raises:
        errors.UserError: Another process holds it.
    """
    machine = machine_name()
    owner = f"{machine} {os.getpid()}"
    holder = await store.leases.current(name)
    if holder is not None and _has_ended(holder.owner, machine):
        await store.leases.release(holder)
    lease = await election.acquire(store, name, owner, _LEASE, tenure)
    if lease is None:
        holder = await store.leases.current(name)
        who = f" ({holder.owner})" if holder else ""
        raise errors.user_error(
            f"another `volary run` of this application on these clusters is under way{who}",
            hint="wait for its end; one that was killed elsewhere counts as gone after"
            f" {_LEASE.ttl.total_seconds():g} s",
        )
    return lease


def machine_name() -> str:
    """Return what tells apart the machines, or containers, that number processes by themselves."""
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    return f"{socket.gethostname()} {namespace}"


def _has_ended(owner: str, machine: str) -> bool:
    there, _, number = owner.rpartition(" ")
    if there != machine or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
