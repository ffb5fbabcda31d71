"""Writing one object, and what that did.

What people and replaced appliers own is handed over right before an object is applied
(`manifests.ownership.handovers`), so that what Git does not have goes.

An object that has changed since it was seen, if only in its status, is looked at again: whether it
may be written, and how, is decided anew.
"""

from dataclasses import replace

from volary.clusters.api import api_errors
from volary.clusters.apply import (
    handing_over,
    managed_fields,
    preconditions,
    step_requests,
    steps,
    taken_fields,
)
from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import apply_results, manifest


async def write(step: steps.Step, tools: steps.Tools) -> apply_results.Change:
    """Write a step and return what happened.

    Raises:
        VolaryError: when the cluster refuses it, or the object keeps changing.
    """
    if step.is_unchanged:
        if step.live is not None:
            tools.applied(step.mapped, step.live)
        return apply_results.Change(step.key, apply_results.Action.UNCHANGED)
    seen = step
    async for _ in preconditions.attempts():
        try:
            sent, answer = await _write(seen, tools)
        except api_errors.ApplyConflict:
            raise
        except (api_errors.Conflict, api_errors.AlreadyExists):
            seen = await _look_again(seen, tools)
            continue
        tools.applied(sent.mapped, answer)
        # What has changed on the way may be of our making: a write whose answer was lost.
        return _change_of(sent if seen is step else replace(sent, live=step.live), answer)
    raise errors.TemporaryError("it kept changing while it was written")


async def _look_again(step: steps.Step, tools: steps.Tools) -> steps.Step:
    """Return a step as its object is by now, if that may be written.

    Raises:
        VolaryError: when it may not, or could not be looked at.
    """
    seen = await steps.look(replace(step, live=None, force=tools.force), tools)
    if seen.live is not None:
        await tools.before_writing([seen.live])
    return seen


async def _write(step: steps.Step, tools: steps.Tools) -> tuple[steps.Step, json.JsonObject]:
    """Write a step over what it has seen, and return it with the answer.

    Raises:
        Conflict: when the object is not as it was seen.
        AlreadyExists: when it is there by now.
    """
    if step.live is not None and objects.is_terminating(step.live):
        # What is written to it now would go with it.
        await step_requests.wait_gone(step, step.live, tools, "it is being deleted")
        step = replace(step, live=None, tried=None)
    if step.method is steps.Method.APPLY and step.live is not None:
        return await _write_adopting(step, step.live, tools)
    return await step_requests.send(step, tools, dry_run=False)


async def _write_adopting(
    step: steps.Step, live: json.JsonObject, tools: steps.Tools
) -> tuple[steps.Step, json.JsonObject]:
    """Hand fields over, apply, and note what was taken from whom."""

    def check(seen: json.JsonObject) -> None:
        steps.refuse_claimed(replace(step, live=seen), tools)

    async def hand_over(seen: json.JsonObject) -> json.JsonObject | None:
        return await handing_over.hand_over(tools.client, step.mapped, seen, tools.handover, check)

    before = await hand_over(live)
    begun = replace(step, live=before, force=tools.force)
    sent, answer = await step_requests.send(begun, tools, dry_run=False)
    # Of what nobody was noted for, it shows only now whose it is.
    if before is not None and tools.handover.plan(step.mapped, answer) is not None:
        handed = await hand_over(answer)
        now = before if handed is None else preconditions.at_version_of(before, handed)
        sent, answer = await step_requests.send(replace(sent, live=now), tools, dry_run=False)
    taken = () if before is None else fields_taken(step, before, answer, tools)
    return replace(sent, taken=taken), answer


def fields_taken(
    step: steps.Step, live: json.JsonObject, after: json.JsonObject, tools: steps.Tools
) -> tuple[str, ...]:
    """Return which fields of a live object are adopted or taken back, for people."""
    return taken_fields.describe(
        live, after, title=step.key.title, owner=tools.owner, conflicts=tools.conflicts
    )


def _change_of(step: steps.Step, answer: json.JsonObject) -> apply_results.Change:
    if step.method is steps.Method.RECREATE and step.live is not None:
        return apply_results.Change(
            step.key,
            apply_results.Action.CONFIGURED,
            "deleted and created anew",
            written=True,
            taken_from=step.taken_from,
        )
    return change_of(step, answer)


def change_of(step: steps.Step, answer: json.JsonObject) -> apply_results.Change:
    """Return what a write that was answered with `answer` did.

    A commit that is noted on an object is a write, but no change of the object: else a
    new commit would look as if it changed everything.
    """
    if step.live is None:
        existed = step.tried is not None and objects.uid(step.tried) == objects.uid(answer)
        action = apply_results.Action.CONFIGURED if existed else apply_results.Action.CREATED
        return apply_results.Change(step.key, action, written=True, taken_from=step.taken_from)
    if not step.taken and managed_fields.is_same(step.live, answer):
        return apply_results.Change(step.key, apply_results.Action.UNCHANGED)
    before, after = (tracking.untrack(manifest.Manifest(body)).body for body in (step.live, answer))
    same = not step.taken and managed_fields.is_same(before, after)
    action = apply_results.Action.UNCHANGED if same else apply_results.Action.CONFIGURED
    remark = "" if same else "; ".join(filter(None, (step.remark, *step.taken)))
    return apply_results.Change(step.key, action, remark, written=True, taken_from=step.taken_from)
