"""What traffic there is now, as a meter tells it of primary."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.analysis.metering import meters, query_names
from volary.model import analysis, applications, errors
from volary.model.analysis import Deviation, Kind, Strategy
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import live_traffic, variant_shares
from volary.stages.judgement.live_traffic import Rate

AT, MINUTE = datetime(2030, 1, 1, 12, tzinfo=UTC), timedelta(minutes=1)
#: Of a range that is written.
ERRORS = analysis.Rule(
    "errors", "prom", "e[1m]", "t[1m]", Kind.PROPORTION, strategy=Strategy.CANARY_BASELINE
)
LATENCY = analysis.Rule("p99", "prom", "l[1m]")
SHARES = variant_shares.Shares(0.1, 0.2, 0.7)


class Clock:
    def now(self) -> datetime:
        return AT


@dataclass
class Meter:
    """Answers with events and requests of each cluster; a text is why there are none."""

    counts: Mapping[str, tuple[float, float] | str]
    asked: list[meters.Question] = field(default_factory=list)

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        self.asked.append(question)
        found = self.counts[question.target]
        if isinstance(found, str):
            return question.failure(found)
        totals = (found[1],) if question.rule.kind is Kind.PROPORTION else ()
        return question.answer("query", (found[0],), totals)


async def asked(
    rule: analysis.Rule,
    counts: Mapping[str, tuple[float, float] | str],
    *others: analysis.Rule,
) -> tuple[dict[str, Rate], Meter]:
    meter = Meter(counts)
    options = waiting_stages.AnalysisOptions(MINUTE, (rule, *others))
    application = applications.Application(
        name="shop", pipeline=(pipelines.Stage(waiting_stages.ANALYSIS.name, options),)
    )
    names = dict.fromkeys(counts, query_names.Names())
    asks = live_traffic.LiveTraffic(application, names, meter, Clock())
    return await asks.rates(rule), meter


async def test_what_a_rule_counts_is_asked_of_primary_on_each_cluster() -> None:
    found, meter = await asked(ERRORS, {"us": (30, 3000), "eu": (1, 60)})

    assert found == {"us": Rate(50, 0.01), "eu": Rate(1)}, "of 60 no share of errors is known"
    assert {each.side for each in meter.asked} == {variant.Variant.PRIMARY}
    assert {each.rule.interval for each in meter.asked} == {MINUTE}, "its range is written"


@pytest.mark.parametrize("interval", [MINUTE, timedelta(hours=1)])
async def test_what_can_be_asked_of_any_time_is_asked_of_ten_minutes_at_least(
    interval: timedelta,
) -> None:
    rule = replace(
        ERRORS,
        query="e[{{ interval }}]",
        total_query="t[{{interval}}]",
        interval=interval,
        delay=3 * MINUTE,
    )
    found, meter = await asked(rule, {"us": (0, 36_000)})
    length = max(interval, 10 * MINUTE)

    assert meter.asked[0].rule.interval == length
    assert (meter.asked[0].time, meter.asked[0].until) == (AT, AT - 3 * MINUTE)
    assert found == {"us": Rate(36_000 / length.total_seconds(), 0.0)}


async def test_good_events_are_no_errors() -> None:
    good = replace(ERRORS, deviation=Deviation.LOW)
    found, _ = await asked(good, {"us": (2_700, 3_000)})
    assert found["us"].errors == pytest.approx(0.1)


async def test_rates_count_events() -> None:
    rule = replace(ERRORS, kind=Kind.RATE, total_query="")
    found, _ = await asked(rule, {"us": (30, 0)})
    assert found == {"us": Rate(0.5)}


async def test_values_rest_on_requests_that_another_metric_counts_or_the_router() -> None:
    beside, first = await asked(LATENCY, {"us": (0, 600)}, ERRORS)
    alone, second = await asked(LATENCY, {"us": (0, 6000)})

    assert (beside["us"].per_second, first.asked[0].rule.name) == (10, "errors")
    assert (alone["us"].per_second, second.asked[0].rule.built_in) == (10, "request-errors")
    assert second.asked[0].rule.query == ""


async def test_every_cluster_that_does_not_answer_is_named() -> None:
    with pytest.raises(errors.UserError) as raised:
        await asked(ERRORS, {"us": "no answer", "eu": (1, 1), "asia": "refused"})

    assert [problem.message for problem in raised.value.problems] == [
        "errors on us: its traffic cannot be measured: no answer",
        "errors on asia: its traffic cannot be measured: refused",
    ]
    assert raised.value.problems[-1].hint.startswith("--rate states what canary gets")


@pytest.mark.parametrize(
    ("strategy", "rates"),
    [
        (Strategy.CANARY_BASELINE, (10, 20)),
        (Strategy.CANARY_PRIMARY, (10, 70)),
        (Strategy.CANARY_BASELINE_PRIMARY, (10, 70)),
        (Strategy.THRESHOLD, (10, 100)),
        (Strategy.PREVIOUS, (100, 100)),
        (Strategy.NOT_UPDATED, (100, 100)),
    ],
)
def test_both_sides_get_their_parts(strategy: Strategy, rates: tuple[float, float]) -> None:
    found = live_traffic.sides(replace(ERRORS, strategy=strategy), 100, SHARES)
    assert found == pytest.approx(rates)


def test_a_part_that_nobody_knows_has_to_be_stated() -> None:
    unknown = variant_shares.Shares(0.0, unknown="canary gets the requests that match")
    with pytest.raises(errors.UserError) as raised:
        live_traffic.sides(ERRORS, 100, unknown)
    assert str(raised.value).startswith("errors: canary gets the requests that match, so its rate")
    assert "hint: --rate" in str(raised.value)


@dataclass
class Histogram(Meter):
    """Primary's 99th percentile is 0.4, in a bucket of each cluster."""

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        self.asked.append(question)
        found = self.counts[question.target]
        if isinstance(found, str):
            return question.failure(found)
        return question.answer("q", found if question.role is analysis.Role.BUCKET else (0.4,))


async def test_a_quantile_is_judged_by_the_buckets_that_there_are() -> None:
    rule = replace(
        LATENCY,
        query="histogram_quantile(0.99, b)",
        strategy=Strategy.CANARY_BASELINE,
        deviation=Deviation.HIGH,
    )
    meter = Histogram({"us": (0.25, 0.5), "eu": (0.3, 0.7), "asia": "no answer"})
    names = dict.fromkeys(meter.counts, query_names.Names())
    application = applications.Application(name="shop")
    asks = live_traffic.LiveTraffic(application, names, meter, Clock())
    found, words = await asks.resolved(rule)

    assert found.allowed_ratio == pytest.approx(1.75)
    assert words == "primary's is in the bucket from 0.3 to 0.7, within which nothing can be told"
    assert {each.side for each in meter.asked} == {variant.Variant.PRIMARY}
    meter.asked.clear()
    assert await asks.resolved(ERRORS) == (ERRORS, "")
    limit = replace(rule, strategy=Strategy.THRESHOLD)
    assert await asks.resolved(limit) == (limit, "")
    assert meter.asked == []
