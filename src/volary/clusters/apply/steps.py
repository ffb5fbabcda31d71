"""One object on its way into the cluster: try it, write it, say what happened.

Manifests choose the way by annotation (PipeCD: apply). ``sync-by-replace`` replaces the
whole object, ``force-sync-by-replace`` deletes it and creates it anew, each time; all
others are applied on the server side, ``server-side-apply`` or not.

Conflicts. A field that a controller owns is left to it and reported. Taken from their owners are
fields of

- our own managers (traffic, scale): Git is what is being applied;
- people's tools, and appliers whose place we take, unless the application refuses that;
- anybody when the manifest says ``volary.dev/force-conflicts: enabled``, or the caller `force`.

What people and replaced appliers own besides is handed over right before an object is applied
(`manifests.ownership.handovers`), so that what Git does not have goes.

What somebody else claims (`manifests.ownership.claims`) is not written at all, unless the
manifest names the claim that it takes over.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import assert_never

from volary.clusters.api import api_errors
from volary.clusters.apply import (
    handing_over,
    live_objects,
    managed_fields,
    refusals,
    taken_fields,
)
from volary.clusters.client import clients, resource_mapping
from volary.clusters.watching import waits
from volary.manifests import objects
from volary.manifests.ownership import claims, field_managers, tracking
from volary.manifests.workloads import immutable_selectors
from volary.model import errors, json
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant

REPLACE = "pipecd.dev/sync-by-replace"
FORCE_REPLACE = "pipecd.dev/force-sync-by-replace"
ENABLED = "enabled"


class Method(enum.Enum):
    """The way into the cluster."""

    APPLY = enum.auto()
    REPLACE = enum.auto()
    RECREATE = enum.auto()


@dataclass(frozen=True, slots=True)
class Tools:
    """What every step of a set shares."""

    client: clients.Client
    manager: str
    #: Take over fields, whoever owns them.
    force: bool
    #: How long a replaced object may take to go.
    timeout: timedelta
    #: For whom objects are written; None: nobody's claims are looked at.
    owner: ownership.Owner | None = None
    #: The label that stays in selectors, or out of them, as live workloads have it.
    label: variant.VariantLabel | None = None
    #: The run's own: what goes back from it to another one says so.
    commit: str = ""
    #: Everything says its commit, also where nothing but that changes.
    marks_commit: bool = False
    #: Whose fields are taken.
    conflicts: ownership.Conflicts = field(default_factory=ownership.Conflicts)

    @property
    def handover(self) -> handing_over.Rule:
        """Which fields are handed over."""
        return handing_over.Rule(self.manager, self.conflicts)


@dataclass(frozen=True, slots=True)
class Step:
    """One object, and what is known about it by now."""

    mapped: resource_mapping.MappedManifest
    method: Method
    #: None: not there, or not seen in a list by label.
    live: json.JsonObject | None
    #: It is as it is to be; the commit it is marked with says who changed it last.
    is_unchanged: bool = False
    #: Writing it would change nothing but the commit it is marked with.
    is_commit_only: bool = False
    #: Fields are taken over from other managers.
    force: bool = False
    #: What a dry run answered, only its uid where `live` is None; None: not tried.
    tried: json.JsonObject | None = None
    #: Whose claim the manifest takes over; empty: nobody else's.
    taken_from: str = ""
    #: What is written in another way than the manifest says it.
    remark: str = ""
    #: Which fields are adopted or taken back by writing it.
    taken: tuple[str, ...] = ()

    @property
    def key(self) -> manifest.ResourceKey:
        """The object's identity."""
        return self.mapped.key


def assess(
    mapped: resource_mapping.MappedManifest, live: json.JsonObject | None, tools: Tools
) -> Step:
    """Return the first thing known about an object: its method, and whether it is unchanged."""
    method = method_of(mapped.item)
    mapped, remark = _with_live_selector(mapped, live, method, tools)
    same = marked = False
    settled = (
        method is Method.APPLY
        and live is not None
        and not _is_terminating(live)
        and tools.handover.plan(mapped, live) is None
    )
    if settled and live is not None:
        body = mapped.item.body
        same = managed_fields.is_proven_unchanged(
            body, live, manager=tools.manager, but_for=tracking.COMMIT
        )
        marked = same and _is_marked_anew(body, live, tools)
    return Step(
        mapped,
        method,
        live,
        is_unchanged=same and not marked,
        is_commit_only=marked,
        force=tools.force,
        remark=remark,
    )


