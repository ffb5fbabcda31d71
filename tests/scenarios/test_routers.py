"""A whole canary pipeline over each router: traffic as wanted, nothing lost, all given back."""

from dataclasses import dataclass, field, replace

import pytest

from kube_sandbox.crds import definitions
from stage_world import KEY, NEW, OLD, World, config, deployment, made, service, world
from volary.model import applications, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)

Method = routing_options.RoutingMethod
GATEWAY = "gateway.networking.k8s.io"
SPLIT = traffic_stages.TrafficOptions(80, canary=10, baseline=10)
HALF = traffic_stages.TrafficOptions(50, canary=50)
ONE_POD = rollout_stages.VariantRolloutOptions(
    replicas=rollout_stages.Replicas(1), create_service=True
)
TO_PRIMARY = traffic_stages.TrafficOptions(100)


def http_route(*rules: json.JsonObject, kind: str = "HTTPRoute") -> json.JsonObject:
    parent = {"group": "", "kind": "Service", "name": "shop"}
    rule = {"name": "main", "backendRefs": [{"name": "shop", "port": 80}]}
    return {
        "apiVersion": f"{GATEWAY}/v1",
        "kind": kind,
        "metadata": {"name": "shop"},
        "spec": {"parentRefs": [parent], "rules": list(rules) or [rule]},
    }


def split(version: str) -> json.JsonObject:
    weight = "1" if version == "v1alpha1" else 100
    return {
        "apiVersion": f"split.smi-spec.io/{version}",
        "kind": "TrafficSplit",
        "metadata": {"name": "shop"},
        "spec": {"service": "shop", "backends": [{"service": "shop", "weight": weight}]},
    }


def ingress() -> json.JsonObject:
    backend = {"service": {"name": "shop", "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    other = {"service": {"name": "other", "port": {"number": 80}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "shop"},
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"http": {"paths": [path, {**path, "path": "/other", "backend": other}]}}],
        },
    }


def traefik_service() -> json.JsonObject:
    entry = {"name": "shop", "port": 80, "passHostHeader": True}
    return {
        "apiVersion": "traefik.io/v1alpha1",
        "kind": "TraefikService",
        "metadata": {"name": "shop"},
        "spec": {"weighted": {"services": [entry]}},
    }


@dataclass(frozen=True)
class Setting:
    """A router, what it needs in the cluster, and how a release divides traffic by it."""

    method: Method
    route: json.JsonObject
    kind: str
    definitions: tuple[json.JsonObject, ...] = ()
    division: traffic_stages.TrafficOptions = SPLIT
    options: dict[str, object] = field(default_factory=dict)

    @property
    def application(self) -> applications.Application:
        return applications.Application(
            name="shop",
            service=routing_options.ObjectReference(name="shop"),
            traffic_routing=routing_options.TrafficRouting(method=self.method, **self.options),  # type: ignore[arg-type]
        )

    def sources(self, *more: json.JsonObject) -> dict[str, list[manifest.Manifest]]:
        return {
            commit: [
                made(each) for each in (deployment(image), service(), config(), self.route, *more)
            ]
            for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2"))
        }


GATEWAY_API = Setting(
    Method.GATEWAY_API, http_route(), f"HTTPRoute.{GATEWAY}", definitions.gateway_api()
)
NGINX = Setting(Method.NGINX, ingress(), "Ingress", division=HALF)
TRAEFIK = Setting(
    Method.TRAEFIK, traefik_service(), "TraefikService.traefik.io", definitions.traefik()
)
SETTINGS = {
    "gateway": GATEWAY_API,
    "traefik": TRAEFIK,
    "nginx": NGINX,
    **{
        f"smi-{version}": Setting(
            Method.SMI, split(version), "TrafficSplit.split.smi-spec.io", definitions.smi()
        )
        for version in ("v1alpha1", "v1alpha2", "v1alpha4")
    },
}


