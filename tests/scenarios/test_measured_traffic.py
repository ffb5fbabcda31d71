"""Real requests are measured: pods count them, Prometheus scrapes, built-in queries tell."""

import asyncio
import math
import re
from datetime import timedelta

import aiohttp
import pytest

import stage_world
import traffic_world
from kube_sandbox import prometheus, proxies
from kube_sandbox.crds import definitions
from mesh_world import GATEWAY, HOST, ISTIO, routed
from stage_world import NEW, OLD, destination_rule, made, virtual_service
from volary.analysis.metering import meters, provider_meter, query_names, query_templates
from volary.analysis.providers import provider_pool
from volary.config.stages import query_placeholders
from volary.controller import system_clock
from volary.model import analysis, metric_providers, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages, traffic_stages

Metrics = metric_providers.Metrics
ERRORS = 0.2
WINDOW = timedelta(seconds=5)
#: Requests from which on a share of `ERRORS` shows.
FEWEST = 20
#: Seconds after which measuring hangs.
PATIENCE = 120
VALUE, PROPORTION = analysis.Kind.VALUE, analysis.Kind.PROPORTION


def shop(image: str, **behaviour: str) -> list[manifest.Manifest]:
    deployment = stage_world.deployment(image, app="shop")
    deployment["spec"]["template"]["metadata"]["annotations"] = {
        f"kube-sandbox/{key.replace('_', '-')}": value for key, value in behaviour.items()
    }
    bodies = (deployment, stage_world.service(app="shop"), virtual_service(), destination_rule())
    return [made(body) for body in bodies]


@pytest.mark.skipif(not prometheus.is_installed(), reason="the program prometheus is not installed")
async def test_a_bad_canary_is_seen_in_one_cluster_and_not_in_the_other() -> None:
    settings = traffic_world.settings(crds=definitions.istio())
    async with stage_world.world("us", "eu", application=ISTIO, settings=settings) as given:
        given.sources = {OLD: shop("shop:v1"), NEW: shop("shop:v2")}
        given.special = {(NEW, "eu"): shop("shop:v2", error_rate=str(ERRORS))}
        await given.deployed(OLD)
        one = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
        for name, options in (
            (rollout_stages.CANARY_ROLLOUT.name, one),
            (traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(50, canary=50)),
        ):
            outcomes = await given.run(name, options)
            assert {each.status for each in outcomes.values()} == {"succeeded"}, outcomes
        async with (
            prometheus.scraping(given.running, interval="500ms") as address,
            traffic_world.users(given),
        ):
            await asyncio.sleep(2 * WINDOW.total_seconds())
            for family in (Metrics.ISTIO, Metrics.LINKERD, Metrics.APPLICATION):
                await check(family, address, given)


async def check(family: Metrics, address: str, given: stage_world.World) -> None:
    options = metric_providers.PrometheusOptions(family, cluster_label="cluster")
    access, kind = metric_providers.Access(address), metric_providers.ProviderType.PROMETHEUS
    settings = metric_providers.Provider("prometheus", kind, access, options)
    names = query_names.find(ISTIO, given.sources[NEW], namespace="default")
    clock = system_clock.SystemClock()
    async with provider_pool.open_providers([settings], clock=clock) as providers:
        meter = provider_meter.ProviderMeter(providers)

        async def measure(
            name: str, target: str, side: variant.Variant, kind: analysis.Kind
        ) -> analysis.Measurement:
            rule = analysis.Rule(name, "", "", kind=kind, interval=WINDOW, built_in=name)
            now = system_clock.SystemClock().now()
            question = meters.Question(
                rule, ISTIO, target, names, side, analysis.Role.JUDGED, now, now
            )
            return await meter.measure(question)

        async def told(target: str, side: variant.Variant) -> list[analysis.Measurement]:
            """Measure until enough requests are counted; a busy machine sends them slowly."""
            async with asyncio.timeout(PATIENCE):
                while True:
                    measured = [
                        await measure(query_templates.SUCCESS_RATE, target, side, VALUE),
                        await measure(query_templates.ERRORS, target, side, PROPORTION),
                        await measure(query_templates.DURATION, target, side, VALUE),
                    ]
                    values = all(m.reading is analysis.Reading.VALUES for m in measured)
                    if values and measured[1].totals[0] > FEWEST:
                        return measured
                    await asyncio.sleep(0.5)

        for target in given.running.clusters:
            for side in (variant.Variant.CANARY, variant.Variant.PRIMARY):
                is_bad = (target, side) == ("eu", variant.Variant.CANARY)
                rate, share, duration = await told(target, side)

                expected = 100 * (1 - ERRORS) if is_bad else 100
                # On a busy machine there are fewer requests, and so more chance.
                deviation = 100 * math.sqrt(ERRORS * (1 - ERRORS) / share.totals[0])
                tolerated = 5 * deviation if is_bad else 1e-9
                assert rate.values == (pytest.approx(expected, abs=tolerated),)
                assert (share.values[0] > 0) is is_bad
                assert 0 < duration.values[0] < 1000


async def test_real_traefik_names_its_numbers_as_the_built_in_queries_expect() -> None:
    """Through an HTTPRoute; every variant has one service of Traefik's, and no other's."""
    settings = traffic_world.settings(crds=definitions.gateway_api())
    async with (
        stage_world.world("us", application=GATEWAY, settings=settings) as given,
        traffic_world.through(given, proxies.Kind.TRAEFIK) as urls,
    ):
        given.sources = {OLD: routed("shop:v1"), NEW: routed("shop:v2")}
        await given.deployed(OLD)
        await traffic_world.until_answered(urls, host=HOST)
        variants = rollout_stages.VariantRolloutOptions(
            replicas=rollout_stages.Replicas(1), create_service=True
        )
        await given.run(rollout_stages.CANARY_ROLLOUT.name, variants)
        await given.run(rollout_stages.BASELINE_ROLLOUT.name, variants)
        split = traffic_stages.TrafficOptions(50, canary=25, baseline=25)
        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, split)
        assert outcomes["us"].status == "succeeded", outcomes
        tally = await traffic_world.ask(urls["us"], 400, host=HOST)
        assert tally.failed == 0
        async with aiohttp.ClientSession() as session:
            text = await (await session.get(f"{urls['us']}/metrics")).text()

    labels = set(re.findall(r'traefik_service_requests_total\{.*service="([^"]*)"', text))
    assert len(labels) == 3
    names = query_names.find(GATEWAY, given.sources[NEW], namespace="default")
    one = metric_providers.Provider(
        "prometheus",
        metric_providers.ProviderType.PROMETHEUS,
        metric_providers.Access(""),
        metric_providers.PrometheusOptions(Metrics.TRAEFIK),
    )
    seen = set()
    for side in variant.Variant:
        found = query_templates.find(
            query_templates.ERRORS,
            routing_options.RoutingMethod.GATEWAY_API,
            one,
            variant=side.value,
        )
        service = names.service_of(side, GATEWAY.traffic_routing.services)
        values = query_placeholders.Values(
            "shop", side.value, "default", "", "", "us", WINDOW, service=service
        )
        pattern = re.search(r'service=~"([^"]*)"', query_placeholders.fill(found.query, values))
        assert pattern is not None
        [mine] = [each for each in labels if re.fullmatch(pattern[1], each)]
        seen.add(mine)
    assert seen == labels
