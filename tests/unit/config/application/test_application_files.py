import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.application import application_files
from volary.config.dialects.karmada import recognition as karmada
from volary.config.text import yaml
from volary.model import applications, errors, routing_options
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import (
    external_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)

EXAMPLES = Path(__file__).parents[4] / "examples"

KUBERNETES = """
input:
  manifests: [a.yaml, ./b/../c.yaml]
  namespace: shop
  autoCreateNamespace: true
  helmChart: {path: ../chart}
  helmOptions:
    releaseName: shop
    setValues: {a: "1"}
    valueFiles: [values.yaml]
    setFiles: {b: b.txt}
    apiVersions: [x/v1]
    kubeVersion: 1.30.0
  multiTargets:
    - target: {name: us}
      manifests: [us.yaml]
      kustomizeDir: us
      kustomizeOptions: {enable-helm: ""}
quickSync: {prune: true, addVariantLabelToSelector: true, multiTargets: [us]}
workloads: [{kind: Deployment, name: web}, {name: api}]
service: {kind: Service, name: web}
variantLabel: {key: example.com/variant, primaryValue: p, canaryValue: c, baselineValue: b}
trafficRouting:
  method: istio
  istio: {host: web, editableRoutes: [main], virtualService: {kind: VirtualService, name: vs}}
"""
COMMON = """
description: A shop
timeout: 1h
planner: {alwaysUsePipeline: true, autoRollback: false}
commitMatcher: {quickSync: "^docs", pipeline: "^feat"}
pipeline:
  stages:
    - name: K8S_SYNC
      with: {prune: true, addVariantLabelToSelector: true}
    - name: K8S_CANARY_ROLLOUT
      desc: First
      timeout: 5m
      with:
        replicas: 10%
        suffix: next
        createService: true
        multiTargets: [us]
        patches:
          - target: {kind: ConfigMap, name: c, documentRoot: $.data.x}
            ops: [{path: $.a, value: b}]
    - {name: K8S_MULTI_BASELINE_ROLLOUT, with: {replicas: 2}}
    - {name: K8S_TRAFFIC_ROUTING, with: {primary: 80, canary: "10", baseline: 10%}}
    - {name: WAIT, with: {duration: 90s}}
    - {name: K8S_PRIMARY_ROLLOUT, with: {suffix: main, createService: true, prune: true}}
    - {name: K8S_TRAFFIC_ROUTING, with: {all: primary}}
    - name: K8S_MULTI_CANARY_CLEAN
    - name: K8S_BASELINE_CLEAN
"""


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in text.strip().splitlines())


VOLARY = (
    "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: shop, labels: {team: web}}\n"
    f"spec:\n{indented(KUBERNETES, 2)}{indented(COMMON, 2)}"
)
PIPECD = (
    "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n"
    f"  labels: {{team: web}}\n  plugins:\n    kubernetes_multicluster:\n"
    f"{indented(KUBERNETES, 6)}{indented(COMMON, 2)}"
)

