"""Pruning what is not desired any more, on evidence only (DESIGN.md, rule 4).

Where to look: `owned_objects`. What may go: `manifests.ownership.prune_decisions`
decides from a fresh and complete list, and once more on each object right before its
delete. A kind that may not be listed is not pruned, and the result says so.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters.api import discovery
from volary.clusters.apply import deletions
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import inventory_store, owned_objects
from volary.manifests.loading import apply_order, namespace_scopes
from volary.manifests.ownership import prune_decisions
from volary.model import json
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant

#: Deleting one of these deletes what is in it, which Git may never have known.
_CONTAINERS = {
    ("", "Namespace"): "everything in it would go with it",
    ("", "PersistentVolumeClaim"): "its data would go with it",
    ("", "PersistentVolume"): "its data would go with it",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "every object of its kind would go",
}
#: Why these are never deleted.
PROTECTIONS = frozenset(_CONTAINERS.values())
_NOT_PRUNED = "not pruned: too many would go at once"
#: ``disabled`` on a live object keeps it.
PRUNE = "volary.dev/prune"


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What was deleted, what stayed and why."""

    changes: tuple[apply_results.Change, ...] = ()
    #: Not empty: nothing was deleted, and this is why.
    refusal: str = ""
    #: What could not be read.
    warnings: tuple[str, ...] = ()
    #: What could not be deleted, or has not gone.
    failures: tuple[str, ...] = ()
    #: Of a preview: what would be deleted, as it was read.
    live: tuple[manifest.Manifest, ...] = ()

    @property
    def deleted(self) -> int:
        """How many objects were deleted."""
        return sum(change.action is apply_results.Action.DELETED for change in self.changes)


def say_nothing() -> None:
    """Tell nobody that deletes come now."""


def keep_nothing(_body: json.JsonObject) -> str:
    """Keep nothing: the check of those who have none."""
    return ""


async def prune(
    client: clients.Client,
    desired: Sequence[manifest.Manifest],
    scope: owned_objects.Scope,
    *,
    timeout: timedelta,
    check: deletions.KeepCheck = keep_nothing,
    followed: deletions.WaitForProxies = deletions.no_wait,
    waiting: deletions.Say = deletions.say_nothing,
    deleting: Callable[[], None] = say_nothing,
) -> PruneResult:
    """Delete the application's live objects that are not in `desired`, and wait for it.

    `desired` is the complete render: nothing is deleted where it is empty. `check` is a further
    reason for which an object stays, `followed` is awaited between routes and what they led to,
    `waiting` is told what is waited for, and what holds it, `deleting` that deletes come now.

    Raises:
        VolaryError: when a list failed for another reason than missing permission; then
            nothing was deleted.
    """
    decided = await _decide(client, desired, scope, check)
    if isinstance(decided, PruneResult):
        # Which objects stay is for who looks beforehand.
        return dataclasses.replace(decided, changes=())
    owned, decision, stays = decided
    return await _delete(
        client,
        owned,
        decision,
        stays,
        timeout,
        followed=followed,
        waiting=waiting,
        deleting=deleting,
    )


async def preview(
    client: clients.Client, desired: Sequence[manifest.Manifest], scope: owned_objects.Scope
) -> PruneResult:
    """Return what `prune` would delete now, decided in the same way; deletes nothing.

    Raises:
        VolaryError: when a list failed for another reason than missing permission.
    """
    decided = await _decide(client, desired, scope, keep_nothing)
    if isinstance(decided, PruneResult):
        return decided
    owned, decision, _ = decided
    to_delete = [
        apply_results.Change(item.key, apply_results.Action.DELETED) for item in decision.delete
    ]
    return PruneResult(
        (*to_delete, *decision.skipped), warnings=owned.warnings, live=decision.delete
    )


async def _decide(
    client: clients.Client,
    desired: Sequence[manifest.Manifest],
    scope: owned_objects.Scope,
    check: deletions.KeepCheck,
) -> (
    PruneResult
    | tuple[owned_objects.OwnedObjects, prune_decisions.PruneDecision, deletions.KeepCheck]
):
    """Return what is to go and what was found, or the result when nothing may go."""
    if not desired:
        return PruneResult(refusal="nothing is pruned: the render is empty")
    owned = await owned_objects.read(client, desired, scope, owned_objects.COMMON_KINDS)
    catalog = await client.discover()
    stays = _keep_check(scope.owner, check)
    decision = prune_decisions.decide_prune(
        namespace_scopes.fill(desired, client.namespace, _scope_of(catalog)),
        owned.live,
        owner=scope.owner,
        keep=stays,
        allow_mass_deletion=scope.allow_mass_deletion,
        known=_scope_of(catalog),
        label=scope.label,
        variants=scope.variants,
    )
    if decision.refusal:
        stay = (
            apply_results.Change(item.key, apply_results.Action.SKIPPED, _NOT_PRUNED)
            for item in decision.refused
        )
        changes = (*stay, *decision.skipped)
        return PruneResult(changes, refusal=decision.refusal, warnings=owned.warnings)
    return owned, decision, stays


