"""``K8S_PROGRESSIVE_TRAFFIC``: canary gets more and more traffic while every check passes.

Flagger's loop as a stage; the steps are decided in `planner.traffic_steps`. The live routes say how
far it is, and what cannot be read there (failed checks, iterations) is remembered, so a run
that was killed goes on from the weight it had reached. The stage ends with canary at the
maximum, and K8S_PRIMARY_ROLLOUT promotes: it brings primary to the new version and then gives
the traffic back, at once or by `stepWeightPromotion` (`kinds.primary_rollout`).

When the checks have failed too often, this stage gives canary's traffic back itself before it
fails; removing canary is the rollback's work.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from volary.model import json
from volary.model.objects import manifest
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.planner import traffic_steps
from volary.stages.judgement import metric_checks
from volary.stages.kinds import traffic_routing
from volary.stages.rollouts import scaling
from volary.stages.runtime import barriers, execution, stage_runners, stage_webhooks
from volary.stages.traffic import check_watches, division, live_routes, readiness_watch, routes

_Hook = webhook.WebhookType
_STARTED = "started"
_GATES = {
    traffic_steps.Gate.TRAFFIC_INCREASE: _Hook.CONFIRM_TRAFFIC_INCREASE,
    traffic_steps.Gate.PROMOTION: _Hook.CONFIRM_PROMOTION,
}


@dataclass(frozen=True, slots=True)
class Report:
    """What one cluster found out in one round."""

    position: traffic_steps.Position
    answers: traffic_steps.Answers
    #: Enough of canary's pods are ready.
    is_ready: bool
    #: What speaks against going on; empty: nothing.
    reason: str = ""


async def run(work: execution.Work, options: traffic_stages.ProgressiveTrafficOptions) -> str:
    """Carry out the stage on one cluster."""
    context = work.context
    source = await work.load(context.target_source)
    about = stage_webhooks.subject(context, source)
    known = await context.task_state.load()
    started = metric_checks.start_time(known.get(_STARTED), context.clock)
    progression = CanaryProgression(
        work,
        options,
        source,
        stage_webhooks.StageWebhooks(work, options.webhooks, about),
        readiness_watch.ReadinessWatch(
            work, source, options.ready_threshold, options.progress_deadline
        ),
        barriers.Barrier(work, options.scope),
        await metric_checks.open_checker(
            work,
            about.namespace,
            options.metrics,
            threshold=options.threshold,
            started=started,
        ),
        metric_checks.UnknownLimit(options.progress_deadline),
        started,
    )
    async with (
        check_watches.followed(work, source),
        progression.watch.kept(),
        progression.webhooks.reporting(),
    ):
        return await traffic_routing.or_give_up(progression.advance(known), progression.give_up)


@dataclass(slots=True)
class CanaryProgression:
    """One cluster on its way from nothing to the maximum."""

    work: execution.Work
    options: traffic_stages.ProgressiveTrafficOptions
    source: list[manifest.Manifest]
    webhooks: stage_webhooks.StageWebhooks
    watch: readiness_watch.ReadinessWatch
    barrier: barriers.Barrier
    checker: metric_checks.Checker
    patience: metric_checks.UnknownLimit
    started: datetime
    position: traffic_steps.Position = field(default_factory=traffic_steps.Position)
    #: What was said last against going on.
    reason: str = ""
    #: The route as it was seen last.
    _route_object: live_routes.RouteObject | None = None
    _baseline: int = 0
    _is_confirmed: bool = False
    _kept: json.JsonObject = field(default_factory=dict)

    async def advance(self, known: json.JsonObject) -> str:
        """Go on until canary is at the maximum; return the sentence that says so.

        Args:
            known: What an earlier process remembered; empty: this is the first.

        Raises:
            StageFailedError: when the checks failed too often, or canary went down.
            StoppedError: when asked to stop.
        """
        self.barrier.begin()
        if known:
            await self._recall(known)
            # What was measured before the pause says nothing about the time since.
            await self.watch.rest(self.options.interval)
        await self._confirm()
        while True:
            done = await self._round()
            if done.move is traffic_steps.Move.PROMOTE:
                await self._arrive(done)
                return f"canary has {self._title()}: {done.sentence}"
            if done.move is traffic_steps.Move.FAIL:
                raise execution.StageFailedError(done.sentence)
            await self.watch.rest(self.options.interval)

    async def _recall(self, known: json.JsonObject) -> None:
        """Take up what an earlier process remembered."""
        self.work.touched = True
        self._is_confirmed = bool(known.get("confirmed"))
        self.position = traffic_steps.Position(
            failed=int(known.get("failed", 0)),
            iterations=int(known.get("iterations", 0)),
            waiting=bool(known.get("waiting")),
        )
        await self._observe()
        self.work.note(f"going on at {self._title()}, {self.position.failed} failed checks so far")

    async def _remember(self) -> None:
        """Keep what the routes do not say; most rounds change nothing of it."""
        document: json.JsonObject = {
            _STARTED: self.started.isoformat(),
            "confirmed": self._is_confirmed,
            "failed": self.position.failed,
            "iterations": self.position.iterations,
            "waiting": self.position.waiting,
        }
        if document != self._kept:
            await self.work.context.task_state.save(document)
            self._kept = document

    async def _confirm(self) -> None:
        """Wait until the ``confirm-rollout`` webhooks agree; asked once per interval."""
        self.webhooks.describe(phase="Waiting")
        asked = 0
        while not self._is_confirmed:
            refusal = await self._ask(_Hook.CONFIRM_ROLLOUT, asked)
            asked += 1
            self._is_confirmed = not refusal
            if refusal:
                self.work.context.progress(f"waiting for confirm-rollout: {refusal}")
                await self.watch.rest(self.options.interval)
        await self._remember()

    async def _ask(self, kind: webhook.WebhookType, number: int) -> str:
        """Return why somebody refuses; in a fleet one cluster asks for all."""
        return await self.barrier.ask(kind.value, number, lambda: self.webhooks.refusal(kind))

    async def _round(self) -> traffic_steps.Tick:
        """Look, check, decide, and move the traffic if that is what follows."""
        reports = await self.barrier.share(await self._report())
        position = traffic_steps.slowest_position([report.position for report in reports.values()])
        self.reason = _objections(reports) or self.reason
        if not all(report.is_ready for report in reports.values()):
            return await self._stay(position, self.reason)
        answers = traffic_steps.combined_answers([report.answers for report in reports.values()])
        if answers == traffic_steps.Answers() and not traffic_steps.has_failed(
            self.options, position
        ):
            answers = replace(answers, granted=await self._is_granted(position))
        done = traffic_steps.tick(self.options, position, answers)
        if done.move is traffic_steps.Move.ROUTE:
            await self._move(done)
            return done
        if done.move is traffic_steps.Move.STAY:
            return await self._stay(done.position, done.sentence)
        return done

    async def _report(self) -> Report:
        await self._observe()
        phase = "WaitingPromotion" if self.position.waiting else "Progressing"
        self.webhooks.describe(
            phase=phase,
            failedChecks=self.position.failed,
            canaryWeight=self.position.weight,
            iterations=self.position.iterations,
        )
        asked = await self.barrier.ask(
            _Hook.ROLLBACK.value,
            self.barrier.round,
            lambda: self.webhooks.agreement(_Hook.ROLLBACK),
        )
        if asked:
            reason = f"{asked} asked to roll back"
            return Report(self.position, traffic_steps.Answers(rollback=True), True, reason)
        if lack := await self.watch.look():
            return Report(self.position, traffic_steps.Answers(), False, lack)
        if traffic_steps.has_failed(self.options, self.position):
            return Report(self.position, traffic_steps.Answers(), True)
        finding = self.patience.with_(await self._check())
        answers = traffic_steps.Answers(
            rollback=finding.result is metric_checks.Result.CONDEMNED,
            passed=finding.result is not metric_checks.Result.FAILED,
            conclusive=finding.result is not metric_checks.Result.UNKNOWN,
        )
        return Report(self.position, answers, True, finding.reason)

    async def _observe(self) -> None:
        """Read the live routes: they are the truth about the weight."""
        known = self._route_object
        self._route_object = (
            await live_routes.again(self.work, known)
            if known
            else await routes.read(self.work, self.source)
        )
        seen = routes.observed(self._route_object)
        if seen is None:
            self.position = replace(self.position, weight=0, mirrored=False)
            return
        is_ab = traffic_steps.strategy(self.options) is traffic_steps.Strategy.AB_TEST
        weight = traffic_steps.ALL * seen.is_matched if is_ab else seen.canary
        self._baseline = seen.baseline
        self.position = replace(self.position, weight=weight, mirrored=seen.mirror > 0)
        self.watch.has_traffic = weight > 0

    async def _check(self) -> metric_checks.Finding:
        """Make this round's checks; the first that fails is the last (Flagger)."""
        first = traffic_steps.is_first(self.position)
        kind = _Hook.PRE_ROLLOUT if first else _Hook.ROLLOUT
        refusal = await self.webhooks.refusal(kind)
        if refusal:
            return metric_checks.Finding(metric_checks.Result.FAILED, refusal)
        if first:
            return metric_checks.PASSED
        return await self.checker()

    async def _is_granted(self, position: traffic_steps.Position) -> bool:
        gate = traffic_steps.gate(self.options, position)
        if gate is None:
            return True
        refusal = await self._ask(_GATES[gate], self.barrier.round)
        if refusal:
            self.reason = refusal
        return not refusal

    async def _stay(self, position: traffic_steps.Position, sentence: str) -> traffic_steps.Tick:
        """Remember what was counted, and say why nothing moves."""
        failed = position.failed > self.position.failed
        self.position = replace(position, weight=self.position.weight)
        await self._remember()
        said = f"{sentence} ({self.reason})" if self.reason not in ("", sentence) else sentence
        if failed:
            self.work.caution(said)
        self.webhooks.report(said, is_warning=failed)
        self.work.context.weights(said, self._division().shares, self._division().shares)
        return traffic_steps.Tick(self.position, traffic_steps.Move.STAY, said)

    async def _move(self, done: traffic_steps.Tick) -> None:
        """Write the routes of the new position; one that is ahead of the others waits."""
        self.reason = ""
        ahead = max(self.position.weight, done.position.weight)
        self.position = replace(done.position, weight=ahead)
        await self._remember()
        wanted = self._division()
        self.work.context.weights(f"moving: {done.sentence}", wanted.shares, {})
        if self.options.scale_canary and wanted.canary:
            await scaling.scale_canary(self.work, self.source, wanted.canary)
        observed = await routes.divide(self.work, self.source, wanted, known=self._route_object)
        self.watch.has_traffic = self.position.weight > 0
        self.work.context.log(f"advance: {done.sentence}")
        self.work.context.weights(done.sentence, wanted.shares, observed.shares)
        self.webhooks.report(f"Advance {self.webhooks.about.name}: {done.sentence}")

    def _division(self) -> division.Division:
        return division.at(self.options, self.position, self._baseline)

    def _title(self) -> str:
        if traffic_steps.strategy(self.options) is traffic_steps.Strategy.AB_TEST:
            return "the matched requests" if self.position.weight else "no requests"
        return f"{self.position.weight} % of the traffic"

    async def _arrive(self, done: traffic_steps.Tick) -> None:
        self.position = done.position
        await self._remember()
        self.webhooks.report(f"{self.webhooks.about.name}: {done.sentence}")

    async def give_up(self, sentence: str) -> str:
        """Give canary's traffic back at once, and return why."""
        said = f"{sentence}: {self.reason}" if self.reason not in ("", sentence) else sentence
        self.work.caution(f"canary failed: {said}")
        self.webhooks.report(f"Canary failed! {said}", is_warning=True)
        if not self.position.weight and not self.position.mirrored:
            return said
        if not await routes.give_back(self.work, self.source):
            return said
        self.watch.has_traffic = False
        self.work.context.weights(said, division.PRIMARY.shares, division.PRIMARY.shares)
        return f"{said}; traffic is back at primary"


def _objections(reports: Mapping[str, Report]) -> str:
    """Return what speaks against going on, with the cluster where there are several."""
    objections = {target: report.reason for target, report in reports.items() if report.reason}
    if len(reports) == 1:
        return next(iter(objections.values()), "")
    return "; ".join(f"{target}: {reason}" for target, reason in objections.items())


def check(
    sources: stage_runners.Sources, options: traffic_stages.ProgressiveTrafficOptions
) -> None:
    """Find out whether the router can take every step.

    Raises:
        UserError: when it cannot, or the manifests lack what it needs.
    """
    top = traffic_steps.ALL if options.iterations else traffic_steps.maximum(options)
    ways = [traffic_steps.Position(weight=top)]
    if options.mirror:
        ways.append(traffic_steps.Position(mirrored=True))
    traffic_routing.check(sources, division.PRIMARY, *(division.at(options, way) for way in ways))


RUNNER = stage_runners.StageRunner(kind=traffic_stages.PROGRESSIVE_TRAFFIC, run=run, check=check)
