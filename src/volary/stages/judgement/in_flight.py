"""Requests that are under way to a variant whose pods are to go.

Routes have left the variant, and proxies have had time to follow: nothing new comes. What had begun
before may take longer. Some routers' metrics tell how much that is (`query_templates.in_flight`);
where a provider keeps them, they are waited for, up to a limit. Where nothing is told, the delay
alone has to do. Which of them it was is said.

What a provider keeps is as old as its last look at the router. Only a look after the proxies have
followed says that nothing is under way any more.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.analysis.metering import meters, query_names, query_templates
from volary.model import analysis, phrases
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.judgement import measured_stages
from volary.stages.runtime import execution

_PAUSE = timedelta(seconds=2)
#: Of each answer: who waits for it wants to go on.
_TIMEOUT = timedelta(seconds=5)
#: A router that was looked at within this time tells of its requests.
_LATELY = timedelta(minutes=5)
_SHORTEST = timedelta(seconds=1)


async def wait(
    work: execution.Work, which: variant.Variant, source: Sequence[manifest.Manifest]
) -> None:
    """Wait until no request is under way to a variant, as far as anybody tells; say who did.

    Nothing is waited for where no run has changed routes, as far as is known.

    Raises:
        StoppedError: when asked to stop meanwhile.
    """
    context = work.context
    routing = context.application.traffic_routing
    if context.propagation.since is None or not routing.drain_timeout:
        return
    # What is left of the stage is for the removal too.
    waiting = _Waiting(work, which, min(routing.drain_timeout, work.remaining / 2))
    names = query_names.find(context.application, source, namespace=context.client.namespace)
    await work.unless_stopped(waiting.wait(_Question(work, which, names)))


@dataclass(slots=True)
class _Waiting:
    """Waits for the requests under way to one variant on one cluster."""

    work: execution.Work
    which: variant.Variant
    limit: timedelta
    #: How many were told last; None: nobody told.
    count: float | None = None

    async def wait(self, question: "_Question") -> None:
        """Return once there are none, nobody tells, or the limit is over; says which."""
        try:
            async with asyncio.timeout(self.limit.total_seconds()):
                asked = await _teller(question)
                if isinstance(asked, str):
                    self._say_untold(asked)
                else:
                    await self._until_none(asked)
        except TimeoutError:
            told = "it is not told whether requests are"
            if self.count is not None:
                told = f"{phrases.count(math.ceil(self.count), 'request')} may be"
            self.work.caution(
                f"{self.which.value} goes {phrases.duration(self.limit)} later, and {told} under"
                " way to it"
            )

    def _say_untold(self, why: str) -> None:
        delay = phrases.duration(self.work.context.propagation.patience)
        self.work.note(
            f"{self.which.value} goes {delay} after the routes have left it, as requests under way"
            f" are not told: {why}"
        )

    async def _until_none(self, asked: "_Question") -> None:
        propagation = self.work.context.propagation
        while True:
            followed = (propagation.since or timedelta()) - propagation.patience
            answer = await asked.ask(followed)
            if answer.reading is analysis.Reading.ERROR:
                self.work.caution(f"requests under way to {self.which.value}: {answer.message}")
                return
            # What is no number tells nothing.
            self.count = next(filter(math.isfinite, reversed(answer.values)), self.count)
            if self.count is not None and self.count <= 0:
                self.work.note(
                    f"no request is under way to {self.which.value}, as {asked.title} tells"
                )
                return
            told = "requests"
            if self.count is not None:
                told = phrases.count(math.ceil(self.count), "request")
            self.work.context.progress(f"waiting for {told} under way to {self.which.value}")
            await asyncio.sleep(_PAUSE.total_seconds())


def rule_for(provider: str, window: timedelta = _LATELY) -> analysis.Rule:
    """Return what a provider is asked; empty: the only one."""
    # Whole seconds: that is how windows are written.
    seconds = max(window, _SHORTEST) // _SHORTEST
    return analysis.Rule(
        query_templates.IN_FLIGHT,
        built_in=query_templates.IN_FLIGHT,
        provider=provider,
        kind=analysis.Kind.RATE,
        interval=seconds * _SHORTEST,
        timeout=_TIMEOUT,
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """Asks one provider about one variant on one cluster."""

    work: execution.Work
    which: variant.Variant
    names: query_names.Names
    #: Empty: the only one.
    provider: str = ""

    @property
    def title(self) -> str:
        return self.provider or "the provider of metrics"

    async def ask(self, window: timedelta) -> analysis.Measurement:
        """Ask what the router told last within a window that ends now."""
        context, now = self.work.context, self.work.context.clock.now()
        return await context.meter.measure(
            meters.Question(
                rule=rule_for(self.provider, window),
                application=context.application,
                target=context.target,
                names=self.names,
                side=self.which,
                role=analysis.Role.JUDGED,
                time=now,
                until=now,
            )
        )


async def _teller(question: _Question) -> _Question | str:
    """Return the question to a provider that has told something lately; a text: why nobody has."""
    application, why = question.work.context.application, ""
    rules = [
        rule
        for _, options in measured_stages.find(application)
        for rule in options.metrics
        if not rule.is_of_cluster
    ]
    for provider in dict.fromkeys(rule.provider for rule in rules) or ("",):
        asked = _Question(question.work, question.which, question.names, provider)
        answer = await asked.ask(_LATELY)
        if answer.reading is analysis.Reading.VALUES:
            return asked
        why = why or answer.message
    return why
