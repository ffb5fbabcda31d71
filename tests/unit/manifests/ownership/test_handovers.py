"""Who is behind a field manager, and which of its fields become Git's."""

from typing import Any

import pytest

from volary.manifests.ownership import field_managers, field_sets, handovers
from volary.model.objects import ownership

DEFAULT = ownership.Conflicts()
REFUSE = ownership.Conflicts(ownership.ConflictPolicy.REFUSE)
Role = field_managers.Role


@pytest.mark.parametrize(
    ("name", "operation", "role"),
    [
        ("volary", "Apply", Role.OURS),
        ("volary-traffic", "Apply", Role.OURS),
        ("kubectl-client-side-apply", "Update", Role.APPLIER),
        ("kubectl-create", "Update", Role.APPLIER),
        ("kubectl-replace", "Update", Role.APPLIER),
        ("kubectl", "Apply", Role.APPLIER),
        ("before-first-apply", "Update", Role.APPLIER),
        ("helm", "Update", Role.APPLIER),
        ("argocd-controller", "Apply", Role.APPLIER),
        ("argocd-application-controller", "Update", Role.APPLIER),
        ("kustomize-controller", "Apply", Role.APPLIER),
        ("helm-controller", "Update", Role.APPLIER),
        ("piped", "Update", Role.APPLIER),
        ("terraform-provider-helm_v2.13.0_x5", "Update", Role.APPLIER),
        ("kubectl", "Update", Role.PERSON),
        ("kubectl-edit", "Update", Role.PERSON),
        ("kubectl-set", "Update", Role.PERSON),
        ("k9s", "Update", Role.PERSON),
        ("node-fetch", "Update", Role.PERSON),
        ("Mozilla", "Update", Role.PERSON),
        ("argocd-server", "Update", Role.PERSON),
        ("rancher", "Update", Role.CONTROLLER),
        ("kubectlike", "Update", Role.CONTROLLER),
        ("kube-controller-manager", "Update", Role.CONTROLLER),
        ("cert-manager-cainjector", "Apply", Role.CONTROLLER),
        ("ancient-changes", "Update", Role.CONTROLLER),
        ("", "Update", Role.CONTROLLER),
    ],
)
def test_roles(name: str, operation: str, role: Role) -> None:
    assert field_managers.role_of(name, operation) is role


@pytest.mark.parametrize(
    ("policy", "exceptions", "taken"),
    [
        ("takeBack", (), (True, True, False, True)),
        ("refuse", (), (False, False, False, True)),
        ("takeBack", (".spec.replicas",), (False, False, True, True)),
        ("takeBack", (".spec",), (False, False, True, True)),
        ("takeBack", (".spec.rep", "."), (True, True, False, True)),
        ("takeBack", ("keda", "helm"), (True, False, True, True)),
        ("refuse", ("k9s", "volary-scale"), (True, False, False, True)),
    ],
)
def test_whose_fields_are_taken(
    policy: str, exceptions: tuple[str, ...], taken: tuple[bool, ...]
) -> None:
    """Of a person, an applier, a controller, and ourselves."""
    conflicts = ownership.Conflicts(ownership.ConflictPolicy(policy), exceptions)

    assert taken == tuple(
        field_managers.takes(conflicts, name, "Update", ".spec.replicas")
        for name in ("k9s", "helm", "keda", "volary-scale")
    )


def entry(manager: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    said = {"operation": "Update", "apiVersion": "apps/v1", **more}
    return {"manager": manager, **said, "fieldsV1": fields}


def live(*entries: dict[str, Any], **body: Any) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(entries)}, **body}


def given(*entries: dict[str, Any], conflicts: ownership.Conflicts = DEFAULT) -> Any:
    planned = handovers.plan(
        live(*entries), manager="volary", api_version="apps/v1", conflicts=conflicts
    )
    return planned and planned.given


IMAGE = {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:image": {}}}}}
NOTE = {"f:metadata": {"f:annotations": {"f:note": {}}}}
PRUNE = {"f:metadata": {"f:annotations": {"f:volary.dev/prune": {}}}}
LAST_APPLIED = {
    "f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}
}
RESTARTED = {
    "f:spec": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}}}
}
FINALIZERS = {"f:metadata": {"f:finalizers": {'v:"a"': {}}}}


