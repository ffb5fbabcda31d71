"""Sending one object to the cluster, tried or for good, and whose fields it takes.

A field that a controller owns is left to it and reported. Taken from their owners are
fields of

- our own managers (traffic, scale): Git is what is being applied;
- people's tools, and appliers whose place we take, unless the application refuses that;
- anybody when the manifest says ``volary.dev/force-conflicts: enabled``, or the caller `force`.
"""

from dataclasses import replace
from typing import assert_never

from volary.clusters.api import api_errors
from volary.clusters.apply import preconditions, refusals, steps
from volary.clusters.watching import waits
from volary.manifests import objects
from volary.manifests.ownership import field_managers
from volary.model import errors, json


async def send(
    step: steps.Step, tools: steps.Tools, *, dry_run: bool
) -> tuple[steps.Step, json.JsonObject]:
    """Send a step its way and return it, with what was seen on the way, and the answer.

    What is not only tried is written over the object that the step has seen, and nothing else.

    Raises:
        VolaryError: when the cluster refuses it.
        Conflict: when the object is not as it was seen.
        ClaimedError: when fields are in conflict, and somebody else claims the object.
    """
    match step.method:
        case steps.Method.APPLY:
            return await _apply(step, tools, dry_run=dry_run)
        case steps.Method.REPLACE:
            return await _replace(step, tools, dry_run=dry_run)
        case steps.Method.RECREATE:
            return await _recreate(step, tools, dry_run=dry_run)
        case _:
            assert_never(step.method)


async def _apply(
    step: steps.Step, tools: steps.Tools, *, dry_run: bool
) -> tuple[steps.Step, json.JsonObject]:
    try:
        return step, await _apply_once(step, tools, dry_run=dry_run)
    except api_errors.Invalid:
        seen = await steps.with_live_object(step, tools)
        if seen.mapped.item == step.mapped.item:
            raise
        # No list showed it: its selector is looked at only now.
        return await _apply(seen, tools, dry_run=dry_run)
    except api_errors.ApplyConflict as conflict:
        seen = await steps.with_live_object(step, tools)
        steps.refuse_claimed(seen, tools)
        kept = _kept_by_others(seen, conflict, tools)
        if kept:
            raise api_errors.ApplyConflict(
                str(conflict), status=conflict.status, reason=conflict.reason, causes=kept
            ) from conflict
        forced = replace(seen, force=True)
        return forced, await _apply_once(forced, tools, dry_run=dry_run)


async def _apply_once(step: steps.Step, tools: steps.Tools, *, dry_run: bool) -> json.JsonObject:
    client, resource, body = tools.client, step.mapped.resource, step.mapped.item.body
    if dry_run:
        return await client.apply(
            resource, body, field_manager=tools.manager, force=step.force, dry_run=True
        )
    return await preconditions.apply(
        client, resource, body, step.live, field_manager=tools.manager, force=step.force
    )


async def _replace(
    step: steps.Step, tools: steps.Tools, *, dry_run: bool
) -> tuple[steps.Step, json.JsonObject]:
    seen = await steps.with_live_object(step, tools)
    act, body = tools.client.create, seen.mapped.item.body
    if seen.live is not None:
        act = tools.client.replace
        body = body if dry_run else preconditions.over(body, seen.live)
    answer = await act(seen.mapped.resource, body, field_manager=tools.manager, dry_run=dry_run)
    return seen, answer


async def _recreate(
    step: steps.Step, tools: steps.Tools, *, dry_run: bool
) -> tuple[steps.Step, json.JsonObject]:
    seen = await steps.with_live_object(step, tools)
    body = seen.mapped.item.body
    if dry_run and seen.live is not None:
        # Its name is taken, so the same object is tried under another one.
        metadata = {key: value for key, value in body["metadata"].items() if key != "name"}
        body = {**body, "metadata": {**metadata, "generateName": "volary-try-"}}
    elif seen.live is not None:
        await _remove(seen, seen.live, tools)
    answer = await tools.client.create(
        seen.mapped.resource, body, field_manager=tools.manager, dry_run=dry_run
    )
    return seen, answer


async def _remove(step: steps.Step, live: json.JsonObject, tools: steps.Tools) -> None:
    item = step.mapped.item
    await tools.client.delete(
        step.mapped.resource,
        item.name,
        namespace=item.namespace,
        uid=objects.uid(live),
        resource_version=preconditions.version_of(live),
        propagation="Foreground",
    )
    await wait_gone(step, live, tools, "it was deleted to be created anew")


async def wait_gone(step: steps.Step, live: json.JsonObject, tools: steps.Tools, why: str) -> None:
    """Wait until an object that is being deleted is not there any more.

    Raises:
        PermanentError: with `why` it has to go, when it has not in time.
    """
    gone = [(step.mapped, objects.uid(live))]
    result = await waits.wait_deleted(tools.client, gone, timeout=tools.timeout)
    if result.end is not waits.End.READY:
        raise errors.PermanentError(f"{why}: {result.sentence}")


def _kept_by_others(
    step: steps.Step, conflict: api_errors.ApplyConflict, tools: steps.Tools
) -> tuple[api_errors.Cause, ...]:
    """Return which fields in conflict are left to who owns them."""
    if step.mapped.item.annotations.get(refusals.TAKE_OVER) == steps.ENABLED:
        return ()
    return tuple(
        cause
        for cause in conflict.causes
        if not field_managers.takes(tools.conflicts, cause.manager, cause.operation, cause.field)
    )
