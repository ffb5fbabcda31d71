"""Overrides and shares: what one cluster gets of an application."""

import pytest

from volary.model import errors, json
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides, rollouts
from volary.placement import cluster_manifests

EU = fleets.Cluster("eu-1", {"region": "eu", "tier": "gold"})
US = fleets.Cluster("us-1", {"region": "us"})
Do = overrides.Operator
DEPLOYMENT: json.JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "shop", "labels": {"app": "shop"}},
    "spec": {
        "replicas": 5,
        "template": {
            "spec": {
                "initContainers": [{"name": "init", "image": "example/init:v1"}],
                "containers": [
                    {"name": "shop", "image": "reg.example:5000/team/shop:v1", "args": ["--a"]},
                    {"name": "side", "image": "side@sha256:abc"},
                ],
            }
        },
    },
}
CONFIG: json.JsonObject = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"app.json": '{"a": {"b": 1}}', "app.yaml": "a:\n  b: 1\n"},
}


def one(
    body: json.JsonObject,
    *changes: overrides.Override,
    cluster: fleets.Cluster = EU,
    **more: object,
) -> json.JsonObject:
    rule = overrides.Rule(changes, **more)  # type: ignore[arg-type]
    item = manifest.Manifest(body, errors.Location("a.yaml", 3))
    wanted = overrides.Differences((rule,))
    (found,) = cluster_manifests.apply([item], wanted, cluster, (EU, US))
    return found.body


def containers(body: json.JsonObject) -> list[json.JsonObject]:
    found: list[json.JsonObject] = body["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.parametrize(
    ("component", "operator", "value", "expected"),
    [
        ("Registry", Do.REPLACE, "eu.example", "eu.example/team/shop:v1"),
        ("Registry", Do.REMOVE, "", "team/shop:v1"),
        ("Registry", Do.ADD, "0", "reg.example:50000/team/shop:v1"),
        ("Repository", Do.REPLACE, "other/shop", "reg.example:5000/other/shop:v1"),
        ("Repository", Do.ADD, "-eu", "reg.example:5000/team/shop-eu:v1"),
        ("Tag", Do.REPLACE, "v2", "reg.example:5000/team/shop:v2"),
        ("Tag", Do.REPLACE, "sha256:def", "reg.example:5000/team/shop@sha256:def"),
        ("Tag", Do.REMOVE, "", "reg.example:5000/team/shop"),
    ],
)
def test_a_component_of_an_image(
    component: str, operator: overrides.Operator, value: str, expected: str
) -> None:
    change = overrides.ImageOverride(overrides.Component(component), operator, value)

    assert cluster_manifests.image("reg.example:5000/team/shop:v1", change) == expected


def test_what_has_no_containers_stays_as_it_is() -> None:
    change = overrides.EnvOverride(Do.ADD, {"REGION": "eu"}, container_name="")

    assert one(CONFIG, change) == CONFIG


def test_an_image_override_without_path_is_for_all_containers_but_init() -> None:
    change = overrides.ImageOverride(
        overrides.Component.REGISTRY, Do.REPLACE, "${cluster.region}.io"
    )
    found = one(DEPLOYMENT, change)

    assert [each["image"] for each in containers(found)] == [
        "eu.io/team/shop:v1",
        "eu.io/side@sha256:abc",
    ]
    assert found["spec"]["template"]["spec"]["initContainers"][0]["image"] == "example/init:v1"
    assert containers(DEPLOYMENT)[0]["image"] == "reg.example:5000/team/shop:v1"


def test_arguments_environment_and_metadata() -> None:
    found = one(
        DEPLOYMENT,
        overrides.MetadataOverride(Do.ADD, {"tier": "${cluster.labels.tier}"}),
        overrides.MetadataOverride(Do.REPLACE, {"none": "x"}),
        overrides.ArgumentsOverride("shop", Do.ADD, ("--b",)),
        overrides.ArgumentsOverride("nobody", Do.ADD, ("--c",)),
        overrides.EnvOverride({"WHERE": "${cluster.name}"}),
    )

    assert found["metadata"]["labels"] == {"app": "shop", "tier": "gold"}
    assert containers(found)[0]["args"] == ["--a", "--b"]
    assert [each["env"] for each in containers(found)] == [[{"name": "WHERE", "value": "eu-1"}]] * 2


