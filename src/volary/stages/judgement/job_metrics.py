"""Metrics that a Job in the cluster decides: run at each look, watched to its end, and removed.

A Job bears a label for its metric and release, and none else is read, changed or deleted. One that
a process left behind that ended in the middle of a look is taken over by the next: it goes on, and
its end counts. One that nobody comes back for is ended and removed by the cluster itself.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from volary.analysis.metering import meters, provider_meter
from volary.clusters.api import api_errors, discovery, label_selectors, requests
from volary.clusters.client import clients, resource_mapping
from volary.clusters.watching import waits
from volary.engine import executor
from volary.manifests import objects
from volary.model import analysis, errors, json
from volary.model.objects import manifest
from volary.stages.judgement import metric_jobs

#: Beyond a metric's own limit: the cluster ends the Job then, and takes a moment to say so.
GRACE = timedelta(seconds=30)
_TO_SAY_SO = timedelta(seconds=15)
#: Seconds that removing a Job, and reading a log, may take.
_SHORT = 10.0
_MOST_PODS = 100
_LINES, _LOG_BYTES = 20, 64 * 1024


@dataclass(frozen=True, slots=True)
class JobMetrics:
    """Runs the Jobs of one stage on one cluster."""

    client: clients.Client
    #: Names the stage to the world: the same after a restart.
    stage: str
    report: executor.Reporter
    #: How long an image that cannot be pulled may stay so.
    image_grace: timedelta

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        """Return 1 when the Job succeeds, and 0 when it fails, with what it said last.

        Raises:
            errors.VolaryError: The cluster cannot be asked, or refuses.
        """
        rule = question.rule
        assert rule.job is not None
        if question.is_past:
            return question.failure("a Job is run now, and says nothing of the past")
        jobs = await resource_mapping.require(self.client, "batch", "Job")
        async with self._running(jobs, question) as job:
            item = manifest.Manifest(job)
            query = item.key.title
            ended = await waits.wait_ready(
                self.client,
                [item],
                timeout=rule.timeout + _TO_SAY_SO,
                image_grace=self.image_grace,
            )
            if ended.end is waits.End.READY:
                return question.answer(query, (1.0,))
            if not metric_jobs.has_failed(ended.observed.get(item.key, {})):
                return question.failure(f"the Job gave no answer: {ended.sentence}", query)
            said = await self._explain(item)
            values = (0.0,)
            return question.measurement(query, analysis.Reading.VALUES, said, values)

    @asynccontextmanager
    async def _running(
        self, jobs: discovery.Resource, question: meters.Question
    ) -> AsyncIterator[json.JsonObject]:
        """Have a Job run, and remove it afterwards, whatever became of it."""
        label = metric_jobs.identity((self.stage, question.rule.name, question.side.value))
        values = provider_meter.placeholder_values(question)
        job = await self._left_behind(jobs, values.namespace, label)
        if job is None:
            assert question.rule.job is not None
            body = metric_jobs.make(
                dict(question.rule.job.spec),
                values,
                called=metric_jobs.name(question.rule.name, label, question.time),
                label=label,
                timeout=question.rule.timeout,
            )
            job = {**body, **await self.client.create(jobs, body)}
        try:
            yield job
        finally:
            await self._remove(jobs, job)

    async def _left_behind(
        self, jobs: discovery.Resource, namespace: str, label: str
    ) -> json.JsonObject | None:
        """Return the newest Job of an earlier look that nobody waited for; others are removed."""
        listed = await self.client.list(
            jobs,
            namespace=namespace,
            label_selector=label_selectors.exact({metric_jobs.LABEL: label}),
            most=_MOST_PODS,
        )
        found = [item for item in listed.items if metric_jobs.is_ours(item, label)]
        found.sort(key=lambda item: objects.text(item, "metadata", "creationTimestamp"))
        for older in found[:-1]:
            await self._remove(jobs, older)
        return found[-1] if found else None

    async def _remove(self, jobs: discovery.Resource, job: json.JsonObject) -> None:
        """Delete this very Job, and no other of its name; the cluster does it later if need be."""
        metadata = objects.mapping(job, "metadata")
        try:
            async with asyncio.timeout(_SHORT):
                await self.client.delete(
                    jobs,
                    objects.text(metadata, "name"),
                    namespace=objects.text(metadata, "namespace"),
                    uid=objects.text(metadata, "uid"),
                )
        except api_errors.Conflict:
            return  # Somebody made another in its place.
        except (errors.VolaryError, TimeoutError) as error:
            line = f"{manifest.Manifest(job).key.title} stays until the cluster removes it: {error}"
            self.report.log(line, level=executor.LogLevel.WARNING)

    async def _explain(self, job: manifest.Manifest) -> str:
        """Return what the container said that failed, as far as that can be read."""
        pods = await resource_mapping.require(self.client, "", "Pod")
        try:
            listed = await self.client.list(
                pods,
                namespace=job.namespace,
                label_selector=label_selectors.exact({metric_jobs.POD_LABEL: job.name}),
                most=_MOST_PODS,
            )
        except errors.VolaryError as error:
            return f"its pods cannot be read ({error})"
        failed = metric_jobs.failed_container(listed.items)
        if failed is None:
            return "no container of it says why"
        pod, container, code, message = failed
        said = metric_jobs.shorten(message) or await self._last_line(job.namespace, pod, container)
        return f"container {container} exited with {code}" + (f": {said}" if said else "")

    async def _last_line(self, namespace: str, pod: str, container: str) -> str:
        wanted = requests.LogRange(container, _LINES, most_bytes=_LOG_BYTES)
        lines: list[bytes] = []
        try:
            async with (
                asyncio.timeout(_SHORT),
                aclosing(self.client.follow_log(pod, namespace=namespace, wanted=wanted)) as log,
            ):
                async for line in log:
                    lines.append(line)
        except (errors.VolaryError, TimeoutError) as error:
            if not lines:
                return f"its log cannot be read ({str(error) or 'no answer'})"
        return metric_jobs.last_line(lines)
