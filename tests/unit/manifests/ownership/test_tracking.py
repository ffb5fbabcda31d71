import pytest

from volary.manifests.ownership import tracking
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

LABEL = variant.VariantLabel()
SHOP = ownership.Owner("shop", "0123456789abcdef")


def marked(**metadata: object) -> manifest.Manifest:
    item = manifest.Manifest(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", **metadata}}
    )
    return tracking.track(
        item, owner=SHOP, commit="abc", variant=variant.Variant.CANARY, label=LABEL
    )


def test_marks_are_on_the_object_and_never_on_its_pods() -> None:
    item = marked(labels={"app": "web"}, annotations={tracking.COMMIT: "old"})

    assert item.labels == {
        "app": "web",
        "volary.dev/managed-by": "volary",
        "volary.dev/application": "shop",
        "volary.dev/application-id": "0123456789abcdef",
        "pipecd.dev/variant": "canary",
    }
    assert item.annotations == {
        "volary.dev/managed-by": "volary",
        "volary.dev/application": "shop",
        "volary.dev/application-id": "0123456789abcdef",
        "volary.dev/commit": "abc",
        "volary.dev/resource-key": "apps:Deployment::web",
        "volary.dev/variant": "canary",
        "pipecd.dev/variant": "canary",
    }
    assert set(item.body) == {"apiVersion", "kind", "metadata"}


def test_an_object_is_ours_by_label_and_annotation() -> None:
    item = marked()
    without = {**item.body, "metadata": {**item.metadata, "annotations": {}}}

    assert tracking.is_ours(item.body, SHOP)
    assert not tracking.is_ours(item.body, ownership.Owner("shop", "fedcba9876543210"))
    assert not tracking.is_ours(without, SHOP)


def test_an_application_that_is_called_otherwise_keeps_its_objects() -> None:
    item = marked()

    assert tracking.owner_of(item.body) == SHOP
    assert tracking.is_ours(item.body, ownership.Owner("store", SHOP.id))


@pytest.mark.parametrize("part", ["labels", "annotations"])
@pytest.mark.parametrize("key", [tracking.MANAGED_BY, tracking.APPLICATION_ID])
@pytest.mark.parametrize("value", ["", "other"])
def test_marks_that_do_not_agree_are_nobodys(part: str, key: str, value: str) -> None:
    item = marked()
    changed = {**item.metadata[part], key: value}
    body = {**item.body, "metadata": {**item.metadata, part: changed}}

    assert tracking.owner_of(body) is None


def test_marks_from_before_there_were_ids_are_nobodys() -> None:
    marks = {tracking.MANAGED_BY: tracking.VOLARY, tracking.APPLICATION: "shop"}

    assert tracking.owner_of({"metadata": {"labels": marks, "annotations": marks}}) is None


def test_unmarked_manifests_compare_equal_over_commits() -> None:
    plain = manifest.Manifest(
        {"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}}}
    )
    one, other = (
        tracking.track(
            plain, owner=SHOP, commit=commit, variant=variant.Variant.PRIMARY, label=LABEL
        )
        for commit in ("1", "2")
    )

    assert tracking.untrack(one) == tracking.untrack(other)
    assert tracking.untrack(one).labels == {"x": "y", "pipecd.dev/variant": "primary"}


def test_selectors_ask_for_the_application_and_its_variants() -> None:
    both = (variant.Variant.CANARY, variant.Variant.BASELINE)

    assert tracking.selector(SHOP) == (
        "volary.dev/managed-by=volary,volary.dev/application-id=0123456789abcdef"
    )
    assert tracking.selector(SHOP, both[:1]).endswith(",pipecd.dev/variant=canary")
    assert tracking.selector(SHOP, both).endswith(",pipecd.dev/variant in (canary,baseline)")


def test_a_name_that_is_no_label_value_becomes_one() -> None:
    long, slashes = tracking.label_value("x" * 80), tracking.label_value("team/shop")

    assert len(long) == 63
    assert slashes.startswith("team-shop-")
    assert slashes != tracking.label_value("team:shop")


def test_pipecds_objects_are_recognised() -> None:
    keys = {"pipecd.dev/managed-by": "piped"}
    body = {"metadata": {"labels": keys, "annotations": {**keys, "pipecd.dev/commit-hash": "abc"}}}

    assert tracking.is_pipecd(body)
    assert not tracking.is_pipecd({"metadata": {"labels": keys}})
    assert tracking.commit_of(body) == "abc"
