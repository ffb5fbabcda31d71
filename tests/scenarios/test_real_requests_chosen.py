"""Real proxies choose requests by what they carry, as the routes that Volary writes tell them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import aiohttp
import pytest

import stage_world
import traffic_world
from kube_sandbox import proxies
from kube_sandbox.crds import definitions as crd_definitions
from kube_sandbox.dataplane import load
from stage_world import NEW, OLD, made
from volary.model import applications, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import traffic
from volary.model.pipeline.stage_kinds import rollout_stages, traffic_stages
from volary.stages.traffic import division

HOST = "shop"
#: Seconds in which a proxy has followed.
SETTLED = 0.7
Method = routing_options.RoutingMethod
ROUTE = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "HTTPRoute",
    "metadata": {"name": "shop"},
    "spec": {
        "parentRefs": [{"name": "web"}],
        "hostnames": [HOST],
        "rules": [{"backendRefs": [{"name": "shop", "port": 80}]}],
    },
}
ONE_POD = rollout_stages.VariantRolloutOptions(
    replicas=rollout_stages.Replicas(1), create_service=True
)
MATCHES = (
    traffic.RequestMatch(headers={"X-Group": traffic.TextMatch("beta")}),
    traffic.RequestMatch(cookies={"team": traffic.TextMatch("web")}),
    traffic.RequestMatch(query_parameters={"try": traffic.TextMatch("1")}),
)
TOKEN = f"volary-{division.token('shop', NEW)}"
PROXIES = [
    (Method.GATEWAY_API, proxies.Kind.BUILT_IN),
    (Method.GATEWAY_API, proxies.Kind.TRAEFIK),
    (Method.ISTIO, proxies.Kind.BUILT_IN),
    (Method.ISTIO, proxies.Kind.ENVOY),
]


def application(method: Method) -> applications.Application:
    return applications.Application(
        name="shop",
        service=routing_options.ObjectReference(name="shop"),
        quick_sync=rollout_stages.SyncOptions(add_variant_label_to_selector=method is Method.ISTIO),
        traffic_routing=routing_options.TrafficRouting(method=method),
    )


def manifests(method: Method, image: str) -> list[manifest.Manifest]:
    if method is Method.ISTIO:
        own = (stage_world.deployment(image, app="shop"), stage_world.service(app="shop"))
        routes = (stage_world.virtual_service(), stage_world.destination_rule())
        return [made(each) for each in (*own, *routes)]
    return [made(each) for each in (stage_world.deployment(image), stage_world.service(), ROUTE)]


@contextlib.asynccontextmanager
async def canary_beside(
    method: Method, kind: proxies.Kind
) -> AsyncIterator[tuple[stage_world.World, str]]:
    """Given: a canary without traffic, behind a proxy; gives the proxy's address."""
    definitions = (
        crd_definitions.istio() if method is Method.ISTIO else crd_definitions.gateway_api()
    )
    settings = traffic_world.settings(crds=definitions, drain=2.0)
    async with (
        stage_world.world("us", application=application(method), settings=settings) as given,
        traffic_world.through(given, kind) as urls,
    ):
        given.sources = {
            commit: manifests(method, image)
            for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2"))
        }
        await given.deployed(OLD)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, ONE_POD)
        await traffic_world.until_answered(urls, host=HOST)
        yield given, urls["us"]


async def versions(url: str, path: str = "/", **headers: str) -> set[str]:
    """When: a user asks a few times; the versions that answered."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    tally = await load.Load(load.Aim(url, HOST, path, named), rate=300).run(count=40)
    assert tally.failed == 0, tally.failures
    return set(tally.by_version())


@pytest.mark.parametrize(("method", "kind"), PROXIES)
async def test_an_ab_test_over_a_real_proxy(method: Method, kind: proxies.Kind) -> None:
    async with canary_beside(method, kind) as (given, url):
        outcomes = await given.run(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(100, match=MATCHES)
        )
        assert outcomes["us"].status == "succeeded", outcomes
        await asyncio.sleep(SETTLED)

        assert await versions(url) == {"v1"}
        assert await versions(url, X_Group="beta") == {"v2"}
        assert await versions(url, X_Group="alpha", Cookie="steam=web; team=webs") == {"v1"}
        assert await versions(url, Cookie="a=b; team=web; c=d") == {"v2"}
        assert await versions(url, "/?try=1") == {"v2"}


@pytest.mark.parametrize(("method", "kind"), PROXIES)
async def test_users_stay_over_a_real_proxy(method: Method, kind: proxies.Kind) -> None:
    async with canary_beside(method, kind) as (given, url):
        stay = traffic.SessionAffinity("shop", primary_cookie_name="shop-primary")
        options = traffic_stages.TrafficOptions(50, canary=50, session_affinity=stay)
        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, options)
        assert outcomes["us"].status == "succeeded", outcomes
        await asyncio.sleep(SETTLED)

        assert await versions(url) == {"v1", "v2"}
        assert await cookies(url) == {"shop": TOKEN, "shop-primary": TOKEN}
        assert await versions(url, Cookie=f"a=b; shop={TOKEN}") == {"v2"}
        assert await versions(url, Cookie=f"shop-primary={TOKEN}") == {"v1"}


async def cookies(url: str) -> dict[str, str]:
    """When: new users come; the cookies that they get."""
    found: dict[str, str] = {}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        for _ in range(40):
            async with session.get(url, headers={"Host": HOST}) as answer:
                found |= {name: each.value for name, each in answer.cookies.items()}
    return found