def _is_marked_anew(body: json.JsonObject, live: json.JsonObject, tools: Tools) -> bool:
    """Whether the commit is written on an object that does not change."""
    commit = tracking.commit_of(live)
    return commit != tracking.commit_of(body) and (tools.marks_commit or commit == tools.commit)


def ignored(step: Step, live: json.JsonObject, tools: Tools) -> str:
    """Return the annotation whose value alone is no reason to write."""
    return "" if _is_marked_anew(step.mapped.item.body, live, tools) else tracking.COMMIT


def _with_live_selector(
    mapped: resource_mapping.MappedManifest,
    live: json.JsonObject | None,
    method: Method,
    tools: Tools,
) -> tuple[resource_mapping.MappedManifest, str]:
    if tools.label is None or method is Method.RECREATE:
        return mapped, ""
    kept = immutable_selectors.keep(mapped.item, live, tools.label)
    remark = (
        ""
        if kept is mapped.item
        else f"keeps its selector, which cannot change: {tools.label.key} is on its pods"
    )
    return replace(mapped, item=kept), remark


def method_of(item: manifest.Manifest) -> Method:
    """Return the way that the manifest's annotations choose; values count exactly."""
    if item.annotations.get(FORCE_REPLACE) == ENABLED:
        return Method.RECREATE
    return Method.REPLACE if item.annotations.get(REPLACE) == ENABLED else Method.APPLY


@dataclass(frozen=True, slots=True)
class ObjectPreview:
    """What writing one object would do, with both sides to compare."""

    change: apply_results.Change
    #: The live object; None: there is none, or it may not be read.
    before: json.JsonObject | None
    #: What it would be; None where nobody can know before something else is written.
    after: json.JsonObject | None


async def attempt(step: Step, tools: Tools) -> Step:
    """Try a step in a dry run and return it with what the cluster answered.

    Raises:
        VolaryError: when the cluster would refuse it.
        ClaimedError: when somebody else claims the object.
    """
    refuse_claimed(step, tools)
    sent, answer = await _send(step, tools, dry_run=True)
    # What was only tried has no version in the store, what is there has.
    if sent.live is None and objects.text(answer, "metadata", "resourceVersion"):
        sent = await _with_live_object(sent, tools)
    taken_from = refuse_claimed(sent, tools)
    if sent.live is None:
        # Thousands of whole answers would be held until all of them are written.
        return replace(sent, tried={"metadata": {"uid": _uid(answer)}})
    taken: tuple[str, ...] = ()
    handed = False
    if step.method is Method.APPLY:
        handed = tools.handover.plan(sent.mapped, sent.live) is not None
        answer = await handing_over.foresee(
            tools.client, sent.mapped, sent.live, answer, tools.handover
        )
        taken = _taken(sent, sent.live, answer, tools)
    same = (
        step.method is not Method.RECREATE
        and not handed
        and managed_fields.is_same(sent.live, answer, but_for=ignored(sent, sent.live, tools))
        and _owns_the_same(sent, answer, tools.manager)
    )
    return replace(sent, tried=answer, is_unchanged=same, taken_from=taken_from, taken=taken)


def refuse_claimed(step: Step, tools: Tools) -> str:
    """Return whose claim the manifest takes over; empty: nobody else claims the live object.

    Raises:
        ClaimedError: when somebody does, and the manifest does not take it over.
    """
    claim = None
    if tools.owner is not None and step.live is not None:
        claim = claims.claim_of(step.live, tools.owner)
    if claim is None:
        return ""
    if not claim.name or claim.name != step.mapped.item.annotations.get(claims.TAKE_OVER, ""):
        raise refusals.ClaimedError(claim)
    return claim.who


async def look(step: Step, tools: Tools) -> Step:
    """Return a step that is written without a trial, with its live object.

    Raises:
        ClaimedError: when somebody else claims the object.
    """
    seen = await _with_live_object(step, tools)
    return replace(seen, taken_from=refuse_claimed(seen, tools))


def to_try(steps: Sequence[Step]) -> list[Step]:
    """Return the steps that need a dry run before any of `steps` is written.

    Where nothing but the commit changes, one object speaks for all of its kind and
    namespace: that this user may write there is all there is to find out.
    """
    trying = [step for step in steps if not step.is_commit_only]
    spoken = {(step.mapped.resource, step.mapped.item.namespace) for step in trying}
    for step in steps:
        place = (step.mapped.resource, step.mapped.item.namespace)
        if place not in spoken:
            spoken.add(place)
            trying.append(step)
    return trying


