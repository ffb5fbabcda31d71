import dataclasses
import pathlib

import pytest

from volary.manifests.loading import documents, serialization
from volary.manifests.ownership import tracking
from volary.manifests.variants import variants
from volary.model import applications, errors, routing_options
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind

CASES = sorted((pathlib.Path(__file__).parents[3] / "cases" / "variants").iterdir())
OPTIONS = rollout_stages.VariantRolloutOptions()
Manifests = list[manifest.Manifest]
App = applications.Application


def test_a_canary_is_a_copy_of_workloads_and_configuration_beside_the_primary(
    simple: Manifests, web: App
) -> None:
    options = rollout_stages.VariantRolloutOptions(
        rollout_stages.Replicas(50, True), create_service=True
    )
    found = variants.canary(simple, web, options)

    assert [(item.kind, item.name) for item in found] == [
        ("Service", "web-canary"),
        ("ConfigMap", "settings-canary"),
        ("Secret", "password-canary"),
        ("Deployment", "web-canary"),
    ]
    spec = found[-1].body["spec"]
    assert spec["replicas"] == 2
    labels = {"app": "web", "pipecd.dev/variant": "canary"}
    assert spec["selector"]["matchLabels"] == labels
    assert spec["template"]["metadata"]["labels"] == labels
    assert found[-1].labels == {"app": "web"}


def test_beside_an_ingress_comes_a_canary_and_nothing_for_the_baseline(
    simple: Manifests, web: App
) -> None:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    ingress = manifest.Manifest(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "front"},
            "spec": {"rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}]},
        }
    )
    routing = routing_options.TrafficRouting(method=routing_options.RoutingMethod.NGINX)
    app = dataclasses.replace(web, traffic_routing=routing)

    canary = variants.canary([*simple, ingress], app, OPTIONS)
    baseline = variants.baseline([*simple, ingress], app, OPTIONS)
    without = variants.canary([*simple, ingress], web, OPTIONS)

    assert [item.name for item in canary if item.kind == "Ingress"] == ["front-canary"]
    assert not [item.name for item in (*baseline, *without) if item.kind == "Ingress"]


def test_references_to_own_configuration_follow_and_others_stay(
    simple: Manifests, web: App
) -> None:
    spec = variants.baseline(simple, web, OPTIONS)[-1].body["spec"]["template"]["spec"]

    assert spec["imagePullSecrets"] == [{"name": "password-baseline"}, {"name": "elsewhere"}]
    assert spec["initContainers"][0]["envFrom"] == [{"secretRef": {"name": "password-baseline"}}]
    own, other = spec["containers"][0]["env"]
    assert own["valueFrom"]["configMapKeyRef"]["name"] == "settings-baseline"
    assert other["valueFrom"]["secretKeyRef"]["name"] == "not-ours"
    plain, hidden, both = spec["volumes"]
    assert plain["configMap"]["name"] == "settings-baseline"
    assert hidden["secret"]["secretName"] == "password-baseline"
    assert both["projected"]["sources"] == [
        {"configMap": {"name": "settings-baseline"}},
        {"secret": {"name": "password-baseline"}},
    ]


def test_ephemeral_containers_and_storage_drivers_follow_too(simple: Manifests, web: App) -> None:
    text = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  template:
    spec:
      ephemeralContainers: [{name: debug, envFrom: [{configMapRef: {name: settings}}]}]
      volumes:
      - {name: a, csi: {driver: x, nodePublishSecretRef: {name: password}}}
      - {name: b, azureFile: {secretName: password, shareName: s}}
      - {name: c, persistentVolumeClaim: {claimName: settings}}
"""
    app = dataclasses.replace(web, workloads=(routing_options.ObjectReference("StatefulSet", ""),))
    found = variants.canary(simple + documents.parse(text, file=""), app, OPTIONS)
    spec = found[-1].body["spec"]["template"]["spec"]

    assert spec["ephemeralContainers"][0]["envFrom"][0]["configMapRef"]["name"] == "settings-canary"
    csi, azure, claim = spec["volumes"]
    assert csi["csi"]["nodePublishSecretRef"]["name"] == "password-canary"
    assert azure["azureFile"]["secretName"] == "password-canary"
    assert claim["persistentVolumeClaim"]["claimName"] == "settings"


def test_making_variants_changes_nothing_of_the_primary(simple: Manifests, web: App) -> None:
    before = serialization.dump(simple)
    sync = rollout_stages.SyncOptions(add_variant_label_to_selector=True)
    variants.canary(simple, web, rollout_stages.VariantRolloutOptions(create_service=True))
    variants.primary(simple, web, sync)

    assert serialization.dump(simple) == before


def test_a_copied_service_is_reached_inside_the_cluster_only(simple: Manifests, web: App) -> None:
    service = variants.canary(
        simple, web, rollout_stages.VariantRolloutOptions(create_service=True)
    )[0]

    assert service.body["spec"] == {
        "type": "ClusterIP",
        "selector": {"app": "web", "pipecd.dev/variant": "canary"},
        "ports": [{"port": 80, "targetPort": 8080}],
    }


def test_a_stateful_set_follows_its_copied_service(web: App) -> None:
    text = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec: {serviceName: web, selector: {matchLabels: {app: web}}, template: {}}
"""
    items = documents.parse(text, file="")
    with_service = rollout_stages.VariantRolloutOptions(create_service=True)
    copied, _ = variants.canary(items, web, with_service)
    followed = variants.canary(items, web, with_service)[1].body["spec"]["serviceName"]
    stayed = variants.canary(items, web, OPTIONS)[0].body["spec"]["serviceName"]

    assert copied.body["spec"]["clusterIP"] == "None"
    assert (followed, stayed) == ("web-canary", "web")


