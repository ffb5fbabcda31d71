"""What is a variant where a Service is rolled out, and what comes with it."""

import pytest

from volary.manifests.routes import generated_services
from volary.manifests.services import backends, service_targets
from volary.manifests.variants import variants
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import traffic, variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import registry

Method = routing_options.RoutingMethod
V1, V2 = {"app": "shop", "version": "v1"}, {"app": "shop", "version": "v2"}
ROUTERS = [each for each in Method if each is not Method.POD_SELECTOR]


def app(method: Method = Method.ISTIO) -> applications.Application:
    return applications.Application(
        name="shop",
        workloads=(routing_options.ObjectReference("Service", "shop"),),
        service=routing_options.ObjectReference(name="shop"),
        traffic_routing=routing_options.TrafficRouting(method=method, create=True),
    )


def thing(kind: str, name: str, **spec: object) -> manifest.Manifest:
    version = {"Deployment": "apps/v1", "HorizontalPodAutoscaler": "autoscaling/v2"}.get(kind, "v1")
    body: json.JsonObject = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
    return manifest.Manifest({**body, "spec": spec})


def service(labels: dict[str, str], **more: object) -> manifest.Manifest:
    ports = [{"port": 80, "targetPort": 8080, "nodePort": 30080}]
    return thing("Service", "shop", selector=labels, ports=ports, type="NodePort", **more)


def pods(version: str, image: str = "", namespace: str = "") -> manifest.Manifest:
    labels = {"app": "shop", "version": version}
    template = {
        "metadata": {"labels": {**labels, "more": "x"}},
        "spec": {"containers": [{"name": "shop", "image": image or version}]},
    }
    found = thing("Deployment", f"shop-{version}", template=template)
    if not namespace:
        return found
    return found.with_body({**found.body, "metadata": {**found.metadata, "namespace": namespace}})


def scaler(name: str) -> manifest.Manifest:
    return thing(
        "HorizontalPodAutoscaler",
        f"{name}-scaler",
        scaleTargetRef={"kind": "Deployment", "name": name},
    )


def names(found: list[manifest.Manifest]) -> list[str]:
    return [each.name for each in found]


def test_a_copy_leads_where_the_original_does_and_is_not_reached_from_outside() -> None:
    found = variants.canary(
        [service(V2), pods("v2")], app(), rollout_stages.VariantRolloutOptions()
    )

    [copy] = found
    assert copy.name == "shop-canary"
    assert copy.body["spec"]["selector"] == V2
    assert copy.body["spec"]["type"] == "ClusterIP"
    assert copy.body["spec"]["ports"] == [{"port": 80, "targetPort": 8080}]


def test_pods_that_only_the_new_service_leads_to_are_brought_with_what_they_need() -> None:
    old = [service(V1), pods("v1"), scaler("shop-v1"), thing("ConfigMap", "settings")]
    new = [
        service(V2),
        pods("v1", "changed"),
        pods("v2"),
        pods("v2", namespace="elsewhere"),
        scaler("shop-v1"),
        scaler("shop-v2"),
        thing("ConfigMap", "settings", more="changed"),
        thing("ConfigMap", "settings-v2"),
        thing("Gateway", "new"),
    ]
    one_namespace = [new[0].with_body({**new[0].body, "metadata": {"name": "shop"}}), *new[1:]]

    found = service_targets.dependencies(one_namespace, old, app())

    assert names(found) == ["shop-v2", "shop-v2", "shop-v2-scaler", "settings-v2"]


def test_another_namespace_s_pods_are_not_reached() -> None:
    here = service(V2)
    placed = here.with_body({**here.body, "metadata": {"name": "shop", "namespace": "shop"}})

    found = service_targets.selected(
        [pods("v2", namespace="shop"), pods("v2", namespace="elsewhere")], placed
    )

    assert [each.namespace for each in found] == ["shop"]


def test_pods_that_serve_the_running_version_wait_for_the_promotion() -> None:
    """Only the port changes: the same pods stand behind both, so nothing of them is tried."""
    wide = {"app": "shop"}
    old, new = [service(wide), pods("v1", "a")], [service(wide), pods("v1", "b")]

    assert service_targets.dependencies(new, old, app()) == []
    assert names(service_targets.untested_workloads(new, old, app())) == ["shop-v1"]
    assert service_targets.untested_workloads(old, old, app()) == []


