"""Deleting what nobody wants any more, on evidence only (DESIGN.md, rule 4).

Where to look: `belongings`. What may go: `manifests.ownership`
decides from a fresh and complete list, and once more on each object right before its
delete. A kind that may not be listed is not pruned, and the result says so.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.clusters import belongings, discovery, inventories, placing, removal
from volary.clusters import client as clients
from volary.manifests import namespaces as scopes
from volary.manifests import order, ownership
from volary.model import change, json, manifest, variant

#: Deleting one of these deletes what is in it, which Git may never have known.
_CONTAINERS = {
    ("", "Namespace"): "everything in it would go with it",
    ("", "PersistentVolumeClaim"): "its data would go with it",
    ("", "PersistentVolume"): "its data would go with it",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "every object of its kind would go",
}
#: ``disabled`` on a live object keeps it.
PRUNE = "volary.dev/prune"


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What was deleted, what stayed and why."""

    changes: tuple[change.Change, ...] = ()
    #: Not empty: nothing was deleted, and this is why.
    refusal: str = ""
    #: What could not be looked at.
    warnings: tuple[str, ...] = ()
    #: What could not be deleted, or has not gone.
    failures: tuple[str, ...] = ()

    @property
    def deleted(self) -> int:
        """How many objects were deleted."""
        return sum(each.action is change.Action.DELETED for each in self.changes)


def anything(_body: json.JsonObject) -> str:
    """Keep nothing: the check of those who have none."""
    return ""


async def prune(
    client: clients.Client,
    desired: Sequence[manifest.Manifest],
    scope: belongings.Scope,
    *,
    timeout: timedelta,
    check: removal.Check = anything,
    followed: removal.Followed = removal.at_once,
) -> PruneResult:
    """Delete the application's live objects that are not in `desired`, and wait for it.

    Args:
        client: Of the cluster.
        desired: The complete render; empty: nothing is deleted.
        scope: Whose objects are looked at.
        timeout: How long deleted objects may take to go.
        check: A further reason for which an object stays; empty text: none.
        followed: Awaited between routes that were deleted and what they led to.

    Raises:
        VolaryError: when a list failed for another reason than missing permission; then
            nothing was deleted.
    """
    decided = await _decide(client, desired, scope, check)
    if isinstance(decided, PruneResult):
        return decided
    found, decision, stays = decided
    return await _delete(client, found, decision, stays, timeout, followed)


async def foresee(
    client: clients.Client, desired: Sequence[manifest.Manifest], scope: belongings.Scope
) -> PruneResult:
    """Return what `prune` would delete now, decided in the same way; deletes nothing.

    Raises:
        VolaryError: when a list failed for another reason than missing permission.
    """
    decided = await _decide(client, desired, scope, anything)
    if isinstance(decided, PruneResult):
        return decided
    found, decision, _ = decided
    doomed = [change.Change(item.key, change.Action.DELETED) for item in decision.delete]
    return PruneResult((*doomed, *decision.skipped), warnings=found.warnings)


async def _decide(
    client: clients.Client,
    desired: Sequence[manifest.Manifest],
    scope: belongings.Scope,
    check: removal.Check,
) -> PruneResult | tuple[belongings.Belongings, ownership.Pruning, removal.Check]:
    """Return what is to go and what was found, or the result when nothing may go."""
    if not desired:
        return PruneResult(refusal="nothing is pruned: the render is empty")
    found = await belongings.look(client, desired, scope, belongings.COMMON_KINDS)
    threshold = ownership.UNLIMITED if scope.allow_mass_deletion else ownership.DEFAULT_THRESHOLD
    catalog = await client.discover()
    decision = ownership.decide_prune(
        scopes.fill(desired, client.namespace, _scope_of(catalog)),
        found.live,
        application=scope.application,
        evidence=ownership.Evidence(render_complete=True, list_complete=True),
        threshold=threshold,
        known=_scope_of(catalog),
        label=scope.label,
        variants=scope.variants,
    )
    if decision.refusal:
        return PruneResult(refusal=decision.refusal, warnings=found.warnings)
    stays = _stays(scope.application, check)
    return found, _narrowed(decision.delete, decision.skipped, stays), stays


async def delete_all(
    client: clients.Client, scope: belongings.Scope, *, timeout: timedelta, check: removal.Check
) -> PruneResult:
    """Delete every object of the application that `check` does not keep, and wait for it.

    For undoing a first deployment: nothing is desired, so the evidence is the objects' own.
    """
    found = await belongings.look(client, (), scope, belongings.COMMON_KINDS)
    stays = _stays(scope.application, check)
    every = order.for_deletion([manifest.Manifest(body) for body in found.live])
    decision = _narrowed(every, (), stays)
    return await _delete(client, found, decision, stays, timeout)


async def delete_variant(
    client: clients.Client,
    which: variant.Variant,
    scope: belongings.Scope,
    *,
    timeout: timedelta,
) -> PruneResult:
    """Delete a variant's objects: Services, then workloads, then the rest; wait for it.

    Raises:
        VolaryError: when a list failed for another reason than missing permission; then
            nothing was deleted.
    """
    narrowed = dataclasses.replace(scope, variants=(which,))
    found = await belongings.look(client, (), narrowed, belongings.VARIANT_KINDS)
    decision = ownership.removal(
        found.live, application=scope.application, label=scope.label, variant=which
    )

    def stays(body: json.JsonObject) -> str:
        return ownership.unremovable(body, scope.application, scope.label, which)

    return await _delete(client, found, decision, stays, timeout)


async def _delete(
    client: clients.Client,
    found: belongings.Belongings,
    decision: ownership.Pruning,
    stays: removal.Check,
    timeout: timedelta,
    followed: removal.Followed = removal.at_once,
) -> PruneResult:
    catalog = await client.discover()
    doomed = [
        placing.Placed(item, kind)
        for item in decision.delete
        if (kind := catalog.find(item.group, item.kind, item.api_version.rpartition("/")[2]))
    ]
    removed = await removal.remove(client, doomed, stays, timeout=timeout, followed=followed)
    gone = [each.key for each in removed.changes if each.action is change.Action.DELETED]
    await inventories.forget(client, found.inventory, found.inventory.without(gone))
    return PruneResult(
        (*removed.changes, *decision.skipped), warnings=found.warnings, failures=removed.failures
    )


def _stays(application: str, check: removal.Check) -> removal.Check:
    """Return the check that each object has to pass once more right before its delete."""

    def stays(body: json.JsonObject) -> str:
        return ownership.unprunable(body, application) or _contains(body) or check(body)

    return stays


def _narrowed(
    doomed: Sequence[manifest.Manifest],
    skipped: Sequence[change.Change],
    stays: removal.Check,
) -> ownership.Pruning:
    """Return the decision without the objects that have a reason to stay."""
    reasons = {item.key: stays(item.body) for item in doomed}
    kept = [
        change.Change(key, change.Action.SKIPPED, reason)
        for key, reason in reasons.items()
        if reason
    ]
    going = tuple(item for item in doomed if not reasons[item.key])
    return ownership.Pruning(going, (*skipped, *kept))


def _contains(body: json.JsonObject) -> str:
    """Return why an object is never deleted by a prune; empty when it may be."""
    item = manifest.Manifest(body)
    if item.annotations.get(PRUNE) == "disabled":
        return f"it says {PRUNE}: disabled"
    return _CONTAINERS.get((item.group, item.kind), "")


def _scope_of(catalog: discovery.Catalog) -> Callable[[str, str], bool | None]:
    def answer(group: str, kind: str) -> bool | None:
        found = catalog.find(group, kind)
        return found.namespaced if found else None

    return answer
