"""Who carries runs out: this process, or Temporal, as the settings say."""

import contextlib
import importlib.util
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from volary.clusters.transport import write_permits
from volary.controller import system_clock
from volary.controller.persistence import journal
from volary.controller.runs import ready_runs
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.observers import redaction as event_redaction
from volary.engine.persistence import pieces, transitions
from volary.model import clocks, errors, server_settings
from volary.model.runs import run_records
from volary.stages import executor as stage_executor
from volary.store import fencing

if TYPE_CHECKING:
    from volary.controller.agents import run_orders
    from volary.engine.temporal import engine_hosts


#: Heartbeats in which somebody who works beside a cluster takes a task, where somebody is there.
_UNTAKEN = 2


class Engine(Protocol):
    """Makes what carries a run out."""

    def runner(
        self,
        release: ready_runs.ReadyRun,
        keeper: journal.StoreJournal,
        clock: clocks.Clock,
        observers: Sequence[feed.Observer],
    ) -> runners.AnyRunner:
        """Return what carries a release out, keeps its steps and tells observers."""
        ...


class LocalEngine:
    """Runs are carried out in this process."""

    def runner(
        self,
        release: ready_runs.ReadyRun,
        keeper: journal.StoreJournal,
        clock: clocks.Clock,
        observers: Sequence[feed.Observer],
    ) -> runners.AnyRunner:
        """Return what carries a release out, keeps its steps and tells observers."""
        return runners.Runner(
            release.run, release.performer, clock=clock, keeper=keeper, observers=observers
        )


def check(engine: server_settings.Engine) -> None:
    """See to it that what the settings ask for is installed.

    Raises:
        errors.UserError: It is not.
    """
    if engine.temporal is not None and importlib.util.find_spec("temporalio") is None:
        raise errors.user_error(
            "the package temporalio is not installed",
            where=errors.Location(path="engine.temporal"),
            hint="install volary[temporal], or leave engine out",
        )


@contextlib.asynccontextmanager
async def opened(
    engine: server_settings.Engine, apart: "run_orders.ApartTasks", silence: timedelta
) -> AsyncIterator[Engine]:
    """Open the engine that the settings ask for, for as long as the block lasts.

    `apart` knows which tasks are carried out by others than this process. Their clusters are
    unreachable when nobody takes tasks for `silence`, at least.

    Raises:
        errors.UserError: A file that they name cannot be read.
        errors.TemporaryError: Temporal does not answer now.
    """
    if engine.temporal is None:
        yield LocalEngine()
        return
    async with _opened_temporal(engine.temporal, silence) as host:
        yield TemporalEngine(host, apart)


@contextlib.asynccontextmanager
async def _opened_temporal(
    given: server_settings.Temporal, silence: timedelta
) -> AsyncIterator["engine_hosts.EngineHost"]:
    # Here alone: most installations do without it.
    from volary.engine.temporal import connections, engine_hosts

    connection = connections.of_settings(given, connections.identity_of("server"))
    host = engine_hosts.EngineHost(
        await connections.connect(connection),
        system_clock.elapsed,
        heartbeat_seconds=given.heartbeat.total_seconds(),
        untaken_seconds=max(_UNTAKEN * given.heartbeat, silence).total_seconds(),
    )
    async with host.working():
        yield host


class TemporalEngine:
    """Runs are carried out by Temporal, with workers in this process."""

    def __init__(self, host: "engine_hosts.EngineHost", apart: "run_orders.ApartTasks") -> None:
        self._host = host
        self._apart = apart

    def runner(
        self,
        release: ready_runs.ReadyRun,
        keeper: journal.StoreJournal,
        clock: clocks.Clock,
        observers: Sequence[feed.Observer],
    ) -> runners.AnyRunner:
        """Return what has a release carried out; no secret of it goes into histories."""
        # Orders are signed and sealed, which takes `cryptography`.
        from volary.controller.agents import run_orders
        from volary.engine.temporal import hosted_runs, temporal_runner

        masker, performer = release.masker, release.performer
        orders = hosted_runs.carried_out_here
        if isinstance(performer, stage_executor.ClusterExecutor):
            self._apart.open_runs[release.run.id] = performer
            orders = run_orders.RunOrders(
                release.run, performer, keeper.store, keeper.fence, clock, self._apart
            ).changed
        whole = transitions.first_transition(release.run, {}, clock.now())
        hosted = hosted_runs.HostedRun(
            release.performer,
            clock,
            list(observers),
            stored=pieces.of_transition(
                event_redaction.clean_transition(masker, whole), keeper.version
            ),
            keeper=_StepKeeper(keeper),
            orders=orders,
            writing_under=write_permits.of_task,
            clean=lambda document: event_redaction.clean_document(masker, document),
        )
        return temporal_runner.TemporalRunner(hosted, self._host)


@dataclass(frozen=True, slots=True)
class _StepKeeper:
    """Keeps steps that a workflow made."""

    journal: journal.StoreJournal

    async def keep_step(self, step: run_records.Transition, told: Sequence[feed.RunEvent]) -> None:
        """Remember a step; see `hosted_runs.Keeper`."""
        try:
            await self.journal.keep_step(step, told)
        except fencing.LeaseLost as error:
            # The run goes on: whoever leads now keeps the step.
            raise errors.TemporaryError(str(error)) from error
