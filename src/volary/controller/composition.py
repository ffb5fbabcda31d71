"""Puts the controller together: store, clusters, lease, runs, retention, and the service.

Everything long-running hangs in one task group under `Controller.run`; nothing is global, so
two controllers can live in one process, as tests have them.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from volary.agents import hellos
from volary.analysis.metering import meters
from volary.clusters.client import client_pool, write_rules
from volary.clusters.transport import transports
from volary.config.projects import definitions, project_files
from volary.config.text import git_addresses
from volary.controller import control_loops, inputs, system_clock
from volary.controller.agents import (
    agent_registry,
    run_orders,
    signing_key,
    task_services,
    tunnel_hub,
)
from volary.controller.api import (
    agent_service,
    cluster_service,
    drift_service,
    live_service,
    placement_service,
    project_service,
    server_service,
    service,
    status_service,
    task_takers,
    worker_service,
    workspace_service,
)
from volary.controller.api.commands import command_client
from volary.controller.drift import comparer
from volary.controller.fleet import cluster_registry, project_clients, surveys
from volary.controller.leadership import context, election, engines, tenures
from volary.controller.persistence import change_signal, notification_outbox, redaction, retention
from volary.controller.projects import project_registry
from volary.controller.runs import ready_runs
from volary.controller.workspaces import workspace_keeper
from volary.livestate import live_state
from volary.model import clocks, metric_providers, server_settings
from volary.model.fleet import fleets
from volary.model.runs import run_records
from volary.notifying import notifier as notifiers
from volary.notifying import senders
from volary.sources.decryption import keys
from volary.sources.rendering import programs, renderers
from volary.stages import webhooks
from volary.stages.runtime import contexts
from volary.store import factory, records, stores


@dataclass(frozen=True, slots=True)
class ControllerParts:
    """What the controller is given."""

    clock: clocks.Clock
    members: fleets.Fleet
    #: What project files beside the settings say.
    written_beside: definitions.Definitions = field(
        default_factory=definitions.Definitions, kw_only=True
    )
    repositories: inputs.Repositories
    watch: inputs.Watch
    #: Unique to this life of this process; a new one when empty.
    owner: str = ""
    timing: election.LeaseTiming = field(default_factory=election.LeaseTiming)
    #: Seconds that only go forward, also while this process stands still.
    elapsed: tenures.Elapsed = system_clock.elapsed
    rules: inputs.Rules = field(default_factory=inputs.Rules)
    executor_options: contexts.Options = field(default_factory=contexts.Options)
    #: Bounds of what is kept, and how long another process's lock is waited for.
    limits: records.Limits = field(default_factory=records.Limits)
    #: What a client may use of its cluster; None: as `client_pool.open_pool` divides it.
    reach: transports.Limits | None = None
    #: Learns what nobody may see.
    secrets: redaction.SecretValues = field(default_factory=redaction.SecretValues)
    #: Where Slack's API is; another one for tests.
    slack_api: str = senders.SLACK


class Controller:
    """A controller that is put together; `run` makes it live."""

    def __init__(
        self,
        settings: server_settings.Settings,
        parts: ControllerParts,
        store: stores.Store,
        clusters: client_pool.ClientPool,
        *,
        outbox: notification_outbox.StoreOutbox,
        notifier: notifiers.Notifier,
        secrets: redaction.SecretValues,
        meter: meters.Meter,
        tenure: tenures.Tenure,
        tunnels: tunnel_hub.TunnelHub,
    ) -> None:
        self._tenure = tenure
        self._settings = settings
        self._parts = parts
        self._store = store
        self._outbox = outbox
        self._notifier = notifier
        kept, asked = change_signal.ChangeSignal(), change_signal.ChangeSignal()
        self._workspaces = workspace_keeper.WrittenWorkspaces()
        #: Which projects there are.
        self.projects = project_registry.ProjectRegistry(
            store,
            parts.clock,
            kept,
            project_registry.written(settings, parts.written_beside),
            self._workspaces.replace,
        )
        dependencies = ready_runs.Dependencies(
            parts.repositories,
            clusters,
            parts.clock,
            renderer=renderers.Renderer(
                programs.Settings(
                    requires_isolation=settings.isolates_renderers,
                    # Whoever gets at the sockets there reads clusters as the server itself does.
                    hidden=(*hidden_files(settings, parts.written_beside), tunnels.directory),
                    keys=keys_of(settings)[0],
                ),
                secrets.learn_of,
            ),
            secrets=secrets,
            meter=meter,
            patience=parts.rules.patience,
            again_after=parts.rules.again_after,
            executor_options=replace(parts.executor_options, permissions=_permissions(settings)),
            addresses={
                repository.name: git_addresses.mask(repository.url)
                for repository in settings.repositories
            },
            projects=self.projects.current,
        )
        listed = {
            (application.repository, application.path.rstrip("/"))
            for application in settings.applications
            if application.targets is not None
        }
        known = cluster_registry.ClusterRegistry(
            store, clusters, parts.clock, settings.cluster_health, kept, parts.members
        )
        rules = replace(
            parts.rules,
            supersede=settings.supersede,
            listed=frozenset(listed),
            failover=settings.failover,
        )
        notifier.projects = lambda: dependencies.projects()  # noqa: PLW0108 - as they are then
        self._register = known
        behalf = project_clients.ProjectClients(
            clusters,
            lambda: dependencies.projects(),  # noqa: PLW0108 - as they are then
        )
        #: What applications have in the clusters, followed in a process that stands by too.
        self.live = live_state.LiveState(clusters, parts.clock, behalf=behalf)
        compares = comparer.Comparer(
            store,
            dependencies,
            settings.drift_detection,
            status_service.away(known),
            self.live,
            self.live.mark,
        )
        key, agents = signing_key.of(settings), agent_registry.AgentRegistry(store, parts.clock)
        temporal = settings.engine.temporal
        told = None if temporal is None else _told_of(temporal)
        servers = server_service.ServerService(store, is_advertised=bool(settings.advertise))
        apart = run_orders.ApartTasks(
            key.read,
            everywhere=temporal is not None and temporal.workers is server_settings.Workers.APART,
        )
        self._manager = control_loops.ControlLoops(
            store,
            dependencies,
            rules,
            parts.watch,
            known,
            asked=asked,
            notifier=notifier,
            projects=self.projects,
            comparer=compares,
            watched=self.live,
            workspaces=self._workspaces,
            engine=settings.engine,
            silence=settings.cluster_health.failure_threshold,
            apart=apart,
        )
        asker = command_client.CommandClient(
            store,
            parts.clock,
            asked=asked,
            kept=kept,
            make_id=control_loops.new_id,
            secrets=secrets,
        )
        audit = command_client.AuditLog(store, parts.clock, secrets)
        #: What people see and ask for; works in a process that stands by too.
        self.service = service.Service(
            store,
            dependencies,
            asker,
            audit,
            kept,
            cluster_service.ClusterService(known, asker, audit),
            status_service.StatusService(
                store,
                dependencies,
                surveys.Surveyor(clusters, parts.clock, is_away=status_service.away(known)),
                known,
            ),
            placement_service.PlacementService(
                store, dependencies, known, asker, audit, settings.failover
            ),
            project_service.ProjectService(store, dependencies, self.projects),
            workspace_service.WorkspaceService(store, known, asker, audit),
            servers,
            live_service.LiveService(store, dependencies, self.live),
            drift_service.DriftService(store, compares),
            agent_service.AgentService(agents, tunnels, known, audit, key, servers, told),
            worker_service.WorkerService(
                agents,
                known,
                audit,
                key,
                apart,
                servers,
                told,
                None if temporal is None else task_takers.TaskTakers(temporal).of,
            ),
            task_services.TaskServices(store, parts.clock, meter, secrets, apart),
            self._manager.measures,
        )
        self._is_driving = False

    @property
    def is_leader(self) -> bool:
        """Whether this process is the leader now, and knows it."""
        return self._is_driving and self._tenure.is_valid

    @property
    def repository_errors(self) -> dict[str, str]:
        """Why repositories could not be read last, by name; only of those."""
        return self._manager.repository_errors

    def change_fleet(self, members: fleets.Fleet) -> None:
        """Take another fleet: clusters join and leave while everything goes on.

        Analysis providers stay those that this process began with.
        """
        self._register.replace(members)

    async def run(self) -> None:
        """Drive whenever this process holds the lease, until cancelled.

        Being cancelled is shutting down: runs stay as they were kept, and go on in the
        next leader.
        """
        owner = self._parts.owner or uuid.uuid4().hex
        leading = election.lead(
            self._store, owner, self._drive, timing=self._parts.timing, tenure=self._tenure
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(leading, name="leading")
            following = self.live.keep_following
            backoff = self._parts.rules.backoff
            # Whatever a cluster has answered: who leads goes on.
            watched = context.keep_running(following, "live state", backoff)
            group.create_task(watched, name="live state")
            agents = context.keep_running(self.service.agents.keep_checking, "agents", backoff)
            group.create_task(agents, name="agents")
            if self.projects.written.repository:
                loading = self.projects.keep_loading(lambda: self._is_driving)
                group.create_task(loading, name="projects")

    async def _drive(self, fence: run_records.Fence) -> None:
        self._is_driving = True
        self._outbox.fence = fence
        try:
            async with asyncio.TaskGroup() as group:
                loops: dict[str, Callable[[], Awaitable[None]]] = {
                    "runs": lambda: self._manager.drive(fence),
                    "notifications": self._notifier.keep_delivering,
                    "retention": lambda: retention.enforce_periodically(
                        self._store,
                        self._settings.retention,
                        fence=fence,
                        clock=self._parts.clock,
                    ),
                }
                for name, work in loops.items():
                    group.create_task(
                        context.keep_running(work, name, self._parts.rules.backoff), name=name
                    )
        finally:
            self._is_driving = False


def _told_of(temporal: server_settings.Temporal) -> hellos.Temporal:
    """Return what agents are told of Temporal."""
    return hellos.Temporal(
        temporal.address,
        temporal.namespace,
        hellos.QUEUE_PREFIX,
        temporal.heartbeat.total_seconds(),
    )


def hidden_files(
    settings: server_settings.Settings, beside: definitions.Definitions | None = None
) -> tuple[str, ...]:
    """Return what no program that renders is to see: the server's data, and every key."""
    paths = [settings.data_directory]
    for known in keys_of(settings, beside):
        sops, pair = known.settings.sops, known.settings.key_pair
        paths += [sops.age_key_file, sops.gnupg_home, pair.private_key_file]
    return tuple(dict.fromkeys(os.path.abspath(path) for path in paths if path))


