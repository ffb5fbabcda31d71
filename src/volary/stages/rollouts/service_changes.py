"""Services of a set change when pods are ready for them, whatever they selected before.

`cluster_changes.apply` asks `ServiceChanges.hold` between the trial of the set and its writing,
when the live objects are known: a set whose Services stay as they are costs nothing more. What is
held is applied by `finish`, once the rest is ready (`manifests.services.selector_changes`).
"""

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from volary.clusters.api import api_errors
from volary.clusters.apply import applier, live_objects, preconditions, steps
from volary.clusters.client import clients, resource_mapping
from volary.clusters.watching import readiness
from volary.manifests import objects
from volary.manifests.ownership import field_managers
from volary.manifests.services import selector_changes, service_targets
from volary.manifests.workloads import workloads
from volary.model import errors, json
from volary.model.objects import manifest
from volary.stages.rollouts import service_rollouts
from volary.stages.runtime import applied_waits, execution

_Order = selector_changes.Order
_ENDED = ("Succeeded", "Failed")
#: They have pods for a while only.
_PASSING = ("Job", "CronJob")


@dataclass(frozen=True, slots=True)
class Change:
    """A live Service that would lead elsewhere, and when it may."""

    wanted: manifest.Manifest
    live: json.JsonObject
    decision: selector_changes.Decision


@dataclass(slots=True)
class ServiceChanges:
    """The Services of one set that wait for their pods."""

    work: execution.Work
    #: What cannot be done without a gap is refused. A rollback has to be done in any case.
    is_strict: bool = True
    waiting: list[manifest.Manifest] = field(default_factory=list)
    #: Proxies may not have followed yet.
    is_switched: bool = False

    async def hold(self, pending: Sequence[steps.Step]) -> Collection[manifest.ResourceKey]:
        """Return the Services that are not written with the rest, which is about to be.

        Those that have to change before the rest are changed here.

        Raises:
            UserError: when a Service would lead to nobody on the way.
            StageFailedError: when endpoints did not follow in time.
        """
        changes = await _decide_all(self.work.context.client, pending)
        held = _held(changes)
        self.is_switched = bool(held or self.waiting)
        if self.is_strict:
            _refuse(changes)
        for change in changes:
            if change.wanted.key in held:
                await self._prepare(change)
        return held

    async def _prepare(self, change: Change) -> None:
        wanted, decision = change.wanted, change.decision
        selector = selector_changes.title(service_targets.selector(wanted))
        match decision.order:
            case _Order.FIRST:
                self.work.note(f"{wanted.key.title} is changed first: the pods that run fit it")
                await service_rollouts.switch(self.work, [wanted])
                return
            case _Order.BETWEEN:
                shared = selector_changes.title(decision.shared)
                self.work.note(
                    f"{wanted.key.title} selects {shared}, which old and new pods share, until pods"
                    f" with {selector} are ready"
                )
                bridge = selector_changes.between(wanted, change.live, decision.shared)
                await service_rollouts.switch(self.work, [bridge])
            case _Order.NEVER:
                self.work.caution(decision.problem)
            case _ if selector:
                self.work.note(
                    f"{wanted.key.title} stays as it is until pods with {selector} are ready"
                )
        self.waiting.append(wanted)

    def others(self, manifests: Sequence[manifest.Manifest]) -> list[manifest.Manifest]:
        """Return what is ready before the Services that wait are changed."""
        waiting = {(item.kind, item.name, item.namespace) for item in self.waiting}
        namespace = self.work.context.client.namespace
        return [
            item
            for item in manifests
            if (item.kind, item.name, item.namespace or namespace) not in waiting
        ]

    async def finish(self) -> str:
        """Let the Services that wait lead to their pods; return what was seen.

        Raises:
            StageFailedError: when no pod is ready for one, or endpoints did not follow in time.
        """
        seen = await service_rollouts.switch(self.work, self.waiting, must_lead=self.is_strict)
        await applied_waits.wait(self.work, self.waiting)
        return seen


