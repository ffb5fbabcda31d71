"""What is not in a cluster as Git says, of one application's objects: reads, and dry runs only.

Where watches have told what is there, that is compared first: what is as Git says costs no request.
The cluster is asked for what seems to be otherwise, and for what watches do not tell, so nothing is
told as drift that was not read from it. What differs then is confirmed by one dry run, so that a
wrong guess about the form in which a server keeps something is never told, either. What a dry run
showed is remembered for as long as neither the object nor the manifest changes.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

import msgspec

from volary.clusters.api import api_errors, discovery
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


class KnownObjects(Protocol):
    """An owner's objects in a cluster, as watches told of them last (`livestate`)."""

    @property
    def keys(self) -> Collection[manifest.ResourceKey]:
        """Which objects are there."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether they are all that the owner has there, of every kind in its inventory."""
        ...

    def find(self, key: manifest.ResourceKey) -> json.JsonObject | None:
        """Return an object as `masked` has it; None: it is not there, or too large to be kept."""
        ...

    def follows(self, kind: discovery.GroupKind) -> bool:
        """Say whether everything of a kind with our labels is known."""
        ...

    def masked(self, body: json.JsonObject, /) -> json.JsonObject:
        """Return an object as `find` would: a Secret with digests for its values."""
        ...


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
    client: clients.Client,
    sought: Sought,
    confirmations: Confirmations,
    known: KnownObjects | None = None,
) -> ClusterDrift:
    """Return what is not as Git says; `known` is what need not be asked for.

    Raises:
        VolaryError: when the cluster does not answer, or refuses more than single objects.
    """
    best: ClusterDrift | None = None
    for manifests in sought.sets:
        found = await _compare_set(client, sought, manifests, confirmations, known)
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
    known: KnownObjects | None,
) -> ClusterDrift:
    placed = await resource_mapping.map_manifests(
        client, manifests, namespaces=sought.namespaces, defining=manifests
    )
    same = _Same()
    if known is not None:
        same = await work_threads.run_many(
            placed.mapped,
            "comparing known objects with Git",
            _compare_known,
            placed.mapped,
            known,
            client,
            sought,
        )
    asked = [one for one in placed.mapped if one.key not in same.keys]
    live = await live_objects.look(client, asked)
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
    extra = ClusterDrift()
    if known is None or _may_have_extra(placed.mapped, known, sought):
        extra = await _extra(client, sought, manifests)
    unread = [f"{one.key.title} may not be read" for one in asked if one.key not in live]
    return ClusterDrift(
        (*sorted(drifted, key=lambda one: one.key), *extra.objects),
        len(same.keys) + len(seen),
        (*(str(problem) for problem in placed.problems), *unread, *extra.warnings),
        (
            *same.shared,
            *(key for key, body in there.items() if claims.claim_of(body, sought.owner)),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Same:
    """What is known to be as Git says."""

    keys: frozenset[manifest.ResourceKey] = frozenset()
    #: Of these, what somebody else claims as well.
    shared: tuple[manifest.ResourceKey, ...] = ()


def _compare_known(
    mapped: Sequence[resource_mapping.MappedManifest],
    known: KnownObjects,
    client: clients.Client,
    sought: Sought,
) -> _Same:
    """Return what the cluster need not be asked for."""
    live = {
        placed.key: body
        for placed in mapped
        if known.follows((placed.item.group, placed.item.kind))
        and (body := known.find(placed.key)) is not None
        # Another version has its fields elsewhere.
        and body.get("apiVersion") == placed.item.api_version
    }
    masked = [
        replace(placed, item=placed.item.with_body(known.masked(placed.item.body)))
        for placed in mapped
    ]
    left = live_objects.leave_to_given(masked, live, manager=field_managers.MANAGER)
    same = [
        one.key
        for one in left
        if one.key in live and _compare_object(one, live[one.key], client, sought) is None
    ]
    shared = tuple(key for key in same if claims.claim_of(live[key], sought.owner))
    return _Same(frozenset(same), shared)


def _may_have_extra(
    mapped: Sequence[resource_mapping.MappedManifest], known: KnownObjects, sought: Sought
) -> bool:
    """Say whether the cluster has to be asked for what a run would prune."""
    kinds = {(placed.item.group, placed.item.kind) for placed in mapped}
    if not known.is_whole or not all(map(known.follows, kinds)):
        return True
    others = set(known.keys) - {placed.key for placed in mapped}
    primary = sought.label.value(variant.Variant.PRIMARY)
    for key in others:
        body = known.find(key)
        if body is None or objects.text(body, "metadata", "labels", sought.label.key) == primary:
            return True
    return False


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
