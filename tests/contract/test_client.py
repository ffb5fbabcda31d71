"""One suite for every API server: the sandbox, and a real one when it is named.

Set ``VOLARY_TEST_KUBECONFIG`` to a kubeconfig whose current context may create
namespaces and custom resource definitions; everything made is removed again.
"""

import asyncio
import os
import time
import uuid
from asyncio import sslproto
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

import process_time
from sandbox_fixtures import FleetFactory
from volary.clusters.api import api_errors, discovery
from volary.clusters.client import client_pool, clients
from volary.clusters.kubeconfig import connections, kubeconfigs
from volary.clusters.transport import transports
from volary.model.fleet import fleets

_REAL = os.environ.get("VOLARY_TEST_KUBECONFIG", "")


class WallClock:
    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)


@dataclass(frozen=True)
class Api:
    """An API server, an open client and a namespace of our own."""

    client: clients.Client
    connection: connections.Connection
    catalog: discovery.Catalog
    namespace: str

    def kind(self, kind: str, group: str = "") -> discovery.Resource:
        found = self.catalog.find(group, kind)
        assert found is not None, kind
        return found

    @property
    def configmaps(self) -> discovery.Resource:
        return self.kind("ConfigMap")

    def configmap(self, name: str, **data: str) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {"name": name}},
            "data": data,
        }

    def deployment(self, **spec: object) -> dict[str, Any]:
        container = {"name": "main", "image": "registry.example/web:1"}
        labels = {"app": "web"}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": self.namespace},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
                **spec,
            },
        }

    async def get(self, resource: discovery.Resource, name: str) -> dict[str, Any]:
        found = await self.client.get(resource, name, namespace=self.namespace)
        assert found is not None
        return found


@pytest.fixture(params=["sandbox", "real"] if _REAL else ["sandbox"])
async def api(request: pytest.FixtureRequest, fleet_of: FleetFactory) -> AsyncIterator[Api]:
    if request.param == "real":
        file = _REAL
    else:
        running = await fleet_of(["us"])
        file = str(running.clusters["us"].kubeconfig_path)
    connection = kubeconfigs.load(fleets.Cluster("us", kubeconfig=(file,)), environment={})
    namespace = f"volary-test-{uuid.uuid4().hex[:8]}"
    async with clients.open_client(connection, clock=WallClock()) as client:
        catalog = await client.discover()
        namespaces = catalog.find("", "Namespace")
        assert namespaces is not None
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await client.create(namespaces, made)
        try:
            yield Api(client, connection, catalog, namespace)
        finally:
            await client.delete(namespaces, namespace)


@pytest.mark.skipif(not _REAL, reason="VOLARY_TEST_KUBECONFIG is not set: sandbox only")
@pytest.mark.parametrize("api", ["real"], indirect=True)
async def test_the_named_cluster_is_no_sandbox(api: Api) -> None:
    assert "sandbox" not in (await api.client.version())


async def test_version(api: Api) -> None:
    assert (await api.client.version()).startswith("v1.")


async def test_discovery(api: Api) -> None:
    deployments, namespaces = api.kind("Deployment", "apps"), api.kind("Namespace")

    assert deployments.namespaced
    assert deployments.version == "v1"
    assert {"scale", "status"} <= deployments.subresources
    assert not namespaces.namespaced
    assert api.catalog.find("apps", "Nothing") is None


async def test_a_new_kind_is_found_after_a_refresh(api: Api) -> None:
    group = f"{api.namespace}.example.org"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"birds.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "plural": "birds",
                "singular": "bird",
                "kind": "Bird",
                "listKind": "BirdList",
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
    definitions = api.kind("CustomResourceDefinition", "apiextensions.k8s.io")
    await api.client.create(definitions, definition)
    try:
        found = None
        async with asyncio.timeout(process_time.HANG):
            while found is None:
                found = (await api.client.discover(refresh=True)).find(group, "Bird")
        body = {
            "apiVersion": f"{group}/v1",
            "kind": "Bird",
            "metadata": {"name": "canary", "namespace": api.namespace},
            "spec": {"sings": True},
        }
        await api.client.apply(found, body)

        assert (await api.get(found, "canary"))["spec"] == {"sings": True}
    finally:
        await api.client.delete(definitions, f"birds.{group}")


