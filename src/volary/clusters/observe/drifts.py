"""What is not in a cluster as Git says, of one application's objects: reads, and dry runs only.

The objects themselves are compared (`manifests.drift`). What differs is confirmed by one dry run,
so that a wrong guess about the form in which a server keeps something is never told as drift. What
a dry run showed is remembered for as long as neither the object nor the manifest changes.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

import msgspec

from volary.clusters.api import api_errors
from volary.clusters.apply import live_objects, steps
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import owned_objects, pruning
from volary.concurrency import fan_out, work_threads
from volary.manifests import objects
from volary.manifests.drift import differences, ignoring
from volary.manifests.ownership import claims, field_managers, tracking
from volary.model import drift_rules, errors, json
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant

#: Dry runs whose answer is remembered, of one process.
_MOST = 8192
#: Confirmed at once on one cluster.
_AT_ONCE = 8


class Verb(StrEnum):
    """How an object is not as Git says."""

    DIFFERS = "differs"
    #: Git has it, and the cluster lacks it.
    MISSING = "missing"
    #: It is the application's, and Git does not have it.
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class DriftedObject:
    """One object that is not as Git says."""

    key: manifest.ResourceKey
    verb: Verb
    fields: tuple[differences.Difference, ...] = ()
    #: As Git says; None: it does not have it.
    wanted: json.JsonObject | None = None
    #: None: it is not there, or only its name is known.
    live: json.JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ClusterDrift:
    """What one cluster has otherwise than Git says."""

    objects: tuple[DriftedObject, ...] = ()
    #: Objects that were compared.
    compared: int = 0
    #: What could not be compared.
    warnings: tuple[str, ...] = ()
    #: Objects that somebody else claims as well.
    shared: tuple[manifest.ResourceKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Sought:
    """What is compared with a cluster."""

    owner: ownership.Owner
    #: What the application's stages may have applied last, each a complete set: the cluster is
    #: compared with the one that it is closest to.
    sets: tuple[tuple[manifest.Manifest, ...], ...]
    label: variant.VariantLabel
    conflicts: ownership.Conflicts = field(default_factory=ownership.Conflicts)
    ignored: tuple[drift_rules.IgnoredDifference, ...] = ()
    #: Namespaces that may be looked into; empty: all.
    namespaces: tuple[str, ...] = ()


_Key = tuple[str, str, str, bytes]


class Confirmations:
    """What dry runs have shown; one for a process."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[differences.Difference, ...]] = OrderedDict()

    def recall(self, key: _Key) -> tuple[differences.Difference, ...] | None:
        """Return what was confirmed; None: nobody has asked."""
        return self._known.get(key)

    def remember(self, key: _Key, confirmed: tuple[differences.Difference, ...]) -> None:
        """Keep what was confirmed."""
        self._known[key] = confirmed
        while len(self._known) > _MOST:
            self._known.popitem(last=False)


async def compare(
    client: clients.Client, sought: Sought, confirmations: Confirmations
) -> ClusterDrift:
    """Return what is not as Git says.

    Raises:
        VolaryError: when the cluster does not answer, or refuses more than single objects.
    """
    best: ClusterDrift | None = None
    for manifests in sought.sets:
        found = await _compare_set(client, sought, manifests, confirmations)
        if best is None or len(found.objects) < len(best.objects):
            best = found
        if not best.objects:
            break
    return best or ClusterDrift()


async def _compare_set(
    client: clients.Client,
    sought: Sought,
    manifests: tuple[manifest.Manifest, ...],
    confirmations: Confirmations,
) -> ClusterDrift:
    placed = await resource_mapping.map_manifests(
        client, manifests, namespaces=sought.namespaces, defining=manifests
    )
    live = await live_objects.look(client, placed.mapped)
    there = {key: body for key, body in live.items() if body is not None}
    left = await live_objects.leave_to_autoscalers(
        client, placed.mapped, there, manager=field_managers.MANAGER
    )
    seen = [one for one in left if one.key in live]
    found = await work_threads.run_many(
        seen,
        "comparing live objects with Git",
        lambda: [_compare_object(one, live[one.key], client, sought) for one in seen],
    )
    candidates = [candidate for candidate in found if candidate is not None]
    confirmed = await fan_out.run_all(
        candidates, lambda one: _attempt(_confirm(client, one, confirmations)), at_once=_AT_ONCE
    )
    drifted: list[DriftedObject] = []
    for answer in confirmed:
        if isinstance(answer, errors.VolaryError):
            raise answer
        drifted += [] if answer is None else [answer]
    drifted += [DriftedObject(item.key, Verb.MISSING, wanted=item.body) for item in placed.later]
    extra = await _extra(client, sought, manifests)
    unread = [f"{one.key.title} may not be read" for one in left if one.key not in live]
    return ClusterDrift(
        (*sorted(drifted, key=lambda one: one.key), *extra.objects),
        len(seen),
        (*(str(problem) for problem in placed.problems), *unread, *extra.warnings),
        tuple(key for key, body in there.items() if claims.claim_of(body, sought.owner)),
    )


