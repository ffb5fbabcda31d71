"""Given a store, a leader and kinds of runs whose plan a test says; when something is requested.

Everything is the real thing but what a run does to clusters: each stage ends as the test says.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import process_time
from volary.clusters.client import client_pool
from volary.controller import inputs
from volary.controller.applications import reconcilers, registry
from volary.controller.fleet import cluster_registry
from volary.controller.leadership import context, planner_slots
from volary.controller.persistence import change_signal, notification_outbox
from volary.controller.runs import backfills, kind_registry, moves, ready_runs, releases, run_kinds
from volary.controller.status import (
    application_statuses,
    run_origins,
    run_requests,
)
from volary.engine import executor
from volary.engine.persistence import codec as codec
from volary.engine.persistence import transitions
from volary.engine.runs import run_builder, state
from volary.engine.state_machine import events as events
from volary.engine.state_machine import machine as machine
from volary.gitops import triggers
from volary.manifests import redaction
from volary.model import backoffs, errors, server_settings, statuses
from volary.model.fleet import cluster_health, fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_records as run_records
from volary.notifying import delivery, notifier
from volary.placement.failover import move_plans
from volary.sources.git import repositories as repositories
from volary.stages.runtime import task_states
from volary.store import factory, records, stores
from volary.tenancy import guards

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
QUICK = backoffs.Backoff(timedelta(milliseconds=10), timedelta(milliseconds=20))
MEMBERS = fleets.Fleet((fleets.Cluster("us"), fleets.Cluster("eu")))
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
Kind = run_requests.KindName


class Clock:
    """Goes on by itself, so that nothing waits for it."""

    def now(self) -> datetime:
        return process_time.now()


class NoRepositories:
    """Has no repository."""

    async def repository(self, name: str) -> repositories.Repository:
        raise errors.user_error(f"there is no repository {name}")

    async def fetch_head(self, name: str) -> str:
        raise errors.user_error(f"there is no repository {name}")

    async def find(self, name: str, revision: str) -> str:
        raise errors.user_error(f"there is no repository {name}")

    async def keep(
        self, name: str, holder: str, commits: Collection[str], *, exclusively: bool
    ) -> None:
        raise errors.user_error(f"there is no repository {name}")


@dataclass
class ScriptedStages:
    """Ends every task as it is told to, once it may."""

    outcome: statuses.TaskStatus = statuses.TaskStatus.SUCCEEDED
    keeper: task_states.TaskStateStore = field(default_factory=task_states.InProcessStore)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    #: The statuses of runs after whose end the clusters were tidied.
    concluded: list[str] = field(default_factory=list)
    leave_out: Callable[[str, str], None] | None = None
    standing: guards.LookUp | None = None

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        self.begun.set()
        await self.may_end.wait()
        return statuses.Outcome(self.outcome, f"it has {self.outcome.value}", touched=True)

    async def conclude(self, ended: state.Run) -> None:
        self.concluded.append(ended.status.value)


@dataclass
class Script:
    """How runs are planned and end."""

    stages: ScriptedStages = field(default_factory=ScriptedStages)
    #: How many clusters of a run are worked on at once; 0: all.
    concurrency: int = 0
    #: Raised by preparing, one after another, before it works.
    troubles: list[Exception] = field(default_factory=list)
    #: The requests that were prepared, in order.
    prepared: list[str] = field(default_factory=list)
    #: A plan is being made; it is ready once it may be.
    planning: asyncio.Event = field(default_factory=asyncio.Event)
    may_plan: asyncio.Event = field(default_factory=asyncio.Event)

    async def prepare(
        self,
        planning: run_kinds.Planning,
        steps: tuple[pipelines.Stage, ...] = (SYNC,),
    ) -> ready_runs.ReadyRun:
        request, application = planning.run_request, planning.application
        self.prepared.append(request.id)
        self.planning.set()
        await self.may_plan.wait()
        if self.troubles:
            raise self.troubles.pop(0)
        running = application.status.releases.running
        groups = run_builder.one_group(
            request.targets or MEMBERS.names, concurrency=self.concurrency
        )
        made = run_builder.RunSpec(
            application.record.name, request.commit, groups, steps, running_commit=running
        )
        run = run_builder.new_run(request.id, made, planning.dependencies.clock.now())
        origin = run_origins.Origin(
            "shop", "volary.yaml", kind=request.kind, reason=request.reason, targets=run.targets
        )
        return ready_runs.ReadyRun(run, self.stages, redaction.Masker(), origin)

    async def take_up(
        self,
        _: ready_runs.Dependencies,
        name: str,
        run: state.Run,
        origin: run_origins.Origin,
        then: ready_runs.PlannedInputs,
    ) -> ready_runs.ReadyRun:
        """Return a stored run ready to go on, in place of `ready_runs.take_up`."""
        clusters = tuple(then.clusters)
        return ready_runs.ReadyRun(run, self.stages, redaction.Masker(), origin, clusters)


@dataclass
class Release(releases.Release):
    """A release whose plan is said."""

    script: Script

    async def prepare(self, planning: run_kinds.Planning) -> ready_runs.ReadyRun:
        return await self.script.prepare(planning)


@dataclass
class Backfill(backfills.Backfill):
    """A backfill whose plan is said."""

    script: Script

    async def prepare(self, planning: run_kinds.Planning) -> ready_runs.ReadyRun:
        return await self.script.prepare(planning)


@dataclass
class Move(moves.Move):
    """A move whose plan is said."""

    script: Script

    async def prepare(self, planning: run_kinds.Planning) -> ready_runs.ReadyRun:
        steps = move_plans.stages(planning.run_request.shift or move_plans.MovePlan())
        return await self.script.prepare(planning, steps)


@dataclass
class World:
    """A leader with its registry."""

    leader: context.LeaderContext
    registry: registry.ApplicationRegistry
    script: Script

    @property
    def store(self) -> stores.Store:
        return self.leader.store

    @property
    def shop(self) -> reconcilers.ApplicationReconciler:
        return self.registry.reconciler_of("shop")

    async def stored(self) -> records.ApplicationRecord:
        found = await self.store.applications.get("shop")
        assert found is not None
        return found

    async def status(self) -> application_statuses.ApplicationStatus:
        """Return how the application stands, as another process would read it."""
        return application_statuses.from_document((await self.stored()).document)

    async def commits(self) -> Mapping[str, tuple[str, str]]:
        """Return how every commit stands, with its reason."""
        page = await self.store.commits.list("shop")
        return {each.commit: (each.status, each.reason) for each in page.items}

    async def until(
        self, holds: Callable[[records.ApplicationRecord], bool], name: str = "shop"
    ) -> None:
        """Wait until the application is kept so."""
        async with asyncio.timeout(process_time.HANG):
            while True:
                found = await self.store.applications.get(name)
                if found is not None and holds(found):
                    return
                await self.leader.change_signal.wait(0.05)


def request(name: str = "r1", commit: str = "c1", **more: object) -> run_requests.RunRequest:
    """Return what a commit requests, unless more is said."""
    made = run_requests.RunRequest(
        name, commit, Kind.RELEASE, f"{commit} was pushed", AT, trigger=triggers.Kind.COMMIT
    )
    return replace(made, **more)  # type: ignore[arg-type]


async def keep_run(
    store: stores.Store,
    run: state.Run,
    kind: run_requests.KindName,
    *,
    fence: run_records.Fence | None = None,
) -> None:
    """Put a run into the store as if another process had left it."""
    origin = run_origins.Origin("shop", "volary.yaml", kind=kind, reason="it was requested")
    made = transitions.first_transition(run, run_origins.to_document(origin), AT)
    await store.keep_transition(made, fence=fence)


@contextlib.asynccontextmanager
async def leading(
    address: str = "memory:",
    *,
    rules: inputs.Rules | None = None,
    sources: inputs.Repositories | None = None,
    new_id: Callable[[], str] = lambda: "new",
    wrap: Callable[[stores.Store], stores.Store] = lambda store: store,
) -> AsyncIterator[World]:
    """Be the leader of an empty store; what it is given of the store is what `wrap` makes of it."""
    clock, script = Clock(), Script()
    script.stages.may_end.set()
    script.may_plan.set()
    async with (
        factory.open_store(address, clock=clock) as opened,
        client_pool.open_pool(MEMBERS, clock=clock) as clusters,
    ):
        store = wrap(opened)
        lease = await opened.leases.acquire("controller", "this test", timedelta(hours=1))
        assert lease is not None
        dependencies = ready_runs.Dependencies(sources or NoRepositories(), clusters, clock)
        signal = change_signal.ChangeSignal()
        register = cluster_registry.ClusterRegistry(
            store, clusters, clock, cluster_health.HealthRules(), signal, MEMBERS
        )
        queue = delivery.DeliveryQueue({}, notification_outbox.StoreOutbox(store))
        async with asyncio.TaskGroup() as group:
            leader = context.LeaderContext(
                store=store,
                fence=lease.fence,
                dependencies=dependencies,
                rules=rules or inputs.Rules(backoff=QUICK),
                change_signal=signal,
                group=group,
                planners=planner_slots.PlannerSlots(4),
                notifier=notifier.Notifier(server_settings.Notifications(), queue),
                new_id=new_id,
                register=register,
                kinds={
                    **kind_registry.BY_NAME,
                    Kind.RELEASE: Release(script),
                    Kind.MOVE: Move(script),
                    Kind.BACKFILL: Backfill(script),
                },
            )
            yield World(leader, registry.ApplicationRegistry(leader, {}), script)
            for task in asyncio.all_tasks():
                if task.get_name().startswith(("application ", "look at ")):
                    task.cancel()