async def test_create_and_get(api: Api) -> None:
    assert await api.client.get(api.configmaps, "a", namespace=api.namespace) is None

    made = await api.client.create(api.configmaps, api.configmap("a", k="v"))

    assert made["data"] == {"k": "v"}
    assert await api.get(api.configmaps, "a") == made
    with pytest.raises(api_errors.AlreadyExists):
        await api.client.create(api.configmaps, api.configmap("a"))


async def test_a_dry_run_changes_nothing(api: Api) -> None:
    await api.client.create(api.configmaps, api.configmap("a"), dry_run=True)
    await api.client.apply(api.configmaps, api.configmap("a"), dry_run=True)
    assert await api.client.get(api.configmaps, "a", namespace=api.namespace) is None

    await api.client.apply(api.configmaps, api.configmap("a", k="v"))
    await api.client.replace(api.configmaps, api.configmap("a"), dry_run=True)
    assert (await api.get(api.configmaps, "a"))["data"] == {"k": "v"}


async def test_replace_refuses_what_has_changed_since(api: Api) -> None:
    read = await api.client.create(api.configmaps, api.configmap("a", k="1"))
    await api.client.replace(api.configmaps, {**read, "data": {"k": "2"}})

    with pytest.raises(api_errors.Conflict) as caught:
        await api.client.replace(api.configmaps, {**read, "data": {"k": "3"}})

    assert not isinstance(caught.value, api_errors.ApplyConflict)
    assert (await api.get(api.configmaps, "a"))["data"] == {"k": "2"}


async def test_apply_creates_updates_and_leaves_alone(api: Api) -> None:
    first = await api.client.apply(api.configmaps, api.configmap("a", k="1"))
    same = await api.client.apply(api.configmaps, api.configmap("a", k="1"))
    other = await api.client.apply(api.configmaps, api.configmap("a", k="2"))

    versions = [each["metadata"]["resourceVersion"] for each in (first, same, other)]
    assert versions[0] == versions[1] != versions[2]
    assert other["metadata"]["managedFields"][0]["manager"] == "volary"


async def test_an_apply_changes_only_what_it_names(api: Api) -> None:
    first = await api.client.apply(api.configmaps, api.configmap("a", k="1"))
    later = await api.client.apply(api.configmaps, api.configmap("a", k="2"))

    def over(seen: dict[str, Any], k: str) -> dict[str, Any]:
        body = api.configmap("a", k=k)
        named = {key: seen["metadata"][key] for key in ("uid", "resourceVersion")}
        return {**body, "metadata": {**body["metadata"], **named}}

    with pytest.raises(api_errors.Conflict) as caught:
        await api.client.apply(api.configmaps, over(first, "3"), force=True)
    assert not isinstance(caught.value, api_errors.ApplyConflict)
    assert await api.get(api.configmaps, "a") == later

    last = await api.client.apply(api.configmaps, over(later, "3"))
    (entry,) = last["metadata"]["managedFields"]
    assert (last["data"], entry["operation"]) == ({"k": "3"}, "Apply")
    assert set(entry["fieldsV1"]["f:metadata"]) == {"f:labels"}

    await api.client.delete(api.configmaps, "a", namespace=api.namespace)
    with pytest.raises(api_errors.Conflict):
        await api.client.apply(api.configmaps, over(last, "4"))
    assert await api.client.get(api.configmaps, "a", namespace=api.namespace) is None