async def _extra(
    client: clients.Client, sought: Sought, manifests: Sequence[manifest.Manifest]
) -> ClusterDrift:
    """Return what a run would prune."""
    scope = owned_objects.Scope(
        sought.owner,
        sought.label,
        (variant.Variant.PRIMARY,),
        sought.namespaces,
        allow_mass_deletion=True,
        likely=tuple(sorted({item.namespace or client.namespace for item in manifests})),
    )
    pruned = await pruning.preview(client, manifests, scope)
    return ClusterDrift(
        tuple(
            DriftedObject(change.key, Verb.EXTRA)
            for change in pruned.changes
            if change.action is apply_results.Action.DELETED
        ),
        warnings=pruned.warnings,
    )


async def _attempt(
    confirming: Awaitable[DriftedObject | None],
) -> DriftedObject | errors.VolaryError | None:
    try:
        return await confirming
    except errors.VolaryError as error:
        return error


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An object that seems not to be as Git says."""

    step: steps.Step
    drifted: DriftedObject


def _compare_object(
    placed: resource_mapping.MappedManifest,
    live: json.JsonObject | None,
    client: clients.Client,
    sought: Sought,
) -> _Candidate | None:
    step = steps.assess(placed, live, _tools(client, sought))
    wanted = step.mapped.item.body
    if ignoring.is_ignored(wanted, live) or step.is_unchanged or step.is_commit_only:
        return None
    if live is None or objects.is_terminating(live):
        return _Candidate(step, DriftedObject(placed.key, Verb.MISSING, wanted=wanted))
    rules = ignoring.for_object(sought.ignored, placed.key)
    found = ignoring.compare(wanted, live, rules)
    if not found:
        return None
    return _Candidate(step, DriftedObject(placed.key, Verb.DIFFERS, found, wanted, live))


def _tools(client: clients.Client, sought: Sought) -> steps.Tools:
    return steps.Tools(
        client,
        field_managers.MANAGER,
        force=False,
        timeout=timedelta(0),
        owner=sought.owner,
        label=sought.label,
        conflicts=sought.conflicts,
    )


async def _confirm(
    client: clients.Client, candidate: _Candidate, confirmations: Confirmations
) -> DriftedObject | None:
    """Return what a dry run leaves of an object's differences; None: nothing.

    Where the server refuses it, the differences are believed: it would not be written, either.
    """
    drifted, step = candidate.drifted, candidate.step
    if drifted.live is None or step.method is not steps.Method.APPLY:
        return drifted
    key = _key(client, drifted, step)
    confirmed = confirmations.recall(key)
    if confirmed is None:
        try:
            answer = await client.apply(
                step.mapped.resource,
                step.mapped.item.body,
                field_manager=field_managers.MANAGER,
                force=True,
                dry_run=True,
            )
        except (api_errors.RequestError, errors.UserError):
            return drifted
        live = drifted.live
        confirmed = tuple(
            one
            for one in drifted.fields
            if differences.at(answer, one.path) != differences.at(live, one.path)
        )
        confirmations.remember(key, confirmed)
    return replace(drifted, fields=confirmed) if confirmed else None


def _key(client: clients.Client, drifted: DriftedObject, step: steps.Step) -> _Key:
    live = drifted.live or {}
    wanted = tracking.untrack(step.mapped.item).body
    paths = [one.path for one in drifted.fields]
    return (
        client.name,
        objects.uid(live),
        objects.text(live, "metadata", "resourceVersion"),
        hashlib.sha256(msgspec.json.encode([wanted, paths])).digest(),
    )
