"""One stage on its way on one cluster: what was done so far, how it waits, and when it stops.

A stage's `run` takes a `Work`, does one thing after the other and returns the sentence
that says what was observed. What it writes is in `cluster_changes` and `inventory_records`, how it
ends in `outcomes`.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from volary.clusters.apply import applied_objects
from volary.clusters.client import resource_mapping
from volary.clusters.watching import waits
from volary.concurrency import races, single_flight
from volary.model import errors, json
from volary.model.objects import apply_results, manifest
from volary.stages.runtime import contexts

_REPORTED_ACTIONS = (
    apply_results.Action.CREATED,
    apply_results.Action.CONFIGURED,
    apply_results.Action.DELETED,
)
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
    #: What is left undone, although the stage does not fail of it.
    exceptions: list[str] = field(default_factory=list)
    #: Something was, or may have been, written to the cluster.
    touched: bool = False
    #: Namespaces that the application's manifests were seen to use.
    places: set[str] = field(default_factory=set)
    #: What it applies counts, whoever owns the fields.
    force: bool = False
    #: What it has applied, as it was then.
    applied: dict[manifest.ResourceKey, applied_objects.AppliedObject] = field(default_factory=dict)

    def note_applied(self, mapped: resource_mapping.MappedManifest, live: json.JsonObject) -> None:
        """Remember an object as it was applied, also one that was so already."""
        self.applied[mapped.key] = applied_objects.of(mapped, live)

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
            Exception: whatever the work raises.
        """
        try:
            task, _ = await races.first(work, self.context.task.stop.wait())
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
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

    def begin_writing(self) -> None:
        """Count the cluster as touched before something is sent whose answer may be lost."""
        self.touched = True

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
