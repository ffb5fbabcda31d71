"""Runs whose tasks are carried out by order: checked, and made ready from their bundles.

What comes from Temporal is not believed: only what the controller has signed, and of that only what
whoever owns the cluster permits.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

import msgspec

from volary.agents.orders import keys, orders, sealing
from volary.agents.policy import decisions
from volary.agents.tasks import (
    bundled_clients,
    bundles,
    gathered_questions,
    meetings,
    permissions,
    remote_state,
    reports,
    services,
)
from volary.clusters.client import client_pool, fleet_clients, object_places, write_rules
from volary.clusters.transport import write_permits
from volary.concurrency import background_tasks, retries, work_threads
from volary.engine import executor
from volary.engine.observers import redaction
from volary.engine.runs import run_builder
from volary.engine.temporal import documents, hosted_runs
from volary.manifests import redaction as manifest_redaction
from volary.model import clocks, errors, json, statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages
from volary.stages import executor as stage_executor
from volary.stages.runtime import contexts, task_states

#: Runs that are kept ready; another one is opened from its bundle again.
_MOST_RUNS = 64
#: Seconds that the end of a task waits for what it said to be sent.
_LAST_WORDS = 5.0
#: The stage that is carried out at this moment.
_STAGE: ContextVar[str] = ContextVar("stage of a task", default="")


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose orders are believed, and which artifacts can be opened."""

    clusters: Collection[str]
    #: The controller's.
    signed_by: Sequence[keys.VerifyingKey] = field(repr=False)
    #: As they are now: they may be changed meanwhile.
    opened_with: Callable[[], Sequence[keys.OpeningKey]] = field(repr=False)


@dataclass(slots=True)
class _Opened:
    bundle: bundles.Bundle
    host: hosted_runs.TaskHost
    reports: reports.RunReports
    clients: bundled_clients.BundledClients


