"""``K8S_BLUE_GREEN``: all traffic goes to the new version at once, and can come back at once.

Canary, which runs at full size, is looked at through a preview Service and checked; then the
routes are switched and it is checked again. Primary stays as it is all the while, and for a
delay after that, so a rollback is one write. K8S_PRIMARY_ROLLOUT then brings primary to the
new version behind canary's back, and takes the traffic over.
"""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import msgspec

from volary.model import json, phrases
from volary.model.objects import manifest
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.judgement import metric_checks
from volary.stages.kinds import traffic_routing
from volary.stages.rollouts import rendering
from volary.stages.runtime import cluster_changes, execution, stage_runners, stage_webhooks
from volary.stages.traffic import division, readiness_watch, routes

_Hook = webhook.WebhookType
_CANARY = division.Division(0, canary=division.ALL)
#: How often a gate, or a wish to roll back, is asked for.
_ASK_INTERVAL = timedelta(seconds=10)
#: How long there may be nothing to judge by.
_NO_DATA_LIMIT = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the stage is: what is kept over a restart."""

    #: The analysis that is made; ``switch``: that is done.
    title: str = ""
    #: When it began.
    started: str = ""
    done: int = 0
    failed: int = 0
    #: Canary gets the traffic.
    switched: bool = False


def plan(
    sources: stage_runners.Sources, options: traffic_stages.BlueGreenOptions
) -> stage_runners.Rollout:
    """Return what the stage applies: the preview Service.

    Raises:
        UserError: when there is nothing to copy.
    """
    return stage_runners.Rollout(
        rendering.preview(sources.manifests, sources.application, options, commit=sources.commit)
    )


async def run(work: execution.Work, options: traffic_stages.BlueGreenOptions) -> str:
    """Carry out the stage on one cluster."""
    context = work.context
    source = await work.load(context.target_source)
    about = stage_webhooks.subject(context, source)
    switch = Switch(
        work,
        options,
        source,
        stage_webhooks.StageWebhooks(work, options.webhooks, about),
        readiness_watch.ReadinessWatch(work, source, options.ready_threshold, work.remaining),
    )
    async with switch.watch.kept(), switch.webhooks.reporting():
        way = switch.carry_out(await context.task_state.load())
        return await traffic_routing.or_give_up(way, switch.give_up)


@dataclass(slots=True)
class Switch:
    """One cluster's way from preview to the end of the delay."""

    work: execution.Work
    options: traffic_stages.BlueGreenOptions
    source: list[manifest.Manifest]
    webhooks: stage_webhooks.StageWebhooks
    watch: readiness_watch.ReadinessWatch
    progress: Progress = field(default_factory=Progress)

    async def carry_out(self, known: json.JsonObject) -> str:
        """Switch, and return the sentence that says how it stands.

        Args:
            known: What an earlier process remembered; empty: this is the first.

        Raises:
            StageFailedError: when canary is not good enough; primary has the traffic then.
            StoppedError: when asked to stop.
        """
        seen = await routes.observe(self.work, self.source)
        is_there = seen is not None and seen.canary == division.ALL
        if known:
            self.work.touched = True
            self.progress = json.convert(known, Progress)
        if not is_there:
            self.progress = replace(self.progress, switched=False)
        if not self.progress.switched:
            await self._before()
            await self._switch()
        self.watch.has_traffic = True
        await self._analyse("post-promotion", self.options.post_promotion)
        await self._keep()
        return "all traffic goes to canary; the old version stands by at primary"

    async def _before(self) -> None:
        """Everything that canary has to stand before it gets traffic."""
        self.webhooks.describe(phase="Waiting")
        while lack := await self.watch.look():
            self.work.context.progress(f"waiting for canary: {lack}")
            await self.watch.rest(timedelta(seconds=1))
        await self._preview()
        await self._gate(_Hook.CONFIRM_ROLLOUT, None)
        await self._analyse("pre-promotion", self.options.pre_promotion)
        await self._gate(_Hook.CONFIRM_PROMOTION, self.options.pre_promotion)

    async def _preview(self) -> None:
        context = self.work.context
        made = rendering.preview(
            self.source, context.application, self.options, commit=context.task.commit
        )
        if made:
            await cluster_changes.apply(self.work, made)
            self.work.note(f"canary is to be seen at Service {made[0].name}")

    async def _gate(self, kind: webhook.WebhookType, checks: traffic_stages.Checks | None) -> None:
        """Wait until the webhooks of a type agree; what is checked goes on being checked."""
        checker = await self._checker(checks)
        while refusal := await self.webhooks.refusal(kind):
            self.webhooks.describe(phase="WaitingPromotion")
            self.work.context.progress(f"waiting for {kind.value}: {refusal}")
            await self.watch.rest(_ASK_INTERVAL)
            await self._ask_rollback()
            finding = await checker()
            if finding.result >= metric_checks.Result.FAILED:
                raise execution.StageFailedError(finding.reason)
        self.webhooks.describe(phase="Progressing")

    async def _checker(self, checks: traffic_stages.Checks | None) -> metric_checks.Checker:
        return await metric_checks.open_checker(
            self.work,
            self.webhooks.about.namespace,
            checks.metrics if checks else (),
            threshold=checks.threshold if checks else 1,
            started=metric_checks.start_time(self.progress.started, self.work.context.clock),
        )

    async def _analyse(self, title: str, checks: traffic_stages.Checks | None) -> None:
        """Check as often as asked for.

        Raises:
            StageFailedError: when too many checks failed.
        """
        if checks is None:
            return
        if self.progress.title != title:
            started = self.work.context.clock.now().isoformat()
            await self._remember(title=title, started=started, done=0, failed=0)
        checker, patience = await self._checker(checks), metric_checks.UnknownLimit(_NO_DATA_LIMIT)
        hooks = stage_webhooks.StageWebhooks(self.work, checks.webhooks, self.webhooks.about)
        while self.progress.done < checks.count:
            # Metrics tell of the time before; a webhook can be asked at once.
            if checks.metrics or self.progress.done:
                await self.watch.rest(checks.interval)
            await self._ask_rollback()
            finding = await self._check(hooks, checker, is_first=not self.progress.done)
            finding = patience.with_(finding)
            await self._count(finding)
            done, failed = self.progress.done, self.progress.failed
            said = f"{title}: {done} of {checks.count} checks, {failed} failed"
            self.work.context.progress(f"{said}: {finding.reason}" if finding.reason else said)
            if finding.result >= metric_checks.Result.FAILED:
                self.work.caution(f"{title}: {finding.reason}")
            is_over = failed >= checks.threshold
            if is_over or finding.result is metric_checks.Result.CONDEMNED:
                raise execution.StageFailedError(f"{title} analysis failed: {finding.reason}")
        self.work.note(f"{title} analysis passed, {self.progress.failed} failed checks")

    async def _check(
        self, hooks: stage_webhooks.StageWebhooks, checker: metric_checks.Checker, *, is_first: bool
    ) -> metric_checks.Finding:
        kinds = (_Hook.PRE_ROLLOUT, _Hook.ROLLOUT) if is_first else (_Hook.ROLLOUT,)
        for kind in kinds:
            if refusal := await hooks.refusal(kind):
                return metric_checks.Finding(metric_checks.Result.FAILED, refusal)
        if lack := await self.watch.look():
            return metric_checks.Finding(metric_checks.Result.FAILED, lack)
        return await checker()

    async def _count(self, finding: metric_checks.Finding) -> None:
        """Count a check; what could not be judged does not count."""
        if finding.result is metric_checks.Result.UNKNOWN:
            return
        failed = self.progress.failed + (finding.result >= metric_checks.Result.FAILED)
        await self._remember(done=self.progress.done + 1, failed=failed)

    async def _remember(self, **changes: Any) -> None:
        self.progress = replace(self.progress, **changes)
        await self.work.context.task_state.save(msgspec.to_builtins(self.progress))

    async def _switch(self) -> None:
        context = self.work.context
        context.weights("switching", _CANARY.shares, {})
        # Remembered first: from here on canary may have the traffic.
        await self._remember(title="switch", done=0, failed=0, switched=True)
        observed = await routes.divide(self.work, self.source, _CANARY)
        context.weights("all traffic goes to canary", _CANARY.shares, observed.shares)
        self.webhooks.report(f"{self.webhooks.about.name}: all traffic goes to canary")

    async def _keep(self) -> None:
        """Leave the old version as it is for a while, for an instant rollback."""
        left = self.options.scale_down_delay
        while left > timedelta(0):
            self.work.context.progress(f"the old version stands by for {phrases.duration(left)}")
            await self._ask_rollback()
            part = min(left, _ASK_INTERVAL)
            await self.watch.rest(part)
            left -= part

    async def _ask_rollback(self) -> None:
        asked = await self.webhooks.agreement(_Hook.ROLLBACK)
        if asked:
            raise execution.StageFailedError(f"{asked} asked to roll back")

    async def give_up(self, sentence: str) -> str:
        """Switch back at once where canary has the traffic, and return why."""
        self.webhooks.report(f"Canary failed! {sentence}", is_warning=True)
        if not self.progress.switched or not await routes.give_back(self.work, self.source):
            return sentence
        self.progress = replace(self.progress, switched=False)
        self.watch.has_traffic = False
        self.work.caution(f"switched back: {sentence}")
        return f"{sentence}; traffic is back at primary"


def _check(sources: stage_runners.Sources, options: traffic_stages.BlueGreenOptions) -> None:
    del options
    traffic_routing.check(sources, division.PRIMARY, _CANARY)


RUNNER = stage_runners.StageRunner(kind=traffic_stages.BLUE_GREEN, run=run, check=_check, plan=plan)