def test_a_first_release_brings_all_that_it_leads_to() -> None:
    assert names(service_targets.dependencies([service(V2), pods("v2")], [], app())) == ["shop-v2"]


def test_the_services_follow_the_rest() -> None:
    manifests = generated_services.add(
        [service(V2), pods("v2"), thing("Service", "other", selector=V1)], app()
    )

    now, late = service_targets.split_by_readiness(manifests, app())

    assert names(late) == ["shop", "shop-primary"]
    assert "other" in names(now)


@pytest.mark.parametrize("found", [[pods("v2")], [service({})]])
def test_a_service_that_leads_nowhere_cannot_be_tried(found: list[manifest.Manifest]) -> None:
    with pytest.raises(errors.UserError):
        variants.canary(found, app(), rollout_stages.VariantRolloutOptions())


def test_a_port_that_routes_name_stays() -> None:
    def with_ports(*numbers: int) -> list[manifest.Manifest]:
        ports = [{"name": f"p{each}", "port": each} for each in numbers]
        return [thing("Service", "shop", selector=V1, ports=ports)]

    service_targets.check_ports(with_ports(80, 81), with_ports(80), app())
    service_targets.check_ports(with_ports(81), [], app())
    with pytest.raises(errors.UserError, match="has no longer the port 80: requests would be lost"):
        service_targets.check_ports(with_ports(81), with_ports(80), app())


def test_pipecds_dialect_knows_no_such_thing() -> None:
    pipecds = applications.Application(
        "shop",
        dialect=applications.Dialect.PIPECD,
        workloads=(routing_options.ObjectReference("Service", "shop"),),
    )
    with pytest.raises(errors.UserError, match="unsupported workload kind Service"):
        variants.canary([service(V2)], pipecds, rollout_stages.VariantRolloutOptions())
    assert generated_services.add([service(V2)], pipecds) == [service(V2)]


@pytest.mark.parametrize("method", ROUTERS)
def test_every_router_divides_between_the_services(method: Method) -> None:
    described = app(method)
    whole = generated_services.add([service(V2), pods("v2")], described)
    whole += variants.canary(whole, described, rollout_stages.VariantRolloutOptions())
    router = registry.choose(described)
    wanted = division.Division(80, 20)

    route = registry.find(whole, described)
    change = router.routed(route, wanted)

    seen = weights.observed(router.read(change.item.body)).shares
    assert seen.get(variant.Variant.CANARY) == 20
    assert "shop-canary" in str(change.item.body)
    back = router.drained(change.item, variant.Variant.CANARY)
    after = weights.observed(router.read(back.item.body)).shares
    assert not after.get(variant.Variant.CANARY)


def test_with_istio_no_destination_keeps_a_subset() -> None:
    """Also not those of matches, mirrors and cookies, which are folded and unfolded."""

    described = app()
    route = registry.find(generated_services.add([service(V2)], described), described)
    wanted = division.Division(
        90,
        10,
        match=(traffic.RequestMatch(headers={"X-User": traffic.TextMatch("beta")}),),
        mirror=5,
        affinity=traffic.SessionAffinity("stays", primary_cookie_name="stays-primary"),
        token="t",
    )

    change = registry.choose(described).routed(route, wanted)

    rules = change.item.body["spec"]["http"]
    destinations = [each["destination"] for rule in rules for each in rule["route"]]
    destinations += [rule["mirror"] for rule in rules if "mirror" in rule]
    assert {each["host"] for each in destinations} == {"shop-primary", "shop-canary"}
    assert not any("subset" in each for each in destinations)
    known = backends.of(described)
    assert (known.primary, known.canary) == ("shop-primary", "shop-canary")


def test_without_a_service_on_one_side_no_port_is_missing() -> None:
    application = app()
    with_service, without = [service(V2)], [pods("v2")]

    for now, before in ((with_service, without), (without, with_service), (without, without)):
        service_targets.check_ports(now, before, application)
