"""Applying a set of manifests to one cluster: all validated first, then written in order.

1. Each kind is looked up in the cluster's discovery, each namespace checked.
2. Live objects are read in few lists; what they prove unchanged costs nothing more.
3. The rest is tried in a server-side dry run. One bad object: nothing is touched, and
   every problem is reported, not only the first.
4. What remains is written rank by rank (`apply_order`), at once within a rank.

A namespace or a definition that the set itself brings, or a definition that it changes,
has to be written before what depends on it can be tried: the old schema would refuse a
new field. So everything else is tried first, then they are written, then what depends on
them is tried. If that fails, nothing but they were written, and the error says so.

A set with a single changed object is not tried: its write is as much all-or-nothing.

`steps`, `dry_runs` and `step_writes` know one object, this module knows the set.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

from volary.clusters.apply import (
    apply_errors,
    dry_runs,
    live_objects,
    refusals,
    set_parts,
    step_writes,
    steps,
    trials,
)
from volary.clusters.client import clients, recent_objects, resource_mapping
from volary.concurrency import fan_out, work_threads
from volary.manifests.loading import apply_order
from volary.manifests.ownership import field_managers
from volary.model import backoffs, errors
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant

#: Between two questions whether a new kind is served, or a changed one as it is defined now.
_BACKOFF = backoffs.Backoff(timedelta(milliseconds=100), timedelta(milliseconds=800))
#: How long API servers may go on by the old schema: no condition of a definition tells, and
#: each server of a cluster follows in its own time.
_OLD_SCHEMA = timedelta(seconds=10)
_HELD = "when pods are ready for it"
#: Says, of a whole set that is about to be written, which objects are left for later.
Hold = Callable[[Sequence[steps.Step]], Awaitable[Collection[manifest.ResourceKey]]]


@dataclass(frozen=True, slots=True)
class Options:
    """How a set is applied."""

    field_manager: str = field_managers.MANAGER
    #: Namespaces that may be used; empty: all.
    namespaces: tuple[str, ...] = ()
    #: Create namespaces that are used and missing (PipeCD: ``autoCreateNamespace``).
    create_namespaces: bool = False
    #: Take over fields that other managers own, whoever they are.
    force: bool = False
    #: For whom the set is applied; None: nobody's claims are looked at.
    owner: ownership.Owner | None = None
    #: The run's own: what goes back from it to another commit says so.
    commit: str = ""
    #: Write the commit on objects also where nothing else changes, for whoever reads it there.
    marks_commit: bool = False
    #: Sentences may name whose an object is that is not the owner's.
    names_others: bool = True
    #: Whose fields are taken.
    conflicts: ownership.Conflicts = field(default_factory=ownership.Conflicts)
    #: How long new kinds may take to be served, and replaced objects to go.
    timeout: timedelta = timedelta(minutes=5)
    #: Where selectors of workloads have it, it cannot be taken out, nor put in.
    label: variant.VariantLabel | None = None
    #: Asked once the set was tried; None: everything is written.
    hold: Hold | None = None
    #: Is given the live objects that are about to be written, before the first of them is.
    before_writing: steps.BeforeWriting = steps.accept
    #: Told of every object that is as it is to be, written or not.
    applied: steps.Applied = steps.forget


DEFAULTS = Options()
Result = TypeVar("Result")


class SetApply:
    """One application of one set, or a trial of it: make one for each."""

    def __init__(self, client: clients.Client, options: Options = DEFAULTS) -> None:
        self._client = client
        self._options = options
        self._tools = steps.Tools(
            client,
            options.field_manager,
            force=options.force,
            timeout=options.timeout,
            owner=options.owner,
            names_others=options.names_others,
            label=options.label,
            commit=options.commit,
            marks_commit=options.marks_commit,
            conflicts=options.conflicts,
            applied=options.applied,
            before_writing=options.before_writing,
        )
        self._changes: list[apply_results.Change] = []
        self._trials = trials.of(client)
        #: Dry runs that were made just now are not repeated.
        self._recalls = False

    async def apply(self, manifests: Sequence[manifest.Manifest]) -> apply_results.ChangeSet:
        """Apply `manifests` and return what happened to each, in the order of writing.

        Safe to repeat. Cancelling stops in mid-set.

        Raises:
            ApplyError: when something is wrong with the set, before anything was touched; or
                when a write failed, with the changes made until then.
            VolaryError: when the cluster could not be asked, before anything was touched.
        """
        self._recalls = True
        parts = await self._divide(manifests)
        assessed = await self._assess(parts.first, parts.live, alone=not parts.ground)
        if parts.ground or parts.later:
            ground = [step for step in assessed if step.key in parts.ground]
            await self._announce(ground)
            await self._write(ground)
            assessed = [step for step in assessed if step.key not in parts.ground]
            brought = await self._served(parts.later)
            dependent = [*parts.dependent, *parts.redefined, *brought]
            changed = not all(step.is_unchanged for step in ground)
            assessed += await self._assess_when_defined(dependent, parts.live, changed=changed)
        await self._announce(assessed)
        held = await self._options.hold(assessed) if self._options.hold else ()
        await self._write([step for step in assessed if step.key not in held])
        return apply_results.ChangeSet(tuple(self._changes))

    async def preview(self, manifests: Sequence[manifest.Manifest]) -> apply_results.ChangeSet:
        """Return what `apply` would do, found out by dry runs; nothing is written.

        What waits for a namespace or a kind that the set itself brings cannot be tried yet;
        it counts as created. What a definition refuses as it is now, but the set changes,
        counts as written.

        Raises:
            ApplyError: when the cluster would refuse the set.
            VolaryError: when the cluster could not be asked.
        """
        assessed, waiting = await self._foresee(manifests)
        await self._announce(assessed)
        changes = [dry_runs.preview(step) for step in assessed]
        return apply_results.ChangeSet((*changes, *(seen.change for seen in waiting)))

    async def inspect(
        self, manifests: Sequence[manifest.Manifest]
    ) -> tuple[dry_runs.ObjectPreview, ...]:
        """Return what `apply` would do to each object, with its two sides; writes nothing.

        As `preview`, but every answer is kept and what no list shows is asked for one by one:
        for people who check what changes.
        """
        assessed, waiting = await self._foresee(manifests)
        await self._announce(assessed)
        previews: list[dry_runs.ObjectPreview] = []
        await self._attempt(assessed, dry_runs.preview_with_bodies, previews)
        return (*previews, *waiting)

    async def _foresee(
        self, manifests: Sequence[manifest.Manifest]
    ) -> tuple[list[steps.Step], list[dry_runs.ObjectPreview]]:
        """Try what can be tried now; return the rest, which the set itself makes room for."""
        parts = await self._divide(manifests)
        assessed = await self._assess(parts.first, parts.live, alone=False)
        held = await self._options.hold(assessed) if self._options.hold else ()
        assessed = [replace(step, remark=_HELD) if step.key in held else step for step in assessed]
        waiting = [dry_runs.to_create(item) for item in parts.later]
        waiting += [dry_runs.to_create(placed.item) for placed in parts.dependent]
        ground = [step for step in assessed if step.key in parts.ground]
        if all(step.is_unchanged for step in ground):
            assessed += await self._assess(parts.redefined, parts.live, alone=False)
            return assessed, waiting
        for placed in parts.redefined:
            try:
                assessed += await self._assess([placed], parts.live, alone=False)
            except apply_errors.ApplyError as error:
                if not apply_errors.is_by_schema(error):
                    raise
                waiting.append(dry_runs.to_redefine(placed.item, parts.live.get(placed.key)))
        return assessed, waiting

    async def _divide(self, manifests: Sequence[manifest.Manifest]) -> set_parts.Parts:
        placement = await self._place(manifests, defining=manifests)
        mapped = [*placement.mapped, *await self._missing_namespaces(placement.mapped)]
        is_enough = functools.partial(trials.is_enough, tools=self._tools)
        live = await live_objects.read(
            self._client, mapped, is_enough=is_enough if self._recalls else None
        )
        if not self._recalls and len(live) <= recent_objects.MOST:
            for placed in mapped:
                if placed.key in live:
                    self._client.recent.keep(placed.resource, live[placed.key])
        return await work_threads.run_many(
            mapped,
            "comparing with the cluster",
            set_parts.divide,
            mapped,
            live,
            placement.later,
            self._tools,
        )

    async def _place(
        self, manifests: Sequence[manifest.Manifest], *, defining: Sequence[manifest.Manifest] = ()
    ) -> resource_mapping.ResourceMapping:
        placement = await resource_mapping.map_manifests(
            self._client, manifests, namespaces=self._options.namespaces, defining=defining
        )
        if placement.problems:
            raise self._error(placement.problems)
        return placement

    async def _missing_namespaces(
        self, mapped: Sequence[resource_mapping.MappedManifest]
    ) -> list[resource_mapping.MappedManifest]:
        """Return manifests of namespaces to create; who may not look at them is believed."""
        if not self._options.create_namespaces:
            return []
        given = {placed.item.name for placed in mapped if placed.is_namespace}
        used = {placed.item.namespace for placed in mapped} - {""} - given
        wanted = [
            manifest.Manifest(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            )
            for namespace in sorted(used)
        ]
        candidates = (await self._place(wanted)).mapped if wanted else ()
        answers = await fan_out.attempt_all(
            candidates, lambda candidate: live_objects.get(self._client, candidate)
        )
        asked = zip(candidates, answers, strict=True)
        return [candidate for candidate, answer in asked if answer is None]

    async def _served(
        self, later: Sequence[manifest.Manifest]
    ) -> list[resource_mapping.MappedManifest]:
        """Place kinds whose definitions have just been written, once they are served."""
        if not later:
            return []
        loop = asyncio.get_running_loop()
        until = loop.time() + self._options.timeout.total_seconds()
        attempt = 0
        while True:
            catalog = await self._client.discover(refresh=True)
            if all(resource_mapping.find(catalog, item) for item in later):
                return list((await self._place(later)).mapped)
            if loop.time() >= until:
                names = ", ".join(sorted({item.kind for item in later}))
                seconds = int(self._options.timeout.total_seconds())
                problem = f"{names} is not served {seconds} s after its definition"
                raise self._error([errors.Problem(problem)])
            attempt += 1
            await asyncio.sleep(_BACKOFF.after(attempt).total_seconds())

    async def _assess_when_defined(
        self,
        mapped: Sequence[resource_mapping.MappedManifest],
        live: live_objects.Live,
        *,
        changed: bool,
    ) -> list[steps.Step]:
        """Assess what depends on definitions; where they have `changed`, servers may lag."""
        loop = asyncio.get_running_loop()
        until = loop.time() + min(_OLD_SCHEMA, self._options.timeout).total_seconds()
        attempt = 0
        while True:
            try:
                return await self._assess(mapped, live, alone=False)
            except apply_errors.ApplyError as error:
                if not changed or not apply_errors.is_by_schema(error) or loop.time() >= until:
                    raise
            attempt += 1
            await asyncio.sleep(_BACKOFF.after(attempt).total_seconds())

    async def _assess(
        self,
        mapped: Sequence[resource_mapping.MappedManifest],
        live: live_objects.Live,
        *,
        alone: bool,
    ) -> list[steps.Step]:
        """Decide for each object what is to be done, trying those that would change."""
        left = await live_objects.leave_to_autoscalers(
            self._client, mapped, live, manager=self._options.field_manager
        )
        every = await work_threads.run_many(
            left,
            "comparing with the cluster",
            lambda: [steps.assess(placed, live.get(placed.key), self._tools) for placed in left],
        )
        changing = [step for step in every if not step.is_unchanged]
        if alone and len(changing) == 1:
            seen: list[steps.Step] = []
            await self._attempt(changing, steps.look, seen)
            return [seen[0] if step is changing[0] else step for step in every]
        trying = steps.to_try(changing)
        tried: list[steps.Step] = []
        await self._attempt(trying, self._try, tried)
        by_key = {step.key: step for step in tried}
        return [by_key.get(step.key, step) for step in every]

    async def _announce(self, every: Sequence[steps.Step]) -> None:
        """Show the live objects that are about to be written to whoever wants to see them.

        Raises:
            ApplyError: when they must not be written.
        """
        live = [step.live for step in every if step.live is not None and not step.is_unchanged]
        try:
            await self._options.before_writing(live)
        except errors.UserError as error:
            raise self._error(error.problems, [error]) from error
        except errors.VolaryError as error:
            raise self._error([errors.Problem(str(error))], [error]) from error

    async def _try(self, step: steps.Step, tools: steps.Tools) -> steps.Step:
        digest = trials.digest_of(step, tools)
        recalled = self._trials.recall(step, digest) if self._recalls else None
        if recalled is not None:
            steps.refuse_claimed(step, tools)
            return recalled
        tried = await dry_runs.attempt(step, tools)
        self._trials.remember(step, tried, digest)
        return tried

    async def _write(self, every: Sequence[steps.Step]) -> None:
        by_item = {id(step.mapped.item): step for step in every}
        for rank in apply_order.ranks([step.mapped.item for step in every]):
            group = [by_item[id(item)] for item in rank]
            await self._attempt(group, step_writes.write, self._changes, writing=True)

    async def _attempt(
        self,
        group: Sequence[steps.Step],
        act: Callable[[steps.Step, steps.Tools], Awaitable[Result]],
        results: list[Result],
        *,
        writing: bool = False,
    ) -> None:
        """Do `act` with all steps at once and add what came of it to `results`.

        Raises:
            ApplyError: With all that was refused.
        """
        answers = await fan_out.attempt_all(group, lambda step: act(step, self._tools))
        causes: list[errors.VolaryError] = []
        problems: list[errors.Problem] = []
        maybe_written = False
        for step, answer in zip(group, answers, strict=True):
            if isinstance(answer, errors.VolaryError):
                causes.append(answer)
                maybe_written = maybe_written or self._may_have_written(step, answer)
                item, cluster = step.mapped.item, self._client.name
                problems.append(refusals.problem_of(item, answer, cluster=cluster))
            else:
                results.append(answer)
        if causes:
            wrote = writing and maybe_written
            raise self._error(list(dict.fromkeys(problems)), causes, touched=wrote)

    def _may_have_written(self, step: steps.Step, error: errors.VolaryError) -> bool:
        """Say whether a write that ended in `error` may have changed something before that."""
        # Without an answer nobody knows whether it arrived; a delete came before what was refused.
        if isinstance(error, errors.TemporaryError) or step.method is steps.Method.RECREATE:
            return True
        # As did a hand-over of fields.
        live = step.live
        return live is not None and self._tools.handover.plan(step.mapped, live) is not None

    def _error(
        self,
        problems: Sequence[errors.Problem],
        causes: Sequence[errors.VolaryError] = (),
        *,
        touched: bool = False,
    ) -> apply_errors.ApplyError:
        changes = apply_results.ChangeSet(tuple(self._changes))
        return apply_errors.ApplyError(problems, changes=changes, causes=causes, touched=touched)
