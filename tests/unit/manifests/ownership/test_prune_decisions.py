import pytest

from volary.manifests.loading import namespace_scopes
from volary.manifests.ownership import prune_decisions, tracking
from volary.model import json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

LABEL = variant.VariantLabel()
WEB = ownership.Owner("web", "web-1")


def wish(name: str, kind: str = "ConfigMap", api: str = "v1") -> manifest.Manifest:
    metadata = {"name": name, "namespace": "shop"}
    return manifest.Manifest({"apiVersion": api, "kind": kind, "metadata": metadata})


def live(
    name: str,
    kind: str = "ConfigMap",
    api: str = "v1",
    which: variant.Variant = variant.Variant.PRIMARY,
    **metadata: object,
) -> json.JsonObject:
    marked = tracking.track(
        wish(name, kind, api), owner=WEB, commit="a", variant=which, label=LABEL
    )
    return {**marked.body, "metadata": {**marked.metadata, "uid": f"uid-{name}", **metadata}}


def decide(
    desired: list[manifest.Manifest], objects: list[json.JsonObject], **options: object
) -> prune_decisions.PruneDecision:
    return prune_decisions.decide_prune(
        desired,
        objects,
        owner=WEB,
        **options,  # type: ignore[arg-type]
    )


def names(pruning: prune_decisions.PruneDecision) -> list[str]:
    return [item.name for item in pruning.delete]


def test_what_is_ours_and_no_longer_wanted_goes_in_order() -> None:
    objects = [live("a"), live("b"), live("c", "Deployment", "apps/v1"), live("d", "Service")]

    assert names(decide([wish("a")], objects)) == ["d", "c", "b"]


def test_what_others_own_or_copied_stays_and_the_reason_is_told() -> None:
    foreign = live("foreign")
    foreign["metadata"]["annotations"] = {}
    copied = live("original")
    copied["metadata"]["name"] = "copied"
    owners = [{"kind": "Service", "name": "web", "controller": True}]
    objects = [
        foreign,
        copied,
        live("slice", ownerReferences=owners),
    ]
    found = decide([wish("a")], objects)

    assert names(found) == []
    assert [(change.key.name, change.reason) for change in found.skipped] == [
        ("foreign", "it was not applied by Volary for web"),
        ("copied", "it is a copy of :ConfigMap:shop:original"),
        ("slice", "it belongs to Service web"),
    ]


def test_nothing_goes_where_nothing_was_rendered() -> None:
    found = decide([], [live("b")])

    assert names(found) == []
    assert "the render is empty" in found.refusal


def test_too_much_at_once_needs_to_be_allowed() -> None:
    objects = [live(f"n{number}") for number in range(12)]
    desired = [wish(f"n{number}") for number in range(5)]

    assert decide(desired, objects).refusal == (
        "nothing is pruned: 7 of 12 objects would be deleted, 6 are allowed at once"
        " (`volary run . --allow-mass-deletion` deletes them)"
    )
    assert len(names(decide(desired, objects, allow_mass_deletion=True))) == 7
    assert len(names(decide([*desired, wish("n5")], objects))) == 6


def test_what_is_going_already_is_waited_for_and_counts_for_nothing() -> None:
    going = [live(f"g{number}", deletionTimestamp="now") for number in range(20)]
    found = decide([wish("a")], [live("a"), live("b"), *going])

    assert (found.refusal, len(found.delete)) == ("", 21)


def test_what_may_never_go_does_not_count_for_too_much_at_once() -> None:
    objects = [live(f"n{number}") for number in range(12)]

    def keep(body: json.JsonObject) -> str:
        return "" if body["metadata"]["name"] in {"n0", "n1", "n2"} else "it holds data"

    found = decide([wish("n0")], objects, keep=keep)

    assert (found.refusal, names(found)) == ("", ["n1", "n2"])
    assert {change.reason for change in found.skipped} == {"it holds data"}
    assert len(found.skipped) == 9


def test_copies_of_variants_do_not_count_for_too_much_at_once() -> None:
    """A release that was abandoned leaves them, and a small application as many as its own."""
    left = [
        live(f"{name}-{which.value}", which=which)
        for name in ("a", "b", "c")
        for which in (variant.Variant.CANARY, variant.Variant.BASELINE)
    ]
    own = [live(name) for name in ("a", "b", "c", "d")]

    assert len(names(decide([wish("a")], [*own, *left]))) == 9
    refused = decide([wish("a")], [*left, *(live(f"n{number}") for number in range(9)), *own])
    assert "12 of 13 objects would be deleted, 6 are allowed at once" in refused.refusal


