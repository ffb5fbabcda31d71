"""What the webhooks of a stage say: questions by type, and reports of what happens.

A question never waits longer than its webhook may take, and never keeps the safety checks of
its stage from being made: those are other questions, asked in the same round. Reports
(``event``) are sent in the background and lost when nobody takes them.
"""

import asyncio
import hashlib
import json as json_text
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from volary.concurrency import background_tasks
from volary.manifests.workloads import workloads
from volary.model.objects import manifest
from volary.model.pipeline import webhook
from volary.stages import webhooks
from volary.stages.runtime import contexts, execution

_CHECKSUM = 10
#: Reports that wait to be sent; older ones are dropped.
_MOST_REPORTS = 50
#: How long reports are still sent after the stage.
_LAST_REPORTS = timedelta(seconds=5)


def subject(
    context: contexts.StageContext,
    source: Sequence[manifest.Manifest],
    *,
    phase: str = "Progressing",
    details: Mapping[str, object] | None = None,
) -> webhooks.Subject:
    """Return what webhooks are asked about: the application as it is in `source`."""
    matching_workloads = workloads.find(source, context.application.workloads)
    namespace = matching_workloads[0].namespace if matching_workloads else ""
    return webhooks.Subject(
        name=context.application.name,
        namespace=namespace or context.client.namespace,
        cluster=context.target,
        checksum=checksum(source),
        phase=phase,
        details=details or {},
        attempt=context.attempt_id(),
    )


def checksum(source: Sequence[manifest.Manifest]) -> str:
    """Return a short hash of everything that is rolled out, ConfigMaps and Secrets included.

    Equal manifests have equal checksums whatever commit they come from, so an answer that was
    given for a revision holds for that revision only (Flagger).
    """
    texts = sorted(
        json_text.dumps(source_manifest.body, sort_keys=True) for source_manifest in source
    )
    digest = hashlib.sha256("\n".join(texts).encode("utf-8", "replace"))
    return digest.hexdigest()[:_CHECKSUM]


@dataclass(slots=True)
class StageWebhooks:
    """Asks the webhooks of one stage on one cluster."""

    work: execution.Work
    hooks: Sequence[webhook.Webhook]
    about: webhooks.Subject
    _said: dict[str, str] = field(default_factory=dict)
    _reports: asyncio.Queue[tuple[webhook.Webhook, Mapping[str, str]]] = field(
        default_factory=lambda: asyncio.Queue(_MOST_REPORTS)
    )

    def of(self, kind: webhook.WebhookType) -> list[webhook.Webhook]:
        """Return the webhooks of a type, in their order."""
        return [hook for hook in self.hooks if hook.type is kind]

    def describe(self, *, phase: str, **details: object) -> None:
        """Remember where the rollout is, for the questions that follow."""
        self.about = replace(self.about, phase=phase, details=details)

    async def refusal(self, kind: webhook.WebhookType) -> str:
        """Ask every webhook of a type in order, and return the first refusal; empty: none."""
        for hook in self.of(kind):
            answer = await self._ask(hook)
            if not answer.agreed:
                said = f"{hook.name} {answer.reason}"
                if not (hook.mute_alert and self._said.get(hook.name)):
                    self.work.context.log(f"{kind.value}: {said}")
                self._said[hook.name] = answer.reason
                return said
            self._said.pop(hook.name, None)
        return ""

    async def agreement(self, kind: webhook.WebhookType) -> str:
        """Return the name of the first webhook of a type that agrees; empty: none does."""
        for hook in self.of(kind):
            if (await self._ask(hook)).agreed:
                return hook.name
        return ""

    async def inform(self, kind: webhook.WebhookType) -> None:
        """Call every webhook of a type; refusals are logged and mean nothing more."""
        for hook in self.of(kind):
            answer = await webhooks.call(
                hook, self.about, self.work.context.options.permissions.reach
            )
            if not answer.agreed:
                self.work.context.warn(f"{kind.value}: {hook.name} {answer.reason}")

    async def _ask(self, hook: webhook.Webhook) -> webhooks.Answer:
        reach = self.work.context.options.permissions.reach
        return await self.work.unless_stopped(webhooks.call(hook, self.about, reach))

    def report(self, message: str, *, is_warning: bool = False) -> None:
        """Tell the ``event`` webhooks what happened, when there is time."""
        extra = {
            "eventMessage": message,
            "eventType": "Warning" if is_warning else "Normal",
            "timestamp": str(int(self.work.context.clock.now().timestamp() * 1000)),
        }
        for hook in self.of(webhook.WebhookType.EVENT):
            if self._reports.full():
                self._reports.get_nowait()
                self._reports.task_done()
            self._reports.put_nowait((hook, extra))

    @asynccontextmanager
    async def reporting(self) -> AsyncIterator[None]:
        """Send reports while the body lasts, and for a short time after it.

        What the body raises leaves as it is: a stage that fails says why with reports, too.
        """
        if not self.of(webhook.WebhookType.EVENT):
            yield
            return
        async with background_tasks.in_background(self._send()):
            try:
                yield
            finally:
                await self._finish()

    async def _finish(self) -> None:
        try:
            async with asyncio.timeout(_LAST_REPORTS.total_seconds()):
                await self._reports.join()
        except TimeoutError:
            self.work.context.warn("some reports to event webhooks could not be sent in time")

    async def _send(self) -> None:
        silent: set[str] = set()
        while True:
            hook, extra = await self._reports.get()
            reach = self.work.context.options.permissions.reach
            answer = await webhooks.call(hook, self.about, reach, extra=extra)
            if not answer.agreed and hook.name not in silent:
                silent.add(hook.name)
                self.work.context.warn(f"event: {hook.name} {answer.reason}")
            self._reports.task_done()
