"""Runs the control loops of all applications while this process is the leader.

`RunManager.drive` is one tenure: it takes up what an earlier process left behind, listens to
the repositories and to what people ask for, and goes on until it is cancelled. Being
cancelled is shutting down: every run stays as it was kept and goes on under the next leader.
"""

import asyncio
import uuid
from collections.abc import Callable

from volary.controller import inputs, notifications
from volary.controller.api import command_handler
from volary.controller.applications import registry
from volary.controller.fleet import cluster_registry, health_probe
from volary.controller.leadership import context
from volary.controller.persistence import change_signal
from volary.controller.placement import backfill_loop, failover_loop, probe_rounds
from volary.controller.runs import ready_runs
from volary.model.fleet import cluster_health
from volary.model.runs import run_records
from volary.notifying import notifier as notifiers
from volary.store import stores


def new_id() -> str:
    """Return a fresh id of a run or a request."""
    return uuid.uuid4().hex[:12]


class ControlLoops:
    """Starts the control loops for each term of leadership; one per process.

    Args:
        store: Where everything is kept.
        dependencies: What planning works with.
        rules: How runs are carried out.
        watch: Watches the repositories for as long as this process is the leader.
        known: The clusters.
        asked: Signals when somebody submitted a request through this process.
        notifier: Is told what happens.
    """

    def __init__(
        self,
        store: stores.Store,
        dependencies: ready_runs.Dependencies,
        rules: inputs.Rules,
        watch: inputs.Watch,
        known: cluster_registry.ClusterRegistry,
        *,
        asked: change_signal.ChangeSignal,
        notifier: notifiers.Notifier,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._store = store
        self._dependencies = dependencies
        self._rules = rules
        self._watch = watch
        self._register = known
        self._asked = asked
        self._notifier = notifier
        self._make_id = make_id
        #: Why a repository could not be read last, by name; only of those.
        self.repository_errors: dict[str, str] = {}

    async def drive(self, fence: run_records.Fence | None) -> None:
        """Drive until cancelled.

        Raises:
            ExceptionGroup: Of `fencing.LeaseLost` when another process is the leader now.
        """
        async with asyncio.TaskGroup() as group:
            leader = context.LeaderContext(
                store=self._store,
                fence=fence,
                dependencies=self._dependencies,
                rules=self._rules,
                change_signal=self._register.kept,
                group=group,
                planners=asyncio.Semaphore(self._rules.planners),
                notifier=self._notifier,
                new_id=self._make_id,
                register=self._register,
            )
            application_registry = registry.ApplicationRegistry(leader, self.repository_errors)
            await application_registry.load()
            dependencies = command_handler.CommandHandler(leader, application_registry, self._asked)
            mover = failover_loop.FailoverLoop(
                leader, application_registry.all, self._rules.failover
            )
            catching_up = backfill_loop.BackfillLoop(leader, application_registry.all)
            moves, backfill_rounds = (
                probe_rounds.RoundListener(mover.look),
                probe_rounds.RoundListener(catching_up.look),
            )
            listeners = (moves.take, backfill_rounds.take)
            calling = health_probe.HealthProbe(
                self._register,
                fence,
                listeners,
                self._tell,
                application_registry.report_reachable,
            )
            group.create_task(backfill_rounds.keep_running(), name="backfill")
            group.create_task(moves.keep_running(), name="moves")
            group.create_task(calling.keep_probing(), name="clusters")
            group.create_task(dependencies.keep_handling(), name="requests")
            group.create_task(self._watch(application_registry.see), name="repositories")

    def _tell(
        self, before: cluster_health.ClusterHealth, after: cluster_health.ClusterHealth
    ) -> None:
        notifications.cluster_changed(self._notifier, self._dependencies.clock, before, after)
