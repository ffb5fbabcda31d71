from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

import aiohttp.web
import pytest

import scripted_server
from fixed_clock import FixedClock
from volary.analysis.providers import opening
from volary.model import analysis, application, provider, variant
from volary.stages import measuring, meters, naming

CLOCK = FixedClock()
APPLICATION = application.Application(name="shop")
NAMES = naming.Names(
    namespace="web",
    workload="shop",
    service="shop",
    suffixes={variant.Variant.CANARY: "canary"},
)


@pytest.fixture
async def prometheus() -> AsyncIterator[scripted_server.ScriptedServer]:
    async with scripted_server.serve() as server:
        yield server


async def measure(
    server: scripted_server.ScriptedServer,
    answers: Mapping[str, float],
    *,
    name: str = "prometheus",
    side: variant.Variant = variant.Variant.CANARY,
    **rule: object,
) -> analysis.Measurement:
    """Ask a Prometheus that knows these answers, by the query."""

    async def handle(asked: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        known = answers.get(asked.query["query"])
        result = [] if known is None else [{"metric": {}, "value": [1, str(known)]}]
        data = {"resultType": "vector", "result": result}
        return scripted_server.answer({"status": "success", "data": data})

    server.handler = handle
    settings = provider.Provider(
        name,
        provider.ProviderType.PROMETHEUS,
        provider.Access(server.url),
        provider.PrometheusOptions(),
    )
    standard = {"provider": "", "query": "errors", "interval": timedelta(minutes=1)}
    made = analysis.Rule("errors", **{**standard, **rule})  # type: ignore[arg-type]
    now = CLOCK.now()
    role = analysis.Role.JUDGED
    question = meters.Question(made, APPLICATION, "us", NAMES, side, role, now, now)
    async with opening.open_providers([settings], clock=CLOCK) as providers:
        return await measuring.ProviderMeter(providers).measure(question)


async def test_a_query_is_filled_for_its_variant_and_cluster(
    prometheus: scripted_server.ScriptedServer,
) -> None:
    text = "{{ .App.Name }} {{ target }} {{ namespace }} {{ cluster }} {{ .VariantCustomArgs.a }}"
    arguments = {"canary_arguments": {"a": "x"}, "primary_arguments": {"a": "y"}}

    canary = await measure(prometheus, {"shop shop-canary web us x": 1}, query=text, **arguments)
    primary = await measure(
        prometheus,
        {"shop shop web us y": 2},
        query=text,
        side=variant.Variant.PRIMARY,
        **arguments,
    )

    assert (canary.values, primary.values) == ((1.0,), (2.0,))
    assert canary.query == "shop shop-canary web us x"


async def test_a_proportion_has_two_numbers(prometheus: scripted_server.ScriptedServer) -> None:
    found = await measure(
        prometheus,
        {"errors": 3, "all": 100},
        kind=analysis.Kind.PROPORTION,
        total_query="all",
    )

    assert (found.values, found.totals) == ((3.0,), (100.0,))


@pytest.mark.parametrize(
    ("answers", "reading", "message"),
    [
        ({"all": 100}, analysis.Reading.NO_DATA, "where that means zero, have it say so"),
        ({"errors": 0}, analysis.Reading.NO_DATA, "prometheus has no data for the query"),
        ({}, analysis.Reading.NO_DATA, "prometheus has no data for the query"),
    ],
)
async def test_half_of_a_proportion_is_no_data(
    prometheus: scripted_server.ScriptedServer,
    answers: Mapping[str, float],
    reading: analysis.Reading,
    message: str,
) -> None:
    """A misspelt counter must not look like a release without a failure."""
    found = await measure(prometheus, answers, kind=analysis.Kind.PROPORTION, total_query="all")

    assert found.reading is reading
    assert message in found.message
    assert found.values == ()


async def test_nobody_to_ask_is_said_for_built_in_queries_too(
    prometheus: scripted_server.ScriptedServer,
) -> None:
    found = await measure(prometheus, {}, provider="thanos", query="", built_in="request-duration")

    assert found.reading is analysis.Reading.ERROR
    assert found.message == "no provider thanos is in the settings (there: prometheus)"


async def test_a_name_without_a_value_is_said(prometheus: scripted_server.ScriptedServer) -> None:
    found = await measure(prometheus, {}, query="{{ ingress }}")

    assert found.reading is analysis.Reading.ERROR
    assert found.message == "{{ ingress }} has no value for canary on us"
    assert not prometheus.seen