@pytest.mark.parametrize(
    ("manager", "fields", "expected"),
    [
        ("kubectl-client-side-apply", IMAGE, True),
        ("kubectl-client-side-apply", NOTE, True),
        ("kubectl-client-side-apply", LAST_APPLIED, True),
        ("kubectl-client-side-apply", PRUNE, False),
        ("kubectl-client-side-apply", {"f:metadata": {"f:labels": {}}}, False),
        ("kubectl-client-side-apply", FINALIZERS, False),
        ("kubectl-client-side-apply", {"f:spec": {"f:replicas": {}}}, False),
        ("kubectl-client-side-apply", {"f:status": {"f:phase": {}}}, False),
        ("before-first-apply", IMAGE, True),
        ("before-first-apply", NOTE, False),
        ("before-first-apply", {"f:spec": {"f:clusterIP": {}}}, False),
        ("kubectl-edit", IMAGE, True),
        ("kubectl-edit", {"f:data": {"f:a": {}}}, True),
        ("kubectl-annotate", NOTE, False),
        ("kubectl-annotate", PRUNE, False),
        ("kubectl-edit", LAST_APPLIED, True),
        ("kubectl-rollout", RESTARTED, False),
        ("kubectl-rollout", {"f:spec": {"f:paused": {}}}, True),
        ("shop-operator", IMAGE, False),
    ],
)
def test_what_is_handed_over(manager: str, fields: dict[str, Any], expected: bool) -> None:
    assert given(entry(manager, fields)) == (fields if expected else None)


def test_what_is_left_keeps_its_owner() -> None:
    mixed = {**PRUNE, "f:spec": {".": {}, "f:replicas": {}, "f:paused": {}}}
    controller = entry("shop-operator", IMAGE)
    status = entry("kubectl-client-side-apply", IMAGE, subresource="status")
    old = entry("kubectl-client-side-apply", IMAGE, apiVersion="apps/v1beta1")
    own = entry("volary", IMAGE, operation="Apply", time="then")
    restored = entry("volary", NOTE)
    scale = entry("volary", NOTE, operation="Apply", subresource="scale")

    planned = handovers.plan(
        live(
            entry("kubectl-client-side-apply", mixed), restored, scale, controller, status, old, own
        ),
        manager="volary",
        api_version="apps/v1",
        conflicts=DEFAULT,
    )

    assert planned is not None
    assert planned.given == {"f:spec": {"f:paused": {}}}
    ours, *others = planned.managed_fields
    assert ours["fieldsV1"] == {"f:spec": {**IMAGE["f:spec"], "f:paused": {}}}
    assert (ours["manager"], ours["operation"], ours["time"]) == ("volary", "Apply", "then")
    rest = {**PRUNE, "f:spec": {".": {}, "f:replicas": {}}}
    left = [entry("kubectl-client-side-apply", rest), restored, scale, controller, status, old]
    assert others == left


def test_who_refuses_conflicts_is_handed_nothing_but_exceptions() -> None:
    person, helm = entry("k9s", IMAGE), entry("helm", {"f:data": {"f:a": {}}})
    excepted = ownership.Conflicts(ownership.ConflictPolicy.REFUSE, ("helm",))

    assert given(person, helm, conflicts=REFUSE) is None
    assert given(person, helm, conflicts=excepted) == {"f:data": {"f:a": {}}}


def test_nothing_is_handed_to_an_entry_of_another_version() -> None:
    """Their fields may have other names."""
    own = entry("volary", IMAGE, operation="Apply", apiVersion="apps/v1beta1")

    assert given(own, entry("k9s", {"f:data": {"f:a": {}}})) is None


ITEM = 'k:{"name":"main"}'


@pytest.mark.parametrize(
    ("given_up", "kept", "left"),
    [
        ({}, {}, {"a": {"b": 1, "c": 2}, "l": [{"name": "main", "x": 1}], "s": ["p", "q"]}),
        ({"f:gone": {}, "f:a": {}}, {}, {"l": [{"name": "main", "x": 1}], "s": ["p", "q"]}),
        (
            {"f:a": {"f:b": {}}},
            {},
            {"a": {"c": 2}, "l": [{"name": "main", "x": 1}], "s": ["p", "q"]},
        ),
        ({"f:a": {".": {}, "f:b": {}}}, {}, {"l": [{"name": "main", "x": 1}], "s": ["p", "q"]}),
        (
            {"f:a": {".": {}, "f:b": {}}},
            {"f:a": {"f:c": {}}},
            {"a": {"c": 2}, "l": [{"name": "main", "x": 1}], "s": ["p", "q"]},
        ),
        ({"f:a": {"f:b": {}, "f:c": {}}, "f:l": {ITEM: {".": {}}}}, {}, {"s": ["p", "q"]}),
        (
            {"f:l": {ITEM: {".": {}, "f:x": {}}}, "f:s": {'v:"p"': {}}},
            {"f:l": {ITEM: {"f:name": {}}}},
            {"a": {"b": 1, "c": 2}, "l": [{"name": "main"}], "s": ["q"]},
        ),
        (
            {"f:a": {"f:b": {}}},
            {"f:a": {"f:b": {}}},
            {"a": {"b": 1, "c": 2}, "l": [{"name": "main", "x": 1}], "s": ["p", "q"]},
        ),
    ],
)
def test_what_is_given_up_goes_unless_somebody_wants_it(
    given_up: dict[str, Any], kept: dict[str, Any], left: Any
) -> None:
    value = {"a": {"b": 1, "c": 2}, "l": [{"name": "main", "x": 1}], "s": ["p", "q"]}

    assert field_sets.without(value, given_up, kept) == left


