"""What stages apply: complete, marked, in order, and nothing of it by accident."""

import pytest

from volary.analysis.metering import query_names
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import catalog, rollout_stages, stage_kind
from volary.stages.rollouts import rendering

KEY = "pipecd.dev/variant"
APP = applications.Application(name="shop")


def made(kind: str, api: str = "v1", **spec: object) -> manifest.Manifest:
    body: json.JsonObject = {"apiVersion": api, "kind": kind, "metadata": {"name": "shop"}}
    return manifest.Manifest({**body, **spec})


DEPLOYMENT = made(
    "Deployment",
    "apps/v1",
    spec={
        "replicas": 4,
        "selector": {"matchLabels": {"app": "shop"}},
        "template": {
            "metadata": {"labels": {"app": "shop"}},
            "spec": {"containers": [{"name": "shop", "image": "shop:1"}]},
        },
    },
)
SERVICE = made("Service", spec={"selector": {"app": "shop"}, "ports": [{"port": 80}]})
CONFIG = made("ConfigMap", data={"a": "b"})
SET = [DEPLOYMENT, SERVICE, CONFIG]


def test_primary_is_everything_marked_and_in_order() -> None:
    found = rendering.primary(SET, APP, rollout_stages.SyncOptions(), commit="abc")

    assert [item.kind for item in found] == ["ConfigMap", "Service", "Deployment"]
    assert {item.annotations["volary.dev/commit"] for item in found} == {"abc"}
    assert {item.labels[KEY] for item in found} == {"primary"}
    assert all(item.labels["volary.dev/application"] == "shop" for item in found)


def test_canary_has_a_share_of_the_pods_and_no_service_of_its_own() -> None:
    options = rollout_stages.VariantRolloutOptions(
        replicas=rollout_stages.Replicas(50, is_percentage=True)
    )

    found = rendering.canary(SET, APP, options, commit="abc")

    assert [(item.kind, item.name) for item in found] == [
        ("ConfigMap", "shop-canary"),
        ("Deployment", "shop-canary"),
    ]
    assert found[1].body["spec"]["replicas"] == 2
    assert found[1].body["spec"]["selector"]["matchLabels"][KEY] == "canary"


def test_copies_are_known_by_their_own_key() -> None:
    (config, _) = rendering.baseline(SET, APP, rollout_stages.VariantRolloutOptions(), commit="old")

    assert config.annotations["volary.dev/resource-key"] == ":ConfigMap::shop-baseline"
    assert config.annotations["volary.dev/commit"] == "old"


@pytest.mark.parametrize("which", list(variant.Variant))
def test_no_manifests_is_an_error_for_every_variant(which: variant.Variant) -> None:
    with pytest.raises(errors.UserError, match="no Kubernetes manifests"):
        rendering.of_variant(which, [], APP, commit="abc")


APPLIED = {
    "K8S_SYNC": variant.Variant.PRIMARY,
    "K8S_PRIMARY_ROLLOUT": variant.Variant.PRIMARY,
    "K8S_ROLLBACK": variant.Variant.PRIMARY,
    "PLACEMENT_SYNC": variant.Variant.PRIMARY,
    "K8S_CANARY_ROLLOUT": variant.Variant.CANARY,
    "K8S_BASELINE_ROLLOUT": variant.Variant.BASELINE,
}


@pytest.mark.parametrize("kind", catalog.KINDS.values(), ids=lambda kind: kind.name)
def test_a_stage_applies_the_variant_it_is_named_after(
    kind: stage_kind.StageKind[stage_kind.StageOptions],
) -> None:
    assert kind.applies is APPLIED.get(kind.name)


def test_a_service_that_is_rolled_out_has_names_of_its_own_in_queries() -> None:
    app = applications.Application(
        name="shop",
        workloads=(routing_options.ObjectReference("Service", "shop"),),
        service=routing_options.ObjectReference(name="shop"),
    )
    old = DEPLOYMENT.with_body({**DEPLOYMENT.body, "metadata": {"name": "shop-v1"}})
    new = DEPLOYMENT.with_body({**DEPLOYMENT.body, "metadata": {"name": "shop-v2"}})
    nothing = routing_options.VariantServices()

    found = query_names.find(app, [SERVICE, new], namespace="default", running=[SERVICE, old])

    assert found.workload_of(variant.Variant.CANARY) == "shop-v2"
    assert found.workload_of(variant.Variant.PRIMARY) == "shop-v1"
    assert found.service_of(variant.Variant.CANARY, nothing) == "shop-canary"
    assert found.service_of(variant.Variant.PRIMARY, nothing) == "shop-primary"


def test_the_canary_of_a_service_comes_with_the_pods_that_only_it_leads_to() -> None:
    app = applications.Application(
        name="shop",
        workloads=(routing_options.ObjectReference("Service", "shop"),),
        service=routing_options.ObjectReference(name="shop"),
    )

    first = rendering.canary(SET, app, rollout_stages.VariantRolloutOptions(), commit="abc")
    later = rendering.canary(
        SET, app, rollout_stages.VariantRolloutOptions(), commit="abc", running=SET
    )

    titles = [f"{item.kind} {item.name}" for item in first]
    assert titles == ["ConfigMap shop", "Service shop-canary", "Deployment shop"]
    assert {item.labels[KEY] for item in first} == {"canary"}
    assert [f"{item.kind} {item.name}" for item in later] == ["Service shop-canary"]
