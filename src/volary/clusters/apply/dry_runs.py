"""Trying one object, and what writing it would do."""

from dataclasses import dataclass, replace

from volary.clusters.api import api_errors
from volary.clusters.apply import handing_over, managed_fields, step_requests, step_writes, steps
from volary.manifests import objects
from volary.model import json
from volary.model.objects import apply_results, manifest


@dataclass(frozen=True, slots=True)
class ObjectPreview:
    """What writing one object would do, with both sides to compare."""

    change: apply_results.Change
    #: The live object; None: there is none, or it may not be read.
    before: json.JsonObject | None
    #: What it would be; None where nobody can know before something else is written.
    after: json.JsonObject | None


async def attempt(step: steps.Step, tools: steps.Tools) -> steps.Step:
    """Try a step in a dry run and return it with what the cluster answered.

    Raises:
        VolaryError: when the cluster would refuse it.
        ClaimedError: when somebody else claims the object.
    """
    steps.refuse_claimed(step, tools)
    sent, answer = await step_requests.send(step, tools, dry_run=True)
    # What was only tried has no version in the store, what is there has.
    if sent.live is None and objects.text(answer, "metadata", "resourceVersion"):
        sent = await steps.with_live_object(sent, tools)
    taken_from = steps.refuse_claimed(sent, tools)
    if sent.live is None:
        # Thousands of whole answers would be held until all of them are written.
        return replace(sent, tried={"metadata": {"uid": objects.uid(answer)}})
    taken: tuple[str, ...] = ()
    handed = False
    if step.method is steps.Method.APPLY:
        handed = tools.handover.plan(sent.mapped, sent.live) is not None
        answer = await handing_over.foresee(
            tools.client, sent.mapped, sent.live, answer, tools.handover
        )
        taken = step_writes.fields_taken(sent, sent.live, answer, tools)
    same = (
        step.method is not steps.Method.RECREATE
        and not handed
        and managed_fields.is_same(sent.live, answer, but_for=steps.ignored(sent, sent.live, tools))
        and _owns_the_same(sent, answer, tools.manager)
    )
    return replace(sent, tried=answer, is_unchanged=same, taken_from=taken_from, taken=taken)


def preview(step: steps.Step) -> apply_results.Change:
    """Return what writing a step would do, from what its dry run answered."""
    if step.is_unchanged or step.is_commit_only:
        return apply_results.Change(step.key, apply_results.Action.UNCHANGED)
    if step.live is None or step.tried is None:
        return apply_results.Change(step.key, apply_results.Action.CREATED)
    return step_writes.change_of(step, step.tried)


async def preview_with_bodies(step: steps.Step, tools: steps.Tools) -> ObjectPreview:
    """Return what writing a tried step would do, and both sides of it.

    An object that no list by label showed is asked for: it may be there without labels.

    Raises:
        VolaryError: when the cluster does not answer, or would refuse the write.
    """
    if step.live is None:
        try:
            seen = await steps.with_live_object(step, tools)
        except api_errors.Forbidden:
            unseen = "it may be there already: it may not be read"
            return ObjectPreview(replace(preview(step), reason=unseen), None, step.mapped.item.body)
        if seen.live is None:
            return ObjectPreview(preview(step), None, step.mapped.item.body)
        step = await attempt(seen, tools)
    if step.method is steps.Method.RECREATE:
        anew = apply_results.Change(
            step.key, apply_results.Action.CONFIGURED, "deleted and created anew"
        )
        return ObjectPreview(anew, step.live, step.tried)
    previewed = preview(step)
    same = previewed.action is apply_results.Action.UNCHANGED
    return ObjectPreview(previewed, step.live, step.live if same else step.tried)


def _owns_the_same(step: steps.Step, answer: json.JsonObject, manager: str) -> bool:
    """Whether writing would not even change who owns which field."""
    if step.method is not steps.Method.APPLY or step.live is None:
        return True
    version = step.mapped.item.api_version
    before, after = (
        managed_fields.owned_fields(body, manager=manager, api_version=version)
        for body in (step.live, answer)
    )
    return before == after


def to_create(item: manifest.Manifest) -> ObjectPreview:
    """Preview what cannot be tried before its namespace or its definition is there."""
    change = apply_results.Change(item.key, apply_results.Action.CREATED)
    return ObjectPreview(change, None, item.body)


def to_redefine(item: manifest.Manifest, live: json.JsonObject | None) -> ObjectPreview:
    """Preview what cannot be tried before its definition has changed."""
    action = apply_results.Action.CONFIGURED if live else apply_results.Action.CREATED
    change = apply_results.Change(item.key, action, "tried once its definition has changed")
    return ObjectPreview(change, live, item.body if live is None else None)
