"""Runs the control loops of all applications while this process is the leader.

`ControlLoops.drive` is one term of leadership: it takes up what an earlier process left behind,
listens to the repositories and to what people ask for, and goes on until it is cancelled. Being
cancelled is shutting down: every run stays as it was kept and goes on under the next leader.
"""

import asyncio
import functools
import uuid
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta

from volary.controller import inputs, notifications
from volary.controller.agents import run_orders
from volary.controller.api.commands import command_handler
from volary.controller.applications import registry
from volary.controller.drift import comparer, drift_loop
from volary.controller.fleet import cluster_facts_reader, cluster_registry, health_probe
from volary.controller.leadership import context, engines, planner_slots
from volary.controller.persistence import change_signal, retry
from volary.controller.placement import backfill_loop, failover_loop
from volary.controller.projects import project_registry
from volary.controller.runs import ready_runs
from volary.controller.telemetry import run_metrics
from volary.controller.workspaces import workspace_keeper
from volary.gitops import repository_state
from volary.livestate import live_objects
from volary.model import json, server_settings
from volary.model.runs import run_records
from volary.notifying import notifier as notifiers
from volary.store import stores


def new_id() -> str:
    """Return a fresh id of a run or a request."""
    return uuid.uuid4().hex[:12]


@dataclass(slots=True)
class ControlLoops:
    """Starts the control loops for each term of leadership; one per process."""

    store: stores.Store
    dependencies: ready_runs.Dependencies
    rules: inputs.Rules
    #: Watches the repositories for as long as this process is the leader.
    watch: inputs.Watch
    known: cluster_registry.ClusterRegistry
    #: Signals when somebody submitted a request through this process.
    asked: change_signal.ChangeSignal
    notifier: notifiers.Notifier
    #: Which projects there are.
    projects: project_registry.ProjectRegistry
    #: Compares clusters with Git.
    comparer: comparer.Comparer
    #: Hears what changes in clusters.
    watched: live_objects.LiveObjects
    #: Which tasks others than this process carry out.
    apart: run_orders.ApartTasks
    #: After how long without a word a cluster is unreachable.
    silence: timedelta
    #: As they are written.
    workspaces: workspace_keeper.WrittenWorkspaces = field(
        default_factory=workspace_keeper.WrittenWorkspaces
    )
    #: Who carries runs out.
    engine: server_settings.Engine = field(default_factory=server_settings.Engine)
    make_id: Callable[[], str] = new_id
    #: Counts runs.
    measures: run_metrics.RunMetrics = field(default_factory=run_metrics.RunMetrics)
    #: Why a repository could not be read last, by name; only of those.
    repository_errors: dict[str, str] = field(default_factory=dict, init=False)

    async def drive(self, fence: run_records.Fence | None) -> None:
        """Drive until cancelled.

        Raises:
            ExceptionGroup: Of `fencing.LeaseLost` when another process is the leader now.
        """
        async with (
            engines.opened(self.engine, self.apart, self.silence) as engine,
            asyncio.TaskGroup() as group,
        ):
            leader = context.LeaderContext(
                store=self.store,
                fence=fence,
                dependencies=self.dependencies,
                rules=self.rules,
                change_signal=self.known.kept,
                group=group,
                planners=planner_slots.PlannerSlots(self.rules.planners),
                notifier=self.notifier,
                new_id=self.make_id,
                register=self.known,
                measures=self.measures,
                engine=engine,
            )
            application_registry = registry.ApplicationRegistry(leader, self.repository_errors)
            await retry.until_available(self.projects.load, "reading project files")
            await application_registry.load()
            keeper = workspace_keeper.WorkspaceKeeper(
                leader, self.workspaces, period=self.rules.workspace_period
            )
            commands = command_handler.CommandHandler(
                leader,
                application_registry,
                self.asked,
                handlers={workspace_keeper.KIND: keeper.carry_out},
            )

            def report_reachable(clusters: Collection[str]) -> None:
                application_registry.report_reachable(clusters)
                keeper.report_reachable(clusters)

            mover = failover_loop.FailoverLoop(
                leader, application_registry.all, self.rules.failover
            )
            catching_up = backfill_loop.BackfillLoop(leader, application_registry.all)
            drift = drift_loop.DriftLoop(
                leader,
                application_registry.all,
                self.comparer,
                self.watched,
                drift_loop.Pace(self.rules.drift_period, self.rules.drift_gap),
            )
            moves = health_probe.RoundListener(mover.look)
            backfills = health_probe.RoundListener(catching_up.look)
            facts = health_probe.RoundListener(cluster_facts_reader.FactsReader(self.known).look)
            probe = health_probe.HealthProbe(
                self.known,
                fence,
                (moves.take, backfills.take, facts.take),
                functools.partial(
                    notifications.cluster_changed, self.notifier, self.dependencies.clock
                ),
                report_reachable,
            )
            loops: dict[str, Callable[[], Awaitable[None]]] = {
                "backfill": backfills.keep_running,
                "moves": moves.keep_running,
                "drift": drift.keep_running,
                "drift's changes": drift.keep_listening,
                "clusters": probe.keep_probing,
                "cluster facts": facts.keep_running,
                "requests": commands.keep_handling,
                "workspaces": keeper.keep_running,
                "repositories": lambda: self.watch(
                    functools.partial(self._notice, leader, application_registry)
                ),
            }
            for name, work in loops.items():
                group.create_task(context.keep_running(work, name, self.rules.backoff), name=name)

    async def _notice(
        self,
        leader: context.LeaderContext,
        applications: registry.ApplicationRegistry,
        seen: repository_state.RepositoryState,
    ) -> None:
        """Take what was seen of a repository: first who may do what, then what there is to do.

        Raises:
            errors.TemporaryError: Nothing could be made of it now.
        """
        before = self.projects.problem
        has_changed = await self.projects.take(seen, fence=leader.fence)
        if self.projects.problem not in ("", before):
            document: json.JsonObject = {"problem": self.projects.problem}
            await leader.note("volary", "projects.refused", document)
        if has_changed:
            names = sorted(self.projects.current().by_name)
            document = {"commit": self.projects.commit, "projects": names}
            await leader.note("volary", "projects.changed", document)
            await applications.review()
        await applications.notice(seen)
