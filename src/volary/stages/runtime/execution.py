"""One stage being carried out on one cluster: what was done so far, and how it ends.

A stage's `run` takes a `Work`, does one thing after the other and returns the sentence
that says what was observed. Whatever goes wrong on the way becomes an `Outcome` here,
in one place, together with what had been done by then. `in_background` carries something out
while a stage does its own work; it ends with it.
"""

import asyncio
import contextlib
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

from volary.clusters.api import server_warnings
from volary.clusters.apply import applier, deletions
from volary.clusters.client import resource_mapping
from volary.clusters.inventory import inventory, inventory_store, owned_objects, pruning
from volary.clusters.watching import waits
from volary.concurrency import races, single_flight
from volary.model import errors, json, statuses
from volary.model.objects import apply_results, manifest
from volary.model.pipeline import variant
from volary.stages.runtime import adoptions, contexts

_REPORTED_ACTIONS = (
    apply_results.Action.CREATED,
    apply_results.Action.CONFIGURED,
    apply_results.Action.DELETED,
)
#: How long a new kind may take to be served, or an object that is replaced to go.
_PATIENCE = timedelta(minutes=5)
T = TypeVar("T")
#: More changes than this are counted, not listed.
_MOST_LINES = 25


class StageFailedError(errors.PermanentError):
    """The stage did what it could and the wished-for state was not reached."""


class RefusedError(StageFailedError):
    """Whoever was asked about the release, on all clusters, did not agree to it."""


class StoppedError(errors.VolaryError):
    """The stage was asked to stop and did, between two writes."""


