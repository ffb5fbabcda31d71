"""Requests under way are waited for where somebody tells of them; in virtual time."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

import stage_contexts
from volary.analysis.metering import meters
from volary.model import analysis, applications, routing_options
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import in_flight
from volary.stages.runtime import contexts, execution

pytestmark = pytest.mark.looptime
DELAY, NOW = timedelta(seconds=5), asyncio.get_running_loop
ROUTING = routing_options.TrafficRouting(method=routing_options.RoutingMethod.TRAEFIK)


@dataclass
class Scraped:
    """A provider that looks at a router now and then.

    `looks` are the seconds of its looks, with what was under way; a text is what goes wrong.
    """

    looks: dict[float, float] = field(default_factory=dict)
    trouble: Callable[[float], str] = lambda _: ""
    asked: list[meters.Question] = field(default_factory=list)

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        self.asked.append(question)
        now = NOW().time()
        if trouble := self.trouble(now):
            return question.failure(trouble)
        since = now - question.rule.interval.total_seconds()
        seen = [count for at, count in self.looks.items() if since <= at <= now]
        return question.answer("q", tuple(seen[-1:]))


async def waited(
    meter: meters.Meter,
    routing: routing_options.TrafficRouting = ROUTING,
    seconds: float = 1000,
    **given: Any,
) -> tuple[execution.Work, float]:
    """When routes were changed at once, and proxies have followed after the delay."""
    propagation = contexts.RoutePropagation(DELAY)
    application = applications.Application(name="shop", traffic_routing=routing, **given)
    work = stage_contexts.work(
        seconds, meter=meter, application=application, propagation=propagation
    )
    propagation.note()
    await work.settle()
    await in_flight.wait(work, variant.Variant.CANARY, [])
    return work, NOW().time()


async def test_it_goes_once_a_look_after_the_proxies_followed_finds_nothing() -> None:
    # The first look is older than the last request, the second finds some.
    scraped = Scraped({2: 0, 17: 3, 32: 0})

    work, now = await waited(scraped)

    assert 32 <= now < 35
    assert work.lines == ["no request is under way to canary, as the provider of metrics tells"]
    assert {each.side for each in scraped.asked} == {variant.Variant.CANARY}
    said = [each.sentence for each in stage_contexts.said(work).progress_said]
    assert "waiting for 3 requests under way to canary" in said


async def test_requests_without_an_end_are_not_waited_for_without_end() -> None:
    work, now = await waited(Scraped(dict.fromkeys(map(float, range(0, 200, 15)), 1)))

    assert now == 5 + 60
    assert work.lines == ["canary goes 1m later, and 1 request may be under way to it"]


async def test_what_is_left_of_the_stage_is_for_the_removal_too() -> None:
    work, now = await waited(Scraped(dict.fromkeys(map(float, range(0, 200, 15)), 1)), seconds=45)

    assert now == 5 + 20
    assert work.lines == ["canary goes 20s later, and 1 request may be under way to it"]


@pytest.mark.parametrize("absurd", [math.nan, math.inf, -math.inf])
async def test_what_is_no_number_of_requests_tells_nothing(absurd: float) -> None:
    work, now = await waited(Scraped(dict.fromkeys(map(float, range(0, 200, 15)), absurd)))

    assert now == 5 + 60
    assert work.lines == [
        "canary goes 1m later, and it is not told whether requests are under way to it"
    ]


async def test_a_provider_that_does_not_answer_takes_no_more_than_the_limit() -> None:
    class Hanging:
        async def measure(self, question: meters.Question) -> analysis.Measurement:
            await asyncio.sleep(question.rule.timeout.total_seconds())
            return question.failure("no answer")

    rules = tuple(
        analysis.Rule(name, name, "q", expected=analysis.Range(maximum=1)) for name in "abc"
    )
    options = waiting_stages.AnalysisOptions(timedelta(minutes=5), rules)
    stage = pipelines.Stage(waiting_stages.ANALYSIS.name, options)
    short = replace(ROUTING, drain_timeout=timedelta(seconds=12))

    work, now = await waited(Hanging(), short, pipeline=(stage,))

    assert now == 5 + 12
    assert work.lines == [
        "canary goes 12s later, and it is not told whether requests are under way to it"
    ]


async def test_where_nothing_is_told_the_delay_alone_has_to_do() -> None:
    work, now = await waited(Scraped())
    without, then = await waited(meters.NoMeter())

    assert (now, then) == (5, 10)
    told = "canary goes 5s after the routes have left it, as requests under way are not told: "
    assert work.lines == [f"{told}no data"]
    assert without.lines == [f"{told}the settings have no analysisProviders to query"]


async def test_a_provider_that_falls_silent_holds_nobody_up() -> None:
    scraped = Scraped({0: 3}, trouble=lambda now: "it is down" if now > 8 else "")

    work, now = await waited(scraped)

    assert now < 10
    assert work.lines == ["requests under way to canary: it is down"]


async def test_a_router_that_is_not_looked_at_any_more_is_no_reason_to_wait_on() -> None:
    work, now = await waited(Scraped({0: 0}))

    assert now == 5 + 60
    assert work.lines == [
        "canary goes 1m later, and it is not told whether requests are under way to it"
    ]


async def test_it_can_be_turned_off_and_nothing_is_asked_where_no_route_was_changed() -> None:
    scraped = Scraped({0: 3})
    off = routing_options.TrafficRouting(drain_timeout=timedelta())

    work, now = await waited(scraped, off)
    untouched = stage_contexts.work(meter=scraped)
    await in_flight.wait(untouched, variant.Variant.CANARY, [])

    assert (now, work.lines, untouched.lines, scraped.asked) == (5, [], [], [])


class Silent:
    """A provider that takes its time."""

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        await asyncio.sleep(1000)
        return question.failure("no answer")


@pytest.mark.parametrize("meter", [Scraped({0: 3, 6: 3}), Silent()])
async def test_who_asks_it_to_stop_is_not_kept_waiting(meter: meters.Meter) -> None:
    propagation = contexts.RoutePropagation(DELAY)
    work = stage_contexts.work(meter=meter, propagation=propagation)
    propagation.note()
    await work.settle()
    NOW().call_later(5.5, work.context.task.stop.raise_flag, "enough")
    with pytest.raises(execution.StoppedError, match="enough; no longer waiting"):
        await in_flight.wait(work, variant.Variant.CANARY, [])

    assert NOW().time() == 10.5
    assert work.lines == []


async def test_the_provider_that_metrics_name_is_asked() -> None:
    rule = analysis.Rule("errors", "mesh", "q", expected=analysis.Range(maximum=1))
    options = waiting_stages.AnalysisOptions(timedelta(minutes=5), (rule,))
    stage = pipelines.Stage(waiting_stages.ANALYSIS.name, options)
    scraped = Scraped({0: 1, 6: 0})

    work, _ = await waited(scraped, pipeline=(stage,))

    assert {each.rule.provider for each in scraped.asked} == {"mesh"}
    assert work.lines == ["no request is under way to canary, as mesh tells"]