async def write(step: Step, tools: Tools) -> apply_results.Change:
    """Write a step and return what happened.

    Raises:
        VolaryError: when the cluster refuses it.
    """
    if step.is_unchanged:
        return apply_results.Change(step.key, apply_results.Action.UNCHANGED)
    if step.live is not None and _is_terminating(step.live):
        # What is written to it now would go with it.
        await _wait_gone(step, step.live, tools, "it is being deleted")
        step = replace(step, live=None, tried=None)
    if step.method is Method.APPLY and step.live is not None:
        return await _write_adopting(step, step.live, tools)
    sent, answer = await _send(step, tools, dry_run=False)
    if sent.method is Method.RECREATE and sent.live is not None:
        reason = "deleted and created anew"
        return apply_results.Change(
            step.key,
            apply_results.Action.CONFIGURED,
            reason,
            written=True,
            taken_from=step.taken_from,
        )
    return _change(sent, answer)


async def _write_adopting(step: Step, live: json.JsonObject, tools: Tools) -> apply_results.Change:
    """Hand fields over, apply, and say what was taken from whom."""

    def check(seen: json.JsonObject) -> None:
        refuse_claimed(replace(step, live=seen), tools)

    async def hand_over(seen: json.JsonObject) -> json.JsonObject | None:
        return await handing_over.hand_over(tools.client, step.mapped, seen, tools.handover, check)

    before = await hand_over(live)
    begun = replace(step, live=before, force=tools.force)
    sent, answer = await _send(begun, tools, dry_run=False)
    # Of what nobody was noted for, it shows only now whose it is.
    if before is not None and tools.handover.plan(step.mapped, answer) is not None:
        await hand_over(answer)
        sent, answer = await _send(sent, tools, dry_run=False)
    taken = () if before is None else _taken(step, before, answer, tools)
    return _change(replace(sent, taken=taken), answer)


def _taken(
    step: Step, live: json.JsonObject, after: json.JsonObject, tools: Tools
) -> tuple[str, ...]:
    return taken_fields.describe(
        live, after, title=step.key.title, owner=tools.owner, conflicts=tools.conflicts
    )


def preview(step: Step) -> apply_results.Change:
    """Return what writing a step would do, from what its dry run answered."""
    if step.is_unchanged or step.is_commit_only:
        return apply_results.Change(step.key, apply_results.Action.UNCHANGED)
    if step.live is None or step.tried is None:
        return apply_results.Change(step.key, apply_results.Action.CREATED)
    return _change(step, step.tried)


async def preview_with_bodies(step: Step, tools: Tools) -> ObjectPreview:
    """Return what writing a tried step would do, and both sides of it.

    An object that no list by label showed is asked for: it may be there without labels.

    Raises:
        VolaryError: when the cluster does not answer, or would refuse the write.
    """
    if step.live is None:
        try:
            seen = await _with_live_object(step, tools)
        except api_errors.Forbidden:
            unseen = "it may be there already: it may not be read"
            return ObjectPreview(replace(preview(step), reason=unseen), None, step.mapped.item.body)
        if seen.live is None:
            return ObjectPreview(preview(step), None, step.mapped.item.body)
        step = await attempt(seen, tools)
    if step.method is Method.RECREATE:
        anew = apply_results.Change(
            step.key, apply_results.Action.CONFIGURED, "deleted and created anew"
        )
        return ObjectPreview(anew, step.live, step.tried)
    previewed = preview(step)
    same = previewed.action is apply_results.Action.UNCHANGED
    return ObjectPreview(previewed, step.live, step.live if same else step.tried)


def _change(step: Step, answer: json.JsonObject) -> apply_results.Change:
    """Return what a write that was answered with `answer` did.

    A commit that is noted on an object is a write, but no change of the object: else a
    new commit would look as if it changed everything.
    """
    if step.live is None:
        existed = step.tried is not None and _uid(step.tried) == _uid(answer)
        action = apply_results.Action.CONFIGURED if existed else apply_results.Action.CREATED
        return apply_results.Change(step.key, action, written=True, taken_from=step.taken_from)
    if not step.taken and managed_fields.is_same(step.live, answer):
        return apply_results.Change(step.key, apply_results.Action.UNCHANGED)
    before, after = (tracking.untrack(manifest.Manifest(body)).body for body in (step.live, answer))
    same = not step.taken and managed_fields.is_same(before, after)
    action = apply_results.Action.UNCHANGED if same else apply_results.Action.CONFIGURED
    remark = "" if same else "; ".join(filter(None, (step.remark, *step.taken)))
    return apply_results.Change(step.key, action, remark, written=True, taken_from=step.taken_from)


