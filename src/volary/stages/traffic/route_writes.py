"""Writing the routes of one object, and seeing that they are in effect.

Only the fields that carry routes are written, on condition that nobody else has changed the object
since it was read; then they are read back, and waited for until gateways and meshes accept them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from volary.clusters.api import api_errors
from volary.clusters.apply import interferences, live_objects, preconditions
from volary.clusters.watching import collection_watch, list_snapshot
from volary.manifests import objects
from volary.manifests.ownership import field_managers
from volary.model import json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.rollouts import service_rollouts
from volary.stages.runtime import execution, inventory_records, project_rules
from volary.stages.traffic import backend_readiness, live_routes, silent_parents, weights

#: Gateways of clouds take minutes to answer.
_ACCEPTANCE = timedelta(minutes=5)
#: Says how a route is to look, given the object as it is live.
Plan = Callable[[live_routes.RouteObject], weights.Change]


@dataclass(frozen=True, slots=True)
class Moved:
    """Routes that were written."""

    change: weights.Change
    #: Variants that got more by it, and were seen to be able to take it.
    risen: Sequence[variant.Variant]
    #: What was read back.
    observed: tuple[weights.RouteWeights, ...]


async def move(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    plan: Plan,
    source: Sequence[manifest.Manifest],
    snapshot: list_snapshot.ListSnapshot | None = None,
) -> Moved:
    """Write the routes of `plan`.

    Whoever edits the routes meanwhile is not overwritten: then `plan` is asked again.

    Raises:
        StageFailedError: when a variant has no ready pod for the traffic it would get,
            or what was read back is not what was written.
        UserError: when the project does not permit the object.
    """
    router = route_object.router
    await project_rules.require(work, [route_object.item])
    live_routes.check_owner(work, route_object)
    snapshot = snapshot or list_snapshot.ListSnapshot(work.context.client)
    async for _ in preconditions.attempts():
        change = plan(route_object)
        before, wanted = route_object.weights, router.read(change.item.body)
        risen = weights.rising(before, wanted)
        behind = backend_readiness.Backends(work, route_object, source, snapshot)
        await behind.require_pods(risen)
        await behind.require_services(change.item.body, risen)
        work.check_stop()
        # Written to at once: the cluster refuses when the object has changed since it was read.
        live = route_object.live
        if live and await _write(work, route_object, router.fields(change.item.body), live):
            work.context.propagation.note()
            for line in change.lines:
                work.note(line)
            return Moved(change, risen, await _observed(work, route_object, before, wanted))
        live = await live_objects.get(work.context.client, route_object.placed)
        route_object = replace(route_object, live=live)
        snapshot.forget()
    raise execution.StageFailedError(
        f"{route_object.item.key.title} kept changing while it was read"
    )


async def _observed(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    before: tuple[weights.RouteWeights, ...],
    wanted: tuple[weights.RouteWeights, ...],
) -> tuple[weights.RouteWeights, ...]:
    """Read back what was written, and see that it is in effect."""
    read = await live_routes.read_back(work, route_object)
    router, after, observed = route_object.router, read.live, read.weights
    if after is None or observed != wanted:
        raise execution.StageFailedError(
            f"{route_object.item.key.title} was written, but reads back as"
            f" {weights.title(_first(observed))} instead of {weights.title(_first(wanted))}"
        )
    if route_object.item.kind == "Service":
        selector = objects.mapping(after, "spec", "selector")
        timeout = min(backend_readiness.READY_TIMEOUT, work.remaining)
        await service_rollouts.follow(work, route_object.item, selector, timeout)
    given_back = weights.is_diverted(before) and not weights.is_diverted(observed)
    if given_back and router.is_unanswered(route_object.live or {}):
        # Nobody carried out the routes before either: waiting would keep the old version waiting.
        if left := router.waiting(after):
            work.caution(f"{route_object.item.key.title}: {left}; this is not waited for")
        return observed
    await _accepted(work, route_object, after)
    return observed


async def _accepted(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    written: json.JsonObject,
) -> None:
    """Wait until gateways and meshes say that they carry out the routes."""
    router = route_object.router
    if not router.waiting(written):
        return
    name = route_object.item.name
    seen: dict[str, json.JsonObject] = {}

    def left() -> str:
        return router.waiting(seen[name]) if name in seen else "it is gone"

    title = route_object.item.key.title
    reason = await _why_not_accepted(work, route_object, written)
    work.context.progress(f"waiting until {title} is accepted: {reason}")
    source = collection_watch.Source(
        route_object.placed.resource,
        route_object.item.namespace,
        collection_watch.store_by_name(seen),
        field_selector=f"metadata.name={name}",
    )
    await collection_watch.watch_until(
        work.context.client,
        [source],
        lambda: not left(),
        timeout=min(_ACCEPTANCE, work.remaining),
        stop=work.context.task.stop.wait,
    )
    if left():
        work.check_stop()
        last = seen.get(name)
        reason = await _why_not_accepted(work, route_object, last) if last else left()
        raise execution.StageFailedError(f"{title} was written, but {reason}")


async def _why_not_accepted(
    work: execution.Work, route_object: live_routes.RouteObject, body: json.JsonObject
) -> str:
    """Return why routes are not carried out; where nobody answers, also who is missing."""
    left = route_object.router.waiting(body)
    if not left or not route_object.router.is_unanswered(body):
        return left
    missing = await silent_parents.explain(work.context.client, body)
    return f"{left}; {missing}" if missing else left


async def _write(
    work: execution.Work,
    route_object: live_routes.RouteObject,
    fields: json.JsonObject,
    live: json.JsonObject,
) -> bool:
    """Write the fields that carry the routes; say whether the object still was the `live` one."""
    await inventory_records.keep_adopted(work, [live])
    item = route_object.item
    own = {"name": item.name, "namespace": item.namespace}
    body = {
        **fields,
        "apiVersion": item.api_version,
        "kind": item.kind,
        "metadata": {**objects.mapping(fields, "metadata"), **own},
    }
    _say_who_changed(work, route_object, body)
    before, work.touched = work.touched, True
    try:
        # Forced: whoever set these fields before, the running stage decides them now.
        await preconditions.apply(
            work.context.client,
            route_object.placed.resource,
            body,
            live,
            field_manager=field_managers.TRAFFIC_MANAGER,
            force=True,
        )
    except api_errors.Conflict:
        work.touched = before
        return False
    return True


def _say_who_changed(
    work: execution.Work, route_object: live_routes.RouteObject, wanted: json.JsonObject
) -> None:
    """Say which person changed routes since a stage moved them, before they are written over."""
    live = route_object.live or {}
    names = [entry.get("manager") for entry in field_managers.entries(live)]
    if field_managers.TRAFFIC_MANAGER not in names:
        return
    for change in interferences.find(wanted, live):
        if change.is_by_person:
            work.caution(
                f"{change.key.title}: somebody ({change.manager}) changed {change.path} since"
                " traffic was moved; it is taken back"
            )


def _first(routes: Sequence[weights.RouteWeights]) -> dict[variant.Variant, int]:
    """Return the shares of the first route that may be changed, for sentences."""
    return weights.observed(routes).shares
