"""Writing one object, and what that did.

What people and replaced appliers own is handed over right before an object is applied
(`manifests.ownership.handovers`), so that what Git does not have goes.
"""

from dataclasses import replace

from volary.clusters.apply import handing_over, managed_fields, step_requests, steps, taken_fields
from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import apply_results, manifest


async def write(step: steps.Step, tools: steps.Tools) -> apply_results.Change:
    """Write a step and return what happened.

    Raises:
        VolaryError: when the cluster refuses it.
    """
    if step.is_unchanged:
        if step.live is not None:
            tools.applied(step.mapped, step.live)
        return apply_results.Change(step.key, apply_results.Action.UNCHANGED)
    if step.live is not None and objects.is_terminating(step.live):
        # What is written to it now would go with it.
        await step_requests.wait_gone(step, step.live, tools, "it is being deleted")
        step = replace(step, live=None, tried=None)
    if step.method is steps.Method.APPLY and step.live is not None:
        return await _write_adopting(step, step.live, tools)
    sent, answer = await step_requests.send(step, tools, dry_run=False)
    tools.applied(sent.mapped, answer)
    if sent.method is steps.Method.RECREATE and sent.live is not None:
        reason = "deleted and created anew"
        return apply_results.Change(
            step.key,
            apply_results.Action.CONFIGURED,
            reason,
            written=True,
            taken_from=step.taken_from,
        )
    return change_of(sent, answer)


async def _write_adopting(
    step: steps.Step, live: json.JsonObject, tools: steps.Tools
) -> apply_results.Change:
    """Hand fields over, apply, and say what was taken from whom."""

    def check(seen: json.JsonObject) -> None:
        steps.refuse_claimed(replace(step, live=seen), tools)

    async def hand_over(seen: json.JsonObject) -> json.JsonObject | None:
        return await handing_over.hand_over(tools.client, step.mapped, seen, tools.handover, check)

    before = await hand_over(live)
    begun = replace(step, live=before, force=tools.force)
    sent, answer = await step_requests.send(begun, tools, dry_run=False)
    # Of what nobody was noted for, it shows only now whose it is.
    if before is not None and tools.handover.plan(step.mapped, answer) is not None:
        await hand_over(answer)
        sent, answer = await step_requests.send(sent, tools, dry_run=False)
    tools.applied(sent.mapped, answer)
    taken = () if before is None else fields_taken(step, before, answer, tools)
    return change_of(replace(sent, taken=taken), answer)


def fields_taken(
    step: steps.Step, live: json.JsonObject, after: json.JsonObject, tools: steps.Tools
) -> tuple[str, ...]:
    """Return which fields of a live object are adopted or taken back, for people."""
    return taken_fields.describe(
        live, after, title=step.key.title, owner=tools.owner, conflicts=tools.conflicts
    )


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