async def bridge(work: execution.Work, restored: Sequence[resource_mapping.MappedManifest]) -> None:
    """Let Services lead to the pods that go and to those that come, where nothing else will do.

    Before objects are put back as they were, Services among them; only selectors are written.

    Raises:
        StageFailedError: when endpoints did not follow in time.
    """
    client = work.context.client
    pending = [
        steps.Step(mapped, steps.Method.APPLY, await live_objects.get(client, mapped))
        for mapped in restored
    ]
    for change in await _decide_all(client, pending):
        if change.decision.order is not _Order.BETWEEN:
            continue
        item, shared = change.wanted, change.decision.shared
        own = {"name": item.name, "namespace": item.namespace}
        body = {"apiVersion": item.api_version, "kind": item.kind, "metadata": own}
        resource = await resource_mapping.require(client, "", service_targets.KIND)
        work.begin_writing()
        is_bridged = await preconditions.apply_while(
            client,
            resource,
            {**body, "spec": {"selector": dict(shared)}},
            change.live,
            functools.partial(_leads_alike, change.live),
            field_manager=field_managers.TRAFFIC_MANAGER,
        )
        if not is_bridged:
            raise execution.StageFailedError(
                f"somebody else changed where {item.key.title} leads to while it was written"
            )
        await service_rollouts.follow(work, item, shared, work.remaining)


def _leads_alike(one: json.JsonObject, other: json.JsonObject) -> bool:
    """Whether two states of a Service select the same pods."""
    first, second = (objects.mapping(service, "spec", "selector") for service in (one, other))
    return first == second


async def _decide_all(client: clients.Client, pending: Sequence[steps.Step]) -> list[Change]:
    """Return the live Services among what is about to be written that would lead elsewhere.

    `pending` is the whole set, also what is unchanged: its workloads may provide the pods.
    """
    changes: list[Change] = []
    for step in pending:
        item = step.mapped.item
        if item.kind != service_targets.KIND or item.group or step.is_unchanged:
            continue
        live = step.live or await live_objects.get(client, step.mapped)
        if live is not None and selector_changes.is_changed(item, live):
            decision = await _decide(client, item, live, pending)
            changes.append(Change(item, live, decision))
    return changes


def foreseen(client: clients.Client) -> applier.Hold:
    """Return what refuses, before anything is written, what `ServiceChanges` would refuse."""

    async def hold(pending: Sequence[steps.Step]) -> Collection[manifest.ResourceKey]:
        changes = await _decide_all(client, pending)
        _refuse(changes)
        return _held(changes)

    return hold


def _held(changes: Sequence[Change]) -> frozenset[manifest.ResourceKey]:
    """Return the Services that are not written with the rest."""
    return frozenset(
        change.wanted.key for change in changes if change.decision.order is not _Order.AT_ONCE
    )


def _refuse(changes: Sequence[Change]) -> None:
    """Refuse Services that would lead to nobody on the way.

    Raises:
        UserError: with all of them.
    """
    problems = [
        errors.Problem(change.decision.problem, change.wanted.origin, change.decision.hint)
        for change in changes
        if change.decision.order is _Order.NEVER
    ]
    if problems:
        raise errors.UserError(*problems)


async def _decide(
    client: clients.Client,
    item: manifest.Manifest,
    live: json.JsonObject,
    pending: Sequence[steps.Step],
) -> selector_changes.Decision:
    beside = [step for step in pending if step.mapped.item.namespace == item.namespace]
    rollouts = [
        selector_changes.Rollout(
            step.mapped.item, step.live or await live_objects.get(client, step.mapped)
        )
        for step in beside
        if workloads.template_path(step.mapped.item.body) and step.mapped.item.kind not in _PASSING
    ]
    kind = await resource_mapping.require(client, "", "Pod")
    try:
        listed = await client.list(kind, namespace=item.namespace)
    except api_errors.Forbidden:
        # Then it is not known who is ready; the set is, when it has been waited for.
        return selector_changes.Decision(_Order.LAST)
    pods = [pod for pod in listed.items if pod.get("status", {}).get("phase") not in _ENDED]
    ready = [pod for pod in pods if readiness.is_ready_pod(pod)]
    has_operated = any(_is_custom(step.mapped.item) for step in beside)
    return selector_changes.decide(item, live, rollouts, ready, pods, has_operated=has_operated)


def _is_custom(item: manifest.Manifest) -> bool:
    """Say whether somebody's operator may make pods of it."""
    return "." in item.group and not item.group.endswith(".k8s.io")