def test_absolute_replicas_count_also_when_the_primary_does_not_name_its_own(web: App) -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {}}\n"
    items = documents.parse(text, file="")
    three = variants.canary(
        items, web, rollout_stages.VariantRolloutOptions(rollout_stages.Replicas(3))
    )
    half = variants.canary(
        items, web, rollout_stages.VariantRolloutOptions(rollout_stages.Replicas(50, True))
    )

    assert three[0].body["spec"]["replicas"] == 3
    assert half[0].body["spec"]["replicas"] == 1


def test_the_suffix_is_the_value_of_the_variant_label_unless_given(
    simple: Manifests, web: App
) -> None:
    label = variant.VariantLabel(key="v", canary_value="preview")
    app = dataclasses.replace(web, variant_label=label)

    assert variants.canary(simple, app, OPTIONS)[-1].name == "web-preview"
    named = variants.canary(simple, app, rollout_stages.VariantRolloutOptions(suffix="next"))[-1]
    assert named.name == "web-next"
    assert named.body["spec"]["selector"]["matchLabels"]["v"] == "preview"


def test_copies_are_marked_with_their_own_key(simple: Manifests, web: App) -> None:
    """PipeCD leaves the original's key on ConfigMaps and Secrets."""
    found = [
        tracking.track(
            item,
            owner=ownership.Owner("web", "web-1"),
            commit="abc",
            variant=variant.Variant.CANARY,
            label=web.variant_label,
        )
        for item in variants.canary(simple, web, OPTIONS)
    ]

    assert [item.annotations[tracking.RESOURCE_KEY] for item in found] == [
        ":ConfigMap::settings-canary",
        ":Secret::password-canary",
        "apps:Deployment::web-canary",
    ]


def test_the_primary_is_everything_with_config_hashes(simple: Manifests, web: App) -> None:
    options = rollout_stages.PrimaryRolloutOptions(create_service=True)
    found = variants.primary(simple, web, options)

    names = [(item.kind, item.name) for item in found]
    assert names == [*((item.kind, item.name) for item in simple), ("Service", "web-primary")]
    annotations = found[3].body["spec"]["template"]["metadata"]["annotations"]
    assert set(annotations) == {"pipecd.dev/config-hash"}


def test_the_primary_label_goes_into_the_chosen_workloads_only(simple: Manifests, web: App) -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\nspec: {template: {}}\n"
    app = dataclasses.replace(web, workloads=(routing_options.ObjectReference("", "other"),))
    options = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True)
    found = variants.primary([*simple, *documents.parse(text, file="")], app, options)

    assert found[-1].body["spec"] == {
        "selector": {"matchLabels": {"pipecd.dev/variant": "primary"}},
        "template": {"metadata": {"labels": {"pipecd.dev/variant": "primary"}}},
    }


def refused(
    items: Manifests, app: App, options: rollout_stages.VariantRolloutOptions = OPTIONS
) -> list[str]:
    with pytest.raises(errors.UserError) as caught:
        variants.canary(items, app, options)
    return [each.message for each in caught.value.problems]


def test_kinds_that_cannot_have_variants_are_named(web: App) -> None:
    text = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
