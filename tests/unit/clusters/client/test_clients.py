"""The verbs against a server that answers as a test wants: mostly the unusual answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

import process_time
from fixed_clock import FixedClock
from scripted_server import Asked, ScriptedServer, answer, serve, status
from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import retries, transports
from volary.model import errors

PODS = discovery.Resource("", "v1", "Pod", "pods", namespaced=True)
LIMITS = transports.Limits(
    discovery_pause=0.05, retry=retries.Policy(tries=2, base=timedelta(milliseconds=1))
)


@pytest.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    async with serve() as server:
        yield server


@asynccontextmanager
async def client_of(server: ScriptedServer) -> AsyncIterator[clients.Client]:
    connection = connections.Connection("us", server.url)
    async with clients.open_client(connection, clock=FixedClock(), limits=LIMITS) as client:
        yield client


def page(*names: str, token: str = "", version: str = "7") -> web.Response:
    items = [{"metadata": {"name": name}} for name in names]
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return answer({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items})


def names(listed: clients.ObjectList) -> list[str]:
    return [item["metadata"]["name"] for item in listed.items]


async def test_a_list_is_read_page_by_page(scripted: ScriptedServer) -> None:
    scripted.say(page("a", "b", token="next"), page("c"))

    async with client_of(scripted) as client:
        listed = await client.list(PODS, namespace="shop", page_size=2)

    assert names(listed) == ["a", "b", "c"]
    assert listed.resource_version == "7"
    assert [asked.query for asked in scripted.seen] == [
        {"limit": "2"},
        {"limit": "2", "continue": "next"},
    ]


async def test_items_carry_their_kind(scripted: ScriptedServer) -> None:
    scripted.say(page("a"))

    async with client_of(scripted) as client:
        (item,) = (await client.list(PODS)).items

    assert (item["apiVersion"], item["kind"]) == ("v1", "Pod")


async def test_a_page_that_expires_begins_the_list_anew_without_pages(
    scripted: ScriptedServer,
) -> None:
    scripted.say(
        page("old", token="next"), status(410, "Expired", "too old"), page("a", "b", version="9")
    )

    async with client_of(scripted) as client:
        listed = await client.list(PODS)

    assert names(listed) == ["a", "b"]
    assert listed.resource_version == "9"
    assert scripted.seen[-1].query == {}


async def test_a_list_that_cannot_be_completed_is_an_error(scripted: ScriptedServer) -> None:
    scripted.say(page("a", token="next"), *(status(500, "InternalError", "no") for _ in range(2)))

    async with client_of(scripted) as client:
        with pytest.raises(api_errors.ServerError):
            await client.list(PODS)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kind": "PodList"},
        {"kind": "Status", "items": []},
        {"items": []},
        {"kind": "PodList", "items": {"a": 1}},
        {"kind": "Pods", "apiVersion": "v1", "items": []},
        {"kind": "Pods", "apiVersion": "v2", "items": [], "metadata": {"resourceVersion": "3"}},
    ],
)
async def test_what_is_not_certainly_a_list_is_no_empty_list(
    scripted: ScriptedServer, body: dict[str, Any]
) -> None:
    """Objects are pruned because they are missing in lists."""
    scripted.say(answer(body))

    async with client_of(scripted) as client:
        with pytest.raises(api_errors.RequestError, match="list pods: the answer is not"):
            await client.list(PODS)


async def test_an_empty_list_may_be_null(scripted: ScriptedServer) -> None:
    scripted.say(answer({"kind": "PodList", "items": None, "metadata": {"resourceVersion": "3"}}))

    async with client_of(scripted) as client:
        assert await client.list(PODS) == clients.ObjectList((), "3")


async def test_a_definition_may_call_its_lists_what_it_likes(scripted: ScriptedServer) -> None:
    said = {"kind": "Pods", "apiVersion": "v1", "metadata": {"resourceVersion": "3"}, "items": []}
    scripted.say(answer(said))

    async with client_of(scripted) as client:
        assert await client.list(PODS) == clients.ObjectList((), "3")


async def test_a_list_without_end(scripted: ScriptedServer) -> None:
    scripted.say(page("a", token="same"), page("b", token="same"))

    async with client_of(scripted) as client:
        with pytest.raises(api_errors.RequestError, match="has no end"):
            await client.list(PODS)


async def test_an_object_that_is_gone(scripted: ScriptedServer) -> None:
    scripted.say(*(status(404, "NotFound", 'pods "a" not found') for _ in range(2)))

    async with client_of(scripted) as client:
        assert await client.get(PODS, "a", namespace="shop") is None
        await client.delete(PODS, "a", namespace="shop")


async def test_the_404_of_something_else_is_no_evidence(scripted: ScriptedServer) -> None:
    scripted.say(*(web.Response(status=404, text="404 page not found") for _ in range(2)))

    async with client_of(scripted) as client:
        with pytest.raises(api_errors.NotFound):
            await client.get(PODS, "a", namespace="shop")
        with pytest.raises(api_errors.NotFound):
            await client.delete(PODS, "a", namespace="shop")


def aggregated(*kinds: str) -> web.Response:
    resources = [
        {"resource": kind.lower(), "responseKind": {"kind": kind}, "scope": "Namespaced"}
        for kind in kinds
    ]
    groups = [{"metadata": {"name": "x"}, "versions": [{"version": "v1", "resources": resources}]}]
    return answer({"kind": "APIGroupDiscoveryList", "items": groups})


async def test_discovery_is_asked_once_and_refreshed_in_moderation(
    scripted: ScriptedServer,
) -> None:
    scripted.say(aggregated(), aggregated("A"), aggregated(), aggregated("A", "B"))
    began = asyncio.get_running_loop().time()

    async with client_of(scripted) as client:
        first, again = await asyncio.gather(client.discover(), client.discover())
        assert again is first
        assert first.find("x", "B") is None

        refreshed = await asyncio.gather(*(client.discover(refresh=True) for _ in range(5)))

    assert all(each.find("x", "B") for each in refreshed)
    assert len(scripted.seen) == 4
    assert asyncio.get_running_loop().time() - began >= 0.05


async def test_legacy_discovery_tolerates_a_broken_group(scripted: ScriptedServer) -> None:
    answers: dict[str, Any] = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {
            "kind": "APIGroupList",
            "groups": [
                {"name": "apps", "versions": [{"version": "v1"}]},
                {"name": "broken", "versions": [{"version": "v1"}]},
            ],
        },
        "/api/v1": {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True}]},
        "/apis/apps/v1": {"resources": [{"name": "deployments", "kind": "Deployment"}]},
    }

    async def legacy(asked: Asked) -> web.StreamResponse:
        if asked.path in answers:
            return answer(answers[asked.path])
        return status(503, "ServiceUnavailable", "nobody there")

    scripted.handler = legacy

    async with client_of(scripted) as client:
        catalog = await client.discover()

    assert catalog.find("", "Pod")
    assert catalog.find("apps", "Deployment")
    assert catalog.stale == ("broken",)


async def test_legacy_discovery_does_not_take_a_lost_cluster_for_an_empty_one(
    scripted: ScriptedServer,
) -> None:
    async def lost(asked: Asked) -> web.StreamResponse:
        if asked.path == "/api":
            return answer({"kind": "APIVersions", "versions": ["v1"]})
        if asked.path == "/apis":
            groups = [{"name": "apps", "versions": [{"version": "v1"}]}]
            return answer({"kind": "APIGroupList", "groups": groups})
        return status(503, "ServiceUnavailable", "nobody there")

    scripted.handler = lost

    async with client_of(scripted) as client:
        with pytest.raises(api_errors.ServerError):
            await client.discover()


@pytest.mark.parametrize(
    ("broken", "tolerated"),
    [
        (status(503, "ServiceUnavailable", "nobody"), True),
        (status(404, "NotFound", "nobody"), True),
        (status(403, "Forbidden", "nobody"), True),
        (status(401, "Unauthorized", "nobody"), False),
    ],
)
@pytest.mark.parametrize("group", ["apps", ""])
async def test_which_failures_of_a_group_are_its_own(
    scripted: ScriptedServer, broken: web.Response, tolerated: bool, group: str
) -> None:
    """The core group is the cluster itself."""

    async def legacy(asked: Asked) -> web.StreamResponse:
        if asked.path == "/api":
            return answer({"kind": "APIVersions", "versions": ["v1"]})
        if asked.path == "/apis":
            groups = [{"name": "apps", "versions": [{"version": "v1"}]}]
            return answer({"kind": "APIGroupList", "groups": groups})
        if asked.path == ("/apis/apps/v1" if group else "/api/v1"):
            return web.Response(
                body=broken.body, status=broken.status, content_type="application/json"
            )
        return answer({"resources": [{"name": "things", "kind": "Thing"}]})

    scripted.handler = legacy
    async with client_of(scripted) as client:
        if tolerated and group:
            assert (await client.discover()).stale == ("apps",)
        else:
            with pytest.raises(errors.VolaryError):
                await client.discover()


async def test_legacy_forms_are_asked_for_as_such(scripted: ScriptedServer) -> None:
    async def legacy(asked: Asked) -> web.StreamResponse:
        kinds = {"/api": "APIVersions", "/apis": "APIGroupList"}
        return answer({"kind": kinds.get(asked.path, "APIResourceList"), "versions": ["v1"]})

    scripted.handler = legacy
    async with client_of(scripted) as client:
        await client.discover()

    accepted = [
        (asked.path, asked.headers["Accept"] == "application/json") for asked in scripted.seen
    ]
    assert accepted == [
        ("/api", False),
        ("/apis", False),
        ("/api", True),
        ("/apis", True),
        ("/api/v1", True),
    ]


async def test_deleting_what_is_not_there_is_no_error(scripted: ScriptedServer) -> None:
    scripted.say(status(404, "NotFound", "gone"), web.Response(status=404, text="proxy"))
    async with client_of(scripted) as client:
        await client.delete(PODS, "a", namespace="shop")
        with pytest.raises(api_errors.NotFound):
            await client.delete(PODS, "a", namespace="shop")


async def test_what_a_cluster_is_known_by(scripted: ScriptedServer) -> None:
    scripted.say(
        answer({"metadata": {"uid": "u-1"}}), answer({"metadata": "odd"}), answer({"metadata": {}})
    )
    async with client_of(scripted) as client:
        assert await client.identity() == "u-1"
        assert await client.identity() == ""
        assert await client.identity() == ""

    assert scripted.seen[0].path == "/api/v1/namespaces/kube-system"


async def test_a_version_that_is_not_said_is_empty(scripted: ScriptedServer) -> None:
    scripted.say(answer({}))
    async with client_of(scripted) as client:
        assert await client.version() == ""


async def test_a_check_takes_no_longer_than_it_may(scripted: ScriptedServer) -> None:
    async def silent(_: Asked) -> web.StreamResponse:
        await asyncio.sleep(process_time.HANG)
        raise AssertionError

    async with client_of(scripted) as client:
        await client.check("/readyz", timeout=process_time.HANG)
        scripted.say(silent)
        with pytest.raises(api_errors.Unreachable, match="no answer in time"):
            await client.check("/readyz", timeout=0.2)


async def test_every_write_names_its_manager(scripted: ScriptedServer) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}}

    async with client_of(scripted) as client:
        await client.create(PODS, body, field_manager="volary-scale", dry_run=True)
        await client.replace(PODS, body, field_manager="volary-scale")
        await client.apply(PODS, body)

    assert [
        (asked.method, asked.query["fieldManager"], "dryRun" in asked.query)
        for asked in scripted.seen
    ] == [
        ("POST", "volary-scale", True),
        ("PUT", "volary-scale", False),
        ("PATCH", "volary", False),
    ]


async def test_only_the_object_that_was_looked_at_is_deleted(scripted: ScriptedServer) -> None:
    """What came in its place, or changed since, is not what somebody decided to delete."""
    scripted.say(answer({}), status(409, "Conflict", "the object has been modified"))
    async with client_of(scripted) as client:
        await client.delete(PODS, "a", namespace="shop")
        with pytest.raises(api_errors.Conflict):
            await client.delete(
                PODS,
                "a",
                namespace="shop",
                uid="u-1",
                resource_version="7",
                propagation="Foreground",
            )

    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    checked = {"uid": "u-1", "resourceVersion": "7"}
    assert [asked.json for asked in scripted.seen] == [
        {**options, "propagationPolicy": "Background"},
        {**options, "propagationPolicy": "Foreground", "preconditions": checked},
    ]


async def test_a_discovery_that_fails_says_what_was_to_be_discovered(
    scripted: ScriptedServer,
) -> None:
    scripted.say(status(403, "Forbidden", "no"))
    async with client_of(scripted) as client:
        with pytest.raises(api_errors.Forbidden, match="discover /api"):
            await client.discover()


def written(client: clients.Client) -> Any:
    return client.recent.written(PODS, "web", "shop")


@pytest.mark.parametrize("verb", ["apply", "create", "replace", "merge_patch"])
async def test_every_write_replaces_what_is_known_of_the_object_and_no_trial_does(
    verb: str, scripted: ScriptedServer
) -> None:
    body = {"metadata": {"name": "web", "namespace": "shop"}}
    first = {"metadata": {**body["metadata"], "resourceVersion": "1"}}
    second = {"metadata": {**body["metadata"], "resourceVersion": "2"}}
    scripted.say(answer(first), answer(body), answer(second), status(403, "Forbidden", "no"))

    async with client_of(scripted) as client:
        await client.create(PODS, first)
        await getattr(client, verb)(PODS, body, dry_run=True)
        assert written(client) == first
        await getattr(client, verb)(PODS, body)
        assert written(client) == second
        with pytest.raises(api_errors.Forbidden):
            await getattr(client, verb)(PODS, body)
        # It may have changed all the same.
        assert written(client) is None
