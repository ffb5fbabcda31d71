"""Deleting what nobody wants any more, on evidence only (DESIGN.md, rule 4).

Where to look: the kinds in the inventory and in the desired set; without an inventory
also the kinds that applications commonly consist of. What may go: `manifests.ownership`
decides from a fresh and complete list, and once more on each object right before its
delete. A kind that may not be listed is not pruned, and the result says so.
"""

import dataclasses
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from volary.clusters import client as clients
from volary.clusters import discovery, gathering, inventories, inventory, placing, removal
from volary.clusters import errors as cluster_errors
from volary.manifests import namespaces as scopes
from volary.manifests import order, ownership, tracking
from volary.model import change, errors, json, manifest, variant

#: What a variant can consist of (PipeCD: a variant's copies).
_VARIANT_KINDS = (
    ("", "Service"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("", "ConfigMap"),
    ("", "Secret"),
)
_COMMON_KINDS = (
    *_VARIANT_KINDS,
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("", "ServiceAccount"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("policy", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)
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
class Scope:
    """Whose objects are looked at, and where."""

    application: str
    label: variant.VariantLabel = field(default_factory=variant.VariantLabel)
    #: Only objects of these variants; empty: of all.
    variants: tuple[variant.Variant, ...] = ()
    #: Namespaces Volary may work in; empty: all.
    namespaces: tuple[str, ...] = ()
    #: Delete also when most of the application's objects would go.
    allow_mass_deletion: bool = False
    #: Namespaces the application is known to use, for users who may not list all of them.
    likely: tuple[str, ...] = ()


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
    scope: Scope,
    *,
    timeout: timedelta,
    check: removal.Check = anything,
) -> PruneResult:
    """Delete the application's live objects that are not in `desired`, and wait for it.

    Args:
        client: Of the cluster.
        desired: The complete render; empty: nothing is deleted.
        scope: Whose objects are looked at.
        timeout: How long deleted objects may take to go.
        check: A further reason for which an object stays; empty text: none.

    Raises:
        VolaryError: when a list failed for another reason than missing permission; then
            nothing was deleted.
    """
    if not desired:
        return PruneResult(refusal="nothing is pruned: the render is empty")
    known, live, warnings = await _look(client, desired, scope, _COMMON_KINDS)
    threshold = ownership.UNLIMITED if scope.allow_mass_deletion else ownership.DEFAULT_THRESHOLD
    catalog = await client.discover()
    decision = ownership.decide_prune(
        scopes.fill(desired, client.namespace, _scope_of(catalog)),
        live,
        application=scope.application,
        evidence=ownership.Evidence(render_complete=True, list_complete=True),
        threshold=threshold,
        known=_scope_of(catalog),
        label=scope.label,
        variants=scope.variants,
    )
    if decision.refusal:
        return PruneResult(refusal=decision.refusal, warnings=warnings)
    stays = _stays(scope.application, check)
    decision = _narrowed(decision.delete, decision.skipped, stays)
    return await _delete(client, known, decision, stays, warnings, timeout)


async def delete_all(
    client: clients.Client, scope: Scope, *, timeout: timedelta, check: removal.Check
) -> PruneResult:
    """Delete every object of the application that `check` does not keep, and wait for it.

    For undoing a first deployment: nothing is desired, so the evidence is the objects' own.
    """
    known, live, warnings = await _look(client, (), scope, _COMMON_KINDS)
    stays = _stays(scope.application, check)
    every = order.for_deletion([manifest.Manifest(body) for body in live])
    decision = _narrowed(every, (), stays)
    return await _delete(client, known, decision, stays, warnings, timeout)


async def delete_variant(
    client: clients.Client,
    which: variant.Variant,
    scope: Scope,
    *,
    timeout: timedelta,
) -> PruneResult:
    """Delete a variant's objects: Services, then workloads, then the rest; wait for it.

    Raises:
        VolaryError: when a list failed for another reason than missing permission; then
            nothing was deleted.
    """
    narrowed = dataclasses.replace(scope, variants=(which,))
    known, live, warnings = await _look(client, (), narrowed, _VARIANT_KINDS)
    decision = ownership.removal(
        live, application=scope.application, label=scope.label, variant=which
    )

    def stays(body: json.JsonObject) -> str:
        return ownership.unremovable(body, scope.application, scope.label, which)

    return await _delete(client, known, decision, stays, warnings, timeout)


async def _delete(
    client: clients.Client,
    known: inventory.Inventory,
    decision: ownership.Pruning,
    stays: removal.Check,
    warnings: tuple[str, ...],
    timeout: timedelta,
) -> PruneResult:
    catalog = await client.discover()
    doomed = [
        placing.Placed(item, found)
        for item in decision.delete
        if (found := catalog.find(item.group, item.kind, item.api_version.rpartition("/")[2]))
    ]
    removed = await removal.remove(client, doomed, stays, timeout=timeout)
    gone = [each.key for each in removed.changes if each.action is change.Action.DELETED]
    await inventories.forget(client, known, known.without(gone))
    return PruneResult(
        (*removed.changes, *decision.skipped), warnings=warnings, failures=removed.failures
    )


async def _look(
    client: clients.Client,
    desired: Sequence[manifest.Manifest],
    scope: Scope,
    common: Collection[tuple[str, str]],
) -> tuple[inventory.Inventory, list[json.JsonObject], tuple[str, ...]]:
    """Read the inventory and list the application's objects of every kind in question."""
    written = {item.namespace or client.namespace for item in desired}
    used = sorted(written | set(scope.likely))
    known, unknown = await _remembered(client, scope, used)
    remembered = {(each.key.group, each.key.kind) for each in known.references}
    kinds = {(item.group, item.kind) for item in desired} | remembered
    if not known.references or not desired:
        kinds |= set(common)
    catalog = await client.discover()
    places = sorted(
        set(scope.namespaces)
        or {*used, client.namespace, *(each.key.namespace for each in known.references)} - {""}
    )
    selector = tracking.selector(scope.application, scope.variants, scope.label)
    resources = [found for kind in sorted(kinds) if (found := catalog.find(*kind))]
    answers = await gathering.each(
        resources,
        lambda kind: _list(client, kind, selector, places, everywhere=not scope.namespaces),
    )
    live: list[json.JsonObject] = []
    warnings = [unknown] if unknown else []
    for kind, answer in zip(resources, answers, strict=True):
        if isinstance(answer, cluster_errors.Forbidden):
            warnings.append(f"{kind.title} were left alone: {answer}")
        elif isinstance(answer, errors.VolaryError):
            raise answer
        else:
            live.extend(answer)
    return known, live, tuple(warnings)


async def _remembered(
    client: clients.Client, scope: Scope, used: Sequence[str]
) -> tuple[inventory.Inventory, str]:
    """Read the inventory; where that is not allowed, return an empty one and say so."""
    home = client.namespace
    namespaces = scope.namespaces or used
    try:
        found = await inventories.load(client, scope.application, namespaces=namespaces, home=home)
    except cluster_errors.Forbidden as refusal:
        return inventory.Inventory(scope.application, home), f"only common kinds: {refusal}"
    return found, ""


async def _list(
    client: clients.Client,
    kind: discovery.Resource,
    selector: str,
    namespaces: Sequence[str],
    *,
    everywhere: bool,
) -> list[json.JsonObject]:
    """List a kind in all namespaces, or where that is not allowed, in those that are known."""
    if everywhere or not kind.namespaced:
        try:
            return await _page(client, kind, "", selector)
        except cluster_errors.Forbidden:
            if not kind.namespaced:
                raise
    answers = await gathering.each(
        namespaces, lambda namespace: _page(client, kind, namespace, selector)
    )
    return inventories.allowed(answers)


async def _page(
    client: clients.Client, kind: discovery.Resource, namespace: str, selector: str
) -> list[json.JsonObject]:
    listed = await client.list(kind, namespace=namespace, label_selector=selector)
    return list(listed.items)


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
