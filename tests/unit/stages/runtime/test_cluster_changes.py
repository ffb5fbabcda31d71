"""What a stage changes on its cluster, and how much of it is deleted."""

import pytest

import memory_client
from stage_contexts import said, work
from volary.clusters.inventory import inventory, inventory_store, pruning
from volary.model import applications
from volary.model.objects import apply_results, manifest, ownership
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering
from volary.stages.runtime import cluster_changes, contexts, execution

A = apply_results.Action
KEY = manifest.ResourceKey("", "ConfigMap", "default", "settings")
SHOP = applications.Application(name="shop", origin=ownership.Origin("git.example.com/a", "shop"))


async def test_what_was_not_deleted_fails_the_stage() -> None:
    made = work()
    result = pruning.PruneResult(
        (apply_results.Change(KEY, A.DELETED, "", written=True),),
        "",
        ("Secrets cannot be read",),
        ("a stays", "b stays"),
    )

    with pytest.raises(execution.StageFailedError, match=r"^a stays$"):
        cluster_changes.record_removal(made, result)

    assert made.touched
    assert said(made).lines == ["deleted ConfigMap default/settings"]
    assert said(made).warnings == ["Secrets cannot be read", "a stays", "b stays"]


async def test_a_refusal_to_prune_is_a_warning() -> None:
    made = work()

    cluster_changes.record_removal(made, pruning.PruneResult(refusal="most of it would go"))

    assert said(made).warnings == ["most of it would go"]
    assert not made.touched


async def test_a_clean_removal_says_nothing_more() -> None:
    made = work()

    cluster_changes.record_removal(made, pruning.PruneResult())

    assert made.lines == []


@pytest.mark.parametrize("allowed", [False, True])
async def test_what_may_be_deleted_is_limited(allowed: bool) -> None:
    made = work(namespaces=("a",), options=contexts.Options(allow_mass_deletion=allowed))
    made.places = {"b", "a"}

    scope = cluster_changes.scope(made, variant.Variant.CANARY)

    assert scope.owner == made.context.application.owner
    assert scope.variants == (variant.Variant.CANARY,)
    assert scope.namespaces == ("a",)
    assert scope.likely == ("a", "b")
    assert scope.allow_mass_deletion is allowed
    assert (
        cluster_changes.scope(made, allow_mass_deletion=not allowed).allow_mass_deletion
        is not allowed
    )


async def test_what_is_applied_is_known_with_where_it_is_described_and_began() -> None:
    cluster = memory_client.MemoryCluster()
    config = manifest.Manifest(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings", "namespace": "default"},
        }
    )
    reference = inventory.reference(config)

    for commit in ("first", "second"):
        made = rendering.primary([config], SHOP, rollout_stages.SyncOptions(), commit=commit)
        await cluster_changes.apply(work(application=SHOP, client=cluster, commit=commit), made)

    assert await inventory_store.find(cluster.client, "shop", namespaces=()) == [
        inventory.Inventory(
            SHOP.owner, "default", frozenset({reference}), SHOP.origin, begun="first"
        )
    ]