@pytest.mark.parametrize("what", ["ConfigMap", "Service"])
async def test_an_apply_that_names_the_version_of_none_creates_and_changes_nothing(
    api: Api, what: str
) -> None:
    kind, body = api.kind(what), {**api.configmap("a"), "kind": what}
    body.pop("data") if what == "Service" else None
    body |= {"spec": {"ports": [{"port": 80}]}} if what == "Service" else {}
    of_none = {**body, "metadata": {**body["metadata"], "resourceVersion": "1"}}

    made = await api.client.apply(kind, of_none)
    with pytest.raises(api_errors.Conflict):
        await api.client.apply(kind, of_none)

    assert made["metadata"]["managedFields"][0]["operation"] == "Apply"
    assert await api.get(kind, "a") == made


async def test_an_apply_conflict_names_manager_and_field(api: Api) -> None:
    await api.client.apply(api.configmaps, api.configmap("a", k="1"), field_manager="somebody")

    with pytest.raises(api_errors.ApplyConflict) as caught:
        await api.client.apply(api.configmaps, api.configmap("a", k="2"))
    assert [(cause.manager, cause.field) for cause in caught.value.causes] == [
        ("somebody", ".data.k")
    ]

    forced = await api.client.apply(api.configmaps, api.configmap("a", k="2"), force=True)
    assert forced["data"] == {"k": "2"}


async def test_an_invalid_object_names_its_fields(api: Api) -> None:
    with pytest.raises(api_errors.Invalid) as caught:
        await api.client.apply(api.kind("Deployment", "apps"), api.deployment(replicas=-1))

    assert [cause.field for cause in caught.value.causes] == ["spec.replicas"]


async def test_an_unknown_field_is_refused(api: Api) -> None:
    with pytest.raises(api_errors.RequestError, match="replicaz"):
        await api.client.apply(api.kind("Deployment", "apps"), api.deployment(replicaz=1))
    with pytest.raises(api_errors.RequestError, match="replicaz"):
        await api.client.create(api.kind("Deployment", "apps"), api.deployment(replicaz=1))


async def test_a_namespace_that_is_missing(api: Api) -> None:
    body = api.configmap("a")
    body["metadata"]["namespace"] = "volary-no-such-namespace"

    with pytest.raises(api_errors.NotFound, match='namespaces "volary-no-such-namespace"'):
        await api.client.create(api.configmaps, body)


async def test_delete_only_the_one_that_was_looked_at(api: Api) -> None:
    made = await api.client.create(api.configmaps, api.configmap("a"))
    where = {"namespace": api.namespace}

    with pytest.raises(api_errors.Conflict):
        await api.client.delete(api.configmaps, "a", uid="another", **where)
    with pytest.raises(api_errors.Conflict):
        await api.client.delete(api.configmaps, "a", resource_version="1", **where)
    assert await api.get(api.configmaps, "a") == made

    await api.client.delete(
        api.configmaps,
        "a",
        uid=made["metadata"]["uid"],
        resource_version=made["metadata"]["resourceVersion"],
        **where,
    )
    assert await api.client.get(api.configmaps, "a", **where) is None
    await api.client.delete(api.configmaps, "a", **where)


async def _make(api: Api, count: int) -> list[str]:
    names = [f"c{number:02}" for number in range(count)]
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(api.client.create(api.configmaps, api.configmap(name)))
    return names


async def test_lists_are_complete_over_pages(api: Api) -> None:
    names = await _make(api, 10)

    paged = await api.client.list(api.configmaps, namespace=api.namespace, page_size=3)
    whole = await api.client.list(api.configmaps, namespace=api.namespace)

    assert set(names) <= {item["metadata"]["name"] for item in paged.items}
    assert paged.items == whole.items
    assert all((item["apiVersion"], item["kind"]) == ("v1", "ConfigMap") for item in paged.items)


