"""``K8S_BLUE_GREEN``: all traffic goes to the new version at once, and can come back at once.

Canary, which runs at full size, is looked at through a preview Service and checked; then the
routes are switched and it is checked again. Primary stays as it is all the while, and for a
delay after that, so a rollback is one write. K8S_PRIMARY_ROLLOUT then brings primary to the
new version behind canary's back, and takes the traffic over.
"""

from dataclasses import dataclass, field
from datetime import timedelta

from volary.model import errors, json, phrases
from volary.model.objects import manifest
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages.judgement import metric_checks
from volary.stages.kinds import traffic_routing
from volary.stages.rollouts import rendering
from volary.stages.runtime import execution, stage_runners, stage_webhooks
from volary.stages.traffic import division, readiness_watch, routes
from volary.stages.traffic.routers import registry

_Hook = webhook.WebhookType
_CANARY = division.Division(0, canary=division.ALL)
#: How often a gate, or a wish to roll back, is asked for.
_ASK_INTERVAL = timedelta(seconds=10)
#: How long there may be nothing to judge by.
_NO_DATA_LIMIT = timedelta(minutes=10)
_STARTED, _DONE, _FAILED, _SWITCHED = "started", "done", "failed", "switched"


def plan(
    sources: stage_runners.Sources, options: traffic_stages.BlueGreenOptions
) -> stage_runners.Rollout:
    """Return what the stage applies: the preview Service.

    Raises:
        UserError: when there is nothing to copy, or the router cannot switch.
    """
    application, source = sources.application, sources.manifests
    router = registry.choose(application)
    router.check(_CANARY)
    router.routed(router.find(source), _CANARY)
    return stage_runners.Rollout(
        rendering.preview(source, application, options, commit=sources.commit)
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
        await context.task_state.load(),
    )
    async with switch.watch.kept(), switch.webhooks.reporting():
        return await switch.carry_out()


