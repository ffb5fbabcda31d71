"""Keeping an eye on canary's pods while they get traffic.

Between two checks nothing else would notice that the new version went down, so its pods are
watched all the time: by one watch of the namespace's pods for all stages there. Without a single
ready pod the stage fails within seconds, whatever its interval is; with too few of them it waits,
as long as its deadline allows (Flagger waits in both cases).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from volary.clusters.api import label_selectors
from volary.clusters.client import informers, resource_mapping
from volary.clusters.watching import list_snapshot, readiness, shared_watches
from volary.concurrency import background_tasks
from volary.manifests import objects
from volary.manifests.health import assessment, workload_health
from volary.manifests.ownership import tracking
from volary.manifests.workloads import workloads
from volary.model import errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.runtime import execution
from volary.stages.traffic import routes, variant_pods

#: How long canary may be without any ready pod while it gets traffic: a container that is
#: restarted once is back by then.
_GRACE = timedelta(seconds=10)
T = TypeVar("T")
#: After which time pods that could not be watched are watched again.
_RETRY_INTERVAL = timedelta(seconds=10)
_YEAR = timedelta(days=365)


async def while_ready(
    work: execution.Work,
    source: Sequence[manifest.Manifest],
    waiting: Callable[[], Awaitable[T]],
) -> T:
    """Wait for something, but no longer than canary stands: for stages that only wait.

    Raises:
        StageFailedError: when canary gets traffic and has no ready pod any more.
    """
    async with background_tasks.in_background(_watch_canary(work, source)):
        return await waiting()


async def _watch_canary(work: execution.Work, source: Sequence[manifest.Manifest]) -> None:
    """Return when there is nothing to guard; not being able to look is no alarm.

    Raises:
        StageFailedError: when canary gets traffic and has no ready pod any more.
    """
    while True:
        try:
            seen = await routes.observe(work, source)
            if seen is None or not (seen.canary or seen.is_matched):
                return
            watch = ReadinessWatch(work, source, has_traffic=True)
            async with watch.kept():
                await watch.rest(_YEAR)
        except execution.StageFailedError:
            raise
        except (errors.UserError, execution.StoppedError):
            # Nothing could lead traffic to canary; or nobody waits any more.
            return
        except errors.VolaryError as error:
            work.context.warn(f"canary's pods cannot be watched, trying again: {error}")
            await asyncio.sleep(_RETRY_INTERVAL.total_seconds())


@dataclass(slots=True)
class ReadinessWatch:
    """Watches canary's pods on one cluster."""

    work: execution.Work
    source: Sequence[manifest.Manifest]
    #: Percent of the pods that have to be ready.
    threshold: int = 100
    #: How long they may be fewer.
    deadline: timedelta = timedelta(minutes=10)
    #: Canary gets requests, so somebody misses its pods.
    has_traffic: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    #: What is told of the namespace's pods; None: nobody looks now.
    _pods: informers.Informer | None = None
    _short_since: float | None = None

    @property
    def namespace(self) -> str:
        """Where the workloads are."""
        originals = self._originals
        return (originals[0].namespace if originals else "") or self.work.context.client.namespace

    @property
    def _originals(self) -> list[manifest.Manifest]:
        """The workloads that canary's are copies of."""
        return workloads.find(self.source, self.work.context.application.workloads)

    @contextlib.asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Watch while the body lasts."""
        client = self.work.context.client
        pods = await resource_mapping.require(client, "", "Pod")
        self.work.context.task.stop.when_raised(self._changed.set)
        async with shared_watches.follow(client, pods, self.namespace) as informer:
            self._pods = informer
            with informer.listening(self._labels, self._changed):
                yield
        self._pods = None

    async def look(self) -> str:
        """Return why too few of canary's pods are ready; empty when enough are.

        Raises:
            StageFailedError: when they have been too few for too long, or cannot become more.
        """
        is_service = self.work.context.application.rolls_out_service
        lack = await (self._lack_behind_service() if is_service else self._lack())
        now = asyncio.get_running_loop().time()
        if not lack:
            self._short_since = None
            return ""
        if self._short_since is None:
            self._short_since = now
        seconds = self.deadline.total_seconds()
        if now - self._short_since >= seconds:
            raise execution.StageFailedError(f"{lack}, for {seconds:g} seconds now")
        return lack

    async def _lack(self) -> str:
        live = await self._workloads()
        rules = self.work.context.application.health
        judged = (assessment.assess(body, rules) for body in live)
        permanent_failure = next((health for health in judged if health.permanent), None)
        if permanent_failure is not None:
            raise execution.StageFailedError(
                f"canary cannot become ready: {permanent_failure.reason}"
            )
        if not live:
            return "there is no canary"
        counts = [workload_health.pod_counts(body) for body in live]
        if all(ready * 100 >= wanted * self.threshold for ready, wanted in counts):
            return ""
        ready, total = sum(count[0] for count in counts), sum(count[1] for count in counts)
        return f"{ready} of {total} canary pods ready"

    async def _lack_behind_service(self) -> str:
        """Look at the pods that a Service leads to, which is rolled out itself."""
        client = self.work.context.client
        pods = await list_snapshot.ListSnapshot(client).list(
            await resource_mapping.require(client, "", "Pod"),
            self.namespace,
            label_selectors.exact(self._labels),
        )
        live = [item for item in pods if _counts(item)]
        ready = sum(readiness.is_ready_pod(pod) for pod in live)
        if ready and ready * 100 >= len(live) * self.threshold:
            return ""
        return f"{ready} of {len(live)} pods behind canary ready"

    async def rest(self, duration: timedelta) -> None:
        """Do nothing for a while, but notice when canary goes down.

        Raises:
            StageFailedError: when canary gets traffic and has no ready pod any more.
            StoppedError: when asked to stop meanwhile.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + duration.total_seconds()
        while (left := until - loop.time()) > 0:
            self._changed.clear()
            if self._error is not None:
                raise self._error
            if self.has_traffic and self._pods and self._pods.is_listed and not self._ready:
                await self._wait_for_one()
                continue
            await self._until_changed(left)

    async def _until_changed(self, seconds: float) -> None:
        self.work.check_stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self.work.check_stop()

    async def _wait_for_one(self) -> None:
        """Give canary a moment to have a ready pod again."""
        self.work.context.progress("no canary pod is ready")
        loop = asyncio.get_running_loop()
        until = loop.time() + _GRACE.total_seconds()
        while not self._ready and self._error is None:
            left = until - loop.time()
            if left <= 0:
                raise execution.StageFailedError(
                    "canary gets traffic, but none of its pods is ready any more"
                )
            self._changed.clear()
            await self._until_changed(left)

    @property
    def _labels(self) -> dict[str, str]:
        application = self.work.context.application
        return dict(variant_pods.labels(self.source, application, variant.Variant.CANARY))

    @property
    def _ready(self) -> int:
        told = self._pods.last_told(self._labels) if self._pods else ()
        return sum(readiness.is_ready_pod(pod) for pod in told)

    @property
    def _error(self) -> errors.VolaryError | None:
        return self._pods.error if self._pods else None

    async def _workloads(self) -> list[json.JsonObject]:
        application = self.work.context.application
        label = application.variant_label
        owner = tracking.owner_labels(application.owner)
        wanted = label_selectors.exact({**owner, label.key: label.canary_value})
        kinds = {
            (original.group, original.kind)
            for original in self._originals
            if original.group == "apps"
        }
        bodies: list[json.JsonObject] = []
        client = self.work.context.client
        snapshot = list_snapshot.ListSnapshot(client)
        for group, kind in sorted(kinds):
            resource = await resource_mapping.require(client, group, kind)
            bodies += await snapshot.list(resource, self.namespace, wanted)
        return bodies


def _counts(pod: json.JsonObject) -> bool:
    """Say whether a pod is meant to be ready: it has not ended, and nobody ends it."""
    is_leaving = objects.is_terminating(pod)
    return not is_leaving and objects.text(pod, "status", "phase") not in ("Succeeded", "Failed")
