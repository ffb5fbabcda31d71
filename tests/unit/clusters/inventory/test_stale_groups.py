"""An API group whose server is down: what it serves is unknown, so nothing of it is absent."""

import json as json_text
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from fixed_clock import FixedClock
from scripted_server import Asked, answer, serve, status
from volary.clusters.client import clients, resource_mapping
from volary.clusters.inventory import inventory, inventory_store, owned_objects, pruning
from volary.clusters.kubeconfig import connections
from volary.clusters.observe import live_state
from volary.clusters.transport import retries, transports
from volary.manifests.ownership import tracking
from volary.model import errors, json
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant

GROUP = "metrics.example.com"
LIMITS = transports.Limits(
    discovery_pause=0.0, retry=retries.Policy(tries=1, base=timedelta(milliseconds=1))
)
SHOP = ownership.Owner("shop", "0123456789abcdef")
SCOPE = owned_objects.Scope(SHOP)
WHOSE = live_state.ApplicationObjects("shop", ownership.Origin(), SHOP)
SOON = timedelta(seconds=5)
PLURALS = {"ConfigMap": "configmaps", "Widget": "widgets"}


def made(api_version: str, kind: str, name: str) -> manifest.Manifest:
    metadata = {"name": name, "namespace": "default"}
    return manifest.Manifest({"apiVersion": api_version, "kind": kind, "metadata": metadata})


def config(name: str) -> manifest.Manifest:
    return made("v1", "ConfigMap", name)


def widget(name: str) -> manifest.Manifest:
    return made(f"{GROUP}/v1", "Widget", name)


@dataclass
class AggregatedCluster:
    """An API server with ConfigMaps of its own, and Widgets that another server serves."""

    is_legacy: bool
    #: Requests for Widgets answer 503, and discovery does not name them.
    is_down: bool = False
    objects: dict[str, json.JsonObject] = field(default_factory=dict)

    def put(self, *items: manifest.Manifest) -> None:
        for item in (
            tracking.track(
                one,
                owner=SHOP,
                commit="1" * 40,
                variant=variant.Variant.PRIMARY,
                label=variant.VariantLabel(),
            )
            for one in items
        ):
            metadata = {**item.body["metadata"], "uid": item.name, "resourceVersion": "1"}
            base = "/apis" if item.group else "/api"
            collection = f"{base}/{item.api_version}/namespaces/default/{PLURALS[item.kind]}"
            self.objects[f"{collection}/{item.name}"] = {**item.body, "metadata": metadata}

    def names(self, kind: str) -> list[str]:
        bodies = [body for body in self.objects.values() if body["kind"] == kind]
        return sorted(
            body["metadata"]["name"]
            for body in bodies
            if body["metadata"]["name"] != inventory.name(SHOP)
        )

    async def handle(self, asked: Asked) -> web.StreamResponse:
        discovered = self._discover_legacy() if self.is_legacy else self._discover()
        if asked.path in ("/api", "/apis"):
            return answer(discovered[asked.path])
        if self.is_down and asked.path.startswith(f"/apis/{GROUP}"):
            return status(503, "ServiceUnavailable", "the server is currently unable to answer")
        if asked.method == "PATCH":
            self.objects[asked.path] = json_text.loads(asked.body)
        known = {**discovered, **self.objects}
        if asked.path in known:
            if asked.method == "DELETE":
                del self.objects[asked.path]
            return answer(known[asked.path])
        base, _, plural = asked.path.rpartition("/")
        if plural not in PLURALS.values():
            return status(404, "NotFound", "no such object")
        return self._list(base, plural, asked.query.get("labelSelector", ""))

    def _list(self, base: str, plural: str, selector: str) -> web.Response:
        terms = dict(term.split("=") for term in selector.split(",") if term)
        items = [
            body
            for path, body in self.objects.items()
            if path.startswith(f"{base}/") and path.split("/")[-2] == plural
            if terms.items() <= body["metadata"]["labels"].items()
        ]
        return answer({"kind": "List", "metadata": {"resourceVersion": "1"}, "items": items})

    def _discover(self) -> dict[str, json.JsonObject]:
        def group(name: str, kind: str, *, is_down: bool = False) -> json.JsonObject:
            resource = {
                "resource": PLURALS[kind],
                "responseKind": {"kind": kind},
                "scope": "Namespaced",
            }
            version: dict[str, Any] = {
                "version": "v1",
                "freshness": "Stale" if is_down else "Current",
                "resources": [] if is_down else [resource],
            }
            return {"metadata": {"name": name}, "versions": [version]}

        return {
            "/api": {"kind": "APIGroupDiscoveryList", "items": [group("", "ConfigMap")]},
            "/apis": {
                "kind": "APIGroupDiscoveryList",
                "items": [group(GROUP, "Widget", is_down=self.is_down)],
            },
        }

    def _discover_legacy(self) -> dict[str, json.JsonObject]:
        def version(kind: str) -> json.JsonObject:
            return {"resources": [{"name": PLURALS[kind], "kind": kind, "namespaced": True}]}

        return {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"groups": [{"name": GROUP, "versions": [{"version": "v1"}]}]},
            "/api/v1": version("ConfigMap"),
            f"/apis/{GROUP}/v1": version("Widget"),
        }