@dataclass(slots=True)
class Switch:
    """One cluster's way from preview to the end of the delay."""

    work: execution.Work
    options: traffic_stages.BlueGreenOptions
    source: list[manifest.Manifest]
    webhooks: stage_webhooks.StageWebhooks
    watch: readiness_watch.ReadinessWatch
    #: What an earlier process remembered; empty: this is the first.
    known: json.JsonObject = field(default_factory=dict)
    #: Canary gets the traffic.
    is_switched: bool = False

    async def carry_out(self) -> str:
        """Switch, and return the sentence that says how it stands.

        Raises:
            StageFailedError: when canary is not good enough; primary has the traffic then.
            StoppedError: when asked to stop.
        """
        seen = await routes.observe(self.work, self.source)
        is_there = seen is not None and seen.canary == division.ALL
        self.is_switched = is_there and bool(self.known.get(_SWITCHED))
        if self.known:
            self.work.touched = True
        if not self.is_switched:
            await self._before()
            await self._switch()
        self.watch.has_traffic = True
        await self._analyse("post-promotion", self.options.post_promotion)
        await self._keep()
        return "all traffic goes to canary; the old version stands by at primary"

    async def _before(self) -> None:
        """Everything that canary has to stand before it gets traffic."""
        self.webhooks.describe(phase="Waiting")
        while not (readiness := await self.watch.look()).is_ready:
            self.work.context.progress(f"waiting for canary: {readiness.sentence}")
            await self._rest(timedelta(seconds=1))
        await self._preview()
        await self._gate(_Hook.CONFIRM_ROLLOUT, None)
        await self._analyse("pre-promotion", self.options.pre_promotion)
        await self._gate(_Hook.CONFIRM_PROMOTION, self.options.pre_promotion)

    async def _preview(self) -> None:
        context = self.work.context
        made = rendering.preview(
            self.source, context.application, self.options, commit=context.commit
        )
        if made:
            await self.work.apply(made)
            self.work.note(f"canary is to be seen at Service {made[0].name}")

    async def _gate(self, kind: webhook.WebhookType, checks: traffic_stages.Checks | None) -> None:
        """Wait until the webhooks of a type agree; what is checked goes on being checked."""
        checker = await self._checker(checks)
        while refusal := await self.webhooks.refusal(kind):
            self.webhooks.describe(phase="WaitingPromotion")
            self.work.context.progress(f"waiting for {kind.value}: {refusal}")
            await self._rest(_ASK_INTERVAL)
            await self._ask_rollback()
            finding = await checker()
            if finding.result >= metric_checks.Result.FAILED:
                raise execution.StageFailedError(await self._give_up(finding.reason))
        self.webhooks.describe(phase="Progressing")

    async def _checker(self, checks: traffic_stages.Checks | None) -> metric_checks.Checker:
        return await metric_checks.open_checker(
            self.work,
            self.webhooks.about.namespace,
            checks.metrics if checks else (),
            threshold=checks.threshold if checks else 1,
            started=metric_checks.start_time(self.known.get(_STARTED), self.work.context.clock),
        )

    async def _analyse(self, title: str, checks: traffic_stages.Checks | None) -> None:
        """Check as often as asked for.

        Raises:
            StageFailedError: when too many checks failed.
        """
        if checks is None:
            return
        count = await self._begin(title)
        checker, patience = await self._checker(checks), metric_checks.UnknownLimit(_NO_DATA_LIMIT)
        hooks = stage_webhooks.StageWebhooks(self.work, checks.webhooks, self.webhooks.about)
        while count[_DONE] < checks.count:
            # Metrics tell of the time before; a webhook can be asked at once.
            if checks.metrics or count[_DONE]:
                await self._rest(checks.interval)
            await self._ask_rollback()
            finding = await self._check(hooks, checker, is_first=not count[_DONE])
            finding = patience.with_(finding)
            count = self._counted(count, finding)
            await self._remember(title, count)
            said = f"{title}: {count[_DONE]} of {checks.count} checks, {count[_FAILED]} failed"
            self.work.context.progress(f"{said}: {finding.reason}" if finding.reason else said)
            if finding.result >= metric_checks.Result.FAILED:
                self.work.caution(f"{title}: {finding.reason}")
            is_over = count[_FAILED] >= checks.threshold
            if is_over or finding.result is metric_checks.Result.CONDEMNED:
                reason = f"{title} analysis failed: {finding.reason}"
                raise execution.StageFailedError(await self._give_up(reason))
        self.work.note(f"{title} analysis passed, {count[_FAILED]} failed checks")

    async def _check(
        self, hooks: stage_webhooks.StageWebhooks, checker: metric_checks.Checker, *, is_first: bool
    ) -> metric_checks.Finding:
        kinds = (_Hook.PRE_ROLLOUT, _Hook.ROLLOUT) if is_first else (_Hook.ROLLOUT,)
        for kind in kinds:
            if refusal := await hooks.refusal(kind):
                return metric_checks.Finding(metric_checks.Result.FAILED, refusal)
        readiness = await self._look()
        if not readiness.is_ready:
            return metric_checks.Finding(metric_checks.Result.FAILED, readiness.sentence)
        return await checker()

    @staticmethod
    def _counted(count: dict[str, int], finding: metric_checks.Finding) -> dict[str, int]:
        """Return the counts with a finding; what could not be judged does not count."""
        if finding.result is metric_checks.Result.UNKNOWN:
            return count
        failed = int(finding.result >= metric_checks.Result.FAILED)
        return {_DONE: count[_DONE] + 1, _FAILED: count[_FAILED] + failed}

    async def _begin(self, title: str) -> dict[str, int]:
        """Return how many checks of an analysis were made before a restart."""
        if self.known.get("title") != title:
            started = self.work.context.clock.now().isoformat()
            self.known = {_STARTED: started, _DONE: 0, _FAILED: 0}
        count = {_DONE: int(self.known[_DONE]), _FAILED: int(self.known[_FAILED])}
        await self._remember(title, count)
        return count

    async def _remember(self, title: str, count: dict[str, int]) -> None:
        more = {"title": title, _SWITCHED: self.is_switched}
        self.known = {_STARTED: self.known.get(_STARTED, ""), **count, **more}
        await self.work.context.task_state.save(self.known)

    async def _switch(self) -> None:
        context = self.work.context
        context.weights("switching", _CANARY.shares, {})
        # Remembered first: from here on canary may have the traffic.
        self.is_switched = True
        await self._remember("switch", {_DONE: 0, _FAILED: 0})
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
            await self._rest(part)
            left -= part

    async def _ask_rollback(self) -> None:
        asked = await self.webhooks.agreement(_Hook.ROLLBACK)
        if asked:
            raise execution.StageFailedError(await self._give_up(f"{asked} asked to roll back"))

    async def _look(self) -> readiness_watch.CanaryReadiness:
        try:
            return await self.watch.look()
        except execution.StageFailedError as error:
            raise execution.StageFailedError(await self._give_up(str(error))) from error

    async def _rest(self, duration: timedelta) -> None:
        try:
            await self.watch.rest(duration)
        except execution.StageFailedError as error:
            raise execution.StageFailedError(await self._give_up(str(error))) from error

    async def _give_up(self, sentence: str) -> str:
        """Switch back at once where canary has the traffic, and return why."""
        self.webhooks.report(f"Canary failed! {sentence}", is_warning=True)
        if not self.is_switched:
            return sentence
        try:
            await routes.divide(self.work, self.source, division.PRIMARY)
        except errors.VolaryError as error:
            self.work.caution(f"the traffic could not be switched back yet: {error}")
            return sentence
        self.is_switched = self.watch.has_traffic = False
        self.work.caution(f"switched back: {sentence}")
        return f"{sentence}; traffic is back at primary"


def _check(sources: stage_runners.Sources, options: traffic_stages.BlueGreenOptions) -> None:
    del options
    traffic_routing.check_own_routes(sources)


RUNNER = stage_runners.StageRunner(kind=traffic_stages.BLUE_GREEN, run=run, check=_check, plan=plan)