@dataclass(slots=True)
class Work:
    """What a stage works with: its context, its limit, and the record of what it did."""

    context: contexts.StageContext
    #: Time of the event loop after which nothing is waited for any more.
    until: float
    lines: list[str] = field(default_factory=list)
    #: Something was, or may have been, written to the cluster.
    touched: bool = False
    #: Namespaces that the application's manifests were seen to use.
    places: set[str] = field(default_factory=set)
    #: What it applies counts, whoever owns the fields.
    force: bool = False

    async def load(self, source: contexts.Loader) -> list[manifest.Manifest]:
        """Render a source, and remember the namespaces it uses."""
        manifests = await source()
        self.places |= {item.namespace or self.context.client.namespace for item in manifests}
        return manifests

    @property
    def remaining(self) -> timedelta:
        """How long the stage may still take."""
        return timedelta(seconds=max(0.0, self.until - asyncio.get_running_loop().time()))

    def note(self, line: str) -> None:
        """Remember a line for the outcome, and log it."""
        self.lines.append(line)
        self.context.log(line)

    def caution(self, line: str) -> None:
        """Remember a line that somebody should look at, and log it as a warning."""
        self.lines.append(line)
        self.context.warn(line)

    def hear_warning(self, text: str) -> None:
        """Pass on what an API server warns of, once in a run whichever cluster says it."""
        if text not in self.context.heard_warnings:
            self.context.heard_warnings.add(text)
            self.caution(f"warning of cluster {self.context.target}: {text}")

    def check_stop(self) -> None:
        """Go on only while nobody asked to stop.

        Raises:
            StoppedError: when somebody did.
        """
        if self.context.task.stop.is_raised:
            raise StoppedError(self.stop_reason)

    async def pause(self, duration: timedelta) -> None:
        """Do nothing for a while.

        Raises:
            StoppedError: when asked to stop meanwhile.
        """
        try:
            async with asyncio.timeout(duration.total_seconds()):
                await self.context.task.stop.wait()
        except TimeoutError:
            return
        raise StoppedError(f"{self.stop_reason}; no longer waiting")

    async def settle(self) -> None:
        """Wait until proxies have had time to follow the last change of routes, or to stop."""
        left = min(self.context.propagation.left, self.remaining).total_seconds()
        if not left:
            return
        self.context.progress(f"waiting {left:.1f}s until proxies have followed the routes")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self.context.task.stop.wait()

    async def unless_stopped(self, work: Awaitable[T]) -> T:
        """Do something that may be broken off at any moment, as a question to somebody.

        Raises:
            StoppedError: when asked to stop meanwhile.
        """
        task, _ = await races.first(work, self.context.task.stop.wait())
        if task.cancelled():
            raise StoppedError(f"{self.stop_reason}; no longer waiting")
        return task.result()

    async def once(
        self,
        key: str,
        question: Callable[[], Awaitable[T]],
        *,
        is_kept: Callable[[T], bool] = lambda _: True,
    ) -> single_flight.SharedResult[T]:
        """Have something done once for all clusters, and return what came of it.

        A result that is not kept is that of those who wait for it now.

        Raises:
            StoppedError: when asked to stop while another cluster does it.
        """
        context = self.context
        result = await context.once.do(
            key, context.target, question, is_kept=is_kept, stop=context.task.stop.wait
        )
        if result is None:
            raise StoppedError(self.stop_reason)
        return result

    async def gather(self, topic: str, late: str) -> Mapping[str, object]:
        """Return what every cluster at this stage has said on a topic, once all of them have.

        Raises:
            StageFailedError: with `late`, when they have not in time.
            StoppedError: when asked to stop.
        """
        gathered = self.context.rendezvous.gather(self.context.target, topic)
        try:
            async with asyncio.timeout(self.remaining.total_seconds()):
                return await self.unless_stopped(gathered)
        except TimeoutError:
            raise StageFailedError(late) from None

    @property
    def stop_reason(self) -> str:
        """Why the stage is to stop."""
        return self.context.task.stop.reason or "asked to stop"

    async def apply(
        self, manifests: Sequence[manifest.Manifest], hold: applier.Hold | None = None
    ) -> apply_results.ChangeSet:
        """Apply a set completely, also when asked to stop on the way; not begun after that.

        What `hold` returns is left out.
        """
        self.check_stop()
        self.context.progress(
            f"applying {len(manifests)} manifest{'' if len(manifests) == 1 else 's'}"
        )
        self.touched = self.touched or self.context.was_interrupted
        # The inventory comes first: a crash must not leave what nobody knows of.
        remembered = await self._remember(manifests)
        options = replace(
            self.apply_options,
            # Where no inventory says which commit runs, the objects have to.
            marks_commit=not remembered,
            hold=hold,
            before_writing=self.keep_adopted,
        )
        try:
            changes = await applier.SetApply(self.context.client, options).apply(manifests)
        except applier.ApplyError as error:
            self.record(error.changes.changes)
            self.touched = self.touched or error.touched
            raise
        self.record(changes.changes)
        if not remembered and not await self._remember(manifests):
            self.caution("the inventory could not be kept; pruning will look at common kinds only")
        return changes

    async def preview(self, manifests: Sequence[manifest.Manifest]) -> apply_results.ChangeSet:
        """Return what `apply` would change by now; writes nothing."""
        return await applier.SetApply(self.context.client, self.apply_options).preview(manifests)

    @property
    def apply_options(self) -> applier.Options:
        """How sets are applied."""
        application = self.context.application
        return applier.Options(
            namespaces=self.context.namespaces,
            create_namespaces=application.input.auto_create_namespace,
            force=self.force,
            owner=application.owner,
            conflicts=application.conflicts,
            commit=self.context.task.commit,
            timeout=min(self.remaining, _PATIENCE),
            label=application.variant_label,
        )

    async def _remember(self, manifests: Sequence[manifest.Manifest]) -> bool:
        """Add `manifests` to the inventory; say whether that was possible.

        It is not while their namespace or definition does not exist yet, nor without the
        permission. Deploying does not depend on it.
        """
        client, owner = self.context.client, self.context.application.owner
        placement = await resource_mapping.map_manifests(client, manifests, refresh=False)
        namespaces = sorted(
            {mapped_manifest.item.namespace for mapped_manifest in placement.mapped} - {""}
        )
        home = self.inventory_home(namespaces)
        added = [inventory.reference(mapped_manifest.item) for mapped_manifest in placement.mapped]

        def with_these(known: inventory.Inventory) -> inventory.Inventory:
            return replace(
                known.with_references(added),
                origin=self.context.application.origin,
                begun=known.begun or self.context.task.commit,
            )

        try:
            known = inventory_store.recent(client, owner)
            if known is None or with_these(known) != known:
                known = await inventory_store.load(client, owner, namespaces=namespaces, home=home)
            self.context.adoption.note(client, known)
            await inventory_store.record(client, known, with_these(known))
            self.context.adoption.note(client, with_these(known))
        except errors.PermanentError:
            return False
        return not placement.later and not placement.problems

    async def keep_adopted(self, live: Sequence[json.JsonObject]) -> None:
        """Keep those of some live objects that are about to be adopted as they are.

        Raises:
            VolaryError: when that is not possible; then they must not be written.
        """
        client, owner = self.context.client, self.context.application.owner
        home = self.inventory_home(self.context.namespaces or sorted(self.places))
        fallback = inventory.Inventory(owner, home)
        run = self.context.task.run_id
        kept = await self.context.adoption.keep(client, fallback, live, run)
        if kept:
            self.note(f"kept as it is until the run has ended: {adoptions.listed(kept)}")

    async def record_running(self, commit: str) -> None:
        """Write into the inventory which commit runs now, so that whoever comes next knows it."""
        client, owner = self.context.client, self.context.application.owner
        namespaces = self.context.namespaces or sorted(self.places)
        home = self.inventory_home(namespaces)
        try:
            known = inventory_store.recent(client, owner)
            if known is not None and known.references and known.commit != commit:
                # Whoever goes back has to take this back too.
                self.touched = True
                if await inventory_store.record_commit(client, known, commit):
                    return
            known = await inventory_store.load(client, owner, namespaces=namespaces, home=home)
            if known.references and known.commit != commit:
                self.touched = True
                await inventory_store.record(client, known, replace(known, commit=commit))
        except errors.PermanentError as error:
            self.caution(f"the inventory does not say that {commit[:7]} runs: {error}")

    def inventory_home(self, namespaces: Sequence[str]) -> str:
        """Return the namespace for a new inventory: the application's, else the context's."""
        wished = self.context.application.input.namespace
        allowed = self.context.namespaces
        first = wished or (namespaces[0] if namespaces else "") or self.context.client.namespace
        return first if not allowed or first in allowed else allowed[0]

    async def wait_ready(self, manifests: Sequence[manifest.Manifest]) -> str:
        """Wait until `manifests` are ready and return what was seen.

        Raises:
            StageFailedError: when they are not in time, or cannot become it.
            StoppedError: when asked to stop.
        """
        return self.settled(await self.watch_ready(manifests))

    async def watch_ready(self, manifests: Sequence[manifest.Manifest]) -> waits.WaitResult:
        """Wait until `manifests` are ready and return how that ended."""
        return await waits.wait_ready(
            self.context.client,
            manifests,
            timeout=self.remaining,
            rules=self.context.application.health,
            image_grace=self.context.options.image_grace,
            progress=lambda seen: self.context.progress(seen.sentence, seen.ready, seen.total),
            stop=self.context.task.stop.wait,
        )

    def settled(self, result: waits.WaitResult) -> str:
        """Return what a wait saw, if what was waited for is ready.

        Raises:
            StageFailedError: when it is not in time, or cannot become it.
            StoppedError: when asked to stop.
        """
        if result.end is waits.End.STOPPED:
            raise StoppedError(f"{self.stop_reason}; no longer waiting: {result.sentence}")
        if result.end is not waits.End.READY:
            raise StageFailedError(result.sentence)
        for key in result.unassessed:
            line = f"{key}: it was applied and is there, more is not known"
            if line not in self.lines:
                self.caution(line)
        return result.sentence

    def scope(
        self, *variants: variant.Variant, allow_mass_deletion: bool | None = None
    ) -> owned_objects.Scope:
        """Return which objects of this application may be considered for deleting."""
        if allow_mass_deletion is None:
            allow_mass_deletion = self.context.options.allow_mass_deletion
        return owned_objects.Scope(
            self.context.application.owner,
            self.context.application.variant_label,
            variants,
            self.context.namespaces,
            allow_mass_deletion,
            tuple(sorted(self.places)),
        )

    async def prune_away(
        self,
        desired: Sequence[manifest.Manifest],
        scope: owned_objects.Scope,
        check: deletions.KeepCheck = pruning.keep_nothing,
    ) -> pruning.PruneResult:
        """Delete what is live and not in `desired`, on evidence only; wait until it is gone.

        Raises:
            StageFailedError: when something that should have gone has not.
        """
        result = await pruning.prune(
            self.context.client,
            desired,
            scope,
            timeout=self.remaining,
            check=check,
            followed=self._followed,
            waiting=self.context.progress,
        )
        self.record_removal(result)
        return result

    async def _followed(self) -> None:
        """Wait until proxies have followed routes that were deleted just now, or to stop."""
        self.context.propagation.note()
        await self.settle()

    async def remove_brought(self, check: deletions.KeepCheck) -> pruning.PruneResult:
        """Delete every object of the application that `check` does not keep.

        Raises:
            StageFailedError: when something that should have gone has not.
        """
        result = await pruning.delete_all(
            self.context.client,
            self.scope(),
            timeout=self.remaining,
            check=check,
            waiting=self.context.progress,
        )
        self.record_removal(result)
        return result

    def record_removal(self, result: pruning.PruneResult) -> None:
        """Remember what a prune or a clean-up did.

        Raises:
            StageFailedError: when something that should have gone has not.
        """
        self.record(result.changes)
        for warning in result.warnings:
            self.caution(warning)
        if result.refusal:
            self.caution(result.refusal)
        for failure in result.failures:
            self.caution(failure)
        if result.failures:
            raise StageFailedError(result.failures[0])

    def record(self, changes: Iterable[apply_results.Change]) -> None:
        """Remember changes to the cluster, each by a line while they are few."""
        every = tuple(changes)
        self.touched = self.touched or any(change.written for change in every)
        for change in every:
            if change.taken_from:
                self.note(f"takes {change.key.title} over from {change.taken_from}")
                self.context.report.took_over(change.key.title, change.taken_from)
        shown = [change for change in every if change.action in _REPORTED_ACTIONS or change.reason]
        if len(shown) > _MOST_LINES:
            self.note(apply_results.ChangeSet(every).summary)
            shown = [change for change in shown if change.reason][:_MOST_LINES]
        for reported_change in shown:
            suffix = f" ({reported_change.reason})" if reported_change.reason else ""
            self.note(f"{reported_change.action.value} {reported_change.key.title}{suffix}")


