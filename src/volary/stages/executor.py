"""The engine's `StageExecutor`: a task becomes a stage's context on one cluster.

One executor per run. It knows the application, the clients and how to render; what a
source renders to for a target is rendered once per run, so all stages of a run see the
same manifests (DESIGN.md: a run is pinned).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from volary.analysis.metering import meters
from volary.clusters.client import client_pool
from volary.clusters.inventory import inventory_store
from volary.clusters.transport import stop_deadline
from volary.concurrency import single_flight
from volary.engine import executor
from volary.engine.execution import clock_jumps
from volary.engine.runs import state
from volary.model import applications, clocks, errors, statuses
from volary.model.fleet import fleets
from volary.model.objects import manifest, ownership
from volary.stages import registry
from volary.stages.runtime import adoptions, contexts, rendezvouses, task_states
from volary.telemetry import log_fields, spans
from volary.tenancy import guards, membership

_LOG = logging.getLogger(__name__)
#: Seconds a cluster may take to let go of what was kept.
_PATIENCE = 30.0
_BADLY = (statuses.TaskStatus.FAILED, statuses.TaskStatus.UNREACHABLE)
#: Renders the application for a target at a commit: (commit, target) -> manifests.
Render = Callable[[str, str], Awaitable[list[manifest.Manifest]]]


@dataclass(slots=True, weakref_slot=True)
class ClusterExecutor:
    """Carries out tasks on the clusters of a fleet."""

    application: applications.Application
    clients: client_pool.FleetClients
    render: Render
    clock: clocks.Clock
    options: contexts.Options = field(default_factory=contexts.Options)
    run: contexts.RunEnvironment = field(default_factory=contexts.RunEnvironment)
    keeper: task_states.TaskStateStore = field(default_factory=task_states.InProcessStore)
    meter: meters.Meter = field(default_factory=meters.NoMeter)
    #: How the running source is rendered; None: like the target source.
    render_before: Render | None = None
    #: Whose the application's objects are, by target.
    owners: Mapping[str, ownership.Owner] = field(default_factory=dict)
    #: Called with a cluster that left the fleet and cannot be reached any more, and why: the run
    #: goes on without it. None: it is like any other.
    leave_out: Callable[[str, str], None] | None = None
    #: Looks the application's project up, as it is now; None: there are no projects.
    standing: guards.LookUp | None = None
    _once: single_flight.SingleFlight = field(
        default_factory=single_flight.SingleFlight, init=False
    )
    _heard_warnings: set[str] = field(default_factory=set, init=False)
    #: By target.
    _settling: dict[str, contexts.RoutePropagation] = field(default_factory=dict, init=False)
    #: How many stages had begun when one ended here, by target.
    _carried_out: dict[str, int] = field(default_factory=dict, init=False)
    #: By target.
    _adoptions: dict[str, adoptions.Adoption] = field(default_factory=dict, init=False)
    #: By the id of the stage.
    _rendezvous: dict[str, rendezvouses.Rendezvous] = field(default_factory=dict, init=False)

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        """Carry out one stage on one cluster and say how it ended."""
        about: dict[str, str | int] = {
            "volary.application": task.application,
            "volary.cluster": task.target,
            "volary.attempt": task.attempt,
        }
        place = spans.Place(task.run_id, (task.stage_id,))
        with (
            log_fields.bound(stage=task.stage_id, cluster=task.target),
            spans.span(task.stage.name, about, within=place) as span,
        ):
            outcome = await self._execute_together(task, report)
            span.describe({"volary.task.status": outcome.status.value})
            if outcome.status in _BADLY:
                span.fail(outcome.status.value)
        return outcome

    async def _execute_together(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        # First of all: those that begin in the same moment have to see each other.
        rendezvous = self.rendezvous(task.stage_id)
        rendezvous.join(task.target)
        try:
            with stop_deadline.of_task() as deadline:
                task.stop.when_raised(deadline.begin)
                outcome = await self._execute(task, report, rendezvous)
        finally:
            rendezvous.leave(task.target)
        is_gone = outcome.status is statuses.TaskStatus.UNREACHABLE and self._has_left(task.target)
        if is_gone and self.leave_out is not None and not task.stop.is_raised:
            # Nobody who is still there goes back for it: it is left out before this counts.
            self.leave_out(task.target, outcome.reason)
            await task.stop.wait()
        return outcome

    def _has_left(self, target: str) -> bool:
        return target not in self.clients.fleet.names

    async def _execute(
        self,
        task: executor.TaskContext,
        report: executor.Reporter,
        rendezvous: rendezvouses.Rendezvous,
    ) -> statuses.Outcome:
        client = await self.clients.client(task.target)
        if isinstance(client, client_pool.Unavailable):
            details = tuple(
                line for problem in client.problems for line in str(problem).splitlines()
            )
            has_left = self._has_left(task.target)
            status = statuses.TaskStatus.UNREACHABLE if has_left else statuses.TaskStatus.FAILED
            return statuses.Outcome(status, client.reason, details)
        member = self.clients.member(task.target)
        guard = guards.Guard(
            self.standing or membership.Standing, member or fleets.Cluster(task.target)
        )
        refusal = guard.refusal_of_stage(task.stage.kind)
        if refusal:
            return statuses.Outcome(statuses.TaskStatus.FAILED, refusal)
        running = task.running_commit
        place = task_states.TaskAttempt(task.run_id, task.stage_id, task.target, task.attempt)
        outcome = await registry.run(
            contexts.StageContext(
                application=replace(
                    with_rules(self.application, self.clients.fleet),
                    known_owner=self.owners.get(task.target),
                ),
                task=task,
                target=task.target,
                client=client,
                target_source=self._loader(task.commit, task.target),
                report=report,
                running_source=self._loader(running, task.target, before=True) if running else None,
                timeout=max(task.deadline - self.clock.now(), timedelta()),
                namespaces=member.namespaces if member else (),
                task_state=task_states.TaskState(place, task.application, self.keeper),
                meter=self.meter,
                rendezvous=rendezvous,
                propagation=self._propagation(task),
                adoption=self._adoptions.setdefault(task.target, adoptions.Adoption()),
                begun=task.begun,
                not_updated=task.not_updated,
                clusters=task.clusters,
                clock=clock_jumps.SteadyClock(self.clock),
                once=self._once,
                heard_warnings=self._heard_warnings,
                guard=guard,
                run=self.run,
                options=self.options,
            )
        )
        self._carried_out[task.target] = len(task.begun) + 1
        return outcome

    def _propagation(self, task: executor.TaskContext) -> contexts.RoutePropagation:
        """Return what is known of the routes on a task's cluster.

        Unless the stage before it ended here, another process may have gone on until now.
        """
        known = self._settling.setdefault(task.target, contexts.RoutePropagation(self._drain_delay))
        if self._carried_out.get(task.target) != len(task.begun):
            known.take_up()
        return known

    @property
    def _drain_delay(self) -> timedelta:
        if self.options.drain_delay is not None:
            return self.options.drain_delay
        return self.application.traffic_routing.patience

    async def conclude(self, ended: state.Run) -> None:
        """Let go of what was kept for a way back, where the run has ended well.

        A cluster that the run went on without keeps it, and so does one that does not let it be
        done, until the next run.
        """
        if ended.status not in statuses.GOOD_ENDS:
            return
        released = [one.name for one in ended.clusters if one.touched and not one.left_out]
        for target in released:
            known = self._adoptions.get(target)
            if known is not None:
                await self._forget(target, known)

    async def conclude_on(self, target: str) -> None:
        """Let go of what a cluster keeps for a way back, whichever process had it kept.

        Raises:
            errors.VolaryError: What it keeps cannot be read.
        """
        client = await self.clients.client(target)
        if isinstance(client, client_pool.Unavailable):
            raise errors.TemporaryError(client.reason)
        member, known = self.clients.member(target), adoptions.Adoption()
        places = member.namespaces if member else ()
        owner = self.owners.get(target, self.application.owner)
        stored = await inventory_store.load(client, owner, namespaces=places, home=client.namespace)
        known.note(client, stored)
        await self._forget(target, known)

    async def _forget(self, target: str, known: adoptions.Adoption) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await known.forget()
        except (errors.VolaryError, TimeoutError) as error:
            _LOG.warning("%s keeps objects as they were before: %s", target, error)

    def rendezvous(self, stage: str) -> rendezvouses.Rendezvous:
        """Return where the tasks of a stage meet, for those that are carried out elsewhere too."""
        return self._rendezvous.setdefault(stage, rendezvouses.Rendezvous())

    def _loader(self, commit: str, target: str, *, before: bool = False) -> contexts.Loader:
        render = self.render_before if before and self.render_before else self.render

        async def load() -> list[manifest.Manifest]:
            rendered = await self._once.do(
                (commit, target, render is self.render),
                target,
                lambda: render(commit, target),
                is_kept=lambda _: True,
            )
            assert rendered is not None
            return rendered.value

        return load


def with_rules(
    application: applications.Application, members: fleets.Fleet
) -> applications.Application:
    """Return the application with the fleet's rules of health after its own."""
    if not members.health:
        return application
    return replace(application, health=(*application.health, *members.health))
