"""Adopted objects are kept as they were, as often as anybody asks, or not adopted."""

import base64
import random

import pytest

from volary.clusters.inventory import snapshots
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

SHOP = ownership.Owner("shop", "0123456789abcdef")


def config(name: str, value: str = "old") -> json.JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
        "data": {"value": value},
    }


def ours(body: json.JsonObject) -> json.JsonObject:
    return tracking.track(
        manifest.Manifest(body),
        owner=SHOP,
        commit="1" * 40,
        variant=variant.Variant.PRIMARY,
        label=variant.VariantLabel(),
    ).body


def bulky(name: str, size: int) -> json.JsonObject:
    """An object that hardly gets smaller."""
    return config(name, base64.b85encode(random.Random(name).randbytes(size)).decode())


def test_what_was_kept_is_read_back() -> None:
    kept = [snapshots.Snapshot(config(name), "run-1") for name in ("a", "b", "c")]

    (data,) = snapshots.pack(kept)
    secret = snapshots.to_object(SHOP, "shop", 0, data)

    assert "old" not in str(secret)
    assert sorted(snapshots.read_all([secret]), key=lambda one: one.key) == kept


def test_many_are_kept_in_several_secrets() -> None:
    kept = [snapshots.Snapshot(bulky(f"config-{n}", 400_000), "run-1") for n in range(5)]

    parts = snapshots.pack(kept)

    assert len(parts) == 3
    for data in parts:
        assert sum(len(base64.b64decode(value)) for value in data.values()) <= 1 << 20
    secrets = [snapshots.to_object(SHOP, "shop", n, data) for n, data in enumerate(parts)]
    assert len({secret["metadata"]["name"] for secret in secrets}) == 3
    assert {one.key for one in snapshots.read_all(secrets)} == {one.key for one in kept}


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"huge": 1_200_000}, "ConfigMap shop/huge is not adopted: it is too large"),
        ({f"c{n}": 700_000 for n in range(9)}, "ConfigMap shop/c8 is not adopted: with"),
    ],
    ids=["one", "all"],
)
def test_what_does_not_fit_is_named(sizes: dict[str, int], said: str) -> None:
    bodies = [bulky(name, size) for name, size in sizes.items()]

    with pytest.raises(snapshots.TooLargeError, match=said):
        snapshots.check(bodies)


@pytest.mark.parametrize(
    ("run", "kept"), [("run-1", "old"), ("run-2", "new")], ids=["this run's", "an earlier run's"]
)
def test_what_a_run_has_changed_itself_is_not_how_it_was(run: str, kept: str) -> None:
    before = [snapshots.Snapshot(config("a"), "run-1")]

    (merged,) = snapshots.merge(before, [config("a", "new")], run)

    assert merged.body["data"] == {"value": kept}


def test_only_what_is_there_and_not_ours_is_adopted() -> None:
    going = config("going")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    chosen = snapshots.adopted([config("a"), ours(config("b")), going], SHOP)

    assert [body["metadata"]["name"] for body in chosen] == ["a"]