#: What a stage does; returns the sentence that says what was observed at the end.
Run = Callable[[Work], Awaitable[str]]


async def carry_out(context: contexts.StageContext, run: Run) -> statuses.Outcome:
    """Run a stage to its end and say how it ended; a cluster's failure is no exception."""
    work = Work(context, asyncio.get_running_loop().time() + context.timeout.total_seconds())
    context.rendezvous.join(context.target)
    try:
        with server_warnings.told_to(work.hear_warning):
            reason = await run(work)
    except StoppedError as stopped:
        return _outcome(work, statuses.TaskStatus.CANCELLED, str(stopped))
    except errors.VolaryError as error:
        return _failed(work, error)
    finally:
        context.rendezvous.leave(context.target)
    return _outcome(work, statuses.TaskStatus.SUCCEEDED, reason)


def _failed(work: Work, error: errors.VolaryError) -> statuses.Outcome:
    """Return the outcome of a stage that ended in `error`, with every problem as detail."""
    gone = applier.unreachable(error)
    if gone is not None:
        return _outcome(work, statuses.TaskStatus.UNREACHABLE, str(gone))
    problems = error.problems if isinstance(error, errors.UserError | applier.ApplyError) else ()
    for problem in errors.hints_once(problems):
        work.lines.extend(_lines(problem, alone=len(problems) == 1))
    failed = _outcome(work, statuses.TaskStatus.FAILED, _reason(error, problems))
    return replace(failed, refused=isinstance(error, RefusedError))