class BundledRuns:
    """The runs of an agent or a worker; see `hosted_runs.TaskHosts`."""

    def __init__(
        self,
        identity: Identity,
        server: services.Services,
        own: fleet_clients.FleetClients,
        permitted: permissions.Permissions,
        clock: clocks.Clock,
    ) -> None:
        self._identity = identity
        self._server = server
        self._own = own
        self._permitted = permitted
        self._clock = clock
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}
        self._reports = reports.Reports(
            server, lambda: [opened.reports for opened in self._opened.values()]
        )
        self._meetings = meetings.Meetings(server)
        self._questions = gathered_questions.GatheredQuestions(server)

    @contextlib.asynccontextmanager
    async def reporting(self) -> AsyncIterator[None]:
        """Send what tasks say while the block lasts, and the rest at its end."""
        async with background_tasks.in_background(self._reports.keep_sending()):
            yield
        await self._reports.flush()

    async def of_task(
        self, context: executor.TaskContext, order: json.JsonObject
    ) -> hosted_runs.TaskHost:
        """Return what a task is carried out with.

        Raises:
            hosted_runs.RefusedError: The order or the task is not what it has to be, or is not
                permitted here.
            hosted_runs.OtherRecipientsError: The order is for those who had joined before.
            errors.TemporaryError: The server does not answer now.
        """
        opened = await self._open(order, context.run_id, context.target)
        _check_stages(opened.bundle, context)
        await self._check_permitted(opened, context)
        place = (context.run_id, context.stage_id, context.target, context.attempt)
        await self._admitted(task_states.TaskAttempt(*place))
        return opened.host

    async def of_conclusion(self, given: documents.ConclusionInput) -> hosted_runs.TaskHost:
        """Return what a run is concluded with; raises as `of_task`."""
        opened = await self._open(given.order, given.run_id, given.target)
        await self._admitted(task_states.TaskAttempt(given.run_id, "", given.target, 0))
        return opened.host

    async def _admitted(self, place: task_states.TaskAttempt) -> None:
        """See that the run, as it is stored, has a task under way: an order is good for longer.

        Raises:
            hosted_runs.RefusedError: It has not.
        """
        try:
            await retries.until_available(
                lambda: self._server.admit(place), place.run, remote_state.SERVER
            )
        except (errors.PermanentError, errors.UserError) as error:
            raise hosted_runs.RefusedError(str(error)) from error

    async def _open(self, document: json.JsonObject, run: str, target: str) -> _Opened:
        order = self._verified(document)
        if (order.run, order.cluster) != (run, target):
            raise hosted_runs.RefusedError(
                f"the order is for run {order.run} on {order.cluster},"
                f" and not for {run} on {target}"
            )
        async with self._opening.setdefault(order.artifact, asyncio.Lock()):
            known = self._opened.get(order.artifact)
            if known is None:
                known = self._opened[order.artifact] = await self._fetch(order)
            self._opened.move_to_end(order.artifact)
        self._let_go()
        return known

    def _verified(self, document: json.JsonObject) -> orders.Order:
        try:
            signed = json.convert(document, orders.SignedOrder)
            return orders.verify(
                signed, self._identity.signed_by, self._identity.clusters, self._clock.now()
            )
        except msgspec.ValidationError as error:
            raise hosted_runs.RefusedError("there is no order of the controller") from error
        except orders.RefusedError as error:
            raise hosted_runs.RefusedError(str(error)) from error

    async def _fetch(self, order: orders.Order) -> _Opened:
        try:
            # Nothing was begun yet, so there is time until a server answers.
            sealed = await retries.until_available(
                lambda: self._server.artifact(order.artifact, order.cluster),
                order.run,
                remote_state.SERVER,
            )
            orders.check_artifact(order, sealed)
            bundle = await work_threads.run("opening a bundle", self._unsealed, sealed)
        except sealing.OtherRecipientsError as error:
            raise hosted_runs.OtherRecipientsError(str(error)) from error
        except (errors.PermanentError, errors.UserError) as error:
            raise hosted_runs.RefusedError(str(error)) from error
        named = (bundle.run, bundle.application.name, bundle.project, bundle.cluster.name)
        if named != (order.run, order.application, order.project, order.cluster):
            raise hosted_runs.RefusedError("the bundle is not that of the order")
        return self._made(bundle)

    def _unsealed(self, sealed: bytes) -> bundles.Bundle:
        return bundles.read(sealing.unseal(sealed, self._identity.opened_with()))

    async def _check_permitted(self, opened: _Opened, context: executor.TaskContext) -> None:
        """See that a task may be carried out here, before anything of it is.

        Raises:
            hosted_runs.RefusedError: It may not.
        """
        bundle = opened.bundle
        work = decisions.Work(bundle.application.name, bundle.project, context.stage.name)
        refusal = self._permitted.refusal_of_identity(bundle.identity)
        refusal = refusal or self._permitted.refusal_of_task(work, ())
        if not refusal:
            targets = await _targets(opened, context)
            refusal = self._permitted.refusal_of_task(work, targets)
        if refusal:
            raise hosted_runs.RefusedError(refusal)

    def _made(self, bundle: bundles.Bundle) -> _Opened:
        saying = reports.RunReports(bundle.run)
        masker = manifest_redaction.Masker()
        for side in bundle.sides:
            masker.learn(side.manifests)
        known = bundled_clients.BundledClients(bundle, self._own, self._rule(bundle))
        performer = _executor(bundle, known, self._server, self._questions, self._clock)
        host = hosted_runs.TaskHost(
            _Performer(performer, self._reports, self._meetings),
            self._clock,
            [redaction.RedactingObserver(masker, (saying,))],
            writing_under=write_permits.of_task,
            clean=lambda document: redaction.clean_document(masker, document),
            conclude=lambda: performer.conclude_on(bundle.cluster.name),
        )
        return _Opened(bundle, host, saying, known)

    def _rule(self, bundle: bundles.Bundle) -> Callable[[write_rules.Write], str]:
        def refusal(write: write_rules.Write) -> str:
            work = decisions.Work(bundle.application.name, bundle.project, _STAGE.get())
            return self._permitted.refusal_of_write(work, write)

        return refusal

    def _let_go(self) -> None:
        """Forget runs that nothing is done for, the oldest first, as far as there are too many."""
        for digest in [one for one, opened in self._opened.items() if not opened.host.tasks]:
            if len(self._opened) <= _MOST_RUNS:
                return
            del self._opened[digest]
            self._opening.pop(digest, None)