EXPECTED = applications.Application(
    name="shop",
    dialect=applications.Dialect.VOLARY,
    labels={"team": "web"},
    description="A shop",
    input=applications.Input(
        manifests=("a.yaml", "c.yaml"),
        namespace="shop",
        auto_create_namespace=True,
        helm_chart=applications.HelmChart("../chart"),
        helm_options=applications.HelmOptions(
            release_name="shop",
            set_values={"a": "1"},
            value_files=("values.yaml",),
            set_files={"b": "b.txt"},
            api_versions=("x/v1",),
            kube_version="1.30.0",
        ),
        multi_targets=(
            applications.TargetInput(
                applications.TargetReference("us"), ("us.yaml",), "us", {"enable-helm": ""}
            ),
        ),
    ),
    quick_sync=rollout_stages.SyncOptions(add_variant_label_to_selector=True, prune=True),
    quick_sync_targets=("us",),
    workloads=(
        routing_options.ObjectReference("Deployment", "web"),
        routing_options.ObjectReference("", "api"),
    ),
    service=routing_options.ObjectReference("Service", "web"),
    variant_label=variant.VariantLabel("example.com/variant", "p", "c", "b"),
    traffic_routing=routing_options.TrafficRouting(
        routing_options.RoutingMethod.ISTIO,
        istio=routing_options.IstioRouting(
            ("main",), "web", routing_options.VirtualService("VirtualService", "vs")
        ),
    ),
    pipeline=(
        pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions(True, True), 0),
        pipelines.Stage(
            rollout_stages.CANARY_ROLLOUT.name,
            rollout_stages.VariantRolloutOptions(
                rollout_stages.Replicas(10, is_percentage=True),
                "next",
                True,
                patches=(
                    rollout_stages.Patch(
                        rollout_stages.PatchTarget("ConfigMap", "c", "$.data.x"),
                        (rollout_stages.PatchOperation(path="$.a", value="b"),),
                    ),
                ),
            ),
            1,
            "First",
            timedelta(minutes=5),
            ("us",),
        ),
        pipelines.Stage(
            rollout_stages.BASELINE_ROLLOUT.name,
            rollout_stages.VariantRolloutOptions(rollout_stages.Replicas(2)),
            2,
        ),
        pipelines.Stage(
            traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(80, 10, 10), 3
        ),
        pipelines.Stage(
            waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(seconds=90)), 4
        ),
        pipelines.Stage(
            rollout_stages.PRIMARY_ROLLOUT.name,
            rollout_stages.PrimaryRolloutOptions(False, True, "main", True),
            5,
        ),
        pipelines.Stage(traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(100), 6),
        pipelines.Stage(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions(), 7),
        pipelines.Stage(rollout_stages.BASELINE_CLEAN.name, stage_kind.NoOptions(), 8),
    ),
    planner=applications.Planner(always_use_pipeline=True, auto_rollback=False),
    commit_matcher=applications.CommitMatcher("^docs", "^feat"),
    timeout=timedelta(hours=1),
)


def read(text: str) -> applications.Application:
    return application_files.parse(text, file="f.yaml", default_name="folder").require()


def test_every_field_of_our_dialect_is_read() -> None:
    assert read(VOLARY) == EXPECTED


def test_pipecd_says_the_same_in_its_own_places() -> None:
    loaded = application_files.parse(PIPECD, file="f.yaml", default_name="folder")

    assert loaded.problems == ()
    assert loaded.base == ("spec", "plugins", "kubernetes_multicluster")
    found = loaded.require()
    assert found.dialect is applications.Dialect.PIPECD
    targets = applications.TargetSelector(plugin="kubernetes_multicluster")
    expected = replace(EXPECTED, targets=targets)
    assert [getattr(found, name) for name in _parts()] == [
        getattr(expected, name) for name in _parts()
    ]


def _parts() -> list[str]:
    return [name for name in applications.Application.__slots__ if name != "dialect"]


def test_keys_match_in_any_case_in_pipecd_and_the_exact_one_wins() -> None:
    text = (
        "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n"
        "  NAME: loud\n  planner: {ALWAYSUSEPIPELINE: true}\n"
        "  plugins: {Kubernetes: {Service: {name: a}, service: {name: b}}}\n"
    )
    loaded = application_files.parse(text, file="f", default_name="x")

    assert loaded.problems == ()
    found = loaded.require()
    assert (found.name, found.service.name) == ("loud", "b")
    assert found.planner.always_use_pipeline


def test_zero_values_get_defaults_in_pipecd_but_an_explicit_false_stays() -> None:
    text = (
        "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: ''\n  timeout: 0s\n"
        "  planner: {autoRollback: false}\n  plugins: {kubernetes: {variantLabel: {key: ''}}}\n"
    )
    found = read(text)

    assert (found.name, found.timeout) == ("folder", timedelta(hours=6))
    assert not found.planner.auto_rollback
    assert found.variant_label.key == "pipecd.dev/variant"


@pytest.mark.parametrize("version", ["volary.dev/v1", "pipecd.dev/v1beta1"])
def test_an_empty_file_means_all_defaults(version: str) -> None:
    found = read(f"apiVersion: {version}\nkind: Application\n")

    expected = applications.Application("folder", dialect=applications.Dialect(version))
    assert found == expected


def test_the_name_of_the_folder_must_be_usable() -> None:
    loaded = application_files.parse(
        "apiVersion: volary.dev/v1\nkind: Application\n", file="f", default_name="My Shop"
    )

    assert "the name 'My Shop' cannot be a label" in loaded.problems[0].message
    with pytest.raises(errors.UserError):
        loaded.require()


