"""A GRPCRoute's weights on real gRPC: a real client, real Traefik, pods that answer gRPC."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

import grpc_client
import process_time
import stage_world
import traffic_world
from kube_sandbox import proxies
from kube_sandbox.crds import definitions
from mesh_world import GATEWAY, HOST, called
from stage_world import NEW, OLD
from volary.model.pipeline.stage_kinds import rollout_stages, traffic_stages

WITH_SERVICE = rollout_stages.VariantRolloutOptions(
    replicas=rollout_stages.Replicas(1), create_service=True
)
SPLIT = traffic_stages.TrafficOptions(80, canary=10, baseline=10)
SHARES = {"primary": 0.8, "canary": 0.1, "baseline": 0.1}
CALLS = 1500


@pytest.fixture
async def given_and_urls() -> AsyncIterator[tuple[stage_world.World, Mapping[str, str]]]:
    settings = traffic_world.settings(crds=definitions.gateway_api(), drain=2.0)
    async with (
        stage_world.world("us", application=GATEWAY, settings=settings) as given,
        traffic_world.through(given, proxies.Kind.TRAEFIK) as urls,
    ):
        given.sources = {OLD: called("shop:v1"), NEW: called("shop:v2")}
        yield given, urls


async def test_80_10_10_is_what_1500_calls_meet_until_the_traffic_is_given_back(
    given_and_urls: tuple[stage_world.World, Mapping[str, str]],
) -> None:
    given, urls = given_and_urls
    address = urls["us"].removeprefix("http://")
    await given.deployed(OLD)
    await given.run(rollout_stages.CANARY_ROLLOUT.name, WITH_SERVICE)
    await given.run(rollout_stages.BASELINE_ROLLOUT.name, WITH_SERVICE)

    outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, SPLIT)

    assert outcomes["us"].status == "succeeded", outcomes["us"]
    calls = await grpc_client.call(address, CALLS, host=HOST)
    assert calls.codes == {"OK": CALLS}, calls.details
    traffic_world.assert_shares(calls.by_variant, SHARES)

    outcomes = await given.run(
        traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(100)
    )

    assert outcomes["us"].status == "succeeded", outcomes["us"]
    # The proxy follows in its own time, which a busy machine makes longer.
    async with asyncio.timeout(process_time.HANG):
        calls = await grpc_client.call(address, 20, host=HOST)
        while set(calls.by_variant) != {"primary"}:
            calls = await grpc_client.call(address, 20, host=HOST)
    calls = await grpc_client.call(address, 100, host=HOST)
    assert calls.codes == {"OK": 100}, calls.details
    assert set(calls.by_variant) == {"primary"}