def _check_stages(bundle: bundles.Bundle, context: executor.TaskContext) -> None:
    """See that a task is one of those that the bundle is for.

    Raises:
        hosted_runs.RefusedError: It is not.
    """
    known = {_text(stage) for stage in bundle.stages}
    stages = (context.stage, *context.begun)
    if any(_text(stage) not in known for stage in stages if not _is_rollback(stage)):
        raise hosted_runs.RefusedError(
            f"stage {context.stage_id} is not one that the controller has signed"
        )
    if context.application != bundle.application.name:
        raise hosted_runs.RefusedError(f"the order is for application {bundle.application.name}")


async def _targets(opened: _Opened, context: executor.TaskContext) -> list[decisions.Target]:
    """Return what a task is about: the objects that it brings, or goes back to."""
    is_before = _is_rollback(context.stage)
    commit = context.running_commit if is_before else context.commit
    objects = [
        item
        for side in opened.bundle.sides
        if (side.commit, side.is_before) == (commit, is_before)
        for item in side.manifests
    ]
    client = await opened.clients.client(context.target)
    if not objects or isinstance(client, fleet_clients.Unavailable):
        return []
    try:
        places, _ = await object_places.find(client, objects)
    except errors.VolaryError:
        # It does not say now where they would be. Each write is asked about all the same.
        return []
    return [
        decisions.Target(place.kind.group, place.kind.kind, place.namespace) for place in places
    ]


def _is_rollback(stage: pipelines.Stage) -> bool:
    """Say whether a stage is that of a rollback, which the machine makes when it begins.

    It has no options: all that it does follows from the bundle.
    """
    plain = run_builder.cluster_rollback(stage)
    return stage.kind is added_stages.ROLLBACK and stage == replace(plain, timeout=stage.timeout)


def _text(stage: pipelines.Stage) -> bytes:
    """Return what a stage says, the same for the same stage: its options may be unhashable."""
    return msgspec.json.encode(stage, order="deterministic")


def _executor(
    bundle: bundles.Bundle,
    known: client_pool.FleetClients,
    server: services.Services,
    questions: gathered_questions.GatheredQuestions,
    clock: clocks.Clock,
) -> stage_executor.ClusterExecutor:
    name = bundle.cluster.name

    async def render(commit: str, _: str) -> list[manifest.Manifest]:
        return list(bundle.side(commit, is_before=False).manifests)

    async def render_before(commit: str, _: str) -> list[manifest.Manifest]:
        return list(bundle.side(commit, is_before=True).manifests)

    return stage_executor.ClusterExecutor(
        bundle.application,
        known,
        render,
        clock,
        bundle.options,
        contexts.RunEnvironment(bundle.commander, bundle.repository, bundle.summary),
        keeper=remote_state.RemoteState(server, bundle.run),
        meter=gathered_questions.RunMeter(questions, bundle.run),
        render_before=render_before,
        owners={} if bundle.owner is None else {name: bundle.owner},
        standing=lambda: bundle.standing,
    )


@dataclass(frozen=True, slots=True)
class _Performer:
    """Carries out stages, and has what they said sent before they end."""

    stages: stage_executor.ClusterExecutor
    reports: reports.Reports
    meetings: meetings.Meetings

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        token = _STAGE.set(task.stage.name)
        try:
            rendezvous = self.stages.rendezvous(task.stage_id)
            async with self.meetings.shared(rendezvous, task):
                return await self.stages.execute(task, report)
        finally:
            _STAGE.reset(token)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await self.reports.flush()