@pytest.mark.parametrize("folder", sorted(p.name for p in EXAMPLES.iterdir() if p.is_dir()))
def test_examples_have_no_problem(folder: str) -> None:
    every = sorted(p for p in (EXAMPLES / folder).iterdir() if p.is_file())
    files = [p for p in every if application_files.is_file_name(p.name)] or [
        p
        for p in every
        if application_files.is_canary(p.read_text())
        or karmada.has_propagation_policy(p.read_text())
    ]

    assert len(files) == 1
    loaded = application_files.parse(
        files[0].read_text(),
        file=files[0].name,
        default_name="x",
        directory=f"examples/{folder}",
        neighbours={p.name: p.read_text() for p in every if p != files[0]},
    )
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/app.pipecd.yaml", True),
        ("shop.pipecd.yaml", True),
        ("volary.yaml", True),
        ("a/pipecd.yaml", False),
        ("my-volary.yaml", False),
        ("apppipecd.yaml", False),
        ("deployment.yaml", False),
    ],
)
def test_application_files_are_known_by_name(name: str, expected: bool) -> None:
    assert application_files.is_file_name(name) is expected


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "stages", "with", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def _replace(value: object, steps: int, new: object) -> tuple[object, int]:
    """Put `new` at the place that is reached after `steps` values."""
    if steps == 0:
        return new, -1
    steps -= 1
    if isinstance(value, dict):
        changed: dict[str, object] = {}
        for key, inner in value.items():
            changed[key], steps = _replace(inner, steps, new) if steps >= 0 else (inner, steps)
        return changed, steps
    if isinstance(value, list):
        items: list[object] = []
        for inner in value:
            item, steps = _replace(inner, steps, new) if steps >= 0 else (inner, steps)
            items.append(item)
        return items, steps
    return value, steps


@given(st.sampled_from([VOLARY, PIPECD]), st.integers(0, 110), _VALUES)
def test_whatever_is_written_comes_back_as_problems(text: str, steps: int, new: object) -> None:
    """One part of a good file is replaced by anything; nothing may be raised."""
    changed, _ = _replace(yaml.load_all(text)[0].value, steps, new)
    loaded = application_files.parse(json.dumps(changed), file="f.yaml", default_name="folder")

    assert (loaded.application is None) == bool(errors.mistakes(loaded.problems))


def test_triggers_are_read() -> None:
    text = """
apiVersion: volary.dev/v1
kind: Application
spec:
  trigger:
    onCommit: {disabled: true, paths: ["lib/**"], ignores: ["*.md"]}
    onCommand: {disabled: true}
"""
    loaded = application_files.parse(text, file="volary.yaml", default_name="shop")

    found = loaded.require().triggers
    assert found == applications.Triggers(
        on_commit=applications.OnCommit(True, ("lib/**",), ("*.md",)),
        on_command=applications.OnCommand(True),
    )


def test_a_gate_before_everything_is_asked_about_the_rollout_and_others_about_the_promotion() -> (
    None
):
    text = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  pipeline:
    stages:
    - {name: WAIT, with: {duration: 1s}}
    - {name: K8S_WEBHOOK_GATE, with: {url: "https://gate.example/begin"}}
    - {name: K8S_CANARY_ROLLOUT}
    - {name: K8S_WEBHOOK_GATE, with: {url: "https://gate.example/end"}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
    loaded = application_files.parse(text, file="volary.yaml", default_name="x")
    assert loaded.application is not None, loaded.problems
    asked = [
        each.options.webhook.type.value
        for each in loaded.application.pipeline
        if isinstance(each.options, external_stages.WebhookGateOptions)
    ]
    assert asked == ["confirm-rollout", "confirm-promotion"]


def test_a_problem_without_a_place_is_put_where_it_is_written() -> None:
    text = "apiVersion: volary.dev/v1\nkind: Application\nspec:\n  waves: [{name: all}]\n"
    loaded = application_files.parse(text, file="volary.yaml", default_name="shop")
    elsewhere = errors.Problem("placed already", errors.Location("fleet.yaml", 3))

    error = loaded.located(
        errors.UserError(errors.Problem("eu is in no wave"), elsewhere), ("spec", "waves")
    )

    assert [str(each) for each in error.problems] == [
        "volary.yaml:4: spec.waves: eu is in no wave",
        "fleet.yaml:3: placed already",
    ]
