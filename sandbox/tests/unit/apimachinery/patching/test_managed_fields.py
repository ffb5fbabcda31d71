"""Field managers: server-side apply, conflicts, ownership after other writes."""

import copy
from typing import Any

import pytest

import schema_samples as samples
from kube_sandbox.apimachinery.patching import managed_fields
from kube_sandbox.apimachinery.scheme import decoding, defaults, schema


def owners(body: dict[str, Any]) -> dict[str, Any]:
    """Return field sets by ``manager/operation/subresource``."""
    return {
        "/".join(filter(None, (e["manager"], e["operation"], e.get("subresource")))): e["fieldsV1"]
        for e in body["metadata"].get("managedFields", [])
    }


def settle(kind: schema.Schema, body: dict[str, Any]) -> dict[str, Any]:
    return defaults.apply(kind, decoding.decode(kind, body).body)


def apply(
    live: dict[str, Any] | None, body: dict[str, Any], manager: str, **options: Any
) -> dict[str, Any]:
    kind = samples.of(body)
    options.setdefault("now", samples.NOW)
    return settle(kind, managed_fields.apply(kind, live, body, manager=manager, **options).body)


def update(
    live: dict[str, Any] | None, new: dict[str, Any], manager: str, **options: Any
) -> dict[str, Any]:
    kind = samples.of(new)
    options.setdefault("now", samples.NOW)
    return managed_fields.update(kind, live, settle(kind, new), manager=manager, **options)


def test_an_applied_object_is_owned_without_the_defaults() -> None:
    live = apply(None, samples.deployment(), "m")

    assert owners(live)["m/Apply"] == {
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"main"}': {
                            ".": {},
                            "f:name": {},
                            "f:image": {},
                            "f:ports": {
                                'k:{"containerPort":80,"protocol":"TCP"}': {
                                    ".": {},
                                    "f:containerPort": {},
                                }
                            },
                        }
                    }
                },
            },
        },
    }
    assert live["spec"]["revisionHistoryLimit"] == 10


def test_a_created_object_is_owned_with_defaults_and_collections() -> None:
    live = update(None, samples.deployment(), "m")
    fields = owners(live)["m/Update"]

    assert fields["f:metadata"] == {"f:labels": {".": {}, "f:app": {}}}
    assert fields["f:spec"]["f:strategy"] == {
        "f:type": {},
        "f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}},
    }
    assert "f:status" not in fields


def test_applying_again_changes_nothing() -> None:
    live = apply(None, samples.deployment(), "m")
    kind = samples.of(live)

    result = managed_fields.apply(
        kind, live, samples.deployment(), manager="m", now=samples.LATER, force=False
    )

    assert not result.changed
    assert result.body["metadata"]["managedFields"] is live["metadata"]["managedFields"]


def test_what_is_no_longer_applied_goes_and_what_others_own_stays() -> None:
    live = apply(None, samples.config_map(a="1", b="2"), "m1")
    live = apply(live, samples.config_map(b="2", c="3"), "m2")

    live = apply(live, samples.config_map(a="1"), "m1")

    assert live["data"] == {"a": "1", "b": "2", "c": "3"}
    live = apply(live, samples.config_map(c="3"), "m2")
    assert live["data"] == {"a": "1", "c": "3"}


def test_defaults_nobody_owns_survive_a_changed_apply() -> None:
    live = apply(None, samples.deployment(), "m")

    live = apply(live, samples.deployment(replicas=3), "m")

    main = live["spec"]["template"]["spec"]["containers"][0]
    assert main["terminationMessagePolicy"] == "File"
    assert live["spec"]["replicas"] == 3


def test_a_dropped_container_goes_although_another_only_owns_a_field_in_it() -> None:
    two = samples.containers({"name": "main", "image": "a"}, {"name": "side", "image": "b"})
    live = apply(None, two, "m")
    changed = copy.deepcopy(live)
    changed["spec"]["template"]["spec"]["containers"][1]["image"] = "c"
    live = update(live, changed, "u")

    live = apply(live, samples.containers({"name": "main", "image": "a"}), "m")

    assert [each["name"] for each in live["spec"]["template"]["spec"]["containers"]] == ["main"]
    assert "u/Update" not in owners(live)


def test_conflicts_name_manager_and_field() -> None:
    live = update(None, samples.deployment(), "kubectl-client-side-apply")

    with pytest.raises(managed_fields.ConflictError) as caught:
        apply(live, samples.deployment(replicas=5), "m")

    assert str(caught.value) == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" '
        "using apps/v1: .spec.replicas"
    )
    assert [each.json for each in caught.value.conflicts] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl-client-side-apply" using apps/v1',
            "field": ".spec.replicas",
        }
    ]