def test_documents_inside_of_texts() -> None:
    patches = (overrides.FieldPatch("/a/b", Do.REPLACE, 2),)
    found = one(
        CONFIG,
        overrides.FieldOverride("/data/app.json", json_=patches),
        overrides.FieldOverride("/data/app.yaml", yaml=patches),
    )

    assert found["data"] == {"app.json": '{"a": {"b": 2}}', "app.yaml": "a:\n  b: 2\n"}


def test_patches_come_last_and_beat_the_division() -> None:
    item = manifest.Manifest(DEPLOYMENT)
    divided = overrides.ReplicaDivision(overrides.Division.DIVIDED)
    rule = overrides.Rule(
        (overrides.PatchOverride("/spec/replicas", Do.REPLACE, 9),),
        targets=rollouts.ClusterSelector(names=("us-1",)),
    )
    wanted = overrides.Differences((rule,), divided)

    shares = [
        cluster_manifests.apply([item], wanted, each, (EU, US))[0].body["spec"]["replicas"]
        for each in (EU, US)
    ]
    assert shares == [3, 9]


def test_a_jobs_completions_are_divided_like_its_pods() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"parallelism": 3, "completions": 9},
    }
    wanted = overrides.Differences(
        replicas=overrides.ReplicaDivision(
            overrides.Division.DIVIDED,
            (
                overrides.Weight(rollouts.ClusterSelector(names=("eu-1",)), 2),
                overrides.Weight(rollouts.ClusterSelector(names=("us-1",)), 1),
            ),
        )
    )
    found = [
        cluster_manifests.apply([manifest.Manifest(job)], wanted, each, (EU, US))[0].body["spec"]
        for each in (EU, US)
    ]

    assert found == [{"parallelism": 2, "completions": 6}, {"parallelism": 1, "completions": 3}]


def test_rules_are_for_some_clusters_and_some_objects() -> None:
    change = overrides.MetadataOverride(Do.ADD, {"x": "y"})
    only_config = (overrides.ObjectSelector(kind="ConfigMap"),)

    assert one(DEPLOYMENT, change, resources=only_config) == DEPLOYMENT
    elsewhere = rollouts.ClusterSelector(match_labels={"region": "us"})
    assert one(DEPLOYMENT, change, targets=elsewhere) == DEPLOYMENT


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (overrides.PatchOverride("/spec/none/x", Do.ADD, 1), "there is no none"),
        (overrides.PatchOverride("/spec/none", Do.REPLACE, 1), "there is no none to replace"),
        (overrides.PatchOverride("spec", Do.ADD, 1), "no JSON pointer"),
        (
            overrides.MetadataOverride(Do.ADD, {"a": "${cluster.moon}"}),
            "cluster eu-1 has no moon",
        ),
        (overrides.FieldOverride("/spec/replicas"), "no text"),
    ],
)
def test_what_does_not_fit_names_cluster_and_object(
    change: overrides.Override, message: str
) -> None:
    with pytest.raises(errors.UserError, match=message) as found:
        one(DEPLOYMENT, change)

    assert "the override for eu-1 does not fit" in str(found.value)
    assert found.value.problems[0].where.file == "a.yaml"


@pytest.mark.parametrize("text", ["{", "[" * 200_000], ids=["cut off", "nested without an end"])
def test_a_text_that_is_no_json_is_refused(text: str) -> None:
    patches = (overrides.FieldPatch("/a", Do.REPLACE, 2),)
    config = {**CONFIG, "data": {"app.json": text}}

    with pytest.raises(errors.UserError, match="holds no JSON"):
        one(config, overrides.FieldOverride("/data/app.json", json_=patches))


def test_lists_are_patched_in_place_and_at_their_end() -> None:
    path = "/spec/template/spec/containers"
    found = one(
        DEPLOYMENT,
        overrides.PatchOverride(f"{path}/-", Do.ADD, {"name": "last"}),
        overrides.PatchOverride(f"{path}/0", Do.REMOVE),
        overrides.PatchOverride(f"{path}/0/name", Do.REPLACE, "first"),
    )

    assert [each["name"] for each in containers(found)] == ["first", "last"]


