"""Applying a set of manifests to one cluster: all validated first, then written in order.

1. Each kind is looked up in the cluster's discovery, each namespace checked.
2. Live objects are read in few lists; what they prove unchanged costs nothing more.
3. The rest is tried in a server-side dry run. One bad object: nothing is touched, and
   every problem is reported, not only the first.
4. What remains is written rank by rank (`apply_order`), at once within a rank.

A namespace or a definition that the set itself brings has to exist before what lives
in it can be tried. So when there are such, everything else is tried first, then they
are written, then what depends on them is tried. If that fails, nothing but they were
written, and the error says so.

A set with a single changed object is not tried: its write is as much all-or-nothing.

`steps` knows one object, this module knows the set.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from volary.clusters.api import api_errors
from volary.clusters.apply import live_objects, refusals, steps
from volary.clusters.client import clients, resource_mapping
from volary.concurrency import fan_out
from volary.manifests.loading import apply_order
from volary.model import backoffs, errors
from volary.model.objects import apply_results, manifest

#: Between two questions whether a new kind is served.
_BACKOFF = backoffs.Backoff(timedelta(milliseconds=100), timedelta(milliseconds=800))


@dataclass(frozen=True, slots=True)
class Options:
    """How a set is applied."""

    field_manager: str = steps.MANAGER
    #: Namespaces that may be used; empty: all.
    namespaces: tuple[str, ...] = ()
    #: Create namespaces that are used and missing (PipeCD: ``autoCreateNamespace``).
    create_namespaces: bool = False
    #: Take over fields that other managers own, whoever they are.
    force: bool = False
    #: How long new kinds may take to be served, and replaced objects to go.
    timeout: timedelta = timedelta(minutes=5)


DEFAULTS = Options()
Result = TypeVar("Result")


class ApplyError(errors.VolaryError):
    """A set was not applied completely; `changes` says what was."""

    def __init__(
        self,
        problems: Sequence[errors.Problem],
        *,
        changes: apply_results.ChangeSet | None = None,
        causes: Iterable[errors.VolaryError] = (),
        touched: bool = False,
    ) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
        self.changes = changes or apply_results.ChangeSet()
        self.causes = tuple(causes)
        #: Something was, or may have been, written.
        self.touched = touched or any(change.written for change in self.changes.changes)


def unreachable(error: errors.VolaryError) -> api_errors.Unreachable | None:
    """Return the error that says that the cluster did not answer; None for other reasons."""
    causes = error.causes if isinstance(error, ApplyError) else (error,)
    return next((cause for cause in causes if isinstance(cause, api_errors.Unreachable)), None)


class SetApply:
    """One application of one set, or a trial of it: make one for each."""

    def __init__(self, client: clients.Client, options: Options = DEFAULTS) -> None:
        self._client = client
        self._options = options
        self._tools = steps.Tools(
            client, options.field_manager, force=options.force, timeout=options.timeout
        )
        self._changes: list[apply_results.Change] = []

    async def apply(self, manifests: Sequence[manifest.Manifest]) -> apply_results.ChangeSet:
        """Apply `manifests` and return what happened to each, in the order of writing.

        Safe to repeat. Cancelling stops in mid-set.

        Raises:
            ApplyError: when something is wrong with the set, before anything was touched; or
                when a write failed, with the changes made until then.
            VolaryError: when the cluster could not be asked, before anything was touched.
        """
        parts = await self._divide(manifests)
        assessed = await self._assess(parts.first, parts.live, alone=not parts.ground)
        if parts.ground:
            await self._write([step for step in assessed if step.key in parts.ground])
            assessed = [step for step in assessed if step.key not in parts.ground]
            brought = await self._served(parts.later)
            dependent = [*parts.dependent, *brought]
            assessed += await self._assess(dependent, parts.live, alone=False)
        await self._write(assessed)
        return apply_results.ChangeSet(tuple(self._changes))

    async def preview(self, manifests: Sequence[manifest.Manifest]) -> apply_results.ChangeSet:
        """Return what `apply` would do, found out by dry runs; nothing is written.

        What waits for a namespace or a kind that the set itself brings cannot be tried yet;
        it counts as created.

        Raises:
            ApplyError: when the cluster would refuse the set.
            VolaryError: when the cluster could not be asked.
        """
        assessed, later = await self._foresee(manifests)
        changes = [steps.preview(step) for step in assessed]
        return apply_results.ChangeSet((*changes, *map(_created, later)))

    async def inspect(
        self, manifests: Sequence[manifest.Manifest]
    ) -> tuple[steps.ObjectPreview, ...]:
        """Return what `apply` would do to each object, with its two sides; writes nothing.

        As `preview`, but every answer is kept and what no list shows is asked for one by one:
        for people who check what changes.
        """
        assessed, later = await self._foresee(manifests)
        previews: list[steps.ObjectPreview] = []
        await self._attempt(assessed, steps.preview_with_bodies, previews)
        waiting = (steps.ObjectPreview(_created(item), None, item.body) for item in later)
        return (*previews, *waiting)

    async def _foresee(
        self, manifests: Sequence[manifest.Manifest]
    ) -> tuple[list[steps.Step], list[manifest.Manifest]]:
        """Try what can be tried now; return the rest, which the set itself makes room for."""
        parts = await self._divide(manifests)
        assessed = await self._assess(parts.first, parts.live, alone=False)
        return assessed, [*(placed.item for placed in parts.dependent), *parts.later]

    async def _divide(self, manifests: Sequence[manifest.Manifest]) -> "_Parts":
        placement = await self._place(manifests, defining=manifests)
        mapped = [*placement.mapped, *await self._missing_namespaces(placement.mapped)]
        live = await live_objects.read(self._client, mapped)
        ground = _prerequisites(mapped, live, has_later=bool(placement.later))
        built = {placed.item.name for placed in ground if placed.is_namespace}
        first: list[resource_mapping.MappedManifest] = []
        dependent: list[resource_mapping.MappedManifest] = []
        for placed in mapped:
            (dependent if placed.item.namespace in built else first).append(placed)
        keys = frozenset(placed.key for placed in ground)
        return _Parts(first, keys, dependent, placement.later, live)

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
        every = [steps.assess(placed, live.get(placed.key), self._tools) for placed in left]
        changing = [step for step in every if not step.is_unchanged]
        if alone and len(changing) == 1:
            return every
        trying = steps.to_try(changing)
        tried: list[steps.Step] = []
        await self._attempt(trying, steps.attempt, tried)
        by_key = {step.key: step for step in tried}
        return [by_key.get(step.key, step) for step in every]

    async def _write(self, every: Sequence[steps.Step]) -> None:
        by_item = {id(step.mapped.item): step for step in every}
        for rank in apply_order.ranks([step.mapped.item for step in every]):
            group = [by_item[id(item)] for item in rank]
            await self._attempt(group, steps.write, self._changes, writing=True)

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
        for step, answer in zip(group, answers, strict=True):
            if isinstance(answer, errors.VolaryError):
                causes.append(answer)
                item, cluster = step.mapped.item, self._client.name
                problems.append(refusals.problem_of(item, answer, cluster=cluster))
            else:
                results.append(answer)
        if causes:
            # Without an answer nobody knows whether the write arrived.
            lost = any(isinstance(cause, errors.TemporaryError) for cause in causes)
            raise self._error(list(dict.fromkeys(problems)), causes, touched=writing and lost)

    def _error(
        self,
        problems: Sequence[errors.Problem],
        causes: Sequence[errors.VolaryError] = (),
        *,
        touched: bool = False,
    ) -> ApplyError:
        changes = apply_results.ChangeSet(tuple(self._changes))
        return ApplyError(problems, changes=changes, causes=causes, touched=touched)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A set, divided by what has to be there before what."""

    #: What can be tried at once.
    first: Sequence[resource_mapping.MappedManifest]
    #: Those of them that the rest waits for.
    ground: frozenset[manifest.ResourceKey]
    #: What is in namespaces of the set itself, which are not there yet.
    dependent: Sequence[resource_mapping.MappedManifest]
    #: Of kinds that the set itself defines.
    later: Sequence[manifest.Manifest]
    live: live_objects.Live


def _created(item: manifest.Manifest) -> apply_results.Change:
    return apply_results.Change(item.key, apply_results.Action.CREATED)


def _prerequisites(
    mapped: Sequence[resource_mapping.MappedManifest], live: live_objects.Live, *, has_later: bool
) -> list[resource_mapping.MappedManifest]:
    """Return new namespaces that the set uses, and definitions whose kinds it uses."""
    used = {placed.item.namespace for placed in mapped}
    return [
        placed
        for placed in mapped
        if placed.key not in live
        and (
            (placed.is_namespace and placed.item.name in used)
            or (has_later and resource_mapping.is_definition(placed.item))
        )
    ]
