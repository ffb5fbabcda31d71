"""One object on its way into the cluster, and what is known about it by now.

Manifests choose the way by annotation (PipeCD: apply). ``sync-by-replace`` replaces the
whole object, ``force-sync-by-replace`` deletes it and creates it anew, each time; all
others are applied on the server side, ``server-side-apply`` or not.

What somebody else claims (`manifests.ownership.claims`) is not written at all, unless the
manifest names the claim that it takes over.

`dry_runs` tries a step, `step_writes` writes it; both send it by `step_requests`.
"""

import enum
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from volary.clusters.apply import handing_over, live_objects, managed_fields, refusals
from volary.clusters.client import clients, resource_mapping
from volary.manifests import objects
from volary.manifests.ownership import claims, tracking
from volary.manifests.workloads import immutable_selectors
from volary.model import json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

REPLACE = "pipecd.dev/sync-by-replace"
FORCE_REPLACE = "pipecd.dev/force-sync-by-replace"
ENABLED = "enabled"


class Method(enum.Enum):
    """The way into the cluster."""

    APPLY = enum.auto()
    REPLACE = enum.auto()
    RECREATE = enum.auto()


#: Is told of an object, as it was sent, how the API server has it since.
Applied = Callable[[resource_mapping.MappedManifest, json.JsonObject], None]


def forget(_mapped: resource_mapping.MappedManifest, _live: json.JsonObject) -> None:
    """Nobody wants to know."""


#: Looks at live objects that are about to be written; what it raises keeps them from it.
BeforeWriting = Callable[[Sequence[json.JsonObject]], Awaitable[None]]


async def accept(_live: Sequence[json.JsonObject]) -> None:
    """Have everything written."""


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
    #: Sentences may name whose an object is that is not the owner's.
    names_others: bool = True
    #: The label that stays in selectors, or out of them, as live workloads have it.
    label: variant.VariantLabel | None = None
    #: The run's own: what goes back from it to another one says so.
    commit: str = ""
    #: Everything says its commit, also where nothing but that changes.
    marks_commit: bool = False
    #: Whose fields are taken.
    conflicts: ownership.Conflicts = field(default_factory=ownership.Conflicts)
    #: Told of everything that is as it is to be.
    applied: Applied = forget
    #: Is given what has changed since the whole set was looked at, before it is written.
    before_writing: BeforeWriting = accept

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
        and not objects.is_terminating(live)
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
    # Where teams are apart, none takes an object from another by naming it.
    if not tools.names_others and claim.is_of_volary:
        raise refusals.ClaimedError(claims.UNNAMED)
    if not claim.name or claim.name != step.mapped.item.annotations.get(claims.TAKE_OVER, ""):
        raise refusals.ClaimedError(claim if tools.names_others else claims.UNNAMED)
    return claim.who


async def look(step: Step, tools: Tools) -> Step:
    """Return a step that is written without a trial, with its live object.

    Raises:
        ClaimedError: when somebody else claims the object.
    """
    seen = await with_live_object(step, tools)
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


async def with_live_object(step: Step, tools: Tools) -> Step:
    """Return the step with its live object, also when no list showed it."""
    if step.live is not None:
        return step
    live = await live_objects.get(tools.client, step.mapped)
    mapped, remark = _with_live_selector(step.mapped, live, step.method, tools)
    return replace(step, mapped=mapped, live=live, remark=remark)