def _reason(error: errors.VolaryError, problems: Sequence[errors.Problem]) -> str:
    if not problems:
        return str(error)
    first, more = problems[0].message, len(problems) - 1
    if not more:
        return first
    return f"{first}; and {more} more problem{'s' if more > 1 else ''}"


def _lines(problem: errors.Problem, *, alone: bool) -> list[str]:
    """Return where a problem is and what to do; the message too unless it is the reason."""
    where = str(problem.where)
    said = [f"at {where}"] if alone and where else []
    lines = said if alone else [f"{where}: {problem.message}" if where else problem.message]
    return [*lines, f"hint: {problem.hint}"] if problem.hint else lines


def _outcome(work: Work, ended: statuses.TaskStatus, reason: str) -> statuses.Outcome:
    return statuses.Outcome(ended, reason, tuple(work.lines), work.touched)


@asynccontextmanager
async def in_background(background: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Carry `background` out while the body lasts, and break it off after it.

    When the background fails, the body is broken off. What either of them raises leaves as it
    is: a task group alone would wrap it.
    """
    failure: errors.VolaryError | None = None
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(background)
            try:
                yield
            except errors.VolaryError as error:
                failure = error
            finally:
                task.cancel()
    except BaseExceptionGroup as several:
        known = (
            exception
            for exception in several.exceptions
            if isinstance(exception, errors.VolaryError)
        )
        failure = failure or next(known, None)
        if failure is None:
            raise
    if failure is not None:
        raise failure