@pytest.fixture(params=[False, True], ids=["aggregated", "legacy"])
def cluster(request: pytest.FixtureRequest) -> AggregatedCluster:
    given = AggregatedCluster(request.param)
    given.put(config("kept"), config("old"), widget("w1"))
    return given


@asynccontextmanager
async def client_of(cluster: AggregatedCluster) -> AsyncIterator[clients.Client]:
    async with serve() as server:
        server.handler = cluster.handle
        connection = connections.Connection("us", server.url)
        async with clients.open_client(connection, clock=FixedClock(), limits=LIMITS) as client:
            yield client


async def remember(client: clients.Client, *items: manifest.Manifest) -> None:
    known = inventory.Inventory(SHOP, "default")
    after = known.with_references(inventory.reference(item) for item in items)
    await inventory_store.record(client, known, after)


async def remembered(client: clients.Client) -> set[str]:
    known = await inventory_store.load(client, SHOP, namespaces=(), home="default")
    return {reference.key.name for reference in known.references}


async def test_nothing_is_pruned_or_forgotten_while_a_group_cannot_be_listed(
    cluster: AggregatedCluster,
) -> None:
    async with client_of(cluster) as client:
        await remember(client, config("kept"), config("old"), widget("w1"))
        cluster.is_down = True
        await client.discover(refresh=True)

        with pytest.raises(errors.TemporaryError, match=GROUP):
            await pruning.prune(client, [config("kept")], SCOPE, timeout=SOON)
        with pytest.raises(errors.TemporaryError, match=GROUP):
            await pruning.preview(client, [config("kept")], SCOPE)
        with pytest.raises(errors.TemporaryError, match=GROUP):
            await pruning.delete_all(client, SCOPE, timeout=SOON, check=pruning.keep_nothing)
        with pytest.raises(errors.TemporaryError, match=GROUP):
            await live_state.read(client, WHOSE)

        assert cluster.names("ConfigMap") == ["kept", "old"]
        assert await remembered(client) == {"kept", "old", "w1"}


async def test_a_group_that_goes_down_after_discovery_is_no_empty_one(
    cluster: AggregatedCluster,
) -> None:
    async with client_of(cluster) as client:
        await remember(client, config("kept"), config("old"), widget("w1"))
        await client.discover()
        cluster.is_down = True

        with pytest.raises(errors.TemporaryError):
            await pruning.prune(client, [config("kept")], SCOPE, timeout=SOON)

        assert cluster.names("ConfigMap") == ["kept", "old"]
        assert await remembered(client) == {"kept", "old", "w1"}


async def test_pruning_goes_on_once_the_group_is_back(cluster: AggregatedCluster) -> None:
    """The client still remembers the discovery without it."""
    async with client_of(cluster) as client:
        await remember(client, config("kept"), config("old"), widget("w1"))
        cluster.is_down = True
        await client.discover(refresh=True)
        cluster.is_down = False

        result = await pruning.prune(client, [config("kept")], SCOPE, timeout=SOON)

        assert result.deleted == 2
        assert cluster.names("ConfigMap") == ["kept"]
        assert cluster.names("Widget") == []
        assert await remembered(client) == {"kept"}


async def test_a_group_that_the_application_does_not_use_stops_nothing(
    cluster: AggregatedCluster,
) -> None:
    async with client_of(cluster) as client:
        await remember(client, config("kept"), config("old"))
        cluster.is_down = True

        result = await pruning.prune(client, [config("kept")], SCOPE, timeout=SOON)

        assert result.deleted == 1
        assert await remembered(client) == {"kept"}


async def test_a_kind_of_a_group_that_is_down_is_no_unknown_kind(
    cluster: AggregatedCluster,
) -> None:
    cluster.is_down = True
    async with client_of(cluster) as client:
        with pytest.raises(errors.TemporaryError, match=GROUP):
            await resource_mapping.map_manifests(client, [widget("w1")])

        cluster.is_down = False
        mapping = await resource_mapping.map_manifests(client, [widget("w1")])

        assert [mapped.resource.plural for mapped in mapping.mapped] == ["widgets"]