def test_several_conflicts_are_grouped_by_manager() -> None:
    live = apply(None, samples.config_map(a="1", b="1"), "m1")
    live = apply(live, samples.config_map(c="1"), "m2")

    with pytest.raises(managed_fields.ConflictError) as caught:
        apply(live, samples.config_map(a="2", b="2", c="2"), "m3")

    assert str(caught.value) == (
        "Apply failed with 3 conflicts: "
        'conflicts with "m1":\n- .data.a\n- .data.b\nconflicts with "m2":\n- .data.c'
    )


def test_conflicts_inside_a_list_show_the_key() -> None:
    live = apply(None, samples.deployment(), "m1")
    body = samples.containers({"name": "main", "image": "other"})

    with pytest.raises(managed_fields.ConflictError) as caught:
        apply(live, body, "m2")

    fields = [each.field for each in caught.value.conflicts]
    assert fields == ['.spec.template.spec.containers[name="main"].image']


def test_force_takes_the_field_away() -> None:
    live = apply(None, samples.config_map(a="1", b="1"), "m1")

    live = apply(live, samples.config_map(a="2"), "m2", force=True)

    assert live["data"] == {"a": "2", "b": "1"}
    assert owners(live)["m1/Apply"] == {"f:data": {"f:b": {}}}


def test_the_same_value_is_owned_together() -> None:
    live = apply(None, samples.config_map(a="1"), "m1")

    live = apply(live, samples.config_map(a="1"), "m2")

    assert owners(live)["m1/Apply"] == owners(live)["m2/Apply"] == {"f:data": {"f:a": {}}}


def test_a_write_through_scale_is_told_apart() -> None:
    live = apply(None, samples.deployment(), "m")
    scaled = copy.deepcopy(live)
    scaled["spec"]["replicas"] = 9
    live = update(live, scaled, "hpa", subresource="scale")

    assert owners(live)["hpa/Update/scale"] == {"f:spec": {"f:replicas": {}}}
    with pytest.raises(managed_fields.ConflictError, match='"hpa" with subresource "scale"'):
        apply(live, samples.deployment(), "m")


def test_status_writes_own_status_only_and_others_never_own_it() -> None:
    live = apply(None, samples.deployment(), "m")
    changed = copy.deepcopy(live)
    changed["status"]["readyReplicas"] = 1
    changed["spec"]["replicas"] = 77
    live_status = update(live, changed, "c", subresource="status")
    main = update(live, changed, "u")

    assert owners(live_status)["c/Update/status"] == {"f:status": {"f:readyReplicas": {}}}
    assert owners(main)["u/Update"] == {"f:spec": {"f:replicas": {}}}


def test_an_update_gives_up_what_it_removes() -> None:
    live = update(None, samples.config_map(a="1", b="2"), "u")
    smaller = copy.deepcopy(live)
    del smaller["data"]["a"]

    live = update(live, smaller, "v")

    assert owners(live) == {"u/Update": {"f:data": {".": {}, "f:b": {}}}}


def test_times_move_only_when_a_set_or_a_value_does() -> None:
    live = apply(None, samples.config_map(a="1"), "m1")
    live = apply(live, samples.config_map(b="1"), "m2", now=samples.LATER)

    times = {each["manager"]: each["time"] for each in live["metadata"]["managedFields"]}

    assert times == {"m1": samples.NOW, "m2": samples.LATER}


def test_entries_are_ordered_apply_first_then_by_age() -> None:
    live = update(None, samples.config_map(a="1"), "z")
    live = apply(live, samples.config_map(b="1"), "y", now=samples.LATER)
    live = apply(live, samples.config_map(c="1"), "a", now=samples.LATER)

    names = [each["manager"] for each in live["metadata"]["managedFields"]]

    assert names == ["a", "y", "z"]


def test_an_untracked_object_is_owned_by_before_first_apply() -> None:
    live = samples.stored(samples.config_map(a="1"))

    with pytest.raises(managed_fields.ConflictError, match="before-first-apply"):
        apply(live, samples.config_map(a="2"), "m")


def test_updates_of_an_untracked_object_stay_untracked() -> None:
    live = samples.stored(samples.config_map(a="1"))

    assert "managedFields" not in update(live, samples.config_map(a="2"), "m")["metadata"]


def test_an_empty_entry_clears_all_managers() -> None:
    live = apply(None, samples.config_map(a="1"), "m")
    kind = samples.of(live)
    new = {**live, "metadata": {**live["metadata"], "managedFields": [{}]}}

    cleared = managed_fields.update(kind, live, new, manager="u", now=samples.NOW)

    assert "managedFields" not in cleared["metadata"]


def test_a_client_may_take_a_manager_out() -> None:
    live = apply(None, samples.config_map(a="1"), "m1")
    live = apply(live, samples.config_map(b="1"), "m2")
    kept = [each for each in live["metadata"]["managedFields"] if each["manager"] == "m2"]
    new = {**live, "metadata": {**live["metadata"], "managedFields": kept}}

    assert set(owners(update(live, new, "u"))) == {"m2/Apply"}