async def test_selections(api: Api) -> None:
    await _make(api, 3)

    by_label = await api.client.list(
        api.configmaps, namespace=api.namespace, label_selector="name in (c00, c02)"
    )
    by_field = await api.client.list(
        api.configmaps, namespace=api.namespace, field_selector="metadata.name=c01"
    )
    everywhere = await api.client.list(api.configmaps, label_selector="name=c01", page_size=2)

    assert [item["metadata"]["name"] for item in by_label.items] == ["c00", "c02"]
    assert [item["metadata"]["name"] for item in by_field.items] == ["c01"]
    assert api.namespace in {item["metadata"]["namespace"] for item in everywhere.items}


async def _follow(
    api: Api, events: list[clients.WatchEvent], *, until: int, place: str = ""
) -> None:
    following = api.client.watch(
        api.configmaps,
        namespace=api.namespace,
        label_selector="name",
        resource_version=place,
    )
    async with aclosing(following):
        async for event in following:
            events.append(event)
            if len(events) == until:
                return


async def test_a_watch_tells_what_happens(api: Api) -> None:
    await api.client.apply(api.configmaps, api.configmap("a", k="1"))
    events: list[clients.WatchEvent] = []

    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        group.create_task(_follow(api, events, until=4))
        while not events:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await api.client.apply(api.configmaps, api.configmap("b"))
        await api.client.apply(api.configmaps, api.configmap("a", k="2"))
        await api.client.delete(api.configmaps, "b", namespace=api.namespace)

    listed, *changes = events
    assert listed.kind is clients.WatchKind.RELISTED
    assert [item["metadata"]["name"] for item in listed.items] == ["a"]
    assert [(each.kind.value, each.body["metadata"]["name"]) for each in changes] == [
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "b"),
    ]


async def test_a_watch_goes_on_from_a_place(api: Api) -> None:
    made = await api.client.create(api.configmaps, api.configmap("a"))
    await api.client.create(api.configmaps, api.configmap("b"))
    events: list[clients.WatchEvent] = []

    async with asyncio.timeout(process_time.HANG):
        await _follow(api, events, until=1, place=made["metadata"]["resourceVersion"])

    assert [event.body["metadata"]["name"] for event in events] == ["b"]


async def test_a_place_of_long_ago_is_listed_again(api: Api) -> None:
    await api.client.create(api.configmaps, api.configmap("a"))
    events: list[clients.WatchEvent] = []

    async with asyncio.timeout(process_time.HANG):
        await _follow(api, events, until=1, place="1")

    assert events[0].kind in (clients.WatchKind.RELISTED, clients.WatchKind.ADDED)
    assert "a" in str(events[0])


async def test_wrong_credentials(api: Api) -> None:
    tls = replace(api.connection.tls, certificate=b"", key=b"")
    connection = replace(api.connection, credentials=connections.Token("wrong-token"), tls=tls)

    async with clients.open_client(connection, clock=WallClock()) as stranger:
        with pytest.raises(api_errors.Unauthorized) as caught:
            await stranger.list(api.configmaps)

    assert "list configmaps" in str(caught.value)
    assert "wrong-token" not in str(caught.value)


async def test_an_answer_beyond_the_limit(api: Api) -> None:
    await api.client.create(api.configmaps, api.configmap("a", k="x" * 20_000))
    limits = transports.Limits(largest_answer=10_000)

    async with clients.open_client(api.connection, clock=WallClock(), limits=limits) as frugal:
        with pytest.raises(api_errors.TooLarge):
            await frugal.get(api.configmaps, "a", namespace=api.namespace)
        assert await frugal.version()


async def test_a_large_object_comes_whole_through_small_buffers(api: Api) -> None:
    large = "0123456789abcdef" * 50_000
    client_pool.shrink_tls_buffers()
    async with clients.open_client(api.connection, clock=WallClock()) as client:
        await client.create(api.configmaps, api.configmap("large", text=large))
        found = await client.get(api.configmaps, "large", namespace=api.namespace)

    assert sslproto.SSLProtocol.max_size == client_pool.TLS_BUFFER_SIZE
    assert found is not None
    assert found["data"]["text"] == large
