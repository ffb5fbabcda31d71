"""What belongs to an application: from its inventory and by label, as far as it may be read."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from memory_client import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    SERVICES,
    MemoryCluster,
    kind,
)
from volary.clusters.api import api_errors, discovery
from volary.clusters.inventory import inventory, inventory_store, owned_objects
from volary.clusters.observe import live_state
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import manifest, ownership

FORBIDDEN = api_errors.Forbidden("not you", status=403)
LOST = api_errors.Unreachable("no answer")
CUSTOM = kind("example.com", "Widget", "widgets")
SECRETS = kind("", "Secret", "secrets")
SHOP = ownership.Owner("shop", "0123456789abcdef")
#: Of the same name.
OTHER = ownership.Owner("shop", "fedcba9876543210")
ORIGIN = ownership.Origin("git.example.com/team/shop", "shop")


def put(
    cluster: MemoryCluster,
    resource: discovery.Resource,
    name: str,
    *,
    owner: ownership.Owner = SHOP,
    **metadata: Any,
) -> json.JsonObject:
    marks = tracking.owner_labels(owner)
    body = {"metadata": {"name": name, "labels": marks, "annotations": marks, **metadata}}
    return cluster.put(resource, body)


def reference(resource: discovery.Resource, name: str, namespace: str = "default") -> Any:
    key = manifest.ResourceKey(resource.group, resource.kind, namespace, name)
    return inventory.Reference(key, resource.version)


async def remember(cluster: MemoryCluster, *references: Any) -> inventory.Inventory:
    known = inventory.Inventory(SHOP, "default")
    after = replace(known.with_references(references), origin=ORIGIN)
    await inventory_store.record(cluster.client, known, after)
    return after


async def read(
    cluster: MemoryCluster,
    *desired: manifest.Manifest,
    common: Sequence[tuple[str, str]] = (),
    **scope: Any,
) -> owned_objects.OwnedObjects:
    return await owned_objects.read(
        cluster.client, desired, owned_objects.Scope(SHOP, **scope), common
    )


def names(bodies: Sequence[json.JsonObject]) -> list[str]:
    return sorted(body["metadata"]["name"] for body in bodies)


def config(name: str = "a", namespace: str = "") -> manifest.Manifest:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return manifest.Manifest({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def load(cluster: MemoryCluster, *namespaces: str) -> inventory.Inventory:
    return await inventory_store.load(cluster.client, SHOP, namespaces=namespaces, home="default")


async def test_what_is_recorded_is_loaded() -> None:
    cluster = MemoryCluster()
    web, settings = reference(DEPLOYMENTS, "web"), reference(CONFIG_MAPS, "settings", "other")
    recorded = await remember(cluster, web, settings)

    assert await load(cluster) == recorded
    assert recorded.kinds == {("apps", "Deployment"), ("", "ConfigMap")}
    assert recorded.namespaces == {"default", "other"}


async def test_what_is_known_already_costs_no_write() -> None:
    cluster = MemoryCluster()
    known = await remember(cluster, reference(SERVICES, "a"))
    cluster.asked.clear()

    await inventory_store.record(
        cluster.client, known, known.with_references([reference(SERVICES, "a")])
    )
    await inventory_store.forget(cluster.client, known, known)
    assert cluster.asked == []


async def test_what_is_forgotten_is_gone_and_an_empty_inventory_too() -> None:
    cluster = MemoryCluster()
    first, second = reference(SERVICES, "a"), reference(SERVICES, "b")
    known = await remember(cluster, first, second)

    after = known.without([first.key])
    await inventory_store.forget(cluster.client, known, after)
    assert (await load(cluster)).references == {second}
    await inventory_store.forget(cluster.client, after, after.without([second.key]))
    assert cluster.objects == {}


async def test_without_any_it_is_empty_and_at_home() -> None:
    assert await load(MemoryCluster()) == inventory.Inventory(SHOP, "default")


async def test_several_of_a_name_are_told_apart_by_their_ids() -> None:
    cluster = MemoryCluster()
    mine = await remember(cluster, reference(SERVICES, "a"))
    other = inventory.Inventory(OTHER, "default")
    theirs = other.with_references([reference(SERVICES, "b")])
    await inventory_store.record(cluster.client, other, theirs)

    every = await inventory_store.find(cluster.client, "shop", namespaces=())

    assert {known.owner.id: known for known in every} == {SHOP.id: mine, OTHER.id: theirs}
    assert await load(cluster) == mine
    await inventory_store.forget(cluster.client, mine, inventory.Inventory(SHOP, "default"))
    assert await inventory_store.find(cluster.client, "shop", namespaces=()) == [theirs]


async def test_who_may_not_list_everything_looks_where_it_may() -> None:
    cluster = MemoryCluster(
        refusals={"list configmaps": FORBIDDEN, "list configmaps/secret": FORBIDDEN}
    )
    known = inventory.Inventory(SHOP, "web")
    await inventory_store.record(
        cluster.client, known, known.with_references([reference(SERVICES, "a")])
    )
    del cluster.refusals["list configmaps"]
    cluster.refusals["list configmaps/"] = FORBIDDEN

    assert (await load(cluster, "web", "secret")).references == {reference(SERVICES, "a")}
    assert (await load(cluster, "secret")).references == frozenset()


async def test_allowed_nowhere_nothing_is_known() -> None:
    cluster = MemoryCluster(refusals={"list configmaps": FORBIDDEN})

    with pytest.raises(api_errors.Forbidden):
        await load(cluster, "web")


async def test_a_list_that_fails_is_no_refusal() -> None:
    cluster = MemoryCluster(refusals={"list configmaps/": FORBIDDEN, "list configmaps/web": LOST})

    with pytest.raises(api_errors.Unreachable):
        await load(cluster, "web")


async def test_a_cluster_without_config_maps_is_an_error() -> None:
    with pytest.raises(errors.PermanentError, match="cluster us does not serve ConfigMaps"):
        await load(MemoryCluster(resources=[SERVICES]))


async def test_desired_and_remembered_kinds_are_listed_and_no_others() -> None:
    cluster = MemoryCluster()
    await remember(cluster, reference(DEPLOYMENTS, "web"))
    for resource in (DEPLOYMENTS, CONFIG_MAPS, SERVICES):
        put(cluster, resource, resource.plural)
    put(cluster, CONFIG_MAPS, "foreign", owner=OTHER)

    owned = await read(cluster, config(), common=[("", "Service")])

    assert names(owned.live) == ["configmaps", "deployments"]
    assert owned.warnings == ()
    assert owned.inventory.references == {reference(DEPLOYMENTS, "web")}


@pytest.mark.parametrize("remembered", [True, False])
async def test_common_kinds_are_listed_where_nothing_else_is_known(remembered: bool) -> None:
    cluster = MemoryCluster()
    put(cluster, SERVICES, "s")
    if remembered:
        await remember(cluster, reference(DEPLOYMENTS, "web"))

    desired = await read(cluster, config(), common=[("", "Service")])
    nothing = await read(cluster, common=[("", "Service")])

    assert names(desired.live) == ([] if remembered else ["s"])
    assert names(nothing.live) == ([] if remembered else ["s"])


async def test_a_kind_that_may_not_be_listed_is_left_out_and_named() -> None:
    cluster = MemoryCluster(refusals={"list services": FORBIDDEN})
    put(cluster, CONFIG_MAPS, "c")

    owned = await read(cluster, config(), common=[("", "Service"), ("apps", "Unknown")])

    assert names(owned.live) == ["c"]
    assert owned.warnings == ("services were left alone: not you",)


async def test_a_list_that_fails_is_an_error_and_not_a_part() -> None:
    cluster = MemoryCluster(refusals={"list services": LOST})

    with pytest.raises(api_errors.Unreachable):
        await read(cluster, config(), common=[("", "Service")])


async def test_where_not_all_namespaces_may_be_listed_the_known_ones_are() -> None:
    cluster = MemoryCluster(refusals={"list deployments/": FORBIDDEN})
    await remember(cluster, reference(DEPLOYMENTS, "web", "remembered"))
    for name in ("remembered", "written", "likely", "unknown", "default"):
        put(cluster, DEPLOYMENTS, name, namespace=name)

    owned = await read(cluster, config(namespace="written"), likely=("likely",))

    assert names(owned.live) == ["default", "likely", "remembered", "written"]


async def test_only_allowed_namespaces_are_listed() -> None:
    cluster = MemoryCluster()
    put(cluster, SERVICES, "in", namespace="web")
    put(cluster, SERVICES, "out", namespace="other")

    owned = await read(cluster, common=[("", "Service")], namespaces=("web",))

    assert names(owned.live) == ["in"]
    assert "list services/web" in cluster.asked
    assert "list services" not in cluster.asked


async def test_a_kind_of_the_whole_cluster_is_listed_as_a_whole_or_not_at_all() -> None:
    cluster = MemoryCluster()
    put(cluster, NAMESPACES, "web")
    common = [("", "Namespace")]

    assert names((await read(cluster, common=common, namespaces=("web",))).live) == ["web"]
    cluster.refusals["list namespaces"] = FORBIDDEN
    assert (await read(cluster, common=common)).warnings == ("namespaces were left alone: not you",)


async def test_an_inventory_that_may_not_be_read_leaves_the_common_kinds() -> None:
    cluster = MemoryCluster(refusals={"list configmaps": FORBIDDEN})
    cluster.refusals.update({f"list configmaps/{name}": FORBIDDEN for name in ("", "default")})
    put(cluster, SERVICES, "s")

    owned = await read(cluster, common=[("", "Service")])

    assert names(owned.live) == ["s"]
    assert owned.warnings == ("only common kinds: not you",)
    assert owned.inventory == inventory.Inventory(SHOP, "default")


async def look(
    cluster: MemoryCluster, owner: ownership.Owner | None = SHOP, **more: Any
) -> live_state.LiveState:
    whose = live_state.ApplicationObjects("shop", ORIGIN, owner)
    return await live_state.read(cluster.client, whose, **more)


async def test_people_see_what_has_health_and_what_is_missing() -> None:
    cluster = MemoryCluster()
    put(cluster, DEPLOYMENTS, "web")
    put(cluster, CONFIG_MAPS, "settings")
    await remember(
        cluster,
        reference(DEPLOYMENTS, "web"),
        reference(DEPLOYMENTS, "gone"),
        reference(CONFIG_MAPS, "settings"),
    )

    seen = await look(cluster)

    assert names(seen.live) == ["web"]
    assert [key.name for key in seen.missing] == ["gone"]
    assert seen.warnings == ()


async def test_without_health_every_kind_is_shown_but_secrets() -> None:
    cluster = MemoryCluster(resources=[CONFIG_MAPS, SECRETS])
    put(cluster, CONFIG_MAPS, "settings")
    put(cluster, SECRETS, "password")
    await remember(cluster, reference(CONFIG_MAPS, "settings"), reference(SECRETS, "password"))

    seen = await look(cluster)

    assert names(seen.live) == ["settings"]
    assert seen.missing == ()


async def test_a_users_rule_gives_a_kind_health() -> None:
    cluster = MemoryCluster(resources=[CONFIG_MAPS, CUSTOM, DEPLOYMENTS])
    put(cluster, CUSTOM, "gear")
    await remember(cluster, reference(CUSTOM, "gear"), reference(DEPLOYMENTS, "web"))

    assert [key.name for key in (await look(cluster)).missing] == ["web"]
    assert "gear" in names((await look(cluster)).live)


async def test_what_may_not_be_seen_is_no_missing_object() -> None:
    cluster = MemoryCluster(refusals={"list deployments": FORBIDDEN})
    cluster.refusals.update({f"list deployments/{name}": FORBIDDEN for name in ("", "default")})
    await remember(cluster, reference(DEPLOYMENTS, "web"))

    seen = await look(cluster)

    assert seen.missing == ()
    assert seen.warnings == ("deployments.apps may not be read: not you",)


async def test_an_object_that_only_carries_the_label_is_not_shown() -> None:
    cluster = MemoryCluster()
    labels = tracking.owner_labels(SHOP)
    cluster.put(DEPLOYMENTS, {"metadata": {"name": "copy", "labels": labels}})
    await remember(cluster, reference(DEPLOYMENTS, "web"))

    assert (await look(cluster)).live == ()


async def test_the_application_of_a_name_is_told_by_its_origin_before_anybody_asked() -> None:
    cluster = MemoryCluster()
    await remember(cluster, reference(DEPLOYMENTS, "web"))
    other = inventory.Inventory(OTHER, "default", origin=replace(ORIGIN, directory="other"))
    await inventory_store.record(
        cluster.client, other, other.with_references([reference(DEPLOYMENTS, "theirs")])
    )
    put(cluster, DEPLOYMENTS, "web")
    put(cluster, DEPLOYMENTS, "theirs", owner=OTHER)

    assert names((await look(cluster, None)).live) == ["web"]
    assert names((await look(cluster, OTHER)).live) == ["theirs"]


async def test_objects_without_an_inventory_are_shown_to_who_knows_whose_they_are() -> None:
    cluster = MemoryCluster()
    put(cluster, DEPLOYMENTS, "web")

    assert names((await look(cluster)).live) == ["web"]
    assert (await look(cluster, None)).live == ()


async def test_an_inventory_is_looked_for_where_the_context_is() -> None:
    cluster = MemoryCluster(refusals={"list configmaps/": FORBIDDEN})
    await remember(cluster, reference(DEPLOYMENTS, "gone"))

    assert [key.name for key in (await look(cluster, None)).missing] == ["gone"]


async def test_where_no_inventory_may_be_read_that_is_said() -> None:
    cluster = MemoryCluster(refusals={"list configmaps": FORBIDDEN})
    cluster.refusals.update({f"list configmaps/{name}": FORBIDDEN for name in ("", "default")})
    put(cluster, DEPLOYMENTS, "web")

    known, unknown = await look(cluster), await look(cluster, None)

    assert (names(known.live), known.warnings) == (["web"], ("only common kinds: not you",))
    assert (unknown.live, unknown.warnings) == ((), ("nothing is shown: not you",))


async def test_other_failures_are_errors() -> None:
    cluster = MemoryCluster(refusals={"list deployments": LOST})
    await remember(cluster, reference(DEPLOYMENTS, "web"))

    with pytest.raises(api_errors.Unreachable):
        await look(cluster)


async def test_what_others_have_labelled_so_is_not_the_applications() -> None:
    """It would be named among what stays for ever, and keep a rollback from being proven."""
    cluster = MemoryCluster()
    put(cluster, CONFIG_MAPS, "own")
    put(cluster, CONFIG_MAPS, "forged", namespace="theirs")
    put(cluster, CONFIG_MAPS, "from-before", namespace="left")
    await remember(cluster, reference(CONFIG_MAPS, "from-before", "left"))
    assert names((await read(cluster)).live) == ["forged", "from-before", "own"]

    cluster.rule = lambda write: "" if write.namespace == "default" else "it is somebody else's"

    assert names((await read(cluster)).live) == ["from-before", "own"]
