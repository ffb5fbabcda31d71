"""Requests that are under way to a variant whose pods are to go.

Routes have left the variant, and proxies have had time to follow: nothing new comes. What had begun
before may take longer. Some routers' metrics tell how much that is (`query_templates.in_flight`);
where a provider keeps them, they are waited for, up to a limit. Where nothing is told, the delay
alone has to do. Which of them it was is said.

What a provider keeps is as old as its last look at the router. Only a look after the proxies have
followed says that nothing is under way any more.
"""

import asyncio
import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.analysis.metering import meters, query_names, query_templates
from volary.model import analysis, phrases
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.judgement import metric_trials
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

    Nothing is waited for where this process changed no routes, and no longer when asked to stop.
    """
    context = work.context
    routing = context.application.traffic_routing
    propagation = context.propagation
    if propagation.since is None or not routing.drain_timeout:
        return
    names = query_names.find(context.application, source, namespace=context.client.namespace)
    asked = await _teller(_Question(work, which, names))
    if isinstance(asked, str):
        delay = phrases.duration(propagation.patience)
        work.note(
            f"{which.value} goes {delay} after the routes have left it, as requests under way are"
            f" not told: {asked}"
        )
        return
    limit = min(routing.drain_timeout, work.remaining)
    count: float | None = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit.total_seconds()):
            while not context.task.stop.is_raised:
                answer = await asked.ask(propagation.since - propagation.patience)
                if answer.reading is analysis.Reading.ERROR:
                    work.caution(f"requests under way to {which.value}: {answer.message}")
                    return
                count = answer.values[-1] if answer.values else count
                if count is not None and count <= 0:
                    work.note(f"no request is under way to {which.value}, as {asked.title} tells")
                    return
                await _pause(work, which, count)
    if not context.task.stop.is_raised:
        more = "it is not told" if count is None else phrases.count(math.ceil(count), "request")
        work.caution(
            f"{which.value} goes {phrases.duration(limit)} later, and {more}"
            f" {'whether requests are' if count is None else 'may be'} under way to it"
        )


async def _pause(work: execution.Work, which: variant.Variant, count: float | None) -> None:
    told = "requests" if count is None else phrases.count(math.ceil(count), "request")
    work.context.progress(f"waiting for {told} under way to {which.value}")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PAUSE.total_seconds()):
            await work.context.task.stop.wait()


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
        for _, options in metric_trials.measured_stages(application)
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