@pytest.mark.parametrize(
    ("fields", "others", "left"),
    [
        ({"f:a": {}}, {"f:a": {}}, {}),
        ({"f:a": {}, "f:b": {}}, {"f:a": {}}, {"f:b": {}}),
        ({"f:a": {".": {}, "f:b": {}, "f:c": {}}}, {"f:a": {"f:b": {}}}, {"f:a": {"f:c": {}}}),
        ({"f:l": {ITEM: {".": {}, "f:x": {}}}}, {"f:l": {}}, {"f:l": {ITEM: {".": {}, "f:x": {}}}}),
        ({"f:a": {}}, {"f:a": {"f:b": {}}}, {}),
    ],
)
def test_a_set_without_the_fields_of_another(
    fields: dict[str, Any], others: dict[str, Any], left: dict[str, Any]
) -> None:
    assert field_sets.minus(fields, others) == left


@pytest.mark.parametrize(
    ("key", "item", "named"),
    [
        (ITEM, {"name": "main", "x": 1}, True),
        (ITEM, {"x": 1}, True),
        (ITEM, {"name": "other"}, False),
        (ITEM, "main", False),
        ('v:"p"', "p", True),
        ('v:"p"', "q", False),
        ("f:name", {"name": "main"}, False),
    ],
)
def test_items_of_lists_are_named_by_keys_or_values(key: str, item: Any, named: bool) -> None:
    assert field_sets.is_item(key, item) is named


GONE = field_sets.ABSENT


@pytest.mark.parametrize(
    ("fields", "before", "after", "differences"),
    [
        ({"f:a": {"f:b": {}}}, {"a": {"b": 1}}, {"a": {"b": 1}}, []),
        ({"f:a": {"f:b": {}}}, {"a": {"b": 1}}, {"a": {"b": 2}}, [(("f:a", "f:b"), 1, 2)]),
        ({"f:a": {"f:b": {}}}, {}, {"a": {"b": 2}}, [(("f:a",), GONE, {"b": 2})]),
        ({"f:a": {"f:b": {}}}, {"a": {"b": 1}}, {}, [(("f:a",), {"b": 1}, GONE)]),
        ({"f:a": {"f:b": {}}}, {"x": 1}, {"x": 2}, []),
        ({"f:a": {".": {}, "f:b": {}}}, {"a": {"c": 1}}, {"a": {"c": 2}}, []),
        ({"f:a": {".": {}}}, {"a": {"c": 1}}, {"a": {"c": 2}}, [(("f:a",), {"c": 1}, {"c": 2})]),
        (
            {"f:l": {ITEM: {"f:x": {}}}},
            {"l": [{"name": "main", "x": 1}]},
            {"l": [{"name": "side", "x": 3}, {"name": "main", "x": 2}]},
            [(("f:l", ITEM, "f:x"), 1, 2)],
        ),
    ],
)
def test_differences_are_told_of_the_fields_of_a_set_alone(
    fields: dict[str, Any], before: Any, after: Any, differences: list[Any]
) -> None:
    assert list(field_sets.differences(fields, before, after)) == differences


def test_paths_are_shown_as_api_servers_write_them() -> None:
    path = ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name")

    assert field_sets.shown(path) == '.spec.ports[port=80,protocol="TCP"].name'
    assert field_sets.shown(("f:metadata", "f:finalizers", 'v:"a"')) == '.metadata.finalizers[="a"]'


def plain(*keys: str) -> dict[str, Any]:
    return {"f:stringData": {f"f:{key}": {} for key in keys}}


def data(*keys: str) -> dict[str, Any]:
    return {"f:data": {f"f:{key}": {} for key in keys}}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry("kubectl", plain("a"), operation="Apply")], [data("a", "b", "c")]),
        (
            [entry("kubectl", plain("a"), operation="Apply"), entry("x", data("b"))],
            [data("a", "c"), None],
        ),
        (
            [
                entry("helm", {**plain("a"), **data("b")}, operation="Apply"),
                entry("k9s", plain("c")),
            ],
            [data("b", "a"), data("c")],
        ),
        (
            [entry("kubectl", plain("a"), operation="Apply"), entry("x", plain("b"))],
            [data("a"), data("b")],
        ),
        ([entry("kubectl", data("a"), operation="Apply")], [None]),
    ],
)
def test_plain_values_of_a_secret_are_known_by_where_they_are_kept(
    entries: list[dict[str, Any]], expected: list[dict[str, Any] | None]
) -> None:
    """Nobody's keys count to who applies it so, unless a controller does; None: as written."""
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"managedFields": entries},
        "data": {"a": "", "b": "", "c": ""},
    }

    stored = field_managers.stored_entries(body)

    wanted = [
        one if fields is None else {**one, "fieldsV1": fields}
        for one, fields in zip(entries, expected, strict=True)
    ]
    assert stored == wanted
    assert field_managers.stored_entries({**body, "kind": "ConfigMap"}) == entries