"""
    references = (
        routing_options.ObjectReference("DaemonSet"),
        routing_options.ObjectReference("CronJob"),
    )
    app = dataclasses.replace(web, workloads=references)

    assert refused(documents.parse(text, file=""), app) == [
        "unsupported workload kind DaemonSet for CANARY variant: agent",
        "unsupported workload kind CronJob for CANARY variant: nightly",
    ]


def test_what_the_primary_owns_is_never_overwritten(simple: Manifests, web: App) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-canary}\n"

    assert refused(simple + documents.parse(text, file=""), web) == [
        "the variant's ConfigMap settings-canary would overwrite the primary's of that name"
    ]


def test_nothing_to_copy_is_an_error(simple: Manifests, web: App) -> None:
    app = dataclasses.replace(web, service=routing_options.ObjectReference("", "gone"))

    assert refused(simple[:3], web) == ["unable to find any workload manifests for CANARY variant"]
    assert refused(simple, app, rollout_stages.VariantRolloutOptions(create_service=True)) == [
        'unable to find any service for name="gone" for CANARY variant'
    ]


def test_names_that_get_too_long_and_bad_suffixes_are_errors(simple: Manifests, web: App) -> None:
    long = rollout_stages.VariantRolloutOptions(create_service=True, suffix="x" * 60)
    (message,) = refused(simple, web, long)

    assert message == (
        f"the name of the Service, web-{'x' * 60}, is too long: "
        "64 characters, at most 63 are allowed"
    )
    assert refused(simple, web, rollout_stages.VariantRolloutOptions(suffix="Next_1")) == [
        "the suffix 'Next_1' cannot be part of a name"
    ]


def test_a_service_without_pods_of_its_own_has_no_variant(simple: Manifests, web: App) -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {externalName: example.com}\n"
    app = dataclasses.replace(web, service=routing_options.ObjectReference())
    items = [item for item in simple if item.kind != "Service"] + documents.parse(text, file="")

    assert refused(items, app, rollout_stages.VariantRolloutOptions(create_service=True)) == [
        "Service x has no selector, so it cannot have a variant"
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: pathlib.Path) -> None:
    """Input and the exact text of each variant; add a case by adding a folder."""
    items = documents.parse((case / "input.yaml").read_text(), file="input.yaml")
    app = applications.Application(name=case.name, dialect=applications.Dialect.PIPECD)
    options = rollout_stages.VariantRolloutOptions(
        rollout_stages.Replicas(25, True), create_service=True
    )
    primary = variants.primary(
        items, app, rollout_stages.PrimaryRolloutOptions(create_service=True)
    )

    found = {
        "primary": serialization.dump(primary),
        "canary": serialization.dump(variants.canary(items, app, options)),
        "baseline": serialization.dump(variants.baseline(items, app, options)),
    }

    assert found == {name: (case / f"{name}.yaml").read_text() for name in found}


@pytest.mark.parametrize(
    ("workload", "config", "follows"),
    [
        ("", "", True),
        ("", "shop", True),
        ("shop", "", True),
        ("shop", "shop", True),
        ("shop", "x", False),
    ],
)
def test_a_copy_reads_the_configuration_of_its_own_namespace(
    simple: Manifests, web: App, workload: str, config: str, follows: bool
) -> None:
    placed = [
        item.with_body(
            {
                **item.body,
                "metadata": {
                    **item.metadata,
                    "namespace": workload if item.kind == "Deployment" else config,
                },
            }
        )
        for item in simple
    ]
    spec = variants.baseline(placed, web, OPTIONS)[-1].body["spec"]["template"]["spec"]

    name = "password-baseline" if follows else "password"
    assert spec["initContainers"][0]["envFrom"] == [{"secretRef": {"name": name}}]


def test_pods_of_the_fleets_share_are_those_that_were_decided(simple: Manifests, web: App) -> None:
    share = dataclasses.replace(OPTIONS, of=stage_kind.Scope.FLEET)
    decided = dataclasses.replace(share, counts={"Deployment web": 2})

    assert variants.canary(simple, web, decided)[-1].body["spec"]["replicas"] == 2
    assert variants.canary(simple, web, dataclasses.replace(share, counts={})) == []
    with pytest.raises(errors.UserError, match="decided when a release is prepared"):
        variants.canary(simple, web, share)


def test_where_routes_are_made_canary_has_its_service_without_asking(
    simple: Manifests, web: App
) -> None:
    routing = routing_options.TrafficRouting(method=routing_options.RoutingMethod.SMI, create=True)
    service = routing_options.ObjectReference(name="web")
    made = dataclasses.replace(web, service=service, traffic_routing=routing)

    def services_of(app: App) -> list[str]:
        copies = variants.canary(simple, app, rollout_stages.VariantRolloutOptions())
        return [item.name for item in copies if item.kind == "Service"]

    assert services_of(made) == ["web-canary"]
    assert services_of(dataclasses.replace(web, service=service)) == []


def test_a_missing_service_comes_with_a_way_out(simple: Manifests, web: App) -> None:
    app = dataclasses.replace(web, service=routing_options.ObjectReference("", "gone"))

    with pytest.raises(errors.UserError) as raised:
        variants.canary(simple, app, rollout_stages.VariantRolloutOptions(create_service=True))

    hints = [problem.hint for problem in raised.value.problems]
    assert hints == ["createService copies the Service that service.name points at"]