def keys_of(
    settings: server_settings.Settings, beside: definitions.Definitions | None = None
) -> tuple[keys.Keys, ...]:
    """Return the keys that the settings name, and those of each project that has its own.

    None of them may be in a repository that is watched.
    """
    local = [
        repository.url.removeprefix("file://")
        for repository in settings.repositories
        if repository.url.startswith(("file://", "/"))
    ]
    of_projects = (beside or definitions.Definitions()).of(project_files.PROJECT).values()
    given = [known.secrets for known in of_projects if known.secrets is not None]
    return tuple(
        keys.Keys(secrets).apart_from(f"{settings.data_directory}/mirrors", *local)
        for secrets in (settings.secrets, *given)
    )


def _permissions(settings: server_settings.Settings) -> contexts.Permissions:
    """Return what applications may do on this machine, which belongs to all of them."""
    reach = webhooks.Reach(loopback=settings.local_webhooks)
    return contexts.Permissions(scripts=settings.scripts, reach=reach)


@asynccontextmanager
async def open_controller(
    settings: server_settings.Settings, parts: ControllerParts
) -> AsyncIterator[Controller]:
    """Open the store and the clusters, and close them at the end.

    Raises:
        errors.UserError: The settings name something that is not there.
        errors.TemporaryError: The database cannot be reached now.
    """
    engines.check(settings.engine)
    secrets = parts.secrets
    known = keys_of(settings, parts.written_beside)
    for value in (*parts.rules.secrets, *(each for one in known for each in one.secret_values())):
        secrets.learn(value)
    tenure = tenures.Tenure(parts.elapsed)
    providers = metric_providers.merged(settings.providers, parts.members.providers)
    async with (
        inputs.open_meter(providers, clock=parts.clock, learn=secrets.learn) as meter,
        factory.open_store(settings.store, clock=parts.clock, limits=parts.limits) as store,
        tunnel_hub.open_hub() as tunnels,
        client_pool.open_pool(
            replace(parts.members, providers=providers),
            clock=parts.clock,
            limits=parts.reach,
            permit=tenure,
            rule=write_rules.refuse_own_writes,
            socket_of=tunnels.socket_of,
        ) as clusters,
    ):
        box = notification_outbox.StoreOutbox(store)
        async with notifiers.open_notifier(
            settings.notifications, box, parts.clock, slack_api=parts.slack_api
        ) as notifier:
            made = Controller(
                settings,
                parts,
                store,
                clusters,
                outbox=box,
                notifier=notifier,
                secrets=secrets,
                meter=meter,
                tenure=tenure,
                tunnels=tunnels,
            )
            await made.projects.load()
            yield made