async def delete_all(
    client: clients.Client,
    scope: owned_objects.Scope,
    *,
    timeout: timedelta,
    check: deletions.KeepCheck,
    waiting: deletions.Say = deletions.say_nothing,
    deleting: Callable[[], None] = say_nothing,
) -> PruneResult:
    """Delete every object of the application that `check` does not keep, and wait for it.

    For rolling back a first deployment: nothing is desired, so the evidence is the objects' own.
    """
    owned = await owned_objects.read(client, (), scope, owned_objects.COMMON_KINDS)
    stays = _keep_check(scope.owner, check)
    every = apply_order.for_deletion([manifest.Manifest(body) for body in owned.live])
    decision = _without_kept(every, stays)
    return await _delete(
        client, owned, decision, stays, timeout, waiting=waiting, deleting=deleting
    )


async def delete_variant(
    client: clients.Client,
    which: variant.Variant,
    scope: owned_objects.Scope,
    *,
    timeout: timedelta,
    check: deletions.KeepCheck = keep_nothing,
    waiting: deletions.Say = deletions.say_nothing,
    deleting: Callable[[], None] = say_nothing,
) -> PruneResult:
    """Delete a variant's objects: Services, then workloads, then the rest; wait for it.

    What `check` has a reason to keep stays.

    Raises:
        VolaryError: when a list failed for another reason than missing permission; then
            nothing was deleted.
    """
    narrowed = dataclasses.replace(scope, variants=(which,))
    owned = await owned_objects.read(client, (), narrowed, owned_objects.VARIANT_KINDS)
    decision = prune_decisions.decide_variant_removal(
        owned.live, owner=scope.owner, label=scope.label, variant=which
    )

    def stays(body: json.JsonObject) -> str:
        reason = prune_decisions.unremovable(body, scope.owner, scope.label, which)
        return reason or check(body)

    kept = _without_kept(decision.delete, stays)
    decision = dataclasses.replace(
        decision, delete=kept.delete, skipped=(*decision.skipped, *kept.skipped)
    )
    return await _delete(
        client, owned, decision, stays, timeout, waiting=waiting, deleting=deleting
    )


async def _delete(
    client: clients.Client,
    owned: owned_objects.OwnedObjects,
    decision: prune_decisions.PruneDecision,
    stays: deletions.KeepCheck,
    timeout: timedelta,
    *,
    followed: deletions.WaitForProxies = deletions.no_wait,
    waiting: deletions.Say = deletions.say_nothing,
    deleting: Callable[[], None] = say_nothing,
) -> PruneResult:
    kinds = {(item.group, item.kind) for item in decision.delete}
    catalog = await resource_mapping.discover_kinds(client, kinds)
    to_delete = [
        resource_mapping.MappedManifest(item, kind)
        for item in decision.delete
        if (kind := resource_mapping.find(catalog, item))
    ]
    if to_delete:
        deleting()
    removed = await deletions.delete_in_order(
        client, to_delete, stays, timeout=timeout, followed=followed, waiting=waiting
    )
    gone = [
        change.key
        for change in removed.changes
        if change.action is apply_results.Action.DELETED and change.key not in removed.held
    ]
    await inventory_store.forget(client, owned.inventory, owned.inventory.without(gone))
    return PruneResult(
        (*removed.changes, *decision.skipped), warnings=owned.warnings, failures=removed.failures
    )


def _keep_check(owner: ownership.Owner, check: deletions.KeepCheck) -> deletions.KeepCheck:
    """Return the check that each object has to pass once more right before its delete."""

    def stays(body: json.JsonObject) -> str:
        return prune_decisions.unprunable(body, owner) or protection(body) or check(body)

    return stays


def _without_kept(
    to_delete: Sequence[manifest.Manifest], stays: deletions.KeepCheck
) -> prune_decisions.PruneDecision:
    """Return the decision to delete all but the objects that have a reason to stay."""
    reasons = {item.key: stays(item.body) for item in to_delete}
    kept = [
        apply_results.Change(key, apply_results.Action.SKIPPED, reason)
        for key, reason in reasons.items()
        if reason
    ]
    going = tuple(item for item in to_delete if not reasons[item.key])
    return prune_decisions.PruneDecision(going, tuple(kept))


def protection(body: json.JsonObject) -> str:
    """Return why an object is never deleted by a prune; empty when it may be."""
    item = manifest.Manifest(body)
    if item.annotations.get(PRUNE) == "disabled":
        return f"it says {PRUNE}: disabled"
    return _CONTAINERS.get((item.group, item.kind), "")


def _scope_of(catalog: discovery.Catalog) -> Callable[[str, str], bool | None]:
    def answer(group: str, kind: str) -> bool | None:
        resource = catalog.find(group, kind)
        return resource.namespaced if resource else None

    return answer