def test_manifests_are_chosen_by_namespace_and_by_conditions_on_labels() -> None:
    change = overrides.MetadataOverride(Do.ADD, {"x": "y"})
    inside = {**DEPLOYMENT, "metadata": {**DEPLOYMENT["metadata"], "namespace": "shop"}}

    def changed(body: json.JsonObject, selector: overrides.ObjectSelector) -> bool:
        return one(body, change, resources=(selector,)) != body

    here = overrides.ObjectSelector(namespace="shop")
    assert (changed(inside, here), changed(DEPLOYMENT, here)) == (True, False)
    for operator, values, expected in (
        (rollouts.Operator.IN, ("shop",), True),
        (rollouts.Operator.NOT_IN, ("shop",), False),
        (rollouts.Operator.EXISTS, (), True),
        (rollouts.Operator.DOES_NOT_EXIST, (), False),
    ):
        condition = rollouts.Requirement("app", operator, values)
        selector = overrides.ObjectSelector(match_expressions=(condition,))
        assert changed(DEPLOYMENT, selector) is expected
    missing = rollouts.Requirement("tier", rollouts.Operator.IN, ("gold",))
    assert not changed(DEPLOYMENT, overrides.ObjectSelector(match_expressions=(missing,)))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (Do.ADD, {"KEPT": "1", "SET": "new", "MORE": "new"}),
        (Do.REPLACE, {"KEPT": "1", "SET": "new"}),
        (Do.REMOVE, {"KEPT": "1"}),
    ],
)
def test_variables_of_the_environment(
    operator: overrides.Operator, expected: dict[str, str]
) -> None:
    env = [{"name": "KEPT", "value": "1"}, {"name": "SET", "value": "old"}]
    body: json.JsonObject = {
        **DEPLOYMENT,
        "spec": {"template": {"spec": {"containers": [{"name": "a", "env": env}, {"name": "b"}]}}},
    }
    change = overrides.EnvOverride({"SET": "new", "MORE": "new"}, operator, "a")

    first, second = containers(one(body, change))

    assert {each["name"]: each["value"] for each in first["env"]} == expected
    assert second == {"name": "b"}
    assert env[1]["value"] == "old"


@pytest.mark.parametrize(
    ("written", "operator", "value", "expected"),
    [
        ("web:v1", Do.REPLACE, "v2", "web:v2"),
        ("web:v1", Do.ADD, "-slim", "web:v1-slim"),
        ("web:v1", Do.REMOVE, "", "web"),
        ("web:v1", Do.REPLACE, "sha256:abc", "web@sha256:abc"),
        ("web@sha256:abc", Do.REPLACE, "v2", "web:v2"),
        ("web@sha256:abc", Do.ADD, "0", "web@sha256:abc0"),
        ("web@sha256:abc", Do.REMOVE, "", "web"),
    ],
)
def test_a_tag_takes_the_place_of_a_digest(
    written: str, operator: overrides.Operator, value: str, expected: str
) -> None:
    change = overrides.ImageOverride(overrides.Component.TAG, operator, value)

    assert cluster_manifests.image(written, change) == expected


def test_a_document_in_a_text_keeps_its_letters_and_its_order() -> None:
    body: json.JsonObject = {
        **CONFIG,
        "data": {"app.json": '{"z": "Größe", "a": 1}', "app.yaml": "z: Größe\na: 1\n"},
    }
    patches = (overrides.FieldPatch("/a", Do.REPLACE, 2),)
    found = one(
        body,
        overrides.FieldOverride("/data/app.json", json_=patches),
        overrides.FieldOverride("/data/app.yaml", yaml=patches),
    )

    assert found["data"] == {
        "app.json": '{"z": "Größe", "a": 2}',
        "app.yaml": "z: Größe\na: 2\n",
    }


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (Do.ADD, {"app": "store", "team": "web"}),
        (Do.REPLACE, {"app": "store"}),
        (Do.REMOVE, {}),
    ],
)
def test_labels_are_added_replaced_and_removed(
    operator: overrides.Operator, expected: dict[str, str]
) -> None:
    found = one(DEPLOYMENT, overrides.MetadataOverride(operator, {"app": "store", "team": "web"}))

    assert found["metadata"].get("labels", {}) == expected
    assert DEPLOYMENT["metadata"]["labels"] == {"app": "shop"}