def test_old_update_managers_are_put_together() -> None:
    live = update(None, samples.config_map(start="1"), "u0")
    for number in range(1, 13):
        new = copy.deepcopy(live)
        new["data"][f"k{number}"] = "1"
        live = update(live, new, f"u{number}", now=f"2026-01-02T03:04:{number + 10}Z")

    names = {each["manager"] for each in live["metadata"]["managedFields"]}

    assert len(names) == managed_fields.MAXIMUM_UPDATE_MANAGERS
    assert managed_fields.ANCIENT_CHANGES in names
    assert {"u0", "u1"}.isdisjoint(names)


def test_kubectl_takes_over_what_its_client_side_apply_set() -> None:
    body = samples.config_map(a="1")
    live = copy.deepcopy(body)
    text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"1"}}'
    live["metadata"]["annotations"] = {managed_fields.LAST_APPLIED: text}
    live = update(None, live, "kubectl-client-side-apply")

    taken = apply(live, samples.config_map(a="2"), "kubectl")

    assert taken["data"] == {"a": "2"}
    assert '"a":"2"' in taken["metadata"]["annotations"][managed_fields.LAST_APPLIED]
    with pytest.raises(managed_fields.ConflictError):
        apply(live, samples.config_map(a="2"), "somebody-else")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bogus": 1}, ".spec.bogus: field not declared in schema"),
        ({"replicas": "2"}, ".spec.replicas: expected numeric (int or float), got string"),
        ({"paused": "no"}, '.spec.paused: expected boolean, got &{"no"}'),
    ],
)
def test_what_does_not_fit_the_type_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(managed_fields.TypedError) as caught:
        apply(None, samples.deployment(**change), "m")

    assert str(caught.value) == (
        f"failed to create typed patch object (/web; apps/v1, Kind=Deployment): {message}"
    )


def test_all_misfits_are_named_at_once() -> None:
    with pytest.raises(managed_fields.TypedError, match=r"errors:\n  \.spec\.x: .*\n  \.spec\.y: "):
        apply(None, samples.deployment(x=1, y=2), "m")


def test_items_need_their_key() -> None:
    with pytest.raises(managed_fields.TypedError, match='omits key field "name"'):
        apply(None, samples.containers({"image": "x"}), "m")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metadata": {"name": "c", "managedFields": []}}, "metadata.managedFields must be nil"),
        ({"apiVersion": "v2"}, "Incorrect version specified in apply patch"),
    ],
)
def test_what_may_not_be_applied(change: dict[str, Any], message: str) -> None:
    kind = samples.kind("v1", "ConfigMap")
    body = {**samples.config_map(a="1"), **change}

    with pytest.raises(managed_fields.BadApplyError, match=message):
        managed_fields.apply(kind, None, body, manager="m", now=samples.NOW)


def test_settle_ignores_times_alone() -> None:
    live = apply(None, samples.config_map(a="1"), "m")
    touched = copy.deepcopy(live)
    touched["metadata"]["managedFields"][0]["time"] = samples.LATER
    changed = {**touched, "data": {"a": "2"}}

    assert managed_fields.settle(live, touched) is live
    assert managed_fields.settle(live, changed) is changed


def test_custom_resources_merge_maps_and_replace_lists() -> None:
    kind = schema.custom(
        "example.com",
        "v1",
        "Widget",
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        "routes": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {"name": {"type": "string"}},
                            },
                        },
                        "hosts": {
                            "type": "array",
                            "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["name"],
                            "items": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "weight": {"type": "integer"},
                                },
                            },
                        },
                    },
                }
            },
        },
    )

    def widget(**spec: Any) -> dict[str, Any]:
        head = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        return {**head, "spec": spec}

    first = widget(free={"a": {"x": 1}}, routes=[{"name": "r"}], hosts=[{"name": "h", "weight": 1}])
    live = managed_fields.apply(kind, None, first, manager="m1", now=samples.NOW).body
    second = widget(free={"a": {"y": 2}}, hosts=[{"name": "i"}])
    live = managed_fields.apply(kind, live, second, manager="m2", now=samples.NOW).body

    assert live["spec"] == {
        "free": {"a": {"x": 1, "y": 2}},
        "routes": [{"name": "r"}],
        "hosts": [{"name": "h", "weight": 1}, {"name": "i"}],
    }
    assert owners(live)["m1/Apply"]["f:spec"]["f:routes"] == {}
    with pytest.raises(managed_fields.ConflictError, match=r"\.spec\.routes"):
        managed_fields.apply(kind, live, widget(routes=[]), manager="m2", now=samples.NOW)