async def _send(step: Step, tools: Tools, *, dry_run: bool) -> tuple[Step, json.JsonObject]:
    match step.method:
        case Method.APPLY:
            return await _apply(step, tools, dry_run=dry_run)
        case Method.REPLACE:
            return await _replace(step, tools, dry_run=dry_run)
        case Method.RECREATE:
            return await _recreate(step, tools, dry_run=dry_run)
        case _:
            assert_never(step.method)


async def _apply(step: Step, tools: Tools, *, dry_run: bool) -> tuple[Step, json.JsonObject]:
    try:
        return step, await _apply_once(step, tools, dry_run=dry_run)
    except api_errors.Invalid:
        seen = await _with_live_object(step, tools)
        if seen.mapped.item == step.mapped.item:
            raise
        # No list showed it: its selector is looked at only now.
        return await _apply(seen, tools, dry_run=dry_run)
    except api_errors.ApplyConflict as conflict:
        seen = await _with_live_object(step, tools)
        refuse_claimed(seen, tools)
        kept = _kept_by_others(seen, conflict, tools)
        if kept:
            raise api_errors.ApplyConflict(
                str(conflict), status=conflict.status, reason=conflict.reason, causes=kept
            ) from conflict
        forced = replace(seen, force=True)
        return forced, await _apply_once(forced, tools, dry_run=dry_run)


async def _apply_once(step: Step, tools: Tools, *, dry_run: bool) -> json.JsonObject:
    return await tools.client.apply(
        step.mapped.resource,
        step.mapped.item.body,
        field_manager=tools.manager,
        force=step.force,
        dry_run=dry_run,
    )


async def _replace(step: Step, tools: Tools, *, dry_run: bool) -> tuple[Step, json.JsonObject]:
    seen = await _with_live_object(step, tools)
    act = tools.client.create if seen.live is None else tools.client.replace
    answer = await act(
        seen.mapped.resource,
        seen.mapped.item.body,
        field_manager=tools.manager,
        dry_run=dry_run,
    )
    return seen, answer


async def _recreate(step: Step, tools: Tools, *, dry_run: bool) -> tuple[Step, json.JsonObject]:
    seen = await _with_live_object(step, tools)
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


async def _remove(step: Step, live: json.JsonObject, tools: Tools) -> None:
    item = step.mapped.item
    await tools.client.delete(
        step.mapped.resource,
        item.name,
        namespace=item.namespace,
        uid=_uid(live),
        propagation="Foreground",
    )
    await _wait_gone(step, live, tools, "it was deleted to be created anew")


async def _wait_gone(step: Step, live: json.JsonObject, tools: Tools, why: str) -> None:
    gone = [(step.mapped, _uid(live))]
    result = await waits.wait_deleted(tools.client, gone, timeout=tools.timeout)
    if result.end is not waits.End.READY:
        raise errors.PermanentError(f"{why}: {result.sentence}")


def _is_terminating(live: json.JsonObject) -> bool:
    return bool(objects.text(live, "metadata", "deletionTimestamp"))


async def _with_live_object(step: Step, tools: Tools) -> Step:
    """Return the step with its live object, also when no list showed it."""
    if step.live is not None:
        return step
    live = await live_objects.get(tools.client, step.mapped)
    mapped, remark = _with_live_selector(step.mapped, live, step.method, tools)
    return replace(step, mapped=mapped, live=live, remark=remark)


def _kept_by_others(
    step: Step, conflict: api_errors.ApplyConflict, tools: Tools
) -> tuple[api_errors.Cause, ...]:
    """Return which fields in conflict are left to who owns them."""
    if step.mapped.item.annotations.get(refusals.TAKE_OVER) == ENABLED:
        return ()
    return tuple(
        cause
        for cause in conflict.causes
        if not field_managers.takes(tools.conflicts, cause.manager, cause.operation, cause.field)
    )


def _owns_the_same(step: Step, answer: json.JsonObject, manager: str) -> bool:
    """Whether writing would not even change who owns which field."""
    if step.method is not Method.APPLY or step.live is None:
        return True
    version = step.mapped.item.api_version
    before, after = (
        managed_fields.owned_fields(body, manager=manager, api_version=version)
        for body in (step.live, answer)
    )
    return before == after


def _uid(body: json.JsonObject) -> str:
    return objects.text(body, "metadata", "uid")