async def rolled_out(given: World) -> None:
    """Given: canary and baseline run beside primary."""
    for name in (rollout_stages.CANARY_ROLLOUT.name, rollout_stages.BASELINE_ROLLOUT.name):
        await succeeded(given, name, ONE_POD)


async def succeeded(given: World, name: str, options: stage_kind.StageOptions) -> str:
    found = await given.run(name, options)
    for each in found.values():
        assert each.status == "succeeded", each
    return found[given.names[0]].reason


def shares(given: World, target: str) -> dict[str, float]:
    return given.traffic(target).by_label(KEY)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
async def test_a_canary_pipeline_divides_traffic_and_gives_it_back(setting: Setting) -> None:
    names = ("us", "eu") if setting is GATEWAY_API else ("us",)
    async with world(
        *names, application=setting.application, definitions=setting.definitions
    ) as given:
        given.sources = setting.sources()
        await given.deployed(OLD)
        async with given.watched_traffic("us") as lost:
            await rolled_out(given)
            assert shares(given, "us") == {"primary": 1.0}

            said = await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, setting.division)

            wanted = {
                "primary": setting.division.primary / 100,
                "canary": setting.division.canary / 100,
                "baseline": setting.division.baseline / 100,
            }
            for target in names:
                assert shares(given, target) == pytest.approx(
                    {variant: share for variant, share in wanted.items() if share}
                )
            assert f"canary {setting.division.canary} %" in said

            await succeeded(
                given,
                rollout_stages.PRIMARY_ROLLOUT.name,
                rollout_stages.PrimaryRolloutOptions(prune=True),
            )
            assert shares(given, "us") == {"primary": 1.0}
            assert given.images("us") == "shop:v2 2/2"
            await succeeded(given, rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())
            await succeeded(given, rollout_stages.BASELINE_CLEAN.name, stage_kind.NoOptions())
        assert lost == []
        for target in names:
            assert given.count(target, "Deployment") == 1
            assert given.find(target, "Service", "shop-canary") is None
            assert given.find(target, "Ingress", "shop-canary") is None


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
async def test_a_rollback_gives_the_traffic_back_first(setting: Setting) -> None:
    async with world(
        "us", application=setting.application, definitions=setting.definitions
    ) as given:
        given.sources = setting.sources()
        await given.deployed(OLD)
        await rolled_out(given)
        await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, setting.division)

        async with given.watched_traffic("us") as lost:
            await succeeded(given, added_stages.ROLLBACK.name, stage_kind.NoOptions())

        assert lost == []
        assert shares(given, "us") == {"primary": 1.0}
        assert given.images("us") == "shop:v1 2/2"
        assert given.count("us", "Deployment") == 1


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
async def test_a_canary_that_goes_is_drained_first(setting: Setting) -> None:
    async with world(
        "us", application=setting.application, definitions=setting.definitions
    ) as given:
        given.sources = setting.sources()
        await given.deployed(OLD)
        await rolled_out(given)
        await succeeded(given, traffic_stages.TRAFFIC_ROUTING.name, setting.division)

        async with given.watched_traffic("us") as lost:
            await succeeded(given, rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())

        assert lost == []
        assert "canary" not in shares(given, "us")


@pytest.mark.parametrize(
    "setting", [GATEWAY_API, TRAEFIK, NGINX], ids=["gateway", "traefik", "nginx"]
)
async def test_no_traffic_is_sent_to_a_service_without_endpoints(setting: Setting) -> None:
    async with world(
        "us", application=setting.application, definitions=setting.definitions
    ) as given:
        given.sources = setting.sources()
        await given.deployed(OLD)
        without = replace(ONE_POD, create_service=False)
        await given.run(rollout_stages.CANARY_ROLLOUT.name, without)

        outcomes = await given.run(traffic_stages.TRAFFIC_ROUTING.name, HALF, limit=1)

        assert outcomes["us"].status == "failed"
        assert "no Service shop-canary" in outcomes["us"].reason
        assert not outcomes["us"].touched
        assert shares(given, "us") == {"primary": 1.0}
