"""Questions become queries and requests, on real HTTP; whatever comes back is an answer."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

import fixed_clock
import metrics_server
import scripted_server
from volary.analysis.metering import meters, provider_meter, query_names, query_templates
from volary.analysis.providers import provider_pool
from volary.config.stages import analysis_rules
from volary.model import analysis, applications, metric_providers
from volary.model.pipeline import variant
from volary.stages import webhooks
from volary.stages.judgement import http_checks

AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
NAMES = query_names.Names(
    "shop", "web", "web", "edge", "http", suffixes={variant.Variant.CANARY: "canary"}
)
REACH = webhooks.Reach(loopback=True)
RULE = analysis.Rule("errors", "prom", "q", expected=analysis.Range(maximum=0.1))


def question(rule: analysis.Rule, **more: object) -> meters.Question:
    made = meters.Question(
        rule=rule,
        application=applications.Application(name="shop"),
        target="us",
        names=NAMES,
        side=variant.Variant.CANARY,
        role=analysis.Role.JUDGED,
        time=AT,
        until=AT,
    )
    return replace(made, **more)  # type: ignore[arg-type]


async def measured(rule: analysis.Rule, answer: metrics_server.Answer) -> analysis.Measurement:
    async with metrics_server.serve() as server:
        server.answer = answer
        settings = metric_providers.Provider(
            "prom",
            metric_providers.ProviderType.PROMETHEUS,
            metric_providers.Access(server.url),
            metric_providers.PrometheusOptions(),
        )
        clock = fixed_clock.FixedClock()
        async with provider_pool.open_providers((settings,), clock=clock) as providers:
            return await provider_meter.ProviderMeter(providers).measure(question(rule))


async def test_a_query_is_filled_in_for_its_cluster_and_variant() -> None:
    rule = replace(
        RULE,
        query="{{ .App.Name }} {{ .Variant.Name }} {{ target }} {{ namespace }} {{ cluster }} "
        "{{ ingress }} {{ route }} "
        "{{ interval }} {{ .AppCustomArgs.a }} {{ .VariantCustomArgs.b }}",
        arguments={"a": "1"},
        canary_arguments={"b": "2"},
        primary_arguments={"b": "3"},
    )
    found = await measured(rule, lambda query, time: 0.5)

    assert found.query == "shop canary web-canary shop us edge http 1m 1 2"
    assert (found.values, found.variant, found.target) == ((0.5,), "canary", "us")


async def test_a_proportion_counts_among_all_and_a_missing_counter_is_no_data() -> None:
    rule = replace(RULE, kind=analysis.Kind.PROPORTION, query="bad", total_query="all")
    some = await measured(rule, lambda query, time: {"bad": 3.0, "all": 100.0}[query])
    none = await measured(rule, lambda query, time: {"bad": None, "all": 100.0}[query])
    silent = await measured(rule, lambda query, time: {"bad": 3.0, "all": None}[query])
    broken = await measured(rule, lambda query, time: {"bad": "too many", "all": 100.0}[query])

    assert (some.values, some.totals, some.query) == ((3.0,), (100.0,), "bad of all")
    assert none.reading is analysis.Reading.NO_DATA, "its name may be wrong"
    assert (silent.reading, silent.values) == (analysis.Reading.NO_DATA, ())
    assert broken.reading is analysis.Reading.ERROR
    assert "too many" in broken.message


async def test_a_built_in_query_is_that_of_the_router() -> None:
    rule = replace(RULE, query="", built_in="request-success-rate")
    found = await measured(rule, lambda query, time: 99.5)

    assert "http_request_duration_seconds_count" in found.query
    assert 'kubernetes_namespace="shop"' in found.query
    assert "web-canary" in found.query


async def test_looks_with_the_same_query_have_it_in_memory_once() -> None:
    rule = replace(
        RULE, kind=analysis.Kind.PROPORTION, query="bad {{ cluster }}", total_query="all"
    )
    first, second = [await measured(rule, lambda query, time: 1.0) for _ in range(2)]
    plain = replace(rule, kind=analysis.Kind.VALUE, total_query="")
    third, fourth = [await measured(plain, lambda query, time: 1.0) for _ in range(2)]

    assert first.query == "bad us of all"
    assert first.query is second.query
    assert third.query is fourth.query


async def test_nobody_to_ask_is_an_answer() -> None:
    async with provider_pool.open_providers((), clock=fixed_clock.FixedClock()) as providers:
        meter = provider_meter.ProviderMeter(providers)
        plain = await meter.measure(question(RULE))
        built_in = await meter.measure(question(replace(RULE, query="", built_in="request-errors")))

    assert {plain.reading, built_in.reading} == {analysis.Reading.ERROR}
    assert (await meters.NoMeter().measure(question(RULE))).reading is analysis.Reading.ERROR


def test_the_names_of_built_in_queries_are_those_that_files_may_use() -> None:
    of_pods = {metric.value for metric in analysis.PodMetric}
    assert set(analysis_rules.BUILT_IN) == {*query_templates.NAMES, *of_pods}
    assert analysis_rules.COUNTED == query_templates.ERRORS


# Requests.


def check(url: str, **more: object) -> analysis.HttpCheck:
    rule = replace(RULE, name="up", timeout=timedelta(seconds=0.5))
    return analysis.HttpCheck(rule, url, **more)  # type: ignore[arg-type]


async def asked(made: analysis.HttpCheck, reach: webhooks.Reach = REACH) -> analysis.Measurement:
    return await http_checks.measure(made, question(made.rule), reach)


@pytest.mark.parametrize("status", [200, 302, 404, 503])
async def test_a_status_is_the_value(status: int) -> None:
    async with scripted_server.serve() as server:
        server.say(web.Response(status=status, headers={"location": server.url}))
        found = await asked(
            check(f"{server.url}/${{CLUSTER}}", method="HEAD", headers=(("x-a", "1"), ("x-a", "2")))
        )

    assert found.values == (float(status),)
    assert found.query == f"HEAD {server.url}/us"
    [seen] = server.seen
    assert (seen.method, seen.path, seen.headers.getall("x-a")) == ("HEAD", "/us", ["1", "2"])


async def test_no_answer_is_said_and_not_raised() -> None:
    async def hang(_: scripted_server.Asked) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    async with scripted_server.serve() as server:
        server.say(hang)
        slow = await asked(check(server.url))
        inside = await asked(check(server.url), webhooks.Reach(loopback=False))
    gone = await asked(check(server.url))
    odd = await asked(check("http://["))

    assert slow.message == "no answer within 0.5 s"
    assert "this machine itself" in inside.message
    assert {each.reading for each in (slow, inside, gone, odd)} == {analysis.Reading.ERROR}
    assert len(server.seen) == 1


QUANTILE = replace(RULE, query='histogram_quantile(0.99, b{variant="{{ .Variant.Name }}"})')


async def bucket(
    rule: analysis.Rule, answer: metrics_server.Answer
) -> tuple[analysis.Measurement, list[str]]:
    async with metrics_server.serve() as server:
        server.answer = answer
        settings = metric_providers.Provider(
            "prom",
            metric_providers.ProviderType.PROMETHEUS,
            metric_providers.Access(server.url),
            metric_providers.PrometheusOptions(),
        )
        clock = fixed_clock.FixedClock()
        async with provider_pool.open_providers((settings,), clock=clock) as providers:
            asked = question(rule, role=analysis.Role.BUCKET, side=variant.Variant.BASELINE)
            return await provider_meter.ProviderMeter(providers).measure(asked), server.queries


async def test_both_bounds_of_a_bucket_are_one_answer() -> None:
    found, queries = await bucket(
        QUANTILE, lambda query, time: 0.25 if "histogram_quantile(1e-9" in query else 0.5
    )

    assert (found.values, found.role, found.variant) == (
        (0.25, 0.5),
        analysis.Role.BUCKET,
        "baseline",
    )
    assert len(queries) == 2
    assert all('b{variant="baseline"}' in query for query in queries)


async def test_bounds_that_are_none_are_no_data() -> None:
    nan, _ = await bucket(QUANTILE, lambda query, time: float("nan"))
    silent, _ = await bucket(QUANTILE, lambda query, time: None)
    broken, _ = await bucket(QUANTILE, lambda query, time: "overloaded")
    mean, queries = await bucket(RULE, lambda query, time: 1.0)

    assert (nan.reading, nan.message) == (analysis.Reading.NO_DATA, "no bucket has grown")
    assert silent.reading is analysis.Reading.NO_DATA
    assert broken.reading is analysis.Reading.ERROR
    assert (mean.reading, mean.message) == (
        analysis.Reading.NO_DATA,
        "it is not one quantile of one histogram",
    )
    assert queries == [], "nobody is asked for it"