def test_small_applications_may_change_a_lot() -> None:
    assert names(decide([wish("new")], [live("a"), live("b")])) == ["a", "b"]


def test_a_prune_of_the_primary_looks_at_the_primary_only() -> None:
    objects = [live("a"), live("b", which=variant.Variant.CANARY)]

    assert names(decide([wish("x")], objects, variants=[variant.Variant.PRIMARY])) == ["a"]


def test_one_object_under_two_groups_is_protected_by_either_wish() -> None:
    objects = [
        live("web", "Ingress", "networking.k8s.io/v1"),
        live("web", "Ingress", "extensions/v1beta1"),
    ]
    found = decide([wish("web", "Ingress", "networking.k8s.io/v1")], objects)

    assert names(found) == []
    assert found.skipped[0].reason == "it is a wanted object under another API group"


def test_versions_and_impossible_namespaces_do_not_make_another_object() -> None:
    role = live("role", "ClusterRole", "rbac.authorization.k8s.io/v1")
    del role["metadata"]["namespace"]
    desired = [
        wish("scaler", "HorizontalPodAutoscaler", "autoscaling/v1"),
        wish("role", "ClusterRole", "rbac.authorization.k8s.io/v1"),
    ]
    objects = [live("scaler", "HorizontalPodAutoscaler", "autoscaling/v2"), role]

    assert names(decide(desired, objects, known=namespace_scopes.scope(desired))) == []


def test_a_clean_up_takes_one_variant_and_never_the_primary() -> None:
    canary = variant.Variant.CANARY
    objects = [
        live("a"),
        live("b", which=canary),
        live("c", "Deployment", "apps/v1", which=canary),
        live("d", "Service", which=canary),
        live(
            "e",
            "EndpointSlice",
            "discovery.k8s.io/v1",
            which=canary,
            ownerReferences=[{"kind": "Service", "name": "d"}],
        ),
    ]
    found = prune_decisions.decide_variant_removal(objects, owner=WEB, label=LABEL, variant=canary)
    refused = prune_decisions.decide_variant_removal(
        objects, owner=WEB, label=LABEL, variant=variant.Variant.PRIMARY
    )

    assert names(found) == ["d", "c", "b"]
    assert [change.reason for change in found.skipped] == [
        "it is of variant primary, not canary",
        "it belongs to Service d",
    ]
    assert names(refused) == []


def changed(body: json.JsonObject, part: str, **values: object) -> json.JsonObject:
    metadata = body["metadata"]
    kept = {key: value for key, value in {**metadata[part], **values}.items() if value}
    return {**body, "metadata": {**metadata, part: kept}}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (live("a"), ""),
        (
            live("a", ownerReferences=[{"kind": "ReplicaSet", "name": "x"}]),
            "it belongs to ReplicaSet x",
        ),
        (
            changed(live("a"), "annotations", **{tracking.RESOURCE_KEY: ""}),
            "it is a copy of an unknown object",
        ),
        (
            changed(live("a"), "annotations", **{tracking.RESOURCE_KEY: ":ConfigMap:shop:b"}),
            "it is a copy of :ConfigMap:shop:b",
        ),
        (
            changed(live("a"), "annotations", **{tracking.RESOURCE_KEY: ":ConfigMap:other:a"}),
            "it is a copy of :ConfigMap:other:a",
        ),
        # The namespace was left to the cluster's context.
        (changed(live("a"), "annotations", **{tracking.RESOURCE_KEY: ":ConfigMap::a"}), ""),
        *(
            (changed(live("a"), part, **{key: "x"}), "it was not applied by Volary for web")
            for part in ("labels", "annotations")
            for key in (tracking.MANAGED_BY, tracking.APPLICATION_ID)
        ),
    ],
)
def test_one_thing_that_does_not_fit_is_enough_to_stay(body: json.JsonObject, reason: str) -> None:
    assert prune_decisions.unprunable(body, WEB) == reason
    which = variant.Variant.PRIMARY
    assert prune_decisions.unremovable(body, WEB, LABEL, which).startswith("the primary is")


@pytest.mark.parametrize(("gone", "allowed"), [(5, True), (6, False)])
def test_half_of_an_application_of_eleven_objects_is_more_than_five(
    gone: int, allowed: bool
) -> None:
    every = [live(f"a{number}") for number in range(11)]
    wanted = [wish(f"a{number}") for number in range(gone, 11)]

    found = decide(wanted, every)
    assert (len(found.delete) == gone, not found.refusal) == (allowed, allowed)
    unlimited = decide(wanted, every, allow_mass_deletion=True)
    assert (len(unlimited.delete), unlimited.refusal) == (gone, "")
